"""The sweep chart: rates over square sizes, a small panel a lesson, each with the lesson before it and cuBLAS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots import data
from plots.style import DARK, GREY, INK, LIGHT, MID, new_figure, save, style
from runner.core.reports import Results
from runner.core.results import UserError, lessons

_SLOW = 0.25  # of the fastest rate: the panel of a lesson that stays below it has an axis of its own, without cuBLAS
_ACROSS, _ROW = 2, 1.95  # panels side by side; inches from a panel's top to that of the next below
_PANEL = 1.25  # inches: the height of an axis
_FONT = 14.5  # points
_RING = {"linestyle": "", "markerfacecolor": "none", "markeredgewidth": 1.6, "clip_on": False, "zorder": 4}  # odd sizes
_LESSON: dict[str, Any] = {"color": DARK, "linewidth": 2.2, "marker": "o", "markersize": 5.5, "clip_on": False, "zorder": 3}
_BEFORE: dict[str, Any] = {"color": MID, "linewidth": 1.8, "linestyle": (0, (4, 2)), "clip_on": False, "zorder": 2}
_CUBLAS: dict[str, Any] = {"color": INK, "linewidth": 2.2, "clip_on": False, "zorder": 2}
_ODD: dict[str, Any] = {"color": DARK, "marker": "o", "markersize": 10, **_RING}
_ODD_CUBLAS: dict[str, Any] = {"color": INK, "marker": "D", "markersize": 8, **_RING}

Curve = dict[int, float]  # size -> TFLOP/s


def _line(axes: Axes, curve: Curve, even: dict[str, Any], odd: dict[str, Any] | None) -> None:
    """A line through the even sizes, and marks at the odd ones."""
    for look, rest in ((even, 0), (odd, 1)):
        sizes = [size for size in curve if size % 2 == rest]
        if look and sizes:
            axes.plot(sizes, [curve[size] for size in sizes], **look)


def _panel(axes: Axes, name: str, curve: Curve, before: Curve | None, cublas: Curve, fastest: float) -> None:
    """One lesson. Its axis ends at the fastest rate of the chart, or, if it is slow, above its own."""
    slow = max(curve.values()) < _SLOW * fastest
    if before:
        _line(axes, before, _BEFORE, None)
    _line(axes, curve, _LESSON, _ODD)
    if not slow:
        _line(axes, cublas, _CUBLAS, _ODD_CUBLAS)
    top = 1.1 * max([*curve.values(), *(before or {}).values()]) if slow else 1.06 * fastest
    sizes = sorted(cublas)
    ticks = [size for size in sizes if size & (size - 1) == 0] or sizes
    ticks = ticks[:: 2 if len(ticks) > 4 else 1]  # a panel has room for four
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(size) for size in ticks], fontsize=_FONT)
    axes.set_xticks([], minor=True)
    axes.set_xlim(sizes[0] / 1.15, sizes[-1] * 1.06)
    axes.set_ylim(0, top)
    axes.locator_params(axis="y", nbins=4)
    axes.tick_params(axis="y", labelsize=_FONT)
    axes.grid(axis="y", color=LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(name, fontsize=16, fontweight="bold", loc="left", pad=8)
    if slow:
        axes.set_title("own axis", fontsize=15, color=GREY, loc="right", pad=8)


def _legend(figure: Figure, height: float, top: float, odd: Sequence[int]) -> None:
    """What each line and mark means, from `top` on, inches."""
    entries = [
        (0, 0, {**_LESSON, "clip_on": True}, "the lesson"),
        (0, 1, {**_BEFORE, "clip_on": True}, "the one before it"),
        (0, 2, {**_CUBLAS, "clip_on": True}, "cuBLAS"),
    ]
    if odd:
        entries += [(1, 0, _ODD, "lesson, odd size"), (1, 1, _ODD_CUBLAS, "cuBLAS, odd size")]
    for line, column, look, words in entries:
        x, y = (0.02, 0.36, 0.74)[column], 1 - (top + 0.34 * line) / height
        at = ([x, x + 0.025, x + 0.05], [y] * 3) if "linewidth" in look else ([x + 0.025], [y])
        look = {**look, "markevery": [1]} if "linewidth" in look and "marker" in look else look
        figure.add_artist(Line2D(*at, transform=figure.transFigure, **look))
        figure.text(x + 0.065, y, words, fontsize=16, va="center_baseline")


def draw(results: Results, out_stem: Path, order: Sequence[str] | None = None, variant: str = "fp32") -> list[Path]:
    """Draws TFLOP/s over every square size measured with that variant, to out_stem.png and .svg: a panel for each of the lessons
    in `order` (the course's by default), with cuBLAS and the lesson before it.

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
    cublas = {size: data.tflops(size, data.baseline_ms(by_size[size].values())) for size in sizes}
    fastest = max(max(curve.values()) for curve in (*curves.values(), cublas))
    odd = [size for size in sizes if size % 2]

    head, foot, rows = 1.7 if odd else 1.35, 1.05, -(-len(curves) // _ACROSS)  # inches: title and legend; caption
    height = head + rows * _ROW + foot
    left, gap, right = 0.1, 0.075, 0.985  # of the width
    wide = (right - left - (_ACROSS - 1) * gap) / _ACROSS
    with style():
        figure = new_figure(height)
        before: Curve | None = None
        for place, (name, curve) in enumerate(curves.items()):
            row, column = divmod(place, _ACROSS)
            bottom = head + row * _ROW + _PANEL
            axes = figure.add_axes((left + column * (wide + gap), 1 - bottom / height, wide, _PANEL / height))
            _panel(axes, name, curve, before, cublas, fastest)
            before = curve
            if column == 0:
                axes.set_ylabel("TFLOP/s", fontsize=_FONT)
            if place + _ACROSS >= len(curves):  # nothing stands below it
                axes.set_xlabel("M = N = K, elements", fontsize=_FONT)

        def write(y: float, text: str, **font: Any) -> None:
            figure.text(0.02, 1 - y / height, text, **font)

        write(0.42, f"{data.label(variant)} GEMM over square sizes", fontsize=22, fontweight="bold")
        _legend(figure, height, 0.78, odd)
        write(height - 0.45, " · ".join(data.provenance(results)), fontsize=14.5)
        write(height - 0.15, "alpha = 1, beta = 0; cuBLAS measured in the same run", fontsize=14.5)
        return save(figure, out_stem)
