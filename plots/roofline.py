"""The roofline chart: each lesson's rate over its counted arithmetic intensity, under the ceilings of the GPU.

Williams, Waterman, Patterson: Roofline (CACM 52:4, 2009). A rate is at most the bandwidth of a level of memory times the FLOP
done for each byte that this level moves, and at most the rate of the arithmetic. Rates are those of `./gemm chart`, bytes those
that ncu counted (`./gemm profile`), ceilings those of `./gemm doctor --measure`.

ncu's bytes of L2 are all that its slices handle, which is more than the SMs ask of it: for lesson 03 on an H200 20.3 GB instead
of the 17.2 GB of its sectors. The ceiling counts only what the SMs receive, so a share of it is rather too large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from matplotlib.axes import Axes

from plots import data
from plots.style import DARK, GREY, INK, LIGHT, WIDTH, new_figure, save, style
from runner.core.reports import Results
from runner.core.results import UserError, lessons

FFMA, OUTER = "FFMA", "FFMA, 8×16 outer product"
WAVEFRONT = 128  # bytes: 32 banks of 4
_AGAIN = "record it again with ./gemm profile --record"


class Outdated(UserError):
    """What is recorded beside the results does not fit them, until it is recorded again."""


def shared_wavefronts(counted: Mapping[str, float]) -> float:
    """Of loads, stores and the copies of cp.async."""
    return sum(counted[f"shared {op} wavefronts"] for op in ("load", "store", "copy"))


@dataclass(frozen=True)
class Level:
    """A level of memory: the name of its ceiling, and the bytes that it moved, from ncu's figures of a lesson."""

    name: str
    ceiling: str
    moved: Callable[[Mapping[str, float]], float]


LEVELS = (
    Level("DRAM", "DRAM copy", lambda counted: counted["DRAM bytes"]),
    Level("L2", "L2 read", lambda counted: counted["L2 bytes"]),
    Level("shared memory", "shared memory read", lambda counted: WAVEFRONT * shared_wavefronts(counted)),
)


@dataclass(frozen=True)
class Point:
    """A lesson: TFLOP/s, and FLOP/B at each of LEVELS that it uses."""

    lesson: str
    tflops: float
    intensity: Mapping[str, float]

    def shares(self, ceilings: Mapping) -> dict[str, float]:
        """Ceiling -> what share of it the lesson reaches. The arithmetic's is that of FFMA alone."""
        found = {
            level.ceiling: self.tflops / self.intensity[level.name] / rate(ceilings, level.ceiling)
            for level in LEVELS
            if level.name in self.intensity
        }
        return {**found, FFMA: self.tflops / rate(ceilings, FFMA)}


def rate(ceilings: Mapping, name: str) -> float:
    """A ceiling, TB/s or TFLOP/s. Throws Outdated where it was not measured."""
    try:
        return ceilings["figures"][name]["value"]
    except KeyError:
        raise Outdated(f"{data.CEILINGS} lacks {name!r}; record it again with ./gemm doctor --measure --record.") from None


def points(results: Results, profile: Mapping, order: Sequence[str]) -> list[Point]:
    """The lessons in `order` that were timed at 4096³ and profiled there, with the same kernel. Throws Outdated where there is
    none, or where the profile lacks a figure."""
    if {profile[key] for key in "mnk"} != {data.SIZE}:
        raise Outdated(f"{data.PROFILE} is not of M = N = K = {data.SIZE}; {_AGAIN}.")
    found = []
    for lesson, run in data.at_size(results, order, "fp32").items():
        if lesson not in profile["lessons"] or profile["kernel_hashes"].get(lesson) != run.get("kernel_hash"):
            continue
        try:
            moved = {level.name: level.moved(profile["lessons"][lesson]) for level in LEVELS}
        except KeyError as missing:
            raise Outdated(f"{data.PROFILE} lacks {missing} of {lesson}; {_AGAIN}.") from None
        intensity = {name: 2 * data.SIZE**3 / value for name, value in moved.items() if value > 0}
        found.append(Point(lesson, run["tflops"], intensity))
    if not found:
        raise Outdated(f"{data.PROFILE} has none of the kernels that were timed; {_older(results, profile)}.")
    return found


