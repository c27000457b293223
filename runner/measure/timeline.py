"""`./gemm timeline`: what one block's warps do and what they wait for, on the CPU device and on a GPU, one above the other."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, cast

from runner.core import compiling, doctor, gpu, lanes, lesson, process, tables
from runner.core.compiling import Source
from runner.core.descriptors import targets
from runner.core.figures import grouped
from runner.core.lanes import Timeline
from runner.core.process import say
from runner.core.results import PUBLISHED, ROOT, UserError, folder_of, gpu_slug, of_version, write_atomically
from runner.core.results import recorded as recorded_in
from runner.inspect import inspection
from runner.inspect.own import Options, traced_own
from runner.measure import autotune, stamping
from runner.measure.recording import Recording, hash_of, named
from runner.measure.stamping import Stamped

Shape = tuple[int, int, int]  # M, N, K
Draw = Callable[[str, Timeline, tuple[str, Timeline] | None, Path], list[Path]]  # title, CPU device's, a GPU's, where
SCHEMA = 1  # of what gemm_timeline writes, and of what is recorded
SHAPE: Shape = (2048, 4096, 512)  # on 132 SMs two tiles of C for each block of a persistent kernel, and the seam between them
EVERY = 4  # warps: of so many, a warpgroup, the first one's stamps are kept


class StampedWarp(TypedDict):
    """A warp's stamps, in its order."""

    warp: int
    lost: int  # stamps that found no room
    stamps: list[list[int]]  # site, clocks before and after from the block's first one on, detail


class RecordedBlock(TypedDict):
    """What the first block of a lesson did on a GPU."""

    variant: str
    m: int
    n: int
    k: int
    seed: int
    kernel_hash: str
    warps_of_block: int
    sites: list[list]  # what is called there, line of kernel.cu, first argument: see runner/measure/stamping.py
    warps: list[StampedWarp]


class RecordedTimelines(TypedDict):
    schema: int
    gpu: str
    lessons: dict[str, RecordedBlock]


# On a GPU


