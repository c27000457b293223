"""What charts and tables take from a results object (format: runner/core/results.py), and how they print it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple, cast

from runner.core.atlas import RecordedAtlas
from runner.core.kernel_hash import kernel_hash
from runner.core.reports import Results, Run
from runner.core.results import UserError, folder_of, key_of, lessons, load, recorded
from runner.core.ways import RecordedWays

SIZE = 4096  # the square size at which steps are compared
VARIANTS = "variants"  # their chart in plots/, and its table
HOW_TO_MEASURE = "measure with ./gemm chart on a machine with an NVIDIA GPU"

RESULTS = "plots/results/h200.json"  # where published speeds come from
# The same of another GPU: for the table that compares the two, and for lessons whose kernels are not those that RESULTS has.
SECOND = "plots/results/h100-80gb-hbm3.json"

# What is recorded beside RESULTS, on the same GPU.
PROFILE, CEILINGS = "plots/results/h200-profile.json", "plots/results/h200-ceilings.json"
TUNED = "plots/results/h200-autotune.json"
ENERGY = "plots/results/h200-energy.json"
ATLAS = "plots/results/h200-atlas-{}.json"  # of a type
WAYS = "plots/results/h200-ways-{}.json"
COUNTS = "plots/results/counts.json"
TIMELINE = "plots/results/h200-timeline.json"
OWN = "plots/results/own-kernel.json"  # what is found in the example of a kernel that is no lesson's
TIMELINE_CPU = "plots/results/cpu-timeline.json"  # what the CPU device does is the same everywhere


def _stale(results: Results, root: Path) -> set[str]:
    """The lessons whose kernels are no longer the ones that were measured. (A checkout without a kernel has no other one.)"""
    kernels = {name: root / folder_of(name, root) / "kernel.cu" for name in lessons(root)}
    measured = {(run["lesson"], run.get("kernel_hash")) for run in results["runs"]}
    there = [(name, digest) for name, digest in measured if name in kernels and kernels[name].exists()]
    return {name for name, digest in there if digest != kernel_hash(kernels[name])}


def _without(results: Results, left_out: set[str]) -> Results:
    described = {name: value for name, value in results.get("lessons", {}).items() if name not in left_out}
    return {**results, "lessons": described, "runs": [run for run in results["runs"] if run["lesson"] not in left_out]}


def second(root: Path) -> Results | None:
    """What `./gemm chart --record` wrote on another GPU, of today's kernels, or None. Throws UserError."""
    if not (root / SECOND).exists():
        return None
    found = load(root / SECOND)
    return _without(found, _stale(found, root))


def published(root: Path) -> Results:
    """What RESULTS has, but for lessons that have changed since and that the second GPU has measured again. Throws UserError."""
    results, other = load(root / RESULTS), second(root)
    again = {run["lesson"] for run in other["runs"]} if other else set()
    return _without(results, again & _stale(results, root)) if again else results


def holding(lesson: str, results: Results, other: Results | None) -> Results:
    """The results that a lesson's own tables and figures come from: the first where it is in both or in neither."""
    found = other is not None and lesson in other.get("lessons", {}) and lesson not in results.get("lessons", {})
    return other if other is not None and found else results


def profile(root: Path) -> dict | None:
    """What `./gemm profile --record` wrote on the GPU whose results are published, or None. Throws UserError."""
    keys = ("gpu", "ncu", "commit", "date", "m", "n", "k", "kernel_hashes", "lessons")
    return recorded(root / PROFILE, keys, "./gemm profile --record")


def ceilings(root: Path) -> dict | None:
    """The same of `./gemm doctor --measure --record`."""
    return recorded(root / CEILINGS, ("gpu", "commit", "date", "figures"), "./gemm doctor --measure --record")


def tuned(root: Path) -> dict | None:
    """The same of `./gemm autotune --record`."""
    return recorded(root / TUNED, ("device", "commit", "date", "seed", "kernel_hashes", "lessons"), "./gemm autotune --record")


