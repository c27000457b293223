"""`./gemm inspect`: what each line of a kernel does to memory, counted on the CPU device by build/cpu's gemm_inspect."""

from __future__ import annotations

import json
import math
import re
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from rich.table import Table

from runner.core import doctor, lesson, process, tables
from runner.core.build import build
from runner.core.descriptors import Descriptor, described, known, targets
from runner.core.figures import grouped, rate, size
from runner.core.process import say, say_all
from runner.core.results import ROOT, UserError, lessons, of_version, parsed, write_atomically
from runner.inspect.trace_types import Figure, Line, Trace, Wgmma

SCHEMA = 1
SIZE, RECORDED = 128, 256  # M = N = K: by default, of the published counts
COUNTS = "plots/results/counts.json"
LONGEST, LARGEST_K = 60, 1_000_000  # seconds, steps along K: what is traced without --blocks, and at all
ACCESSES_A_SECOND, ELEMENTS_A_SECOND = 30e6, 30e6  # traced accesses, and elements of A, B and C made ready
_CPU = doctor.Device("cpu", None, (), "kernels are traced on the CPU")  # whatever GEMM_DEVICE says
_SAMPLE = 4  # what --blocks is offered
_KEYS = {"lesson", "kernel", "m", "n", "k", "lines", "wgmma", "findings", "totals"}
_RECORDED_LINE = ("file", "line", "array", "space", "op", "width", "requests", "bytes", "sectors", "ideal_sectors",
                  "wavefronts", "ideal_wavefronts", "diverged")  # fmt: skip
_RECORDED_WGMMA = ("file", "line", "m", "n", "k", "count", "flop", "shared_bytes")
_A_REQUEST: tuple[Figure, ...] = ("sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts")
_BOXES = "A box of the copy engine (TMA) is one request; its bytes are those that are in the matrix."
_UNKNOWN = "How many wavefronts wgmma's reads take is not known: wavefronts are counted only for threads' accesses."
_APPROXIMATELY = (
    "≈ The lanes of a warp diverge on this line; nvcc may join them elsewhere than g++, which changes the number of requests."
)


# Draws what is told into a folder.
Draw = Callable[[Trace, Sequence[Line], Path], list[Path]] | None


@dataclass(frozen=True)
class Request:
    """What gemm_inspect is asked for. `options` go to it as they are: --alpha=…, --beta=…, --seed=…, --like=…."""

    m: int = SIZE
    n: int = SIZE
    k: int = SIZE
    blocks: str = "all"
    options: tuple[str, ...] = ()

    @property
    def shape(self) -> str:
        return f"{self.m}×{self.n}×{self.k}"


# Figures


def a_request(line: Line, key: Figure) -> float | None:
    """Sectors (key: sectors or ideal_sectors) or wavefronts a request; None where the line's memory has none."""
    fits = key.endswith("sectors") == (line["space"] == "global")
    return line[key] / line["requests"] if fits and line["requests"] else None


def duration(seconds: float) -> str:
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{max(seconds, 1):.0f} s"


# Running


def estimate(request: Request, tile: tuple[int, ...]) -> float:
    """Seconds that tracing takes, roughly: two accesses a multiply-add, which no lesson exceeds by much."""
    rows, cols = min(tile[0], request.m), min(tile[1], request.n)
    blocks = math.ceil(request.m / tile[0]) * math.ceil(request.n / tile[1])
    elements = request.m * request.n
    if request.blocks != "all":
        elements = min(elements, min(int(request.blocks), blocks) * rows * cols)
    ready = request.m * request.k + request.k * request.n + request.m * request.n
    return 2 * elements * request.k / ACCESSES_A_SECOND + ready / ELEMENTS_A_SECOND


def declared_tile(name: str) -> tuple[int, int, int]:
    """BM, BN, BK of a lesson's descriptor."""
    return described(build(_CPU, doctor.provide(_CPU), targets([name])), name).tile


def refuse_if_long(request: Request, tile: tuple[int, ...]) -> None:
    """A UserError where tracing a lesson of that tile would take over LONGEST seconds or K is over LARGEST_K."""

    def seconds(blocks: str) -> float:
        return estimate(Request(request.m, request.n, request.k, blocks), tile)

    whole, sample = seconds(request.blocks), seconds(str(_SAMPLE))
    if whole <= LONGEST and request.k <= LARGEST_K:
        return
    what = f"Tracing {request.shape} would take about {duration(whole)}"
    if request.k > LARGEST_K:
        raise UserError(f"{what}, and --k may be {LARGEST_K} at most; choose a smaller --k: the counts grow with it.")
    if sample <= LONGEST and sample < whole:
        raise UserError(f"{what}; add --blocks {_SAMPLE} (about {duration(sample)}, the same figures per request).")
    raise UserError(f"{what}; choose smaller sizes: the figures per request hardly depend on them.")


