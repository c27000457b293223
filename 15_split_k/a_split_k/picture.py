"""Lesson 15a's picture: four C tiles on three SMs, each in one piece and in three slices."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import LANE, SMALL, TEXT, TITLE, box, canvas, lanes, legend, piece
from plots.style import DARK, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor

_SMS, _TILES, _SLICES = 3, 4, 3
_LEFT, _RIGHT = 1.0, 7.8  # inches: of the lanes
_TILE, _COST = 3.2, 0.1  # a C tile's products, what a slice takes beside its own
_SHADES = (PALE, MID, DARK)


def picture(lesson: Descriptor) -> Figure:
    """Where do SMs idle, and what fills the gap?"""
    names = [f"SM {sm}" for sm in range(_SMS)]
    whole, sliced = 1.6, 4.25
    figure, axes = canvas(sliced + _SMS * LANE + 1.7)
    axes.text(_LEFT - 0.7, 0.45, "15a: four C tiles on three SMs", fontsize=TITLE, fontweight="bold")
    axes.text(_LEFT - 0.7, 0.87, "Time goes to the right. Numbers are those of C tiles.", fontsize=TEXT)

    axes.text(_LEFT, whole - 0.2, "a block for each C tile", fontsize=TEXT, fontweight="bold")
    lanes(axes, _LEFT, _RIGHT, whole, names)
    for tile in range(_TILES):
        start = _LEFT + tile // _SMS * _TILE
        piece(axes, start, start + _TILE, whole, tile % _SMS, LIGHT, str(tile + 1))
    for sm in range(_TILES % _SMS, _SMS):
        x, y = _LEFT + _TILE, whole + sm * LANE
        box(axes, x, y + 0.08, _TILE, LANE - 0.16, "white", INK, 1.0, hatch="//")
        axes.text(x + _TILE / 2, y + 0.52 * LANE, "idle", ha="center", va="center", fontsize=SMALL,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip

    axes.text(_LEFT, sliced - 0.2, "a block for each of three slices", fontsize=TEXT, fontweight="bold")
    lanes(axes, _LEFT, _RIGHT, sliced, names)
    long = _TILE / _SLICES
    for block in range(_TILES * _SLICES):
        start = _LEFT + block // _SMS * (long + _COST)
        piece(axes, start, start + long, sliced, block % _SMS, _SHADES[block // _TILES], str(block % _TILES + 1))
        box(axes, start + long, sliced + block % _SMS * LANE + 0.08, _COST, LANE - 0.16, INK)

    below = sliced + _SMS * LANE + 0.3
    legend(axes, _LEFT, below, [(shade, f"slice {slice_}") for slice_, shade in enumerate(_SHADES)])
    legend(axes, _LEFT + 2.2, below, [(INK, "sums to the workspace, and from it")])
    axes.text(_LEFT + 2.65, below + 0.55, "(wider than to scale)", va="center", fontsize=TEXT)
    return figure