def energy(root: Path) -> dict | None:
    """The same of `./gemm profile --energy --record`."""
    return recorded(
        root / ENERGY, ("gpu", "commit", "date", "kernel_hashes", "turns"), "./gemm profile --energy LESSON … --record"
    )


def atlas(root: Path, variant: str) -> RecordedAtlas | None:
    """What `./gemm atlas --record` wrote of a type."""
    keys = ("device", "commit", "date", "variant", "lesson", "tile", "kernel_hashes", "shapes", "runs")
    return cast("RecordedAtlas | None", recorded(root / ATLAS.format(variant), keys, "./gemm atlas --record"))


def ways(root: Path, variant: str) -> RecordedWays | None:
    """The same of `./gemm atlas --ways --record`."""
    keys = ("device", "commit", "date", "variant", "lesson", "kernel_hashes", "draw", "runs")
    return cast("RecordedWays | None", recorded(root / WAYS.format(variant), keys, "./gemm atlas --ways --record"))


def counts(root: Path) -> dict:
    """What `./gemm inspect --record` counted. Throws UserError."""
    return recorded(root / COUNTS, ("m", "n", "k", "lessons"), "./gemm inspect --record") or {"lessons": {}}


def own_kernel(root: Path) -> dict | None:
    """What `./gemm inspect --record` found in the example of a kernel that is no lesson's."""
    return recorded(root / OWN, ("file", "findings"), "./gemm inspect tests/kernels/own/three_bugs.cu --record")


def timeline(root: Path) -> dict | None:
    """The same of `./gemm timeline --record`."""
    return recorded(root / TIMELINE, ("gpu", "commit", "date", "lessons"), "./gemm timeline --record")


def timeline_of_cpu(root: Path) -> dict | None:
    """The same of `./gemm timeline --record` without a GPU."""
    return recorded(root / TIMELINE_CPU, ("lessons",), "GEMM_DEVICE=cpu ./gemm timeline --record")


@dataclass(frozen=True)
class Ladder:
    """Lessons that are charted together, against cuBLAS: `name` is their descriptors' word."""

    name: str
    variant: str  # the first one that its lessons take
    lessons: tuple[str, ...]

    @property
    def progression(self) -> str:
        """The name of its bar chart in plots/ and of its table."""
        return "progression" if self.name == "fp32" else self.name

    @property
    def sweep(self) -> str:
        """The same of its chart over sizes."""
        return "sweep" if self.name == "fp32" else f"{self.name}_sweep"


def ladders(results: Results, order: Iterable[str]) -> list[Ladder]:
    """The ladders of the lessons in `order` that the results describe, in the order of their first lessons."""
    described = results.get("lessons", {})
    members: dict[str, list[str]] = {}
    for name in order:
        if name in described:
            members.setdefault(described[name]["ladder"], []).append(name)
    return [Ladder(key, described[names[0]]["variants"][0]["text"], tuple(names)) for key, names in members.items()]


def beside(results: Results, order: Sequence[str], lesson: str) -> list[str]:
    """The lesson, and in front of it the one that it is compared with: the one before it in its ladder; the first of a ladder
    has the one before it in the course."""
    ladder = next((ladder.lessons for ladder in ladders(results, order) if lesson in ladder.lessons), ())
    found = ladder if lesson in ladder[1:] else tuple(order)
    place = found.index(lesson) if lesson in found else 0
    return [*found[max(place - 1, 0) : place], lesson]


def label(variant: str) -> str:
    """For charts and captions: `bf16` -> `BF16`, `bf16.nt` -> `BF16 NT`."""
    return variant.upper().replace(".", " ")


def timed(results: Results, variant: str) -> list[Run]:
    """The runs with that variant that have a time and alpha = 1, beta = 0."""
    return [
        run
        for run in results["runs"]
        if "ms_median" in run and run["variant"] == variant and (run["alpha"], run["beta"]) == (1, 0)
    ]


