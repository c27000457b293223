"""What was measured of a lesson, for the explorer: what plots/results/ holds of it, and what it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from plots import data
from runner.core.reports import Resources, Results
from runner.core.results import PUBLISHED, UserError, is_charted, key_of, lessons


class Timed(TypedDict):
    """A run. TFLOP/s; ratio: of the baseline's time to the lesson's."""

    lesson: str
    variant: str
    m: int
    n: int
    k: int
    batch: int  # how many problems
    groups: list[list[int]]  # M, N, K of each, where they differ
    shape: str  # the same in words: "64 · 1024×1024×1024"
    ms: float
    tflops: float
    baseline: str
    baseline_tflops: float
    ratio: float


class Spot(TypedDict):
    """A lesson on the roofline: FLOP per byte at each level of memory that it uses."""

    lesson: str
    tflops: float
    intensity: dict[str, float]


class Level(TypedDict):
    name: str
    ceiling: str
    tbytes: float  # a second


class Roofline(TypedDict):
    size: int  # M = N = K
    levels: list[Level]
    peaks: dict[str, float]  # TFLOP/s; empty where the arithmetic's ceiling was not measured
    points: list[Spot]
    sources: list[str]


class Recorded(TypedDict):
    device: str
    date: str
    commit: str
    multiprocessors: int | None
    capability: str | None
    runs: list[Timed]  # of the lesson and the one before it in its ladder
    resources: Resources | None  # of the lesson
    size: int  # M = N = K of what ncu counted
    global_load_bytes: int | None  # as ncu counted them, in whole sectors; None where the copy engine loads, or nobody counted
    roofline: Roofline | None  # of its ladder


def _runs(results: Results, names: list[str]) -> list[Timed]:
    """The timed ones of these lessons, each with the variant that it is charted with."""
    return [
        {
            **key_of(run)._asdict(),  # type: ignore[typeddict-item]
            "shape": key_of(run).shape,
            "ms": run["ms_median"],
            "tflops": run["tflops"],
            "baseline": run["baseline"],
            "baseline_tflops": key_of(run).flop / (run["baseline_ms_median"] * 1e9),
            "ratio": run["ratio"],
        }
        for run in results["runs"]
        if run["lesson"] in names and is_charted(results, key_of(run))
        if "ms_median" in run and (run["alpha"], run["beta"]) == (1, 0)
    ]


def _roofline(root: Path, results: Results, ladder: data.Ladder) -> Roofline | None:
    """The ladder's lessons whose bytes were counted with the kernel that was timed. None where there are none."""
    from plots import roofline

    profile, ceilings = data.profile(root), data.ceilings(root)
    if profile is None or ceilings is None or {profile[key] for key in "mnk"} != {data.SIZE}:
        return None
    points: list[Spot] = []
    for name, run in data.at_size(results, ladder.lessons, ladder.variant).items():
        counted: Mapping[str, float] | None = profile["lessons"].get(name)
        if counted is None or profile["kernel_hashes"].get(name) != run.get("kernel_hash"):
            continue
        moved = {level.name: level.moved(counted) for level in roofline.LEVELS}
        flop = 2 * data.SIZE**3
        intensity = {level: flop / count for level, count in moved.items() if count > 0}
        points.append({"lesson": name, "tflops": run["tflops"], "intensity": intensity})
    if not points:
        return None
    levels: list[Level] = [
        {"name": level.name, "ceiling": level.ceiling, "tbytes": roofline.rate(ceilings, level.ceiling)}
        for level in roofline.LEVELS
    ]
    peaks = {name: roofline.rate(ceilings, name) for name in (roofline.FFMA, roofline.OUTER)} if ladder.variant == "fp32" else {}
    sources = roofline.sources(results, profile, ceilings)
    return {"size": data.SIZE, "levels": levels, "peaks": peaks, "points": points, "sources": sources}


def _loaded(root: Path, results: Results, lesson: str, variant: str) -> int | None:
    profile = data.profile(root)
    run = data.square(results, data.SIZE, variant).get(lesson)
    if profile is None or run is None or {profile[key] for key in "mnk"} != {data.SIZE}:
        return None
    if profile["kernel_hashes"].get(lesson) != run.get("kernel_hash"):
        return None
    return round(32 * profile["lessons"].get(lesson, {}).get("global load sectors", 0)) or None


def recorded(root: Path, lesson: str) -> Recorded | None:
    """What is published of it; None where nothing is. Throws UserError where a file is not as it should be."""
    path = root / "plots" / "results" / f"{PUBLISHED}.json"
    if not path.exists():
        return None
    results = data.holding(lesson, data.published(root), data.second(root))
    order = lessons(root)
    runs = _runs(results, data.beside(results, order, lesson))
    if not any(run["lesson"] == lesson for run in runs):
        return None
    ladder = next(ladder for ladder in data.ladders(results, order) if lesson in ladder.lessons)
    loaded, found = None, None
    with suppress(UserError):  # the chart alone is missing, until it is recorded again
        loaded = _loaded(root, results, lesson, ladder.variant)
        found = _roofline(root, results, ladder)
    return {
        "device": results["device"]["name"],
        "date": results.get("date", ""),
        "commit": results.get("commit") or "",
        "multiprocessors": results["device"].get("multiprocessors"),
        "capability": results["device"].get("compute_capability"),
        "runs": runs,
        "resources": results.get("resources", {}).get(lesson),
        "size": data.SIZE,
        "global_load_bytes": loaded,
        "roofline": found,
    }