def _source(name: str) -> tuple[Source, Stamped]:
    kernel = ROOT / folder_of(name) / "kernel.cu"
    try:
        made = stamping.stamped(kernel.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{folder_of(name)}/kernel.cu cannot be recorded: {error}.") from error
    return Source(made.text, f"{folder_of(name)}/kernel.cu", f"lesson_{name.partition('_')[0]}", name, name), made


def programs(device: doctor.Device, names: Sequence[str], folder: Path) -> dict[str, tuple[Path, Stamped]]:
    """gemm_timeline of each lesson, in `folder`; says which copies do not compile, and leaves them out."""
    wanted = {name: _source(name) for name in names}
    tools = compiling.toolchain(device, "timeline")
    compiled, objects, failed = autotune.compile_all(tools, [source for source, _ in wanted.values()], folder)
    for name, why in failed.items():
        say(f"The copy of {name} with stamps {why}.")
    linked = {}
    for source, made in zip(compiled, objects, strict=True):
        program, what = folder / f"{source.namespace}_timeline", f"the program with {source.title}'s stamps"
        done = compiling.link(tools, compiling.lessons_of([source]), [made], program, f"Linking {source.title}")
        compiling.unlinked(done, what)
        linked[source.title] = program, wanted[source.title][1]
    return linked


def block_of(name: str, found: Mapping, made: Stamped) -> RecordedBlock:
    """What is kept of what gemm_timeline wrote. A UserError where it is of another version."""
    of_version(found, "gemm_timeline", SCHEMA)
    warps: list[StampedWarp] = [
        {"warp": number, "lost": warp["wanted"] - len(warp["stamps"]), "stamps": warp["stamps"]}
        for number, warp in enumerate(found["warps"])
        if number % EVERY == 0
    ]
    return {
        **{key: found[key] for key in ("variant", "m", "n", "k", "seed")},  # type: ignore[typeddict-item]
        "kernel_hash": hash_of(name),
        "warps_of_block": len(found["warps"]),
        "sites": [[site.what, site.line, site.argument] for site in made.sites],
        "warps": warps,
    }


def on_gpu(device: doctor.Device, names: Sequence[str], shape: Shape) -> RecordedTimelines:
    """Compiles a copy of each lesson's kernel with stamps, runs it, and reads what its first block wrote down."""
    lessons: dict[str, RecordedBlock] = {}
    sizes = [f"--{key}={value}" for key, value in zip("mnk", shape, strict=True)]
    with compiling.scratch() as folder:
        for name, (program, made) in programs(device, names, folder).items():
            output = folder / f"{name}.json"
            with gpu.alone(device):
                done = process.stream([program, *sizes, "--output", output], f"Recording {name}", process.unseen)
            try:
                process.require(done, "gemm_timeline", (0,))
            except UserError as error:  # the others are worth having
                say(f"{name} was not recorded: {error}")
                continue
            block = block_of(name, json.loads(output.read_text(encoding="utf-8")), made)
            if lost := sum(warp["lost"] for warp in block["warps"]):
                say(f"{name}: {lost} stamps did not fit; choose smaller sizes.")
            lessons[name] = block
    return {"schema": SCHEMA, "gpu": device.gpus[0], "lessons": lessons}


def as_text(recorded: Mapping) -> str:
    """As JSON, a line a stamp."""
    text = json.dumps(recorded, indent=1, ensure_ascii=False)
    item = r'(?:"[^"\n]*"|-?\d+)'
    return re.sub(rf"\[\s+({item}(?:,\s+{item})*)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", text) + "\n"


# On the CPU device


def _waits(sites: Sequence[stamping.Site]) -> dict[int, str]:
    """By line of kernel.cu, at which mbarrier it waits, as it stands there."""
    return {site.line: site.argument for site in sites if site.what.startswith("mbarrier_wait")}


def on_cpu(program: Path, name: str, shape: Shape) -> Timeline:
    """Traces the first block of the lesson's launch; the others do not run. program: gemm_inspect."""
    m, n, k = shape
    request = inspection.Request(m, n, k, "1", ("--seed=1",))  # inputs' values change nothing
    inspection.refuse_if_long(request, inspection.declared_tile(name))
    found, _ = inspection.trace(program, name, request, history=1)
    if error := found["error"]:
        raise UserError(f"{name} does not run there: {error['text']}")
    history = found["history"][0]
    if history["truncated"]:
        raise UserError(f"More happens in a block of {name} at {m}×{n}×{k} than is kept; choose a smaller --k.")
    _, stamps = _source(name)
    return lanes.from_history(history, _waits(stamps.sites))


class _Lane(TypedDict):
    name: str
    begin: float
    end: float
    spans: list[list]  # kind (runner/core/lanes.py), begin, end


class TracedBlock(TypedDict):
    """What the first block of a lesson did on the CPU device, in steps."""

    m: int
    n: int
    k: int
    kernel_hash: str
    lanes: list[_Lane]


def _traced(program: Path, name: str, shape: Shape) -> TracedBlock:
    found = cast(list[_Lane], lanes.as_recorded(on_cpu(program, name, shape)))
    return {"m": shape[0], "n": shape[1], "k": shape[2], "kernel_hash": hash_of(name), "lanes": found}


# The command


def _record(shape: Shape, as_json: bool, publish: Callable[[], list[Path]]) -> int:
    """Exit status: 0 every lesson was recorded, 1 one was not."""
    device, names = doctor.choose(), stamping.eligible()
    if device.kind == "cuda":
        recording = Recording(True, "recorded")
        recorded: dict = {**on_gpu(device, names, shape)}
        recording.write(gpu_slug(device.gpus[0]), "-timeline", recorded, text=as_text)
        file, published, refused = recording.file, recording.published, recording.refused
    else:
        program = inspection.build_tracer(*targets(names)) / "gemm_inspect"
        recorded = {"schema": SCHEMA, "lessons": {name: _traced(program, name, shape) for name in names}}
        file, published, refused = ROOT / "plots" / "results" / "cpu-timeline.json", True, ""
        write_atomically(file, as_text(recorded))
    if as_json:
        print(as_text(recorded), end="")
    sys.stdout.flush()
    if refused:
        say(f"Not recorded: {refused}.")
    again = " The lessons' pictures are drawn again by python3 -m plots." if published else ""
    say(f"Written: {', '.join(named([file, *(publish() if published else [])]))}.{again}")
    return 0 if recorded["lessons"].keys() == set(names) and not refused else 1


def _of_gpu(name: str, shape: Shape) -> tuple[str, RecordedBlock] | None:
    """The GPU's name and what it did: of the GPU that is here, or else what is published of that shape. None: neither."""
    device = doctor.choose()
    if device.kind == "cuda":
        found = on_gpu(device, [name], shape)
        if name not in found["lessons"]:
            raise UserError(f"{name} could not be recorded on {found['gpu']}; GEMM_DEVICE=cpu leaves that out.")
        return found["gpu"], found["lessons"][name]
    file = ROOT / "plots" / "results" / f"{PUBLISHED}-timeline.json"
    published = recorded_in(file, ("gpu", "lessons"), "./gemm timeline --record")
    block = published["lessons"].get(name) if published else None
    if not published or not block:
        say("It has not been recorded on a GPU yet; ./gemm timeline --record does that.")
        return None
    if block["kernel_hash"] != hash_of(name):
        say(f"{published['gpu']} was recorded with an older kernel, and is left out; ./gemm timeline --record there renews it.")
        return None
    if (block["m"], block["n"], block["k"]) != shape:
        at = "×".join(str(block[key]) for key in "mnk")
        say(f"{published['gpu']} was recorded at {at}, and is left out here; without --m, --n and --k it is shown.")
        return None
    return published["gpu"], block


def _show(name: str, shape: Shape, parts: Sequence[tuple[str, Timeline]]) -> None:
    print(f"{name}, {'×'.join(map(str, shape))}: what the warps of block 0 do, and what they wait for")
    columns = ["", *(column for where, found in parts for column in (f"{where}: {found.unit}", "of all"))]
    tables.show(tables.grid(columns, lanes.rows([found for _, found in parts]), left=("",)))
    for where, found in parts:
        if idle := found.idle():
            before, between, behind = (grouped(round(part)) for part in idle)
            share = 100 * sum(idle) / found.length
            print(
                f"{where}: no products are under way in {share:.0f} % of {grouped(round(found.length))} {found.unit}: "
                f"before the first {before}, between two {between}, after the last {behind}."
            )


def _json_of(found: Timeline) -> dict:
    idle = found.idle()
    return {
        "unit": found.unit,
        "length": found.length,
        "idle": dict(zip(("before", "between", "behind"), idle, strict=True)) if idle else None,
        "lanes": lanes.as_recorded(found),
    }


def timeline(
    name: str | None, sizes: Mapping[str, str | None], record: bool, as_json: bool, publish: Callable[[], list[Path]], draw: Draw
) -> int:
    """Exit status 0; 1 where --record could not record a lesson."""
    given = {key: int(lesson.whole(f"--{key}", text, 1)) for key, text in sizes.items() if text is not None}
    m, n, k = SHAPE
    shape = (given.get("m", m), given.get("n", n), given.get("k", k))
    if record:
        if name is not None:
            raise UserError("--record records every lesson that waits at mbarriers; leave the lesson out.")
        return _record(shape, as_json, publish)
    if name is None:
        raise UserError("timeline takes one LESSON, such as ./gemm timeline 12, or --record.")
    chosen = lesson.find(name)
    if chosen not in stamping.eligible():
        known = ", ".join(stamping.eligible()) or "none"
        raise UserError(f"No warp of {chosen} waits at an mbarrier; those that have a timeline are {known}.")
    cpu = on_cpu(inspection.build_tracer(*targets([chosen])) / "gemm_inspect", chosen, shape)
    block = _of_gpu(chosen, shape)
    gpu_part = (block[0], lanes.from_stamps(block[1])) if block else None
    _tell(chosen, chosen.partition("_")[0], chosen, shape, cpu, gpu_part, as_json, draw)
    return 0


def _tell(
    name: str,
    title: str,
    stem: str,
    shape: Shape,
    cpu: Timeline,
    gpu_part: tuple[str, Timeline] | None,
    as_json: bool,
    draw: Draw,
) -> None:
    """name: the lesson, or the file; stem: of the pictures."""
    if as_json:
        on_a_gpu = {"gpu": gpu_part[0], **_json_of(gpu_part[1])} if gpu_part else None
        told = {"lesson": name, "m": shape[0], "n": shape[1], "k": shape[2], "cpu": _json_of(cpu), "gpu": on_a_gpu}
        print(json.dumps(told, ensure_ascii=False))
        return
    _show(name, shape, [("CPU device", cpu), *([gpu_part] if gpu_part else [])])
    sys.stdout.flush()
    written = draw(f"{title}: a block over time", cpu, gpu_part, ROOT / "out" / "timeline" / stem)
    say(f"Written: {', '.join(str(path.relative_to(ROOT)) for path in written)}.")


def timeline_own(file: Path, options: Options, request: inspection.Request, asked: bool, as_json: bool, draw: Draw) -> int:
    """The order of the first block of a kernel that is no lesson's, on the CPU device. Exit status 0."""
    found = traced_own(file, options, replace(request, blocks="1"), asked, history=1)
    for sentence in found.said if not as_json else ():
        print(sentence)
    if error := found.trace["error"]:
        raise UserError(f"{file} does not run there: {error['text']}", status=1)
    (history,) = found.trace["history"]
    if history["truncated"]:
        raise UserError(f"More happens in a block of {file} at {found.request.shape} than is kept; choose a smaller --k.")
    if not any(isinstance(event, Mapping) and event["e"] == "passed" for event in history["events"]):
        explored = "what its warps do is in ./gemm explore, below Time"
        raise UserError(f"No warp of {file} waits at an mbarrier, and a timeline shows such waits; {explored}.")
    shape = (found.request.m, found.request.n, found.request.k)
    _tell(file.name, file.name, f"{file.stem}_own", shape, lanes.from_history(history, None), None, as_json, draw)
    if not as_json:
        say("In cycles it is not recorded: stamps for a GPU's clock are put into lessons' kernels alone.")
    return 0
