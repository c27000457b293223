"""The sweep chart: rates over square sizes, a line a lesson and cuBLAS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from plots import data
from plots.style import DARK, GREY, INK, LIGHT, MID, new_figure, save, style
from runner.core.reports import Results
from runner.core.results import UserError, lessons

_SLOW = 0.25  # of the fastest rate: lessons that stay below it are drawn again in the second panel
_LOOKS = [  # marker, line, colour: neighbours in the course differ in all three
    (marker, line, colour)
    for colour, line, markers in ((DARK, "-", "osD^"), (MID, (0, (5, 2)), "vPXp"), (GREY, (0, (1.5, 1.5)), "<>h*"))
    for marker in markers
]
_LABEL = 0.31  # inches between two labels at the ends of lines
_NAME = 1.09  # of the axis' width: where the marker before a name stands

Curve = dict[int, float]  # size -> TFLOP/s


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions in the order of `wanted`, close to it, at least `gap` apart, within [low, high] where that holds them all."""
    placed: list[tuple[list[int], float]] = []  # groups of touching labels, and the middle of each
    for index in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        group, middle = [index], min(max(wanted[index], low), high)
        while True:
            half = gap * (len(group) - 1) / 2
            middle = max(min(middle, high - half), low + half)
            if not placed or placed[-1][1] + gap * (len(placed[-1][0]) - 1) / 2 + gap <= middle - half + 1e-12:
                break
            group = placed.pop()[0] + group
            middle = sum(wanted[i] for i in group) / len(group)
        placed.append((group, middle))
    result = [0.0] * len(wanted)
    for group, middle in placed:
        for place, index in enumerate(group):
            result[index] = middle + gap * (place - (len(group) - 1) / 2)
    return result


def _panel(axes: Axes, curves: dict[str, Curve], looks: dict[str, tuple], sizes: list[int], inches: float) -> None:
    """Lines through the even sizes, hollow markers at the odd ones, names at the right ends."""
    top = 1.08 * max(max(curve.values()) for curve in curves.values())
    for name, curve in curves.items():
        marker, line, colour = looks[name]
        even = [size for size in curve if size % 2 == 0]
        odd = [size for size in curve if size % 2]
        wide = 3.2 if marker == "" else 2.0
        axes.plot(
            even,
            [curve[s] for s in even],
            color=colour,
            linestyle=line,
            marker=marker,
            linewidth=wide,
            markersize=8,
            clip_on=False,
        )
        axes.plot(
            odd,
            [curve[s] for s in odd],
            color=colour,
            linestyle="",
            marker=marker or "o",
            markersize=10,
            markerfacecolor="white",
            markeredgewidth=1.8,
            zorder=3,
            clip_on=False,
        )
    axes.set_xscale("log", base=2)
    ticks = [size for size in sizes if size & (size - 1) == 0] or sizes
    axes.set_xticks(ticks, [str(size) for size in ticks], fontsize=15)
    axes.set_xticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.15, sizes[-1] * 1.06)
    axes.set_ylim(0, top)
    axes.set_ylabel("TFLOP/s")
    axes.set_xlabel("M = N = K, elements")
    axes.grid(axis="y", color=LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)

    last = {name: max(curve) for name, curve in curves.items()}
    places = spread([curves[n][last[n]] for n in curves], _LABEL / inches * top, 0, top)
    for (name, size), place in zip(last.items(), places, strict=True):
        marker, line, colour = looks[name]
        x, y = _NAME, place / top
        axes.annotate(
            "",
            (size, curves[name][size]),
            (x, y),
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.9, "shrinkA": 6, "shrinkB": 6},
        )
        axes.plot([x], [y], marker=marker, color=colour, markersize=8, transform=axes.transAxes, clip_on=False)
        weight = "normal" if marker else "bold"
        axes.text(x + 0.025, y, name, va="center", fontsize=15, fontweight=weight, transform=axes.transAxes)


def draw(results: Results, out_stem: Path, order: Sequence[str] | None = None, variant: str = "fp32") -> list[Path]:
    """Draws TFLOP/s over every square size measured with that variant, to out_stem.png and .svg: the lessons in `order` (the
    course's by default) and cuBLAS, and once more those that stay below a quarter of the fastest, on an axis that shows them.

    Throws UserError when no lesson has a run at two square sizes or more.
    """
    by_size = {size: data.square(results, size, variant) for size in data.square_sizes(results, variant)}
    curves: dict[str, Curve] = {}
    for name in lessons() if order is None else order:
        curve = {size: runs[name]["tflops"] for size, runs in by_size.items() if name in runs}
        if curve:
            curves[name] = curve
    sizes = sorted({size for curve in curves.values() for size in curve})
    if len(sizes) < 2:
        raise UserError(f"These results hold no timed runs at two square sizes or more; {data.HOW_TO_MEASURE}.")
    looks = {name: _LOOKS[index % len(_LOOKS)] for index, name in enumerate(curves)}
    looks["cuBLAS"] = ("", "-", INK)
    cublas = {size: data.tflops(size, data.baseline_ms(by_size[size].values())) for size in sizes}
    fastest = max(max(curve.values()) for curve in (*curves.values(), cublas))
    slow = {name: curve for name, curve in curves.items() if max(curve.values()) < _SLOW * fastest}

    head, axis, gap, foot = 1.15, 0.8, 0.6, 0.9  # inches: titles, an x axis with its label, next title, caption
    main_height, slow_height = max(3.2, _LABEL * (len(curves) + 2)), max(2.3, _LABEL * (len(slow) + 1))
    height = head + main_height + axis + foot + (gap + slow_height + axis if slow else 0)
    with style():
        figure = new_figure(height)
        left = 0.115
        wide = (0.985 - left - 0.0148 * max(len(name) for name in looks)) / (_NAME + 0.025)  # the names fill the rest

        def panel(top: float, inches: float) -> Axes:
            return figure.add_axes((left, 1 - (top + inches) / height, wide, inches / height))

        def write(y: float, text: str, **font: Any) -> None:
            figure.text(0.02, 1 - y / height, text, **font)

        _panel(panel(head, main_height), {**curves, "cuBLAS": cublas}, looks, sizes, main_height)
        if slow:
            top = head + main_height + axis + gap
            write(top - 0.17, "Again, the slow ones on an axis of their own:", fontsize=16, color=GREY)
            _panel(panel(top, slow_height), slow, looks, sizes, slow_height)
        write(0.42, f"{data.label(variant)} GEMM over square sizes", fontsize=22, fontweight="bold")
        if any(size % 2 for size in sizes):
            odd = ", ".join(str(size) for size in sizes if size % 2)
            figure.add_artist(
                Line2D(
                    [0.032],
                    [1 - 0.7 / height],
                    marker="o",
                    markersize=10,
                    markerfacecolor="white",
                    color=INK,
                    markeredgewidth=1.8,
                )
            )
            figure.text(0.055, 1 - 0.76 / height, f"hollow: an odd size ({odd})", fontsize=16, color=GREY)
        write(height - 0.5, " · ".join(data.provenance(results)), fontsize=14.5)
        write(height - 0.2, "alpha = 1, beta = 0; cuBLAS measured in the same run", fontsize=14.5)
        return save(figure, out_stem)
