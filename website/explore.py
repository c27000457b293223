"""`./gemm explore`: what gemm_inspect knows of a kernel, as one HTML file to point at."""

from __future__ import annotations

import html
import json
import os
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from runner.core import doctor, figures, lesson
from runner.core.build import build
from runner.core.descriptors import Descriptor, described, targets
from runner.core.machines import MACHINES, Machine
from runner.core.process import say
from runner.core.results import ROOT, UserError, folder_of, write_atomically
from runner.inspect import inspection
from runner.inspect.trace_types import BlockHistory, Trace
from runner.learn import course
from runner.learn.exercise import Task
from runner.learn.mine import Checked, examined, is_right, trace_mine
from website.document import embedded, url
from website.recorded import Recorded, recorded

SCHEMA = 1  # of the payload; website/explorer/payload.js reads the same
FRONT = Path(__file__).resolve().parent / "explorer"
OUT = ROOT / "out" / "explore"
LARGEST = 4_500_000  # bytes of a trace in a page: the page stays below 5 MB
_BLOCKS = 64  # whose history is kept, if it fits
_SIDE, _DEEP, _FEW = 256, 512, 64  # M and N by default at most, K at most and at least
_CPU = doctor.Device("cpu", None, (), "kernels are traced on the CPU")  # whatever GEMM_DEVICE says


class Source(TypedDict):
    file: str
    lines: list[str]


class Variant(TypedDict):
    """One that a lesson takes."""

    text: str
    architectures: dict[str, object]
    element_bytes: dict[str, float]  # of A, B and C: ½ where two elements share a byte


class Lesson(TypedDict):
    """The lesson's entry of lessons.json."""

    name: str
    number: str
    folder: str
    part: int
    ladder: str
    tile: dict[str, int]  # BM, BN, BK
    constants: dict[str, int]
    block: list[int]  # x, y, z
    dynamic_shared_bytes: int
    variants: list[Variant]


class Payload(TypedDict):
    """What the page shows; website/types.py has its modules' types from here."""

    schema: int
    lesson: str
    title: str
    mine: bool  # the learner's own kernel
    checked: Checked | None  # of which this is said, unless sizes were asked for
    trace: Trace
    sources: list[Source]
    descriptor: Lesson
    recorded: Recorded | None
    machines: Mapping[str, Machine]  # by architecture


@dataclass(frozen=True)
class Asked:
    """What is to be shown: a lesson's kernel, or a learner's file in its place."""

    lesson: str
    task: Task | None
    sizes: Mapping[str, str | None]  # m, n, k, groups, seed as typed
    blocks: str | None
    variant: str | None

    @property
    def path(self) -> Path:
        """Where the page is written."""
        mine = {"exercise": "_mine", "hunt": "_hunt"}[self.task.kind] if self.task else ""
        return OUT / f"{self.lesson}{mine}.html"

    @property
    def kernel(self) -> Path:
        """The source that is traced."""
        return self.task.file if self.task else ROOT / folder_of(self.lesson) / "kernel.cu"


# The trace


def shape(descriptor: Descriptor) -> dict[str, str]:
    """Sizes that show some of everything: two C tiles each way and several along K, a ring of stages more than once round."""
    rows, cols, depth = descriptor.tile
    tiles = max(4, descriptor.constants.get("STAGES", 0) + 2)
    deep = min(max(_FEW, depth * tiles), _DEEP)
    return {"m": str(min(2 * rows, _SIDE)), "n": str(min(2 * cols, _SIDE)), "k": str(deep)}


def _sources(trace: Trace) -> list[Source]:
    """The text of every file that the trace names."""
    names = [entry["file"] for entry in (*trace["lines"], *trace["wgmma"], *trace["findings"])]
    names += [other["file"] for finding in trace["findings"] if (other := finding.get("other"))]
    names += [site["file"] for one in trace.get("history", []) for site in one["sites"]]
    found: list[Source] = []
    for name in dict.fromkeys(names):
        try:
            found.append({"file": name, "lines": (ROOT / name).read_text(encoding="utf-8", errors="replace").splitlines()})
        except OSError:
            continue  # its lines are then shown by their numbers alone
    return found


def _title(name: str, mine: bool) -> str:
    """The lesson's own, from its text."""
    try:
        first = (ROOT / folder_of(name) / "README.md").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    except OSError:
        first = name
    return f"{first} – yours" if mine else first


def fitted(trace: Trace) -> Trace:
    """With the history of as many blocks as fit into a page; of the first block its first events, where it alone is too long."""
    left = LARGEST - len(embedded({**trace, "history": []}))
    kept: list[BlockHistory] = []
    for block in trace.get("history", []):
        size = len(embedded(block))
        if size > left and not kept:
            events = len(embedded(block["events"]))
            most = int(len(block["events"]) * max(left - (size - events), 0) / events * 0.95)
            block, size = {**block, "events": block["events"][:most], "truncated": True}, left
        if size > left:
            break
        left -= size
        kept.append(block)
    return {**trace, "history": kept}


