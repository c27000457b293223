"""The progression chart: a bar a lesson at 4096³ against cuBLAS."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes

from plots import data
from plots.style import DARK, GREY, INK, WIDTH, new_figure, save, style
from runner.core.reports import Results, Run
from runner.core.results import lessons

_SMALL = 0.05  # of the axis: a bar below it is drawn again in the second panel
_INSIDE = 0.46  # of the axis: a bar beyond it has room for its label inside
_ROW = 0.5  # inches per bar


def _bars(axes: Axes, runs: dict[str, Run], limit: float, label_end: float) -> None:
    """A bar a run, labelled; no label reaches across `label_end`, where the line of cuBLAS stands."""
    for row, run in enumerate(runs.values()):
        value = run["tflops"]
        axes.barh(row, value, height=0.74, color=DARK)
        inside = value > _INSIDE * limit
        axes.text(
            (min(value, label_end) - 0.012 * limit) if inside else value + 0.012 * limit,
            row,
            f"{data.rate(value)} · {data.percent(run['ratio'])}",
            ha="right" if inside else "left",
            va="center_baseline",
            color="white" if inside else INK,
            fontweight="bold",
        )
    axes.set_yticks(range(len(runs)), list(runs))
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(runs) - 0.4, -0.6)  # the first lesson on top
    axes.set_xlim(0, limit)
    axes.locator_params(axis="x", nbins=6)
    axes.set_xlabel("TFLOP/s")


def draw(results: Results, out_stem: Path, order: Sequence[str] | None = None, variant: str = "fp32") -> list[Path]:
    """Draws the lessons with a run at 4096³ with that variant, in `order` (the course's by default), to out_stem.png and .svg.

    Throws UserError when there is no such run. Each bar carries its TFLOP/s and its ratio to cuBLAS as per cent: the
    median over interleaved rounds, which the quotient of the two rates need not equal to the last digit.
    """
    runs = data.at_size(results, lessons() if order is None else order, variant)
    cublas = data.tflops(data.SIZE, data.baseline_ms(runs.values()))
    limit = 1.06 * max(cublas, *(run["tflops"] for run in runs.values()))
    small = {name: run for name, run in runs.items() if run["tflops"] < _SMALL * limit}

    head, axis, gap, foot = 1.4, 0.8, 0.55, 0.9  # inches: titles, an x axis with its label, next title, caption
    main_height, small_height = _ROW * max(len(runs), 2), _ROW * len(small)
    height = head + main_height + axis + foot + (gap + small_height + axis if small else 0)
    left = (0.25 + 0.127 * max(map(len, runs))) / WIDTH  # 0.127 inches: a character of a lesson's name
    with style():
        figure = new_figure(height)

        def panel(top: float, rows: float) -> Axes:
            return figure.add_axes((left, 1 - (top + rows) / height, 0.97 - left, rows / height))

        def write(y: float, text: str, **font: Any) -> None:
            figure.text(0.02, 1 - y / height, text, **font)

        main = panel(head, main_height)
        _bars(main, runs, limit, cublas)
        main.axvline(cublas, color="white", linewidth=6)  # keeps the line visible across bars that reach it
        main.axvline(cublas, color=INK, linewidth=2.5, linestyle=(0, (4, 2)))
        main.annotate(
            f"cuBLAS {data.label(variant)}: {data.rate(cublas)} TFLOP/s",
            (cublas, 1),
            (0, 6),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right",
            fontweight="bold",
        )
        if small:
            top = head + main_height + axis + gap
            end = 2.1 * max(run["tflops"] for run in small.values())
            write(top - 0.15, f"Too short above, here {limit / end:.0f} times as long:", fontsize=16, color=GREY)
            _bars(panel(top, small_height), small, end, cublas)
        write(0.42, f"{data.label(variant)} GEMM, a bar a lesson", fontsize=22, fontweight="bold")
        write(0.76, "TFLOP/s · % of cuBLAS, measured in the same run", fontsize=16, color=GREY)
        write(height - 0.5, " · ".join(data.provenance(results)), fontsize=14.5)
        write(height - 0.2, f"{data.SIZE}×{data.SIZE}×{data.SIZE}, alpha = 1, beta = 0", fontsize=14.5)
        return save(figure, out_stem)
