"""Markdown tables from results, and the markers between which they stand:

    <!-- table:progression -->
    (generated; what stands here is replaced)
    <!-- /table -->

Tables: `progression` (every FP32 lesson at 4096³), `step:02_coalesced` (a lesson, the one before it and cuBLAS at 4096³),
`step_full:02_coalesced` (the same with spread, clock rate and power, for EVIDENCE.md; a lesson without one has these columns
in `step`), `step:14b_mma:09f_persistent` (a lesson beside that one instead of the one before it), `sizes:15b_stream_k:14a_fma`
(the times of two lessons at every square size), `sweep` (every FP32 lesson's
ratio at every square size, sizes side by side); `tensorcore` and `tensorcore_sweep` are the same of BF16; `variants` (the
lessons that were timed with several variants at 4096³, below their chart); `roofline` (every FP32 lesson's intensities and the
ceiling that is nearest); `gpus` (every lesson at 4096³ on the two GPUs of which results are recorded). Lessons are rows.
What says how fast comes first, so that a phone shows it without scrolling.
What `./gemm inspect --record` counted of a lesson stands between <!-- counts:02_coalesced --> and <!-- /counts -->, what
`./gemm profile --record` read of a GPU's counters between <!-- profile:02_coalesced --> and <!-- /profile -->, and what
`./gemm autotune --record` measured of it with other constants between <!-- tuned:06b_warp_tile --> and <!-- /tuned -->, and the
same of some at several sizes between <!-- shapes:13d_ping_pong --> and <!-- /shapes -->. What `./gemm timeline --record`
wrote of a block's warps stands between <!-- timeline:12_warp_specialized --> and <!-- /timeline -->. Of a lesson that was not
recorded yet, each says so. What `./gemm profile --energy --record` measured of lessons in turns stands between
<!-- energy:13c_ping_pong --> and <!-- /energy -->. <!-- stalls:09b_mma_sync --> has all of what the profile says of a warp's
cycles: what it waits for while it multiplies with 64 HMMAs, in 09 a k-tile of 32 steps. Some of the rows of these are shown by
their names (excerpt.py). What is between
<!-- outline:lessons --> and <!-- /outline --> comes from the lessons (outline.py). What `./gemm atlas --record` measured of
a type stands between <!-- atlas:fp32 --> and <!-- /atlas -->, with its picture;
<!-- atlas:fp32:15d_choose:16x4096x4096,9840x32x16096 --> has that lesson's times of those shapes alone. What `./gemm atlas
--ways --record` measured of a type stands between <!-- ways:fp32 --> and <!-- /ways -->.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from plots import atlas, data, excerpt, outline, roofline, variants
from runner.core import atlas as recorded_atlas
from runner.core import lanes
from runner.core import ways as recorded_ways
from runner.core.atlas import RecordedAtlas
from runner.core.figures import grouped, rate
from runner.core.reports import Results, Run
from runner.core.results import ROOT, UserError, folder_of, key_of, lessons, write_atomically
from runner.core.ways import RecordedWays

_KINDS = "table|counts|profile|stalls|tuned|shapes|energy|timeline|outline|atlas|ways"
MARKER = re.compile(rf"^\s*<!--\s*(?:(?P<open>{_KINDS}):(?P<name>\S|\S.*?\S)|/(?P<close>{_KINDS}))\s*-->\s*$")
FENCE = re.compile(r"^\s*(```+|~~~+)")
NONE = "–"
NARROW = 5  # columns of numbers beside the lessons' names that a phone shows without much scrolling
Render = Callable[[str], str]  # a table's name -> its Markdown
SHAPE = f"{data.SIZE}×{data.SIZE}×{data.SIZE}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others (numbers) to the right."""
    lines = [header, [":--"] + ["--:"] * (len(header) - 1), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _not_recorded(lesson: str, known: Iterable[str], command: str, course: Iterable[str] | None = None) -> str:
    """What stands instead of a table of a lesson that is not among the recorded ones, `known`, yet. Throws UserError where the
    course has no such lesson."""
    if lesson not in (lessons() if course is None else course):
        raise UserError(f"There is no lesson {lesson!r}; recorded are {', '.join(known) or 'none'}.")
    return f"*{lesson} is not recorded yet; `./gemm {command} --record` records it.*\n"


def _pieces(columns: Sequence[list[str]], most: int) -> list[Sequence[list[str]]]:
    """As few pieces as can be, of at most `most` columns, the first ones the longer ones by one."""
    count = -(-len(columns) // most)
    size, more = divmod(len(columns), count)
    starts = [place * size + min(place, more) for place in range(count + 1)]
    return [columns[start:end] for start, end in zip(starts, starts[1:], strict=False)]


def _caption(results: Mapping, runs: Iterable[Run | Mapping], what: str, command: str = "chart", variant: str = "fp32") -> str:
    device = results["device"]
    where = data.provenance(results)
    where += [f"{name} {device[key]}" for name, key in (("CUDA", "cuda"), ("driver", "driver")) if device.get(key)]
    cache = sorted({run["cache"] for run in runs if run.get("cache")})
    where.append(f"{data.label(variant)}, alpha = 1, beta = 0" + (f", L2 {' or '.join(cache)}" if cache else ""))
    return f"{what} {', '.join(where)}. Reproduce with `./gemm {command}`."


def _progression(results: Results, order: Sequence[str], variant: str) -> list[str]:
    runs = data.at_size(results, order, variant)
    rows = [[name, data.rate(run["tflops"]), data.percent(run["ratio"]), data.ratio(run["ratio"])] for name, run in runs.items()]
    rows.append(["cuBLAS", data.rate(data.tflops(data.SIZE, data.baseline_ms(runs.values()))), data.percent(1), data.ratio(1)])
    return [
        *_table(["step", "TFLOP/s", "% of cuBLAS", "ratio to cuBLAS"], rows),
        "",
        _caption(
            results,
            runs.values(),
            f"{SHAPE}. Ratio: cuBLAS's time divided by the step's, median of interleaved rounds.",
            variant=variant,
        ),
    ]


def _milliseconds(value: float) -> str:
    return f"{value:.1f}" if value >= 100 else f"{value:.2f}" if value >= 10 else f"{value:.3f}"


def _microseconds(ms: float) -> str:
    return f"{1000 * ms:.0f}" if ms >= 0.1 else f"{1000 * ms:.1f}"


def _or_none(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _step(results: Results, order: Sequence[str], lesson: str, other: str, full: bool) -> list[str]:
    """other: what the lesson is compared with; empty: the one before it."""
    ladder = next((ladder for ladder in data.ladders(results, order) if lesson in ladder.lessons), None)
    variant = ladder.variant if ladder else "fp32"
    runs = data.at_size(results, [*ladder.lessons, other] if ladder else order, variant)
    if lesson not in runs:
        return [_not_recorded(lesson, runs, "chart", order).rstrip()]
    rows = []
    for name in [other, lesson] if other else data.beside(results, order, lesson):
        if run := runs.get(name):
            rows.append(
                [
                    f"**{name}**" if name == lesson else name,
                    _milliseconds(run["ms_median"]),
                    data.rate(run["tflops"]),
                    data.ratio(run["ratio"]),
                    f"{_milliseconds(run['ms_p10'])} … {_milliseconds(run['ms_p90'])}",
                    _or_none(run.get("sm_clock_mhz")),
                    _or_none(run.get("power_w")),
                ]
            )
    cublas = data.baseline_ms(runs.values())
    rows.append(["cuBLAS", _milliseconds(cublas), data.rate(data.tflops(data.SIZE, cublas)), data.ratio(1), NONE, NONE, NONE])
    header = ["step", "ms", "TFLOP/s", "ratio to cuBLAS", "p10 … p90 (ms)", "SM clock (MHz)", "power (W)"]
    if not full:
        where = ", ".join([SHAPE, data.label(variant), *data.provenance(results)])
        return [*_table(header[:4], [row[:4] for row in rows]), "", f"{where}. Reproduce with `./gemm chart`."]
    what = f"{SHAPE}. Times: median of {runs[lesson].get('rounds', 'all')} rounds."
    return [*_table(header, rows), "", _caption(results, [runs[lesson]], what, variant=variant)]


def _sizes(results: Results, lesson: str, other: str) -> list[str]:
    """A lesson beside another one at every square size: times, and how they compare."""
    described = results.get("lessons", {}).get(lesson)
    if described is None:
        return [f"*{lesson} is not recorded yet; `./gemm chart --record` records it.*"]
    variant, rows = described["variants"][0]["text"], []
    for size in data.square_sizes(results, variant):
        runs = data.square(results, size, variant)
        if lesson in runs and other in runs:
            times = [runs[name]["ms_median"] for name in (other, lesson)]
            rows.append(
                [
                    str(size),
                    *(_milliseconds(time) for time in times),
                    f"{times[1] / times[0]:.2f}",
                    data.ratio(runs[lesson]["ratio"]),
                ]
            )
    if not rows:
        return [f"*{lesson} and {other} are not recorded together; `./gemm chart --record` records them.*"]
    header = ["M = N = K", f"{other}, ms", f"{lesson}, ms", "of its time", "ratio to cuBLAS"]
    return [
        *_table(header, rows),
        "",
        f"{', '.join([data.label(variant), *data.provenance(results)])}. Reproduce with `./gemm chart`.",
    ]


def _sweep(results: Results, order: Sequence[str], variant: str) -> list[str]:
    by_size = {size: data.square(results, size, variant) for size in data.square_sizes(results, variant)}
    names = [name for name in order if any(name in runs for runs in by_size.values())]
    if not names:
        raise UserError(f"These results hold no timed run at a square size; {data.HOW_TO_MEASURE}.")
    columns = []
    for size, runs in by_size.items():
        cublas = data.rate(data.tflops(size, data.baseline_ms(runs.values())))
        ratios = (data.ratio(runs[n]["ratio"]) if n in runs else NONE for n in names)
        columns.append([str(size), *ratios, cublas, data.calls(runs.values())])
    lines: list[str] = []
    for piece in _pieces(columns, NARROW):
        header, *rows = zip(["M = N = K", *names, "cuBLAS, TFLOP/s", "cuBLAS's fastest call"], *piece, strict=True)
        lines += [*_table(header, rows), ""]
    what = (
        "Ratio to cuBLAS in the same run; last rows: cuBLAS's own rate, and which of its calls won: cublasGemmEx, "
        "or Lt with the number of cuBLASLt's proposal."
    )
    return [*lines, _caption(results, data.timed(results, variant), what, variant=variant)]


def _variants(results: Results, order: Sequence[str]) -> list[str]:
    """With the chart of the same in front, which is there where there are rows."""
    found = data.several(results, order)
    if not found:
        return [f"*No lesson is recorded with several variants yet; `./gemm chart --record` records them at {SHAPE}.*"]
    rows = [
        [f"{lesson} {data.label(run['variant'])}", data.rate(run["tflops"]), data.ratio(run["ratio"]),
         data.rate(variants.cublas(run)), data.call(run["baseline"])]
        for lesson, runs in found
        for run in runs
    ]  # fmt: skip
    alt = "Variants: TFLOP/s of each lesson that takes several, a bar a variant, with a mark where cuBLAS is"
    device, where = results["device"], data.provenance(results)
    where += [f"{name} {device[key]}" for name, key in (("CUDA", "cuda"), ("driver", "driver")) if device.get(key)]  # type: ignore[literal-required]
    what = f"{SHAPE}, alpha = 1, beta = 0. Ratio: cuBLAS's time with the same variant divided by the lesson's."
    return [
        f'<img width="640" src="{data.VARIANTS}.png" alt="{alt}">',
        "",
        *_table(["lesson, variant", "TFLOP/s", "ratio to cuBLAS", "cuBLAS, TFLOP/s", "cuBLAS's fastest call"], rows),
        "",
        f"{what} {', '.join(where)}. Reproduce with `./gemm chart`.",
    ]


def _intensity(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}" if value >= 100 else f"{value:#.3g}"


def _roofline(results: Results, order: Sequence[str], profile: Mapping | None, ceilings: Mapping | None) -> list[str]:
    for found, file, command in (
        (profile, data.PROFILE, "./gemm profile --record"),
        (ceilings, data.CEILINGS, "./gemm doctor --measure --record"),
    ):
        if found is None:
            raise UserError(f"The table roofline needs {file}, which {command} writes on that GPU.")
    assert profile
    assert ceilings
    rows = []
    for point in roofline.points(results, profile, order):
        shares = point.shares(ceilings)
        nearest = max(shares, key=lambda name: shares[name])
        intensities = (_intensity(point.intensity.get(level.name)) for level in roofline.LEVELS)
        rows.append([point.lesson, *intensities, data.rate(point.tflops), nearest, data.percent(shares[nearest])])
    measured = ceilings["figures"]
    limits = ", ".join(
        f"{name} {data.rate(roofline.rate(ceilings, name))} {measured[name]['unit']}"
        for name in (*(level.ceiling for level in roofline.LEVELS), roofline.FFMA, roofline.OUTER)
    )
    where = "; ".join(roofline.sources(results, profile, ceilings))
    header = ["lesson", *(f"FLOP/B, {level.name}" for level in roofline.LEVELS), "TFLOP/s", "nearest ceiling", "share of it"]
    return [
        *_table(header, rows),
        "",
        f"{SHAPE}. FLOP/B: 2·M·N·K over the bytes that ncu counted; a wavefront of shared memory is {roofline.WAVEFRONT} bytes. "
        f"Ceilings: {limits}. {where}. Reproduce with `./gemm chart`, `./gemm profile` and `./gemm doctor --measure`.",
    ]


def _gpus(results: Results, order: Sequence[str], second: Results | None) -> list[str]:
    if second is None:
        raise UserError(f"There is no {data.SECOND} to compare with; ./gemm chart --record writes it on that GPU.")
    # A kernel that is another one by now is not compared.
    kernels = {run["lesson"]: run.get("kernel_hash") for run in results["runs"]}
    same = [run for run in second["runs"] if kernels.get(run["lesson"], run.get("kernel_hash")) == run.get("kernel_hash")]
    both: tuple[Results, Results] = (results, {**second, "runs": same})
    described: Results = {**results, "lessons": {**second.get("lessons", {}), **results.get("lessons", {})}}
    rows: list[list[str]] = []
    of_variant: dict[str, list[str]] = {}
    for ladder in data.ladders(described, order):
        of_variant.setdefault(ladder.variant, []).extend(ladder.lessons)
    for variant, names in of_variant.items():
        found = [data.square(of, data.SIZE, variant) for of in both]
        for name in names:
            runs = [there.get(name) for there in found]
            rows.append([name, *(text for run in runs for text in _rate_and_ratio(run))])
        cublas = [data.tflops(data.SIZE, data.baseline_ms(there.values())) if there else None for there in found]
        rows.append(
            [
                f"cuBLAS, {data.label(variant)}",
                *(text for value in cublas for text in ((NONE, NONE) if value is None else (data.rate(value), data.ratio(1)))),
            ]
        )
    header = ["lesson", *(text for of in both for text in (f"{data.short(of)}: TFLOP/s", "of cuBLAS"))]
    where = "; ".join(", ".join(data.provenance(of)) for of in both)
    caption = f"{SHAPE}, alpha = 1, beta = 0, L2 cold. Of cuBLAS: its time divided by the lesson's, median of rounds. {where}."
    caption = f"{caption} {NONE}: not recorded there, or of another kernel than now."
    return [*_table(header, rows), "", f"{caption} Reproduce with `./gemm chart`."]


def _rate_and_ratio(run: Run | None) -> tuple[str, str]:
    return (data.rate(run["tflops"]), data.ratio(run["ratio"])) if run else (NONE, NONE)


def render(
    name: str,
    results: Results,
    order: Sequence[str] | None = None,
    profile: Mapping | None = None,
    ceilings: Mapping | None = None,
    second: Results | None = None,
) -> str:
    """The Markdown of table `name`, lessons in `order` (the course's by default), without markers, ending in a newline.
    `profile` and `ceilings` (plots/data.py) are for `roofline`, `second` for `gpus` and for steps that `results` lack.

    Throws UserError for an unknown name or results that lack what the table shows.
    """
    order = lessons() if order is None else order
    kind, _, compared = name.partition(":")
    lesson, _, other = compared.partition(":")
    found = data.ladders(results, order) or [data.Ladder("fp32", "fp32", tuple(order))]
    progressions, sweeps = {x.progression: x for x in found}, {x.sweep: x for x in found}
    if name in progressions:
        lines = _progression(results, progressions[name].lessons, progressions[name].variant)
    elif name in sweeps:
        lines = _sweep(results, sweeps[name].lessons, sweeps[name].variant)
    elif name == "roofline":
        lines = _roofline(results, order, profile, ceilings)
    elif name == data.VARIANTS:
        lines = _variants(results, order)
    elif name == "gpus":
        lines = _gpus(results, order, second)
    elif kind in ("step", "step_full") and {lesson, other or lesson} <= {*order}:
        lines = _step(data.holding(lesson, results, second), order, lesson, other, full=kind == "step_full")
    elif kind == "sizes" and {lesson, other} <= {*order}:
        lines = _sizes(data.holding(lesson, results, second), lesson, other)
    else:
        known = ", ".join([*progressions, *sweeps, data.VARIANTS, "roofline", "gpus"])
        raise UserError(f"There is no table {name!r}; there are {known} and step:<lesson>, such as step:{order[0]}.")
    return "\n".join(lines) + "\n"


def _unbroken(code: str) -> str:
    """The code with spaces that break no line until 24 characters are on it: a phone would give each word a line of its own."""
    words = code.split(" ")
    text, length = words[0], len(words[0])
    for word in words[1:]:
        text += " " if length >= 24 else "\u00a0"
        length = len(word) if length >= 24 else length + 1 + len(word)
        text += word
    return text


def _counted_access(line: Mapping) -> list[str]:
    """Cells of a row: access, requests, per request, ideal."""
    unit = "sectors" if line["space"] == "global" else "wavefronts"
    each, ideal = (rate(line[key] / line["requests"]) for key in (unit, f"ideal_{unit}"))
    guess = "≈ " if line["diverged"] else ""
    each = f"{guess}{each} {unit.removesuffix('s') if each == '1' else unit}"
    width = "" if line["width"] == 4 else f" of {line['width']} B"
    if not line["width"]:
        mean = line["bytes"] / line["requests"]
        width = f" by TMA, {'' if mean == int(mean) else 'about '}{grouped(round(mean))} B"
    return [f"{line['array']}, {line['op']}{width}", guess + grouped(line["requests"]), each, ideal]


def _counted_wgmma(line: Mapping) -> list[str]:
    """The same of a multiplication by a warpgroup."""
    read = grouped(round(line["shared_bytes"] / line["count"]))
    return [f"wgmma m{line['m']}n{line['n']}k{line['k']}", grouped(line["count"]), f"{read} B of shared memory", NONE]


@excerpt.rows
def render_counts(lesson: str, counts: Mapping, root: Path = ROOT) -> str:
    """The Markdown of a lesson's counts, without markers, ending in a newline."""
    found = counts["lessons"].get(lesson)
    if found is None:
        return _not_recorded(lesson, counts["lessons"], "inspect", lessons(root))
    rows, last, home = [], None, folder_of(lesson, root)
    multiplied = found.get("wgmma", [])
    for line in sorted((*found["lines"], *multiplied), key=lambda line: (line["file"], line["line"])):
        code = line["code"].partition("//")[0].strip().replace("|", r"\|")
        place = (line["file"], line["line"])
        where = str(line["line"]) if line["file"] == f"{home}/kernel.cu" else f"{line['file']}:{line['line']}"
        where, code = (where, f"`{_unbroken(code)}`" if code else NONE) if place != last else ("", "")
        rows.append([where, *(_counted_wgmma(line) if "n" in line else _counted_access(line)), code])
        last = place
    header = ["| line | access | requests | per request | ideal | code |", "| --: | :-- | --: | --: | --: | :-- |"]
    total = found["totals"]
    shape = f"{counts['m']}×{counts['n']}×{counts['k']}"
    shared = f" Shared memory: {rate(total['shared_bytes_per_flop'])} B/FLOP." if total["shared_bytes"] else ""
    if multiplied:
        read = grouped(sum(line["shared_bytes"] for line in multiplied))
        shared += f" wgmma reads {read} bytes of shared memory, in an unknown number of wavefronts."
    shared += " A box of TMA is one request." if any(not line["width"] for line in found["lines"]) else ""
    diverged = any(line["diverged"] for line in found["lines"])
    guessed = " ≈: lanes diverge here, and nvcc may join them elsewhere than g++." if diverged else ""
    lines = [
        *header,
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        f"{shape}, counted on the CPU device. Ideal: the fewest that can carry the bytes. "
        f"Global memory: {grouped(total['global_bytes'])} bytes in whole sectors, "
        f"{rate(total['flop_per_byte'])} FLOP/B.{shared} Barriers per thread: {rate(found['barriers_per_thread'])}.{guessed}",
    ]
    return "\n".join(lines) + "\n"


_STALL = "warps stalled: "


def _million(value: float) -> str:
    return "0" if value == 0 else f"{value / 1e6:.0f} million" if value >= 1e8 else f"{value / 1e6:#.3g} million"


def _stall(counted: Mapping[str, float], place: int) -> str:
    """The place-th largest reason for which warps could not issue, from 0. "not selected" is none: such a warp could."""
    reasons = {key.removeprefix(_STALL): value for key, value in counted.items() if key.startswith(_STALL)}
    reasons.pop("not selected", None)
    name, value = sorted(reasons.items(), key=lambda item: -item[1])[place]
    return f"{name} {value:.2f}"


# Left out where no lesson of the table uses the tensor cores.
_TENSOR = "tensor pipe"
# Left out where no lesson of the table waits for wgmma, and of an older recording, which does not have it.
_WGMMA = "wgmma (gmma)"
_PER_HMMA = "cycles per 2048 multiply-adds"  # of a tensor core: as many as an HMMA has


def _hmmas(profile: Mapping) -> float:
    """How many a launch would take, whatever instruction it uses."""
    return profile["m"] * profile["n"] * profile["k"] / 2048


def _counted(profile: Mapping, lesson: str) -> dict[str, float]:
    """ncu's figures of a lesson, and how many cycles pass on a scheduler from one HMMA to the next."""
    counted = profile["lessons"][lesson]
    cycles = counted["instructions"] / (counted["issue slots used"] / 100)  # of all schedulers together
    return {**counted, _PER_HMMA: cycles / _hmmas(profile)}


# Rows of a lesson's profile: label, and the cell from what _counted() gives.
_PROFILE: tuple[tuple[str, Callable[[Mapping[str, float]], str]], ...] = (
    ("issue slots used", lambda c: f"{c['issue slots used']:.1f} %"),
    ("FMA pipe", lambda c: f"{c['FMA pipe']:.1f} %"),
    (_TENSOR, lambda c: f"{c[_TENSOR]:.1f} %"),
    (_PER_HMMA, lambda c: f"{c[_PER_HMMA]:#.3g}"),
    ("load/store pipe (L1, shared memory)", lambda c: f"{c['load/store pipe']:.1f} %"),
    ("achieved occupancy", lambda c: f"{c['achieved occupancy']:.1f} %"),
    ("DRAM throughput", lambda c: f"{c['DRAM throughput']:.1f} %"),
    ("L2 throughput", lambda c: f"{c['L2 throughput']:.1f} %"),
    ("DRAM bytes", lambda c: f"{c['DRAM bytes'] / 1e9:#.3g} GB"),
    ("wavefronts of shared memory", lambda c: _million(roofline.shared_wavefronts(c))),
    ("bank conflicts", lambda c: _million(c["shared load bank conflicts"] + c["shared store bank conflicts"])),
    ("stalls, largest reason", lambda c: _stall(c, 0)),
    ("stalls, second reason", lambda c: _stall(c, 1)),
    (f"stalls, {_WGMMA}", lambda c: f"{c[_STALL + _WGMMA]:.2f}" if _STALL + _WGMMA in c else "not recorded yet"),
)


def _has_row(label: str, shown: Iterable[Mapping[str, float]]) -> bool:
    """Whether a profile's table has the row, for these lessons."""
    if label in (_TENSOR, _PER_HMMA):
        return any(counted.get(_TENSOR, 0) >= 1 for counted in shown)
    return not label.endswith(_WGMMA) or any(counted.get(_STALL + _WGMMA, 0) >= 0.005 for counted in shown)


@excerpt.rows
def render_profile(lesson: str, profile: Mapping, order: Sequence[str]) -> str:
    """The Markdown of what ncu counted of a lesson (bold) and the one before it in `order`, without markers, ending in a
    newline. Throws UserError where it was not profiled with these figures."""
    again = "record it again with ./gemm profile --record"
    if lesson not in profile["lessons"]:
        return _not_recorded(lesson, profile["lessons"], "profile", order)
    place = list(order).index(lesson)
    names = [name for name in order[max(place - 1, 0) : place + 1] if name in profile["lessons"]]
    try:
        shown = {name: _counted(profile, name) for name in names}
        rows = [
            [label, *(f"**{cell(counted)}**" if name == lesson else cell(counted) for name, counted in shown.items())]
            for label, cell in _PROFILE
            if _has_row(label, shown.values())
        ]
    except (KeyError, IndexError) as missing:
        raise UserError(f"{data.PROFILE} lacks {missing}; {again}.") from None
    lines = [
        *_table(["", *(f"**{name}**" if name == lesson else name for name in shown)], rows),
        "",
        _profiled(
            profile, "Units: percent of the most they can do. Stalls: average cycles a warp stalls, per instruction issued."
        ),
    ]
    return "\n".join(lines) + "\n"


def _profiled(profile: Mapping, units: str) -> str:
    """What stands below a table of a profile."""
    where = ", ".join([*data.provenance({"device": {"name": profile["gpu"]}, **profile}), f"ncu {profile['ncu']}"])
    shape = f"{profile['m']}×{profile['n']}×{profile['k']}"
    return f"{shape}, one launch. {units} {where}. Reproduce with `./gemm profile`."


_TOGETHER = 64  # HMMAs of a warp, for which render_stalls() says where its cycles go: 32 steps of 09's warp tiles


def _stalls(counted: Mapping[str, float], hmmas: float) -> dict[str, tuple[float, float]]:
    """A warp's cycles by what it does in them: per instruction, and for _TOGETHER HMMAs. hmmas: of the launch."""
    rows = {"issuing the instruction": 1.0}
    named = {key.removeprefix(_STALL): value for key, value in counted.items() if key.startswith(_STALL)}
    rows |= dict(sorted(named.items(), key=lambda item: -item[1]))
    warps = 16 * counted["achieved occupancy"] / 100  # of a scheduler, on average
    slots = counted["issue slots used"] / 100
    resident = math.ceil(warps - 0.01)
    rows["reasons that were not recorded"] = warps / slots - sum(rows.values())
    rows[f"fewer than {resident} warps on the scheduler"] = (resident - warps) / slots
    rows["all"] = resident / slots
    each = counted["instructions"] / hmmas * _TOGETHER
    return {name: (cycles, cycles * each) for name, cycles in rows.items()}


def render_stalls(lesson: str, profile: Mapping, order: Sequence[str]) -> str:
    """The Markdown of where a warp's cycles go, in a lesson and in the one before it. Throws UserError as render_profile()."""
    if lesson not in profile["lessons"]:
        return _not_recorded(lesson, profile["lessons"], "profile", order)
    place = list(order).index(lesson)
    names = [name for name in order[max(place - 1, 0) : place + 1] if name in profile["lessons"]]
    if len(names) < 2:
        raise UserError(f"{data.PROFILE} has no lesson before {lesson} to hold its stalls against.")
    before, here = (_stalls(profile["lessons"][name], _hmmas(profile)) for name in names)
    none = (0.0, 0.0)
    rows = [
        [
            name,
            f"{before.get(name, none)[0]:.2f}",
            f"{cycles:.2f}",
            grouped(round(before.get(name, none)[1])),
            grouped(round(together)),
        ]
        for name, (cycles, together) in here.items()
        if cycles or before.get(name, none)[0]
    ]
    rows[-1] = [f"**{cell}**" for cell in rows[-1]]
    first, second = (name.split("_")[0] for name in names)
    header = ["a warp's cycles", f"per instruction, {first}", second, f"for {_TOGETHER} HMMAs, {first}", second]
    text = "Averages over all of a warp's instructions."
    return "\n".join([*_table(header, rows), "", _profiled(profile, text)]) + "\n"


def _charted(rows: Iterable[Mapping]) -> tuple[str, list[Mapping]]:
    """The first variant of the runs of a lesson's configurations, and all of the timed ones that have it, one problem each."""
    runs = [run for row in rows for run in row["runs"]]
    variant = next((run["variant"] for run in runs), "fp32")
    return variant, _with_variant(runs, variant)


def _with_variant(runs: Iterable[Mapping], variant: str) -> list[Mapping]:
    return [run for run in runs if run["variant"] == variant and run.get("batch", 1) == 1]


def _tuned_row(row: Mapping, label: str, own: Mapping, variant: str) -> list[str]:
    """The figures at SIZE with that variant; NONE where there are none."""
    runs = _with_variant(row["runs"], variant)
    run = next((r for r in runs if r["m"] == r["n"] == r["k"] == data.SIZE and "ratio" in r), None)
    block = row["resources"]
    differ = [f"{name} = {value}" for name, value in row["constants"].items() if value != own["constants"][name]]
    differ += ["code changed"] * row["edited"]
    taken = [NONE] * 3
    if block:
        shared = (block["static_shared_bytes"] + block["dynamic_shared_bytes"]) / 1024
        taken = [_or_none(block["registers"]), _or_none(block["blocks_per_sm"]), f"{shared:.1f}"]
    speed = [data.rate(run["tflops"]), data.ratio(run["ratio"])] if run else [NONE, NONE]
    return [label, *speed, ", ".join(differ) or NONE, *taken]


@excerpt.rows
def render_tuned(lesson: str, results: Mapping) -> str:
    """The Markdown of what is compared in a lesson: its named configurations, its own constants, the best of the set. Without
    markers, ending in a newline."""
    number, found = lesson.partition("_")[0], results["lessons"].get(lesson)
    if found is None:
        return _not_recorded(lesson, results["lessons"], f"autotune {number}")
    rows = found["rows"]
    own = next(row for row in rows if row["own"])
    tried, first = sum(row["swept"] for row in rows), rows[found["best"]] if found["best"] is not None else None
    named = [(name, rows[place]) for name, place in found["compared"].items()]
    if all(row is not own for _, row in named):
        named.append((lesson, own))
    variant, runs = _charted(rows)
    shown = [_tuned_row(row, f"**{name}**" if row is own else name, own, variant) for name, row in named]
    sizes = len(found["sizes"].split(","))
    over = f", all {sizes} sizes taken together" if sizes > 1 else ""
    note = f" The lesson's own constants are the fastest of {tried} that were tried{over}." if first is own else ""
    if first and first is not own:
        shown.append(_tuned_row(first, f"fastest of {tried} that were tried", own, variant))
    block = ["registers", "blocks per SM", "shared memory (KiB)"]
    header = ["configuration", "TFLOP/s", "ratio to cuBLAS", "constants that differ", *block]
    rule = [":--", "--:", "--:", ":--", *["--:"] * len(block)]
    lines = ["| " + " | ".join(line) + " |" for line in (header, rule, *shown)]
    caption = _caption(results, runs, f"{SHAPE}.{note}", f"autotune {number}", variant)
    return "\n".join([*lines, "", caption]) + "\n"


@excerpt.rows
def render_shapes(lesson: str, results: Mapping) -> str:
    """The Markdown of what some configurations of a lesson and the lesson itself come to at each size measured, as ratios to
    cuBLAS; the largest of the configurations is bold. Without markers, ending in a newline. Throws UserError for a lesson without
    any."""
    number, found = lesson.partition("_")[0], results["lessons"].get(lesson)
    if found is None:
        return _not_recorded(lesson, results["lessons"], f"autotune {number}")
    rows = found["rows"]
    if not (names := found.get("by_shape", [])):
        raise UserError(f"No configurations of {lesson!r} are shown by shape: its tune.py has no by_shape.")
    shown = [rows[found["compared"][name]] for name in names] + [next(row for row in rows if row["own"])]
    variant, _ = _charted(shown)
    timed = [
        {(run["m"], run["n"], run["k"]): run for run in _with_variant(row["runs"], variant) if "ratio" in run} for row in shown
    ]
    lines = []
    for shape in dict.fromkeys(shape for of in timed for shape in of):
        ratios = [of[shape]["ratio"] if shape in of else 0.0 for of in timed]
        cells = [data.ratio(ratio) if ratio else NONE for ratio in ratios]
        first = max(range(len(names)), key=lambda place: ratios[place])
        cells[first] = f"**{cells[first]}**"
        baseline = median(of[shape]["baseline_ms_median"] for of in timed if shape in of)
        of_cublas = 2 * shape[0] * shape[1] * shape[2] / baseline / 1e9
        lines.append(["×".join(map(str, shape)), *cells, data.rate(of_cublas)])
    runs = [run for of in timed for run in of.values()]
    what = "M×N×K. Ratio to cuBLAS in the same run; bold: the fastest of the policies; last column: cuBLAS's own rate."
    header = ["shape", *names, lesson, "cuBLAS, TFLOP/s"]
    return "\n".join([*_table(header, lines), "", _caption(results, runs, what, f"autotune {number}", variant)]) + "\n"


def _side(run: Mapping) -> str:
    """`4096` where M = N = K = 4096; empty for other shapes."""
    return str(run["m"]) if run["m"] == run["n"] == run["k"] else ""


def _energy_row(label: str, use: Mapping) -> list[str]:
    joules, megacycles = use["joules"], use["megacycles"]
    return [
        label,
        f"{joules['median']:#.3g}" if joules else NONE,
        f"{joules['p10']:#.3g} … {joules['p90']:#.3g}" if joules else NONE,
        _milliseconds(use["ms"]["median"]),
        f"{megacycles['median']:#.3g}" if megacycles else NONE,
        _or_none(use["power_w"]),
    ]


@excerpt.rows
def render_energy(lesson: str, results: Mapping) -> str:
    """The Markdown of what a launch takes of the lesson (bold), those that took turns with it and cuBLAS, at each size. Without
    markers, ending in a newline."""
    number, there = lesson.partition("_")[0], [turns for turns in results["turns"] if lesson in turns["lessons"]]
    if not there:
        known = [name for turns in results["turns"] for name in turns["lessons"]]
        return _not_recorded(lesson, dict.fromkeys(known), f"profile {number} --energy")
    keys = [key_of({"lesson": lesson, **turns}) for turns in there]
    shapes, variants = list(dict.fromkeys(key.shape for key in keys)), list(dict.fromkeys(key.variant for key in keys))
    rows = []
    for turns, key in zip(there, keys, strict=True):
        where = f" {data.label(key.variant)}" if len(variants) > 1 else ""
        where += f" at {key.shape if key.square is None else f'{key.square}³'}" if len(shapes) > 1 else ""
        rows += [
            _energy_row(f"**{name}{where}**" if name == lesson else f"{name}{where}", use)
            for name, use in turns["lessons"].items()
        ]
        rows.append(_energy_row(f"cuBLAS{where}", turns["cublas"]))
    header = ["lesson", "J a launch", "p10 … p90 (J)", "ms", "million cycles", "average power (W)"]
    origin = data.provenance({"device": {"name": results["gpu"]}, **results})
    where = ", ".join([" and ".join(shapes), " and ".join(map(data.label, variants)), *origin])
    what = f"Medians of {there[0]['rounds']} rounds of loops of more than a second, in turns. Cycles: SM clock × time."
    names = " ".join(name.partition("_")[0] for name in there[0]["lessons"])
    sizes = "" if shapes == [SHAPE] else f" --sizes {','.join(_side(turns) or data.shape(turns, 'x') for turns in there)}"
    again = f"Reproduce with `./gemm profile --energy {names}{sizes}`."
    return "\n".join([*_table(header, rows), "", f"{where}. {what} {again}"]) + "\n"


def _atlas_shapes(wanted: Iterable[str], results: RecordedAtlas) -> list[str]:
    runs = {data.shape(run, "x"): run for run in results["runs"]}
    if missing := [shape for shape in wanted if shape not in runs]:
        raise UserError(f"The atlas has no shape {missing[0]!r}; `./gemm atlas --shapes` lists those that it is to have.")
    found = [runs[shape] for shape in wanted]
    rows = [
        [data.shape(run), *map(_microseconds, (run["ms_median"], run["baseline_ms_median"])), data.ratio(run["ratio"])]
        for run in found
    ]
    header = ["M×N×K", f"{results['lesson']}, µs", "cuBLAS, µs", "ratio to cuBLAS"]
    caption = _caption(results, found, f"{results['lesson']}.", "atlas", results["variant"])
    return [*_table(header, rows), "", caption]


def render_atlas(name: str, results: RecordedAtlas | None) -> str:
    """The Markdown of a type's atlas, `fp32`: its picture, and a row for each group of shapes. Or, of a lesson whose atlas it is,
    `fp32:15d_choose:16x4096x4096,…`, a row for each of these shapes. Without markers, ending in a newline. Throws UserError for a
    type that has none, a lesson that the course does not have, and a shape that is not in it."""
    variant, _, some = name.partition(":")
    lesson, _, shapes = some.partition(":")
    if variant not in recorded_atlas.VARIANTS:
        raise UserError(f"There is no atlas of {variant!r}; there are {' and '.join(recorded_atlas.VARIANTS)}.")
    what = f"The atlas of {data.label(variant)}"
    if some and (results is None or results["lesson"] != lesson):
        return _not_recorded(lesson, [results["lesson"]] if results else [], "atlas")
    if results is None:
        return f"*{what} is not recorded yet; `./gemm atlas --record` records it.*\n"
    if some:
        return "\n".join(_atlas_shapes(shapes.split(","), results)) + "\n"
    rows = [
        [name, str(group.shapes), *map(data.ratio, (group.mean, group.least["ratio"])), data.shape(group.least), str(group.slow)]
        for name, group in recorded_atlas.groups(results["runs"]).items()
    ]
    header = ["group", "shapes", "geometric mean", "lowest ratio", "at M×N×K", f"below {recorded_atlas.SLOW}"]
    words = f"{what}: the ratio of {results['lesson']} to cuBLAS over M and N, a panel for each range of K"
    caption = _caption(results, results["runs"], f"{results['lesson']}, {len(results['runs'])} shapes.", "atlas", variant)
    picture = f'<img width="640" src="{atlas.name(variant)}.png" alt="{words}">'
    return "\n".join([picture, "", *_table(header, rows), "", caption]) + "\n"


def render_ways(variant: str, results: RecordedWays | None) -> str:
    """The Markdown of how well the lesson of a type, `fp32`, chooses: a row for each group of shapes, as in the atlas. Without
    markers, ending in a newline. Throws UserError for a type that has none."""
    if variant not in recorded_atlas.VARIANTS:
        raise UserError(f"There are no ways of {variant!r}; there are those of {' and '.join(recorded_atlas.VARIANTS)}.")
    if results is None:
        return f"*The ways of {data.label(variant)} are not recorded yet; `./gemm atlas --ways --record` records them.*\n"
    runs, close = results["runs"], f"within {recorded_ways.CLOSE:.0%}"
    rows = [
        [name, str(of.shapes), str(of.close), f"{of.mean:.1%}", f"{recorded_ways.loss(of.most):.1%}", data.shape(of.most)]
        for name, of in recorded_ways.summaries(runs).items()
    ]
    header = ["group", "shapes", close, "longer, on average", "at most", "at M×N×K"]
    others = sum(len(run["others"]) for run in runs)
    what = f"How much longer what {results['lesson']} chooses takes than the fastest of that and {others} other choices."
    again = f"atlas --ways --dtype {variant} --seed {results['draw']}"
    return "\n".join([*_table(header, rows), "", _caption(results, runs, what, again, variant)]) + "\n"


def _idle_rows(parts: Sequence[lanes.Timeline]) -> list[list[str]]:
    """How long no products are under way anywhere: before, between, after."""
    idle = [found.idle() or (0, 0, 0) for found in parts]
    labels = ("before the first products", "between products, as far as waits tell", "after the last products")
    return [
        [f"*{label}*"]
        + [
            cell
            for found, times in zip(parts, idle, strict=True)
            for cell in (grouped(round(times[place])), f"{100 * times[place] / found.length:.0f} %")
        ]
        for place, label in enumerate(labels)
    ]


@excerpt.rows
def render_timeline(lesson: str, on_cpu: Mapping, on_gpu: Mapping | None) -> str:
    """What the lanes of a lesson's block do and wait for; on_gpu: None where nothing was recorded."""
    if lesson not in on_cpu["lessons"]:
        return _not_recorded(lesson, on_cpu["lessons"], "timeline")
    block = on_cpu["lessons"][lesson]
    parts, header = [lanes.from_recorded(block)], ["", "CPU device: steps", "of all"]
    recorded = on_gpu["lessons"].get(lesson) if on_gpu else None
    if on_gpu and recorded:
        parts.append(lanes.from_stamps(recorded))
        header += [f"{on_gpu['gpu'].removeprefix('NVIDIA ')}: cycles", "of all"]
    caption = f"{block['m']}×{block['n']}×{block['k']}, block 0, from its first barrier on."
    if on_gpu and recorded:
        where = ", ".join(data.provenance({"device": {"name": on_gpu["gpu"]}, **on_gpu}))
        caption += f" {where}; the stamps that record it take time themselves."
    lines = [*_table(header, [*lanes.rows(parts), *_idle_rows(parts)]), "", f"{caption} Reproduce with `./gemm timeline`."]
    return "\n".join(lines) + "\n"


def markdown_files(root: Path, order: Sequence[str]) -> list[Path]:
    """The Markdown files that may hold tables: those of the root, of plots/, of classroom/ and of the lessons' folders, for
    a step also of the folder around it."""
    homes = [Path(folder_of(lesson, root)) for lesson in order]
    around = [path for home in homes for path in (*reversed(home.parents), home)]  # "." comes first
    return [
        path
        for home in dict.fromkeys([Path(), Path("plots"), Path("classroom"), *around])
        for path in sorted((root / home).glob("*.md"))
    ]


def blocks(path: Path, kind: str = "table") -> list[tuple[str, int, int]]:
    """The tables (or kind `counts` or `profile`) of a Markdown file: name, index of its opening line, index of its closing line
    (from 0). Markers inside fenced code are text. Throws UserError with file and line for a marker without its partner."""
    whole = not (path.parent / "EVIDENCE.md").exists()  # a page that has all of a lesson's evidence itself
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
            name, start = re.sub("^step:", "step_full:" if whole else "step:", marker["name"]), index
        elif marker and marker["close"] == kind:
            if start < 0:
                raise UserError(f"{path}:{index + 1} closes a table that no <!-- {kind}:NAME --> opened; add that above.")
            found.append((name, start, index))
            start = -1
    if start >= 0:
        raise UserError(f"{path}:{start + 1} opens {kind} {name!r}, but no <!-- /{kind} --> follows; add that line below it.")
    return found


def _of_results(root: Path) -> Render | None:
    if not (root / data.RESULTS).exists():
        return None
    results, order = data.published(root), lessons(root)
    others = data.profile(root), data.ceilings(root), data.second(root)
    return lambda name: render(name, results, order, *others)


def _of_counts(root: Path) -> Render:
    counts = data.counts(root)
    return lambda name: render_counts(name, counts, root)


def _of_profile(render: Callable[[str, Mapping, Sequence[str]], str]) -> Callable[[Path], Render | None]:
    def made(root: Path) -> Render | None:
        profile = data.profile(root)
        if profile is None or not (root / data.RESULTS).exists():
            return None
        results, order = data.published(root), lessons(root)
        return lambda name: render(name, profile, data.beside(results, order, excerpt.lesson_of(name)))

    return made


def _of(read: Callable[[Path], dict | None], render: Callable[[str, dict], str]) -> Callable[[Path], Render | None]:
    def made(root: Path) -> Render | None:
        found = read(root)
        return (lambda name: render(name, found)) if found else None

    return made


def _of_timeline(root: Path) -> Render | None:
    on_cpu, on_gpu = data.timeline_of_cpu(root), data.timeline(root)
    return (lambda name: render_timeline(name, on_cpu, on_gpu)) if on_cpu else None


# What makes the tables of a kind from what a checkout has; None while there is nothing that it could be made from.
KINDS: dict[str, Callable[[Path], Render | None]] = {
    "table": _of_results,
    "counts": _of_counts,
    "profile": _of_profile(render_profile),
    "stalls": _of_profile(render_stalls),
    "tuned": _of(data.tuned, render_tuned),
    "shapes": _of(data.tuned, render_shapes),
    "energy": lambda root: lambda name: render_energy(name, data.energy(root) or {"turns": []}),
    "timeline": _of_timeline,
    "atlas": lambda root: lambda name: render_atlas(name, data.atlas(root, name.partition(":")[0])),
    "ways": lambda root: lambda name: render_ways(name, data.ways(root, name)),
    "outline": lambda root: lambda name: outline.render(name, root),
}


def update(root: Path, *kinds: str) -> list[Path]:
    """Replaces what stands between the markers of these kinds in all Markdown files below `root` (root, plots/, lesson folders).

    Nothing is written unless every table of every file could be rendered. Returns the files that changed. Throws
    UserError with file and line for unknown tables, missing markers and results that lack what a table shows. A roofline that
    is roofline.Outdated stays as it is.
    """
    made = {kind: render for kind in kinds if (render := KINDS[kind](root))}
    new: dict[Path, str] = {}
    for path in markdown_files(root, lessons(root)):
        before = path.read_text(encoding="utf-8")
        lines = before.splitlines()
        found = sorted((start, end, kind, name) for kind in made for name, start, end in blocks(path, kind))
        for start, end, kind, name in reversed(found):
            try:
                lines[start + 1 : end] = made[kind](name).splitlines()
            except roofline.Outdated:  # it stays as it was
                continue
            except UserError as error:
                raise UserError(f"{path}:{start + 1}: {error}") from error
        after = "\n".join(lines) + "\n"
        if found and after != before:
            new[path] = after
    for path, text in new.items():
        write_atomically(path, text)
    return list(new)
