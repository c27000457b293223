"""Lesson 15d's picture: 16 rows of C in square C tiles and in flat ones."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas, legend
from plots.style import GREY, INK, MID
from runner.core.descriptors import Descriptor

_ROWS, _COLS = 16, 256  # of C, or of the part that is drawn
_SQUARE, _FLAT = 64, 128
_SCALE = 6.4 / _COLS  # inches for a row, or a column
_LEFT = 0.8


def picture(lesson: Descriptor) -> Figure:
    """How much of what a block multiplies is needed?"""
    rows, square = _ROWS * _SCALE, _SQUARE * _SCALE
    figure, axes = canvas(6.1)
    axes.text(0.3, 0.45, f"15d: {_ROWS} rows of C, in two kinds of C tiles", fontsize=TITLE, fontweight="bold")
    axes.text(0.3, 0.87, f"To scale. C goes on to the right; {_COLS} columns are drawn.", fontsize=TEXT)

    top = 1.65
    axes.text(_LEFT, top - 0.17, f"four C tiles of {_SQUARE}×{_SQUARE}", fontsize=TEXT, fontweight="bold")
    for tile in range(_COLS // _SQUARE):
        x = _LEFT + tile * square
        box(axes, x, top, square, rows, MID)
        box(axes, x, top + rows, square, square - rows, "white", GREY, 0.0, hatch="//")
        box(axes, x, top, square, square, "none", INK, 1.8)
    _height(axes, top, rows, f"{_ROWS}")
    _height(axes, top + rows, square - rows, f"{_SQUARE - _ROWS}")

    below = top + square + 0.95
    axes.text(_LEFT, below - 0.17, f"two C tiles of {_ROWS}×{_FLAT}", fontsize=TEXT, fontweight="bold")
    for tile in range(_COLS // _FLAT):
        x = _LEFT + tile * _FLAT * _SCALE
        box(axes, x, below, _FLAT * _SCALE, rows, MID)
        box(axes, x, below, _FLAT * _SCALE, rows, "none", INK, 1.8)
    _height(axes, below, rows, f"{_ROWS}")

    legend(axes, _LEFT, below + rows + 0.55, [(MID, "products that C needs")])
    swatch = below + rows + 0.55 + 0.42
    box(axes, _LEFT, swatch, 0.32, 0.26, "white", GREY, 1.0, hatch="//")
    axes.text(_LEFT + 0.45, swatch + 0.13, "products with rows of zeros, which are thrown away", va="center", fontsize=TEXT)
    return figure


def _height(axes: Axes, y: float, height: float, label: str) -> None:
    axes.text(_LEFT - 0.12, y + height / 2, label, ha="right", va="center", fontsize=SMALL)