def _older(results: Results, profile: Mapping) -> str:
    """Which of the two is to be recorded again, where they are of different kernels."""
    return "measure again with ./gemm chart --record" if results.get("date", "") < profile["date"] else _AGAIN


def left_out(results: Results, profile: Mapping, order: Sequence[str]) -> str:
    """A sentence on the profiled lessons that points() leaves out, because other kernels were timed; empty without any."""
    there = {point.lesson for point in points(results, profile, order)}
    names = [name for name in data.at_size(results, order, "fp32") if name in profile["lessons"] and name not in there]
    if not names:
        return ""
    return f"The roofline leaves out {', '.join(names)}: other kernels were timed than profiled; {_older(results, profile)}."


def sources(results: Results, profile: Mapping, ceilings: Mapping) -> list[str]:
    """Where rates, bytes and ceilings come from."""
    dated = [
        f"{what}: {date[:10]}, commit {(commit or 'unknown')[:7]}"
        for what, date, commit in (
            ("rates", results.get("date", ""), results.get("commit")),
            (f"bytes (ncu {profile['ncu']})", profile["date"], profile.get("commit")),
            ("ceilings", ceilings["date"], ceilings.get("commit")),
        )
    ]
    return [results["device"]["name"], *dated]


_MARKER = 0.075  # inches, the radius of a point
_LABEL = (0.45, 0.23)  # inches, a number such as 10a
_AROUND = [math.radians(angle) for angle in (-90, 0, -45, 180, 90, -135, 45, 135, -20, -70, -110, 20)]


Spot = tuple[float, float]


def _hits(at: Spot, others: Sequence[Spot], wide: float, high: float) -> int:
    """How many of `others` lie in the box around `at`, of half the width `wide` and half the height `high`."""
    return sum(abs(at[0] - x) < wide and abs(at[1] - y) < high for x, y in others)


def _line(spot: Spot, label: Spot) -> list[Spot]:
    """Points on the line between them."""
    return [(spot[0] + t * (label[0] - spot[0]), spot[1] + t * (label[1] - spot[1])) for t in (0.3, 0.45, 0.6, 0.75)]


def place(spots: Sequence[Spot], walls: Sequence[Spot], top: float) -> list[Spot]:
    """A place for the label of each spot, inches: near it, below `top`, off other spots, labels, their lines and walls."""
    labels: list[Spot] = []
    lines: list[Spot] = []
    wide, high = _LABEL[0] / 2, _LABEL[1] / 2

    def cost(spot: Spot, at: Spot) -> float:
        covered = _hits(at, spots, wide + _MARKER, high + _MARKER) + _hits(at, labels, 2 * wide, 2 * high)
        covered += _hits(at, [*lines, *walls], wide + 0.03, high + 0.03) + (at[1] + high > top)
        obstacles = [*(other for other in spots if other != spot), *lines]
        crossed = sum(_hits(along, obstacles, _MARKER, _MARKER) + _hits(along, labels, wide, high) for along in _line(spot, at))
        return math.dist(at, spot) + 3 * crossed + 10 * covered

    for spot in spots:
        around = [
            (spot[0] + 1.2 * away * math.cos(angle), spot[1] + away * math.sin(angle))
            for away, angle in product((0.27, 0.38, 0.5, 0.65, 0.8, 1.0, 1.2), _AROUND)
        ]
        labels.append(min(around, key=partial(cost, spot)))
        lines += _line(spot, labels[-1])
    return labels


