"""The chart of variants: what lessons reach with each variant that they take, at 4096³, each beside cuBLAS with that variant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from plots import data
from plots.style import DARK, GREY, INK, MID, WIDTH, new_figure, save, style
from runner.core.reports import Results, Run
from runner.core.results import UserError

_INSIDE = 0.5  # of the axis: a bar beyond it has room for its label inside
_LABEL = 0.25  # of the axis: what a label takes
_FONT = 14.5  # points
_ROW, _HEAD = 0.36, 0.34  # inches: a bar, a lesson's name
_TOP, _AXIS, _FOOT = 1.05, 0.8, 0.75  # inches: titles, the x axis with its label, the caption


def cublas(run: Run) -> float:
    """TFLOP/s of what the run was timed against."""
    return data.tflops(data.SIZE, run["baseline_ms_median"])


def draw(results: Results, out_stem: Path, order: Sequence[str] | None = None) -> list[Path]:
    """Draws the lessons that data.several() finds, a bar a variant with a mark where cuBLAS is, to out_stem.png and .svg.

    Throws UserError when there is none.
    """
    shown = data.several(results, order)
    if not shown:
        raise UserError(f"These results hold no lesson with several variants at {data.SIZE}³; {data.HOW_TO_MEASURE}.")
    limit = 1.06 * max(max(run["tflops"], cublas(run)) for _, runs in shown for run in runs)
    high = sum(_HEAD + _ROW * len(runs) for _, runs in shown)
    height = _TOP + high + _AXIS + _FOOT
    left = (0.25 + 0.115 * max(len(data.label(run["variant"])) for _, runs in shown for run in runs)) / WIDTH
    with style():
        figure = new_figure(height)
        axes = figure.add_axes((left, (_AXIS + _FOOT) / height, 0.97 - left, high / height))
        axes.set_xlim(0, limit)
        axes.set_ylim(high, 0)  # inches from the top
        places, labels, top = [], [], 0.0
        for lesson, runs in shown:
            axes.text(0.006 * limit, top + 0.6 * _HEAD, lesson, va="center_baseline", fontsize=_FONT, fontweight="bold")
            top += _HEAD
            for nth, run in enumerate(runs):
                middle, value, other = top + _ROW / 2, run["tflops"], cublas(run)
                axes.barh(middle, value, height=0.8 * _ROW, color=MID if nth % 2 else DARK)
                for color, width in (("white", 5.0), (INK, 2.4)):  # white keeps it visible across a bar
                    axes.plot([other, other], [top + 0.02, top + _ROW - 0.02], color=color, linewidth=width)
                inside = value + _LABEL * limit > other and min(value, other) > _INSIDE * limit
                end = (
                    value if value + _LABEL * limit < other else max(value, other)
                )  # between the bar and the mark, or behind both
                axes.text(
                    min(value, other) - 0.012 * limit if inside else end + 0.012 * limit,
                    middle,
                    f"{data.rate(value)} · {data.percent(run['ratio'])}",
                    ha="right" if inside else "left",
                    va="center_baseline",
                    color="white" if inside else INK,
                    fontsize=_FONT,
                    fontweight="bold",
                )
                places.append(middle)
                labels.append(data.label(run["variant"]))
                top += _ROW
        axes.set_yticks(places, labels, fontsize=_FONT)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", labelsize=_FONT)
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel("TFLOP/s", fontsize=_FONT)
        for y, text, font in (
            (0.42, "Variants of a lesson, a bar each", {"fontsize": 22, "fontweight": "bold"}),
            (0.78, "TFLOP/s · % of cuBLAS with that variant, the mark", {"fontsize": 16}),
            (height - 0.42, " · ".join(data.provenance(results)), {"fontsize": _FONT}),
            (height - 0.14, f"{data.SIZE}×{data.SIZE}×{data.SIZE}, alpha = 1, beta = 0", {"fontsize": _FONT, "color": GREY}),
        ):
            figure.text(0.02, 1 - y / height, text, **font)
        return save(figure, out_stem)