def tracer_of(name: str) -> Path:
    """Builds the tracer of this lesson alone, which takes a third of the time of gemm_inspect with all of them; the program."""
    return build(_CPU, doctor.provide(_CPU), [f"{name}_inspect"]) / "bin" / f"{name}_inspect"


def earlier_than(name: str, descriptors: Mapping[str, Descriptor]) -> str | None:
    """The lesson to compare with: the one before it in its ladder, or in the course where it is its ladder's first. None for the
    first of all. `descriptors`: of the lessons before it and its own, in course order."""
    names = list(descriptors)
    before = names[: names.index(name)]
    ladder = [one for one in before if descriptors[one].ladder == descriptors[name].ladder]
    chosen = ladder or before
    return chosen[-1] if chosen else None


def build_tracer(*targets: str) -> Path:
    """Builds gemm_inspect (and `targets`) for the CPU device, whatever GEMM_DEVICE says; the folder of the programs."""
    return build(_CPU, doctor.provide(_CPU), ["gemm_inspect", *targets]) / "bin"


def check(trace: object) -> Trace:
    """`trace` if it is an object of this version's gemm_inspect; a UserError otherwise."""
    if missing := _KEYS - of_version(trace, "gemm_inspect", SCHEMA).keys():
        raise UserError(f"gemm_inspect wrote no {', '.join(sorted(missing))}; build it again.")
    return cast(Trace, trace)


@dataclass(frozen=True)
class Own:
    """A learner's kernel instead of a lesson's: the only one of the program that traces it."""

    title: str  # "exercise 05"
    file: str
    patience: int = 5  # seconds that one of its threads may run without meeting another
    silence: float = 60  # seconds without progress, after which the program is ended


def _command(program: Path, name: str, request: Request, history: int, own: Own | None) -> list[str | Path]:
    asked = [f"--{key}={getattr(request, key)}" for key in ("m", "n", "k", "blocks")]
    chosen = [f"--patience={own.patience}"] if own else ["--lesson", name]
    return [program, *chosen, *asked, *request.options, *([f"--history={history}"] if history else [])]


def _run(command: Sequence[str | Path], title: str, own: Own | None) -> process.Finished:
    if own is None:
        return process.stream(command, title, process.PROGRESS)
    heard, ended = time.monotonic(), False

    def parse(line: str) -> tuple[int, int, str] | None:
        nonlocal heard
        heard = time.monotonic()
        return process.PROGRESS(line)

    def hung() -> bool:
        nonlocal ended
        ended = time.monotonic() - heard > own.silence
        return ended

    done = process.stream(command, title, parse, hung=hung)
    if ended:
        raise UserError(f"launch() of {own.title} did not return within {own.silence:.0f} s: probably an endless loop in it.", 1)
    return done


def trace_text(program: Path, name: str, request: Request, history: int = 0, own: Own | None = None) -> tuple[str, int]:
    """Runs gemm_inspect: the JSON that it wrote, and its exit status, 0 or 1. A UserError where it could not run.

    history: of how many blocks it keeps what they do, in order.
    """
    whose = f"{own.file} crashes" if own else f"{name} crashes there, or that is a bug in common/cpu/"
    silent = f"{own.file} ended the program" if own else "build it again"
    with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
        output = Path(folder) / "trace.json"
        done = _run([*_command(program, name, request, history, own), "--output", output], f"Tracing {name}", own)
        if own and process.crash(done.status) == "SIGFPE":  # a kernel's is a finding
            raise UserError(f"{own.file} divides an integer by zero in code of the host, before or between its launches.", 1)
        process.require(done, "gemm_inspect", (0, 1), whose)
        say_all(done.lines)
        try:
            return output.read_text(encoding="utf-8"), done.status
        except OSError as error:
            raise UserError(f"gemm_inspect ended with status {done.status} and wrote nothing; {silent}.") from error


def trace(program: Path, name: str, request: Request, history: int = 0, own: Own | None = None) -> tuple[Trace, int]:
    """As trace_text, but read and checked."""
    text, status = trace_text(program, name, request, history, own)
    return check(parsed(text, "gemm_inspect", SCHEMA)), status


# Telling


def code_of(file: str, line: int) -> str:
    """The source of a traced line, or nothing where the file does not have it."""
    try:
        source = (ROOT / file).read_text(encoding="utf-8").splitlines()
        return source[line - 1].strip()
    except (OSError, IndexError):
        return ""