def _panel(axes: Axes, level: Level, found: Sequence[Point], ceilings: Mapping, inches: tuple[float, float]) -> None:
    """One level of memory: the roof, and a point a lesson. `inches`: width and height of the axes."""
    bandwidth, ffma, outer = (rate(ceilings, name) for name in (level.ceiling, FFMA, OUTER))
    here = [point for point in found if level.name in point.intensity]
    xs = [point.intensity[level.name] for point in here]
    ridge = ffma / bandwidth
    low, high = min([ridge / 5, *(x / 3 for x in xs)]), max([ridge * 5, *(x * 3 for x in xs)])
    bottom, top = min(point.tflops for point in found) / 2, ffma * 2.6

    def spot(x: float, y: float) -> tuple[float, float]:
        return inches[0] * math.log(x / low) / math.log(high / low), inches[1] * math.log(y / bottom) / math.log(top / bottom)

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(bottom, top)
    axes.minorticks_off()
    for set_ticks, least, most in ((axes.set_xticks, low, high), (axes.set_yticks, bottom, top)):
        ticks = [step * 10.0**n for n in range(-3, 6) for step in (1, 3) if least <= step * 10.0**n <= most]
        set_ticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.grid(color=LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_ylabel("TFLOP/s")
    axes.set_xlabel(f"FLOP per byte of {level.name}")

    start = max(low, bottom / bandwidth)
    axes.plot([start, ridge, high], [start * bandwidth, ffma, ffma], color=INK, linewidth=2.5)
    axes.plot([outer / bandwidth, high], [outer, outer], color=INK, linewidth=1.6, linestyle=(0, (4, 2)))
    axes.annotate(f"FFMA: {data.rate(ffma)} TFLOP/s", (1, ffma), (0, 7), xycoords=("axes fraction", "data"),
                  textcoords="offset points", ha="right", fontsize=15, fontweight="bold")  # fmt: skip
    # Under the slope, where no lesson can be left of its own intensity.
    slope = spot(start, start * bandwidth)
    axes.text(slope[0] / inches[0] + 0.015, (slope[1] - 0.12) / inches[1], f"{level.ceiling}:\n{data.rate(bandwidth)} TB/s",
              va="top", fontsize=15, fontweight="bold", transform=axes.transAxes)  # fmt: skip

    spots = [spot(x, point.tflops) for x, point in zip(xs, here, strict=True)]
    along = [low * (high / low) ** (n / 200) for n in range(201)]
    walls = [spot(x, min(outer, bandwidth * x)) for x in along]
    walls += [(inches[0] - 0.1 * n, spot(low, ffma)[1] + 0.2) for n in range(24)]  # what is written above the roof
    labels = place(spots, walls, spot(low, outer)[1])
    for point, x, (px, py), (lx, ly) in zip(here, xs, spots, labels, strict=True):
        axes.plot([x], [point.tflops], marker="o", markersize=2 * 72 * _MARKER, color=DARK, markeredgecolor="white", zorder=4)
        axes.annotate(
            point.lesson.partition("_")[0],
            (px / inches[0], py / inches[1]),
            (lx / inches[0], ly / inches[1]),
            xycoords="axes fraction",
            textcoords="axes fraction",
            ha="center",
            va="center",
            fontsize=15,
            fontweight="bold",
            color=DARK,
            zorder=5,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0, "zorder": 3},
        )


def draw(results: Results, profile: Mapping, ceilings: Mapping, out_stem: Path, order: Sequence[str] | None = None) -> list[Path]:
    """Draws the FP32 lessons of points() to out_stem.png and .svg, a panel for each of LEVELS. Throws UserError."""
    found = points(results, profile, lessons() if order is None else order)
    head, high, axis, gap, foot = 1.1, 3.3, 0.8, 0.35, 1.6  # inches: titles, a panel, its x axis, between panels, caption
    left, wide = 0.115, 0.85
    height = head + len(LEVELS) * (high + axis) + (len(LEVELS) - 1) * gap + foot
    with style():
        figure = new_figure(height)
        for number, level in enumerate(LEVELS):
            top = head + number * (high + axis + gap)
            axes = figure.add_axes((left, 1 - (top + high) / height, wide, high / height))
            _panel(axes, level, found, ceilings, (wide * WIDTH, high))
        figure.text(0.02, 1 - 0.42 / height, "Roofline: FP32 GEMM, a point a lesson", fontsize=22, fontweight="bold")
        figure.text(0.02, 1 - 0.76 / height, "under what the GPU reaches in kernels that do one thing", fontsize=16, color=GREY)
        name, *dated = sources(results, profile, ceilings)
        lines = [
            f"{name} · {data.SIZE}×{data.SIZE}×{data.SIZE}, alpha = 1, beta = 0",
            *dated,
            f"dashed: FFMA as 8×16 outer products, {data.rate(rate(ceilings, OUTER))} TFLOP/s",
        ]
        for number, line in enumerate(lines):
            figure.text(0.02, (foot - 0.35 - 0.28 * number) / height, line, fontsize=14.5)
        return save(figure, out_stem)