def square(results: Results, size: int, variant: str) -> dict[str, Run]:
    """The timed runs at M = N = K = size with that variant, by lesson."""
    return {run["lesson"]: run for run in timed(results, variant) if key_of(run).square == size}


def square_sizes(results: Results, variant: str) -> list[int]:
    """Every size that has a timed square run, ascending."""
    return sorted({size for run in timed(results, variant) if (size := key_of(run).square) is not None})


def at_size(results: Results, order: Iterable[str], variant: str) -> dict[str, Run]:
    """The timed runs at SIZE with that variant in the order given. Throws UserError when there is none."""
    runs = square(results, SIZE, variant)
    found = {name: runs[name] for name in order if name in runs}
    if not found:
        raise UserError(f"These results hold no timed run at {SIZE}×{SIZE}×{SIZE}; {HOW_TO_MEASURE}.")
    return found


class Several(NamedTuple):
    """A lesson that was timed with several variants, and its runs in the order of the results: the charted one comes first."""

    lesson: str
    runs: list[Run]


def several(results: Results, order: Sequence[str] | None = None) -> list[Several]:
    """The lessons in `order` (the course's by default) that were timed with two variants or more at 4096³."""
    names = list(dict.fromkeys(run["variant"] for run in results["runs"]))
    by_variant = [square(results, SIZE, name) for name in names]
    there_are = []
    for lesson in lessons() if order is None else order:
        runs = [there[lesson] for there in by_variant if lesson in there]
        described = results.get("lessons", {}).get(lesson)
        offered = [variant["text"] for variant in described["variants"]] if described else []
        runs.sort(key=lambda run: offered.index(run["variant"]) if run["variant"] in offered else len(offered))
        if len(runs) > 1:
            there_are.append(Several(lesson, runs))
    return there_are


def baseline_ms(runs: Iterable[Run]) -> float:
    """cuBLAS's time over runs of one size, in ms: the median of what each run saw in its own rounds."""
    return median(run["baseline_ms_median"] for run in runs)


def tflops(size: int, ms: float) -> float:
    """2·size³ operations in `ms` milliseconds, in TFLOP/s."""
    return 2 * size**3 / (ms * 1e9)


def call(baseline: str) -> str:
    """What of cuBLAS it was, in short: `Lt 3` of `cublasLt heuristic 3, CUBLAS_COMPUTE_32F`, `GemmEx` of `cublasGemmEx …`."""
    words = [word for word in baseline.replace(",", "").split() if not word.startswith("CUBLAS_COMPUTE_")]
    return " ".join(words).replace("cublasLt heuristic", "Lt").removeprefix("cublas")


def calls(runs: Iterable[Run]) -> str:
    """The same of all that runs of one size were timed against."""
    return ", ".join(dict.fromkeys(call(run["baseline"]) for run in runs))


def rate(value: float) -> str:
    """TFLOP/s to three digits: 0.498, 6.23, 51.2, 758."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def percent(ratio: float) -> str:
    """A ratio as per cent, a digit more below one: 0.98 %, 12.2 %, 100.3 %."""
    return f"{100 * ratio:.2f} %" if ratio < 0.01 else f"{100 * ratio:.1f} %"


def ratio(value: float) -> str:
    """0.0098, 0.122, 1.003."""
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}"


def shape(run: Mapping, by: str = "×") -> str:
    """`4096×4096×4096`: M×N×K."""
    return by.join(str(run[key]) for key in "mnk")


def short(results: Mapping) -> str:
    """The GPU's name for a column: `NVIDIA H100 80GB HBM3` -> `H100`."""
    return results["device"]["name"].removeprefix("NVIDIA ").partition(" ")[0]


def provenance(results: Mapping) -> list[str]:
    """Where the numbers come from: device, date, short commit, as far as the results say."""
    parts = [results["device"]["name"], results.get("date", "")[:10]]
    if results.get("commit"):
        parts.append(f"commit {results['commit'][:7]}")
    return [part for part in parts if part]
