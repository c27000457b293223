"""The shape atlas: what `./gemm atlas` recorded, as a page on which one chooses a shape and sees what was measured there.

The page computes no mean, no group and no class of its own: they are those of plots/atlas.py's picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from plots import data
from plots.style import DARK, LIGHT, MID
from runner.core import atlas as recorded
from runner.core.atlas import ELEMENT_BYTES, AtlasRun, RecordedAtlas
from runner.core.reports import Tiling
from runner.core.results import ROOT, key_of
from website.document import document

_SHADES = {DARK: "strong", MID: "mid", LIGHT: "light", "white": "paper"}  # the picture's, as style.css names them


class Axis(TypedDict):
    """An axis, logarithmic."""

    label: str
    least: float
    most: float
    ticks: list[int]


class Mark(TypedDict):
    """What a range of ratios looks like."""

    words: str  # "1.5 or more"
    marker: str  # "^" above cuBLAS, "v" below, "o" about the same
    shade: str


class Point(TypedDict):
    """A shape that was measured. Times in ms, rates in TFLOP/s."""

    m: int
    n: int
    k: int
    set: str  # "llm", "random"
    group: str  # "aligned", "odd", "tiny"
    panel: int  # index
    mark: int  # index
    ms: float
    p10: float
    p90: float
    rounds: int
    tflops: float
    ratio: float  # median over rounds of cuBLAS's time to the lesson's
    baseline: str
    baseline_kernel: str
    baseline_ms: float
    baseline_tflops: float
    cache: str  # L2 before a launch: "cold", "warm"
    bytes: int  # of A, B and C
    bytes_ms: float | None  # which these take at `bandwidth`; None where L2 may hold them, or where it was not measured
    flop_ms: float | None  # which the products take at `peak`
    tiling: Tiling | None  # of the lesson's launch; None where the record does not hold it


class Mean(TypedDict):
    """A group's."""

    group: str
    shapes: int
    mean: float  # geometric, of ratios


class Atlas(TypedDict):
    """One type's."""

    variant: str
    label: str  # "FP32"
    lesson: str
    number: str  # "15d"
    where: str  # it was measured
    multiprocessors: int
    tile: list[int]  # rows and columns of the C tile that the record names
    blocks: int | None  # of it, that an SM has at once
    bandwidth: float | None  # of a copy in DRAM, TB/s
    peak: float | None  # of the type's arithmetic, TFLOP/s
    means: list[Mean]
    points: list[Point]


class AtlasPage(TypedDict):
    """All that the page shows."""

    panels: list[str]
    marks: list[Mark]
    rows: Axis
    columns: Axis
    atlases: list[Atlas]
    urls: Mapping[str, str]  # of lessons, by name
    evidence: Mapping[str, str]  # of the pages behind them


def _ceilings(root: Path, results: RecordedAtlas) -> tuple[float | None, float | None]:
    """Of a copy in DRAM and of the type's arithmetic, as far as they were measured on the atlas's GPU."""
    from plots import roofline

    found = data.ceilings(root)
    if found is None or found["gpu"] != results["device"]["name"]:
        return None, None
    dram = next(level.ceiling for level in roofline.LEVELS if level.name == "DRAM")
    return roofline.rate(found, dram), roofline.rate(found, roofline.FFMA) if results["variant"] == "fp32" else None


def _point(run: AtlasRun, bandwidth: float | None, peak: float | None) -> Point:
    from plots import atlas as picture

    m, n, k = run["m"], run["n"], run["k"]
    flop, moved = key_of(run).flop, ELEMENT_BYTES[run["variant"]] * (m * k + k * n + m * n)
    return {
        "m": m,
        "n": n,
        "k": k,
        "set": run["set"],
        "group": recorded.group_of(run),
        "panel": picture.panel_of(k),
        "mark": picture.class_of(run["ratio"]),
        "ms": run["ms_median"],
        "p10": run["ms_p10"],
        "p90": run["ms_p90"],
        "rounds": run["rounds"],
        "tflops": run["tflops"],
        "ratio": run["ratio"],
        "baseline": run["baseline"],
        "baseline_kernel": run["baseline_kernel"],
        "baseline_ms": run["baseline_ms_median"],
        "baseline_tflops": flop / (run["baseline_ms_median"] * 1e9),
        "cache": run["cache"],
        "bytes": moved,
        "bytes_ms": moved / (bandwidth * 1e9) if bandwidth and run["cache"] == "cold" else None,
        "flop_ms": flop / (peak * 1e9) if peak else None,
        "tiling": run.get("tiling"),
    }


def _atlas(root: Path, results: RecordedAtlas) -> Atlas:
    bandwidth, peak = _ceilings(root, results)
    resources = results["resources"].get(results["lesson"])
    return {
        "variant": results["variant"],
        "label": data.label(results["variant"]),
        "lesson": results["lesson"],
        "number": results["lesson"].partition("_")[0],
        "where": ", ".join(data.provenance(results)),
        "multiprocessors": results["device"]["multiprocessors"],
        "tile": [results["tile"]["BM"], results["tile"]["BN"]],
        "blocks": resources["blocks_per_sm"] if resources else None,
        "bandwidth": bandwidth,
        "peak": peak,
        "means": [
            {"group": name, "shapes": group.shapes, "mean": group.mean}
            for name, group in recorded.groups(results["runs"]).items()
        ],
        "points": [_point(run, bandwidth, peak) for run in results["runs"]],
    }


def lessons(root: Path = ROOT) -> dict[str, str]:
    """The types whose atlas is recorded, by the lesson that was measured; empty where there is nothing to show."""
    found = {variant: data.atlas(root, variant) for variant in recorded.VARIANTS}
    return {results["lesson"]: variant for variant, results in found.items() if results and results["runs"]}


def payload(urls: Mapping[str, str], evidence: Mapping[str, str], root: Path = ROOT) -> AtlasPage:
    """What the page shows. urls, evidence: the pages of lessons and those behind them, by the lessons' names."""
    from plots import atlas as picture

    def side(axis: picture.Axis) -> Axis:
        return {"label": axis.label, "least": axis.least, "most": axis.most, "ticks": list(axis.ticks)}

    measured = lessons(root)
    found = [data.atlas(root, variant) for variant in recorded.VARIANTS if variant in measured.values()]
    return {
        "panels": [panel.title for panel in picture.PANELS],
        "marks": [{"words": one.words, "marker": one.marker, "shade": _SHADES[one.fill]} for one in picture.CLASSES],
        "rows": side(picture.ROWS),
        "columns": side(picture.COLUMNS),
        "atlases": [_atlas(root, results) for results in found if results],
        "urls": {name: url for name, url in urls.items() if name in measured},
        "evidence": {name: url for name, url in evidence.items() if name in measured},
    }


def page(urls: Mapping[str, str], evidence: Mapping[str, str], root: Path = ROOT) -> str:
    """The page as one HTML document. What it shows first is in its address: #type=bf16&shape=16x4096x4096."""
    shared = ("dom", "theme", "picture", "occupancy")
    return document(Path(__file__).resolve().parent, ["main", "plane", "details"], payload(urls, evidence, root), shared)