def choose(found: Trace, line: int | None, array: str | None) -> list[Line]:
    """The traced lines that the filters let through; a UserError, which names those that exist, where there are none."""
    everything = found["lines"]
    name = found["lesson"]
    multiplied = {entry["line"] for entry in found["wgmma"]}
    lines = sorted({entry["line"] for entry in everything} | multiplied)
    arrays = sorted({entry["array"] for entry in everything})
    asked: tuple[tuple[str, Sequence[object], object], ...] = (("line", lines, line), ("array", arrays, array))
    for what, traced, wanted in asked:
        if wanted is not None and everything and wanted not in traced:
            there = ", ".join(map(str, traced))
            verb = "accesses no memory on line" if what == "line" else "accesses no array"
            raise UserError(f"{name} {verb} {wanted if what == 'line' else repr(wanted)}; there are {what}s {there}.")
    chosen = [e for e in everything if line in (None, e["line"]) and array in (None, e["array"])]
    if everything and not chosen and (array or line not in multiplied):
        there = ", ".join(sorted({entry["array"] for entry in everything if entry["line"] == line}))
        raise UserError(f"Line {line} of {name} does not access {array}; it accesses {there}.")
    return chosen


def problems(found: Trace) -> list[str]:
    """What is wrong with the kernel, a line each."""
    problems = []
    for finding in found["findings"]:
        often = f" (×{grouped(finding['count'])})" if finding["count"] > 1 else ""
        problems.append(f"{finding['id'].replace('_', ' ')}: {finding['text']}{often}")
    if found["error"]:
        problems.append(f"error: {found['error']['text']}")
    verdict = found["verdict"]
    if verdict and not verdict["passed"]:
        problems.append(f"wrong result: {verdict['text']}")
    return problems


def table(lines: Sequence[Line]) -> Table:
    """A row for each line, array, width, and load or store."""
    rows, last = [], None
    for line in lines:
        guess = "≈ " if line["diverged"] else ""
        figures = [rate(a_request(line, key)) for key in _A_REQUEST]
        figures = [figure if figure == "–" else guess + figure for figure in figures]
        place = (line["file"], line["line"])
        width = f"{line['width']} B" if line["width"] else "box"
        rows.append([str(line["line"]) if place != last else "", line["array"], line["op"], width,
                     guess + grouped(line["requests"]), *figures, size(line["bytes"])])  # fmt: skip
        last = place
    counted = ("requests", "sectors/request", "ideal", "wavefronts/request", "ideal", "bytes")
    return tables.grid(("line", "array", "access", "width", *counted), rows, left=("array", "access"))


def form(entry: Wgmma) -> str:
    """`m64n128k16`, as the instruction's name has it."""
    return f"m{entry['m']}n{entry['n']}k{entry['k']}"


def wgmma_table(lines: Sequence[Wgmma]) -> Table:
    """A row for each line and form."""
    rows = [
        [str(line["line"]), form(line), "shared memory" if line["a"] else "registers", grouped(line["count"]),
         grouped(int(line["flop"])), size(line["shared_bytes"]), "unknown"]
        for line in lines
    ]  # fmt: skip
    columns = ("line", "wgmma", "A from", "count", "FLOP", "shared memory read", "wavefronts")
    return tables.grid(columns, rows, left=("wgmma", "A from"))


def _totals(found: Trace) -> str:
    total = found["totals"]
    part = "" if found["traced_blocks"] >= found["blocks"] else " (traced blocks)"
    text = (
        f"Global memory{part}: {size(total['global_load_bytes'])} loaded, {size(total['global_store_bytes'])} stored, "
        f"in whole sectors; {rate(total['flop_per_byte'])} FLOP/B. "
    )
    if total["shared_bytes"]:
        text += f"Shared memory: {size(total['shared_bytes'])}, {rate(total['shared_bytes_per_flop'])} B/FLOP. "
    if found["wgmma"]:
        text += f"wgmma reads {size(sum(entry['shared_bytes'] for entry in found['wgmma']))} of shared memory. "
    return text + f"Barriers per thread: {rate(found['barriers_per_thread'])}."


def _summed(found: Trace) -> dict[tuple[str, str], tuple[int, int]]:
    """Requests and sectors to global memory, by array and op."""
    sums: dict[tuple[str, str], tuple[int, int]] = {}
    for line in found["lines"]:
        if line["space"] == "global":
            requests, sectors = sums.get((line["array"], line["op"]), (0, 0))
            sums[line["array"], line["op"]] = requests + line["requests"], sectors + line["sectors"]
    return sums


