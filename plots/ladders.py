"""The chart that the README begins with: every lesson as per cent of cuBLAS at 4096³, a panel a ladder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes

from plots import data
from plots.style import DARK, GREY, INK, WIDTH, new_figure, save, style
from runner.core.reports import Results, Run
from runner.core.results import UserError, lessons

NAME = "ladders"
_INSIDE = 0.48  # of the axis: a bar beyond it has room for its label inside
_FONT = 14.5  # points; the README shows the chart at 640 pixels, which makes them 16 pixels there
_ROW, _HEAD = 0.31, 0.36  # inches: a bar, a ladder's heading
_AXIS, _FOOT = 0.62, 0.36  # inches: the x axis with its label, the caption


def _bars(axes: Axes, runs: dict[str, Run], limit: float) -> None:
    """A bar a run. A label inside its bar ends at the line of cuBLAS at the latest."""
    for row, run in enumerate(runs.values()):
        value = 100 * run["ratio"]
        inside = value > _INSIDE * limit
        axes.barh(row, value, height=0.78, color=DARK)
        axes.text(
            (min(value, 100) - 0.012 * limit) if inside else value + 0.012 * limit,
            row,
            f"{data.percent(run['ratio'])} · {data.rate(run['tflops'])} TFLOP/s",
            ha="right" if inside else "left",
            va="center_baseline",
            color="white" if inside else INK,
            fontsize=_FONT,
            fontweight="bold",
        )
    axes.set_yticks(range(len(runs)), list(runs))
    axes.tick_params(axis="both", labelsize=_FONT)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(runs) - 0.45, -0.55)  # the first lesson on top
    axes.set_xlim(0, limit)
    axes.axvline(100, color="white", linewidth=5)  # keeps the line visible across bars that reach it
    axes.axvline(100, color=INK, linewidth=2.2, linestyle=(0, (4, 2)))


def draw(results: Results, out_stem: Path, order: Sequence[str] | None = None) -> list[Path]:
    """Draws the ladders of the lessons in `order` (the course's by default) to out_stem.png and .svg, on one axis: per cent of
    cuBLAS of the ladder's own type, the median over interleaved rounds. Throws UserError when nothing was timed at 4096³."""
    shown = []
    for ladder in data.ladders(results, lessons() if order is None else order):
        runs = data.square(results, data.SIZE, ladder.variant)
        if found := {name: runs[name] for name in ladder.lessons if name in runs}:
            shown.append((data.label(ladder.variant), found))
    if not shown:
        raise UserError(f"These results hold no timed run at {data.SIZE}×{data.SIZE}×{data.SIZE}; {data.HOW_TO_MEASURE}.")

    limit = 1.05 * max(100, *(100 * run["ratio"] for _, runs in shown for run in runs.values()))
    height = sum(_HEAD + _ROW * len(runs) for _, runs in shown) + _AXIS + _FOOT
    left = (0.2 + 0.112 * max(len(name) for _, runs in shown for name in runs)) / WIDTH  # 0.112 inches: a character of a name
    with style():
        figure, top = new_figure(height), 0.0
        for label, runs in shown:
            rows, last = _ROW * len(runs), runs is shown[-1][1]
            axes = figure.add_axes((left, 1 - (top + _HEAD + rows) / height, 0.98 - left, rows / height))
            _bars(axes, runs, limit)
            axes.tick_params(axis="x", labelbottom=last, length=4 if last else 0)
            cublas = data.rate(data.tflops(data.SIZE, data.baseline_ms(runs.values())))
            for x, text, side in ((0, label, "left"), (100, f"cuBLAS: {cublas} TFLOP/s", "right")):
                axes.annotate(text, (x, 1), (0, 5), xycoords=("data", "axes fraction"), textcoords="offset points",
                              ha=side, fontsize=_FONT, fontweight="bold")  # fmt: skip
            top += _HEAD + rows
        axes.set_xlabel("% of cuBLAS, measured in the same run", fontsize=_FONT)
        size = f"{data.SIZE}×{data.SIZE}×{data.SIZE}, alpha = 1, beta = 0"
        figure.text(0.98, 0.11 / height, " · ".join([*data.provenance(results), size]), ha="right", fontsize=12.5, color=GREY)
        return save(figure, out_stem)
