"""What the pictures of all lessons share: boxes, grids and arrows.

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.style import GREY, INK, WIDTH, new_figure

WARP = 32  # threads
TITLE, TEXT, SMALL = 22, 17, 15  # points


def canvas(height: float) -> tuple[Figure, Axes]:
    figure = new_figure(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    return figure, axes


def box(axes: Axes, x: float, y: float, width: float, height: float, fill: str, edge: str = "none", line: float = 0.8,
        **more: Any) -> None:  # fmt: skip
    axes.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line, **more))


def grid(axes: Axes, x: float, y: float, rows: int, cols: int, cell: float, colour: str = GREY, line: float = 0.4) -> None:
    for row in range(rows + 1):
        axes.plot([x, x + cols * cell], [y + row * cell] * 2, color=colour, linewidth=line)
    for col in range(cols + 1):
        axes.plot([x + col * cell] * 2, [y, y + rows * cell], color=colour, linewidth=line)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], width: float = 1.6) -> None:
    style_ = {"arrowstyle": "-|>", "color": INK, "linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
    axes.annotate("", end, start, arrowprops=style_)


def legend(axes: Axes, x: float, y: float, shades: Sequence[tuple[str, str]], line: float = 0.42) -> None:
    """What each shade means: a swatch and words, one below the other, from the top left corner (x, y)."""
    for place, (fill, words) in enumerate(shades):
        top = y + place * line
        box(axes, x, top, 0.32, 0.26, fill, GREY, 1.0)
        axes.text(x + 0.45, top + 0.13, words, va="center", fontsize=TEXT)