def compare(before: Trace, now: Trace) -> str:
    """What changed since the lesson before, in one line."""
    first, second = _summed(before), _summed(now)
    parts: list[str] = []
    for key in sorted(first.keys() & second.keys()):
        was, is_ = (rate(sectors / requests) for requests, sectors in (first[key], second[key]) if requests)
        if was != is_:
            parts.append(f"{key[0]}'s {key[1]}s {was} → {is_}" + ("" if parts else " sectors per request"))
    totals = before["totals"], now["totals"]
    requests = [grouped(sum(count for count, _ in sums.values())) for sums in (first, second)]
    for what, (was, is_) in (
        ("global requests", requests),
        ("global bytes", [size(total["global_bytes"]) for total in totals]),
        ("shared bytes", [size(total["shared_bytes"]) for total in totals]),
        ("wavefronts", [grouped(sum(line["wavefronts"] for line in found["lines"])) for found in (before, now)]),
        ("wgmma", [grouped(sum(entry["count"] for entry in found["wgmma"])) for found in (before, now)]),
        ("FLOP/B", [rate(total["flop_per_byte"]) for total in totals]),
        ("barriers per thread", [rate(found["barriers_per_thread"]) for found in (before, now)]),
    ):
        if was != is_:
            parts.append(f"{what} {was} → {is_}")
    return f"Against {before['lesson']}: {'; '.join(parts) or 'the same counts'}."


def _print(found: Trace, lines: Sequence[Line], wgmma: Sequence[Wgmma], before: Trace | None) -> None:
    if not found["blocks"]:
        print(f"{found['lesson']} launches no kernel at {found['m']}×{found['n']}×{found['k']}.", flush=True)
        return
    part = "all traced" if found["traced_blocks"] >= found["blocks"] else f"{grouped(found['traced_blocks'])} of them traced"
    print(
        f"{found['lesson']}: {found['kernel']} at {found['m']}×{found['n']}×{found['k']}, "
        f"{grouped(found['blocks'])} blocks of {found['threads_per_block']} threads, {part}"
    )
    sys.stdout.flush()
    if lines:
        tables.show(table(lines))
    if wgmma:
        tables.show(wgmma_table(wgmma))
    for file, number in sorted({(line["file"], line["line"]) for line in (*lines, *wgmma)}):
        print(f"{file}:{number}  {code_of(file, number)}".rstrip())
    for holds, note in (
        (any(line["diverged"] for line in lines), _APPROXIMATELY),
        (any(not line["width"] for line in lines), _BOXES),
        (wgmma, _UNKNOWN),
        (not lines and not wgmma, "No access to memory was traced."),
    ):
        if holds:
            print(note)
    print(_totals(found))
    if before:
        print(compare(before, found))
    sys.stdout.flush()


# The command


def parse(
    sizes: Mapping[str, str | None],
    scalars: Mapping[str, str | None],
    blocks: str | None,
    like: str | None,
    dtype: str | None = None,
    variant: str | None = None,
) -> Request:
    """Options as given -> Request, each checked. `sizes`: m, n, k, lda, ldb, ldc, batch, groups, seed, schedule."""
    given = {key: text for key, text in sizes.items() if text is not None}
    groups = given.pop("groups", None)
    checked = {key: lesson.whole(f"--{key}", text) for key, text in given.items()}
    options = [f"--{key}={checked.pop(key)}" for key in ("seed", "schedule", "lda", "ldb", "ldc", "batch") if key in checked]
    if groups is not None:
        options.append(f"--groups={lesson.groups(groups)}")
        if {"m", "n", "k"} & checked.keys():
            raise UserError("--groups gives the sizes of each problem; leave --m, --n and --k out.")
        largest = map(max, zip(*(map(int, group.split("x")) for group in groups.split(",")), strict=True))
        checked |= {key: str(most) for key, most in zip("mnk", largest, strict=True)}
    options += [f"--{key}={lesson.number('--' + key, text)}" for key, text in scalars.items() if text is not None]
    options += lesson.variant_options(variant, dtype)
    if blocks is not None and blocks != "all" and not re.fullmatch(r"0*[1-9][0-9]{0,17}", blocks):
        raise UserError(f"--blocks must be all or a whole number from 1, not {blocks!r}.")
    options += [f"--like={like}"] if like is not None else []
    numbers = {key: int(value) for key, value in checked.items() if value is not None}
    return Request(**numbers, blocks="all" if blocks is None or blocks == "all" else str(int(blocks)), options=tuple(options))


