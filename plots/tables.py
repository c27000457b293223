"""Markdown tables from results, and the markers between which they stand:

    <!-- table:progression -->
    (generated; what stands here is replaced)
    <!-- /table -->

Tables: `progression` (every lesson at 4096³), `step:02_coalesced` (a lesson, the one before it and cuBLAS at 4096³),
`sweep` (every lesson's ratio at every square size). What `./gemm inspect --record` counted of a lesson stands between
<!-- counts:02_coalesced --> and <!-- /counts -->.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from plots import data
from runner.results import UserError, lessons, write_atomically

MARKER = re.compile(r"^\s*<!--\s*(?:(?P<open>table|counts):(?P<name>\S+)|/(?P<close>table|counts))\s*-->\s*$")
FENCE = re.compile(r"^\s*(```+|~~~+)")
NONE = "–"
SHAPE = f"{data.SIZE}×{data.SIZE}×{data.SIZE}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others (numbers) to the right."""
    lines = [header, [":--"] + ["--:"] * (len(header) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _caption(results: dict, runs: Iterable[dict], what: str) -> str:
    device = results["device"]
    where = data.provenance(results)
    where += [f"{name} {device[key]}" for name, key in (("CUDA", "cuda"), ("driver", "driver")) if device.get(key)]
    cache = sorted({run["cache"] for run in runs if run.get("cache")})
    where.append("FP32, alpha = 1, beta = 0" + (f", L2 {' or '.join(cache)}" if cache else ""))
    return f"{what} {', '.join(where)}. Reproduce with `./gemm chart`."


def _progression(results: dict, order: Sequence[str]) -> list[str]:
    runs = data.at_size(results, order)
    rows = [[name, data.rate(run["tflops"]), data.percent(run["ratio"]), data.ratio(run["ratio"])] for name, run in runs.items()]
    rows.append(["cuBLAS", data.rate(data.tflops(data.SIZE, data.baseline_ms(runs.values()))), data.percent(1), data.ratio(1)])
    return [
        *_table(["step", "TFLOP/s", "% of cuBLAS", "ratio to cuBLAS"], rows),
        "",
        _caption(results, runs.values(), f"{SHAPE}. Ratio: cuBLAS's time over the step's, median of interleaved rounds."),
    ]


def _milliseconds(value: float) -> str:
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 10 else f"{value:.3f}"


def _or_none(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _step(results: dict, order: Sequence[str], lesson: str) -> list[str]:
    runs = data.at_size(results, order)
    if lesson not in runs:
        raise UserError(f"These results hold no timed run of {lesson} at {SHAPE}; {data.HOW_TO_MEASURE}.")
    place = list(order).index(lesson)
    rows = []
    for name in order[max(place - 1, 0) : place + 1]:
        if run := runs.get(name):
            rows.append([
                f"**{name}**" if name == lesson else name,
                _milliseconds(run["ms_median"]),
                f"{_milliseconds(run['ms_p10'])} … {_milliseconds(run['ms_p90'])}",
                data.rate(run["tflops"]),
                data.ratio(run["ratio"]),
                _or_none(run.get("sm_clock_mhz")),
                _or_none(run.get("power_w")),
            ])
    cublas = data.baseline_ms(runs.values())
    rows.append(["cuBLAS", _milliseconds(cublas), NONE, data.rate(data.tflops(data.SIZE, cublas)), data.ratio(1), NONE, NONE])
    return [
        *_table(["step", "ms", "p10 … p90 (ms)", "TFLOP/s", "ratio to cuBLAS", "SM clock (MHz)", "power (W)"], rows),
        "",
        _caption(results, [runs[lesson]], f"{SHAPE}. Times: median of {runs[lesson].get('rounds', 'all')} rounds."),
    ]


def _sweep(results: dict, order: Sequence[str]) -> list[str]:
    by_size = {size: data.square(results, size) for size in data.square_sizes(results)}
    names = [name for name in order if any(name in runs for runs in by_size.values())]
    if not names:
        raise UserError(f"These results hold no timed run at a square size; {data.HOW_TO_MEASURE}.")
    rows = []
    for size, runs in by_size.items():
        cublas = data.rate(data.tflops(size, data.baseline_ms(runs.values())))
        rows.append([str(size), *(data.ratio(runs[n]["ratio"]) if n in runs else NONE for n in names), cublas])
    return [
        *_table(["M = N = K", *names, "cuBLAS (TFLOP/s)"], rows),
        "",
        _caption(results, data.timed(results), "Ratio to cuBLAS in the same run; last column: cuBLAS's own rate."),
    ]


def render(name: str, results: dict, order: Sequence[str] | None = None) -> str:
    """The Markdown of table `name`, lessons in `order` (the course's by default), without markers, ending in a newline.

    Throws UserError for an unknown name or results that lack what the table shows.
    """
    order = lessons() if order is None else order
    kind, _, lesson = name.partition(":")
    if name == "progression":
        lines = _progression(results, order)
    elif name == "sweep":
        lines = _sweep(results, order)
    elif kind == "step" and lesson in order:
        lines = _step(results, order, lesson)
    else:
        raise UserError(f"There is no table {name!r}; there are progression, sweep and step:<lesson>, such as step:{order[0]}.")
    return "\n".join(lines) + "\n"


def _figure(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _grouped(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def render_counts(lesson: str, counts: Mapping) -> str:
    """The Markdown of a lesson's counts, without markers, ending in a newline. Throws UserError for a lesson without any."""
    found = counts["lessons"].get(lesson)
    if found is None:
        known = ", ".join(counts["lessons"]) or "none"
        raise UserError(f"There are no counts of {lesson!r}; there are {known}; count with ./gemm inspect --record.")
    rows, last = [], None
    for line in found["lines"]:
        unit = "sectors" if line["space"] == "global" else "wavefronts"
        each, ideal = (_figure(line[key] / line["requests"]) for key in (unit, f"ideal_{unit}"))
        code = line["code"].partition("//")[0].strip().replace("|", r"\|")
        place = (line["file"], line["line"])
        where = str(line["line"]) if line["file"] == f"{lesson}/kernel.cu" else f"{line['file']}:{line['line']}"
        here = [where, f"`{code}`" if code else NONE] if place != last else ["", ""]
        guess = "≈ " if line["diverged"] else ""
        each = f"{guess}{each} {unit.removesuffix('s') if each == '1' else unit}"
        access = f"{line['array']}, {line['op']}" + (f" of {line['width']} B" if line["width"] != 4 else "")
        rows.append([*here, access, guess + _grouped(line["requests"]), each, ideal])
        last = place
    header = ["| line | code | access | requests | per request | ideal |", "| --: | :-- | :-- | --: | --: | --: |"]
    total = found["totals"]
    shape = f"{counts['m']}×{counts['n']}×{counts['k']}"
    shared = f" Shared memory: {_figure(total['shared_bytes_per_flop'])} B/FLOP." if total["shared_bytes"] else ""
    diverged = any(line["diverged"] for line in found["lines"])
    guessed = " ≈: threads diverge; they share requests as their ways join in g++'s code." if diverged else ""
    lines = [
        *header,
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        f"{shape}, counted on the CPU device; ideal: the fewest that carry the bytes. "
        f"Global memory: {_grouped(total['global_bytes'])} bytes in whole sectors, "
        f"{_figure(total['flop_per_byte'])} FLOP/B.{shared} Barriers a thread: {_figure(found['barriers_per_thread'])}.{guessed}",
    ]
    return "\n".join(lines) + "\n"


def markdown_files(root: Path, order: Sequence[str]) -> list[Path]:
    """The Markdown files that may hold tables: those of the root, of plots/ and of the lessons' folders."""
    return [path for folder in (".", "plots", *order) for path in sorted((root / folder).glob("*.md"))]


def blocks(path: Path, kind: str = "table") -> list[tuple[str, int, int]]:
    """The tables (or kind `counts`) of a Markdown file: name, index of its opening line, index of its closing line (from 0).
    Markers inside fenced code are text. Throws UserError with file and line for a marker without its partner."""
    found: list[tuple[str, int, int]] = []
    name, start, fence = "", -1, ""
    lines = path.read_text(encoding="utf-8").splitlines()
    for index, line in enumerate(lines):
        if mark := FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        if fence:
            continue
        marker = MARKER.match(line)
        if marker and marker["open"] == kind:
            if start >= 0:
                break
            name, start = marker["name"], index
        elif marker and marker["close"] == kind:
            if start < 0:
                raise UserError(f"{path}:{index + 1} closes a table that no <!-- {kind}:NAME --> opened; add that above.")
            found.append((name, start, index))
            start = -1
    if start >= 0:
        raise UserError(f"{path}:{start + 1} opens {kind} {name!r}, but no <!-- /{kind} --> follows; add that line below it.")
    return found


def update_markdown(root: Path, results: dict) -> list[Path]:
    """Replaces what stands between the markers in all Markdown files below `root` (root, plots/, lesson folders).

    Nothing is written unless every table of every file could be rendered. Returns the files that changed. Throws
    UserError with file and line for unknown tables, missing markers and results that lack what a table shows.
    """
    order = lessons(root)
    return _update(root, order, "table", lambda name: render(name, results, order))


def update_counts(root: Path, counts: Mapping) -> list[Path]:
    """The same for the tables of counts, from what `./gemm inspect --record` wrote."""
    return _update(root, lessons(root), "counts", lambda name: render_counts(name, counts))


def _update(root: Path, order: Sequence[str], kind: str, text_of: Callable[[str], str]) -> list[Path]:
    new: dict[Path, str] = {}
    for path in markdown_files(root, order):
        before = path.read_text(encoding="utf-8")
        lines = before.splitlines()
        found = blocks(path, kind)
        for name, start, end in reversed(found):
            try:
                lines[start + 1 : end] = text_of(name).splitlines()
            except UserError as error:
                raise UserError(f"{path}:{start + 1}: {error}") from error
        after = "\n".join(lines) + "\n"
        if found and after != before:
            new[path] = after
    for path, text in new.items():
        write_atomically(path, text)
    return list(new)
