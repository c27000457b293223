"""What the pictures of all lessons share: boxes, grids and arrows.

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.style import DARK, GREY, INK, MID, WIDTH, new_figure

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


LANE = 0.66  # inches: height of a lane of a timeline


def lanes(axes: Axes, left: float, right: float, y: float, names: Sequence[str]) -> None:
    """A timeline's lanes, the first one from `y` on downwards, each with its name left of it."""
    axes.plot([left, right], [y, y], color=GREY, linewidth=0.6)
    for i, name in enumerate(names):
        axes.plot([left, right], [y + (i + 1) * LANE] * 2, color=GREY, linewidth=0.6)
        axes.text(left - 0.12, y + (i + 0.52) * LANE, name, ha="right", va="center", fontsize=SMALL)


def piece(axes: Axes, x: float, end: float, y: float, lane: int, fill: str, label: str, most: float = WIDTH) -> None:
    """What takes from `x` to `end` in a lane; its label stands in the middle of its first `most` inches."""
    box(axes, x, y + lane * LANE + 0.08, end - x, LANE - 0.16, fill, GREY)
    how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if fill in (DARK, MID) else {}
    axes.text((x + min(end, x + most)) / 2, y + (lane + 0.52) * LANE, label, ha="center", va="center", fontsize=SMALL, **how)


def barrier(axes: Axes, x: float, y: float, count: int) -> None:
    """A barrier across `count` lanes."""
    axes.plot([x, x], [y - 0.08, y + count * LANE + 0.08], color=INK, linewidth=6, solid_capstyle="butt")


def barrier_legend(axes: Axes, x: float, y: float) -> None:
    axes.plot([x + 0.16, x + 0.16], [y - 0.02, y + 0.3], color=INK, linewidth=6, solid_capstyle="butt")
    axes.text(x + 0.45, y + 0.13, "wait and barrier", va="center", fontsize=TEXT)