def inspect(
    name: str,
    request: Request,
    line: str | None,
    array: str | None,
    as_json: bool,
    file: Path | None,
    plot: Draw,
) -> int:
    """Exit status: 0 the kernel is right and nothing was found, 1 otherwise."""
    found_name = lesson.find(name)
    number = None if line is None else int(lesson.whole("--line", line, 1))
    refuse_if_long(request, declared_tile(found_name))
    program = tracer_of(found_name)
    name_before = earlier_than(found_name, known())
    comparing = replace(request, options=(*request.options, f"--before={name_before}")) if name_before else request
    if as_json:
        text, status = trace_text(program, found_name, comparing)
        give(text, file)
        return status
    found, status = trace(program, found_name, comparing)
    before = None
    if earlier := found.get("before"):
        try:
            refuse_if_long(request, declared_tile(earlier))
            before, _ = trace(tracer_of(earlier), earlier, request)
        except UserError as error:
            say(f"No comparison with {earlier}: {error}")
    for problem in problems(found):
        print(problem)
    tell(found, number, array, before, plot)
    return status


def give(text: str, file: Path | None) -> None:
    """JSON, to a file or to stdout."""
    if file:
        write_atomically(file, text)
        say(f"Written: {file}.")
    else:
        sys.stdout.write(text)


def tell(found: Trace, number: int | None, array: str | None, before: Trace | None, plot: Draw) -> None:
    """What was counted, of that line or array; drawn, where that is asked for."""
    chosen = choose(found, number, array)
    multiplied = [entry for entry in found["wgmma"] if array is None and number in (None, entry["line"])]
    _print(found, chosen, multiplied, before)
    if plot:
        say(f"Drawing {len(chosen) + 1} pictures …")
        files = plot(found, chosen, ROOT / "out" / "inspect")
        stems = list(dict.fromkeys(str(path.relative_to(ROOT).with_suffix("")) for path in files))
        print(f"Written, as .png and .svg: {', '.join(stems)}." if stems else "Nothing to draw.")


# What is published


def recorded(found: Trace) -> dict:
    """What counts.json keeps of a trace: nothing that changes from run to run."""
    order = sorted(found["lines"], key=lambda e: (e["file"], e["line"], e["array"], e["op"], e["width"]))
    lines = [
        {**{key: value for key, value in entry.items() if key in _RECORDED_LINE}, "code": code_of(entry["file"], entry["line"])}
        for entry in order
    ]
    multiplied = [
        {**{key: value for key, value in entry.items() if key in _RECORDED_WGMMA}, "code": code_of(entry["file"], entry["line"])}
        for entry in sorted(found["wgmma"], key=lambda e: (e["file"], e["line"], e["n"]))
    ]
    return {
        "kernel": found["kernel"],
        "blocks": found["blocks"],
        "threads_per_block": found["threads_per_block"],
        "barriers_per_thread": found["barriers_per_thread"],
        "lines": lines,
        **({"wgmma": multiplied} if multiplied else {}),
        "totals": found["totals"],
    }


def count(program: Path, names: Sequence[str], seen: Callable[[Trace], object] = lambda found: None) -> dict:
    """The counts that are published, of these lessons, counted now. A UserError where a lesson is wrong.

    `seen` is called with each lesson's trace.
    """
    counts: dict[str, dict] = {}
    for name in names:
        found, status = trace(program, name, Request(RECORDED, RECORDED, RECORDED))
        if status:
            raise UserError(f"{name} is wrong ({'; '.join(problems(found))}); ./gemm inspect {name} says more.", status=1)
        counts[name] = recorded(found)
        seen(found)
    return {"schema": SCHEMA, "m": RECORDED, "n": RECORDED, "k": RECORDED, "alpha": 1, "beta": 0, "lessons": counts}


def as_text(counts: Mapping) -> str:
    """counts.json's text: a line for each traced line, so that a change shows as one."""
    text = json.dumps(counts, indent=1, sort_keys=True, ensure_ascii=False)
    return re.sub(r"\{\n\s+([^{}]*?)\n\s+\}", lambda m: "{" + re.sub(r"\n\s+", " ", m[1]) + "}", text) + "\n"


def record(draw: Callable[[Trace], list[Path]], update_tables: Callable[[], list[Path]]) -> int:
    """Writes counts.json, the tables of the READMEs from it, and the pictures of accesses that the READMEs show."""
    pictures: list[Path] = []
    counts = count(build_tracer() / "gemm_inspect", lessons(), lambda found: pictures.extend(draw(found)))
    write_atomically(ROOT / COUNTS, as_text(counts))
    files = [*update_tables(), *pictures]
    print(f"Written: {', '.join([COUNTS, *(str(path.relative_to(ROOT)) for path in files)])}.")
    return 0
