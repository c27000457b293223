"""The pictures of 11c: what a store of the warp writes before and after the exchange, and the exchange itself."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_COLUMNS, _LANES, _SECTOR = 32, 4, 16  # of a row; that hold them; columns of a sector
_SHADES = (DARK, MID, LIGHT, PALE)  # of the lanes


def picture(lesson: Descriptor) -> Figure:
    """Which columns of a row does a lane store at once?"""
    figure, axes = canvas(6.3)
    text, left = axes.text, 0.3
    cell, tall = (WIDTH - 2 * left) / _COLUMNS, 0.55
    text(0.2, 0.45, f"{lesson.name}: who holds what", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"{_COLUMNS} columns of one row of C, and which lane holds each.", fontsize=TEXT)

    def row(top: float, title: str, wide: int, stored: int) -> None:
        """wide: columns that a lane has side by side. stored: columns that one store writes."""
        text(left, top - 0.2, title, fontsize=TEXT, fontweight="bold")
        for col in range(0, _COLUMNS, wide):
            lane = col // wide % _LANES
            how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if lane < 2 else {}
            box(axes, left + col * cell, top, wide * cell, tall, _SHADES[lane], "white")
            text(left + (col + wide / 2) * cell, top + tall / 2, str(lane), ha="center", va="center", fontsize=SMALL, **how)
        for col in range(0, _COLUMNS + 1, _SECTOR):
            axes.plot([left + col * cell] * 2, [top - 0.08, top + tall + 0.08], color=INK, linewidth=2.4)
        under = top + tall + 0.22
        axes.plot([left + 0.04, left + stored * cell - 0.04], [under, under], color=INK, linewidth=4, solid_capstyle="butt")
        text(left, under + 0.3, "one store of the warp, in this row", fontsize=SMALL)

    row(1.65, "as wgmma leaves them, and lesson 11b stores them", 2, 2 * _LANES)
    arrow(axes, (WIDTH / 2, 2.6), (WIDTH / 2, 3.25))
    text(WIDTH / 2 + 0.15, 2.97, "transpose()", fontsize=TEXT)
    row(3.6, "after the exchange", 8, 8 * _LANES)
    legend(axes, left, 4.95, tuple((_SHADES[lane], f"lane {lane}") for lane in range(2)))
    legend(axes, WIDTH / 2 - 0.4, 4.95, tuple((_SHADES[lane], f"lane {lane}") for lane in range(2, 4)))
    text(left, 6.1, "Bold lines: where sectors begin and end, 32 bytes apart.", fontsize=SMALL)
    return figure


def _swapped(words: list[list[int]], step: int) -> list[list[int]]:
    """The matrix after one step: word i of lane l and word i ^ step of lane l ^ step change places, off the diagonal."""
    return [
        [words[lane ^ step][i ^ step] if (lane ^ i) & step else words[lane][i] for i in range(_LANES)] for lane in range(_LANES)
    ]


def _framed(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    """A frame that shows on every shade: black within white."""
    for colour, line in (("white", 5.5), (INK, 2.8)):
        box(axes, x, y, width, height, "none", colour, line, zorder=3)


def picture_exchange(lesson: Descriptor) -> Figure:
    """Which columns do a lane's four words belong to, before the exchange, after its first step, and after its second?"""
    figure, axes = canvas(6.0)
    text, cell, slit, left, top = axes.text, 0.48, 0.07, 0.98, 2.1
    side = _LANES * cell + slit  # of a matrix, with a slit between its four squares
    apart = (WIDTH - 0.25 - left - 3 * side) / 2
    text(0.2, 0.45, f"{lesson.name}: the exchange", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Four lanes, and the four words of each. A number is the first", fontsize=TEXT)
    text(0.2, 1.2, "of a word's two columns; the shade is the lane it has to go to.", fontsize=TEXT)

    def at(place: int) -> float:
        return place * cell + (slit if place >= _LANES // 2 else 0)

    words = [[2 * lane + 8 * i for i in range(_LANES)] for lane in range(_LANES)]
    for lane in range(_LANES):
        text(left - 0.1, top + at(lane) + cell / 2, f"lane {lane}", ha="right", va="center", fontsize=SMALL)
    for place, (title, step) in enumerate((("before", 1), ("after step 1", 2), ("after step 2", 0))):
        x = left + place * (side + apart)
        text(x, top - 0.15, title, fontsize=TEXT, fontweight="bold")
        for lane, row in enumerate(words):
            for i, column in enumerate(row):
                goal = column // 8
                how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if goal < 2 else {}
                how |= {"ha": "center", "va": "center", "fontsize": SMALL}
                box(axes, x + at(i), top + at(lane), cell, cell, _SHADES[goal], GREY)
                text(x + at(i) + cell / 2, top + at(lane) + cell / 2, str(column), **how)
        if step:
            for lane in range(0, _LANES, step):
                for i in range(0, _LANES, step):
                    if (lane ^ i) & step:  # off the diagonal
                        wide = step * cell - 0.08
                        _framed(axes, x + at(i) + 0.04, top + at(lane) + 0.04, wide, wide)
            words = _swapped(words, step)
    under = top + side + 0.3
    _framed(axes, 0.32, under + 0.02, 0.28, 0.24)
    text(0.75, under + 0.14, "changes places in the next step: first two words of each", va="center", fontsize=TEXT)
    text(0.75, under + 0.46, "square, then two squares", va="center", fontsize=TEXT)
    for lanes, x in (((0, 1), 0.3), ((2, 3), WIDTH / 2 - 0.4)):
        legend(axes, x, under + 0.8, tuple((_SHADES[lane], f"for lane {lane}") for lane in lanes))
    return figure