def traced(asked: Asked) -> tuple[Payload, int]:
    """Traces the kernel: the page's data, and gemm_inspect's exit status, 0 or 1 where the kernel is not right. A UserError
    where it does not compile, or the shape is too large."""
    tracer = [] if asked.task else [f"{asked.lesson}_inspect"]  # a learner's file becomes a tracer of its own
    folder = build(_CPU, doctor.provide(_CPU), [*tracer, *targets([asked.lesson])])
    descriptor = described(folder, asked.lesson)
    given = {key: text for key, text in asked.sizes.items() if text is not None}
    usual = {} if "groups" in given else shape(descriptor)
    request = inspection.parse({**usual, **given}, {}, asked.blocks, None, None, asked.variant)
    inspection.refuse_if_long(request, descriptor.tile)
    if request.m * request.n * request.k == 0:
        raise UserError(f"There is nothing to see at {request.shape}; choose sizes of 1 or more.")
    checked: Checked | None = None
    if asked.task:
        if not given and asked.blocks is None and asked.variant is None:
            checked, failing = examined(asked.task)
            request = failing or request
        found = trace_mine(asked.task, request, _BLOCKS)
        status = int(not is_right(found, checked))
    else:
        found, status = inspection.trace(folder / "bin" / f"{asked.lesson}_inspect", asked.lesson, request, _BLOCKS)
    entry = json.loads((folder / "lessons" / f"{asked.lesson}.json").read_text(encoding="utf-8"))
    payload: Payload = {
        "schema": SCHEMA,
        "lesson": asked.lesson,
        "title": _title(asked.lesson, asked.task is not None),
        "mine": asked.task is not None,
        "checked": checked,
        "trace": fitted(found),
        "sources": _sources(found),
        "descriptor": entry,
        "recorded": recorded(ROOT, asked.lesson),
        "machines": MACHINES,
    }
    return payload, status


# The page


def modules() -> dict[str, str]:
    """The explorer's JavaScript by the names that the modules import each other by: explorer/state."""
    return {f"explorer/{path.stem}": path.read_text(encoding="utf-8") for path in sorted(FRONT.glob("*.js"))}


def imports() -> str:
    """An import map that holds the modules themselves, as data: URLs, so that the page opens from a file and asks nobody."""
    urls = {name: url(code) for name, code in modules().items()}
    return json.dumps({"imports": urls})


def styles() -> str:
    """The style sheets, style.css first: the others build on it."""
    first = FRONT / "style.css"
    return "\n".join(path.read_text(encoding="utf-8") for path in (first, *sorted(set(FRONT.glob("*.css")) - {first})))


def page(payload: Payload) -> str:
    """The page that shows it. A UserError where it is of another schema."""
    found = payload.get("schema")
    if found != SCHEMA:
        raise UserError(f"The explorer reads data of schema {SCHEMA}, not {found!r}; trace the kernel again.")
    text = (FRONT / "index.html").read_text(encoding="utf-8")
    for name, value in (
        ("@TITLE@", html.escape(payload["title"])),
        ("@STYLE@", styles()),
        ("@IMPORTS@", imports()),
        ("@PAYLOAD@", embedded(payload)),
    ):
        text = text.replace(name, value)
    return text


# The command


def _open(path: str) -> bool:
    """Shows it in the browser, where there is one with a screen to show it on."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        return webbrowser.open(path)
    except webbrowser.Error:
        return False


def show(address: str, open_it: bool) -> None:
    """Opens the browser, if that is wanted, or says what to open."""
    if open_it and not _open(address):
        say(f"No browser could be opened here; open {address} in one.")


def write(asked: Asked) -> int:
    """Traces and writes the page; gemm_inspect's exit status."""
    payload, status = traced(asked)
    text = page(payload)
    asked.path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(asked.path, text)
    if status:
        say("The kernel is not right; the page says what was found.")
    return status


def asked_for(
    name: str, asked_mine: bool, hunt: bool, sizes: Mapping[str, str | None], blocks: str | None, variant: str | None
) -> Asked:
    """What the options ask for; a UserError where there is no such lesson."""
    task = course.find(name, hunt) if asked_mine or hunt else None
    return Asked(task.lesson if task else lesson.find(name), task, sizes, blocks, variant)


def explore(asked: Asked, open_it: bool) -> int:
    """Exit status: 0 the kernel is right and nothing was found, 1 otherwise."""
    status = write(asked)
    size = figures.size(asked.path.stat().st_size)
    print(f"Written: {asked.path.relative_to(ROOT)} ({size}).", flush=True)
    show(asked.path.as_uri(), open_it)
    return status
