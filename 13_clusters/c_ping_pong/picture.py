"""Lesson 13c's pictures: consumers together and in turns over time, and the way of results to C."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _LANE = 1.85, 0.66  # inches: where time begins, height of a lane
_PRODUCTS, _WRITE = 0.95, 0.55  # inches: the products of one consumer's sums, its results to C


def _label(axes: Axes, x: float, y: float, words: str, fill: str = PALE) -> None:
    white = fill in (DARK, MID)
    axes.text(x, y, words, ha="center", va="center", fontsize=SMALL, color="white" if white else INK,
              fontweight="bold" if white else "normal")  # fmt: skip


def _piece(axes: Axes, begins: float, wide: float, y: float, row: int, fill: str, words: str = "") -> None:
    box(axes, _LEFT + begins, y + row * _LANE + 0.08, wide, _LANE - 0.16, fill, "white" if fill == DARK else GREY)
    _label(axes, _LEFT + begins + wide / 2, y + (row + 0.5) * _LANE, words, fill)


def _lanes(axes: Axes, y: float, title: str) -> None:
    axes.text(0.2, y - 0.22, title, fontsize=TEXT + 1, fontweight="bold")
    axes.plot([_LEFT, WIDTH - 0.15], [y, y], color=GREY, linewidth=0.6)
    for row, name in enumerate(("consumer 0", "consumer 1", "tensor cores")):
        axes.plot([_LEFT, WIDTH - 0.15], [y + (row + 1) * _LANE] * 2, color=GREY, linewidth=0.6)
        axes.text(_LEFT - 0.12, y + (row + 0.5) * _LANE, name, ha="right", va="center", fontsize=SMALL)


def picture(lesson: Descriptor) -> Figure:
    """Who multiplies and who writes, together and in turns?"""
    figure, axes = canvas(8.6)
    text = axes.text
    text(0.2, 0.45, "13c: together, and in turns", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right, not to scale. A number is a tile of C.", fontsize=TEXT)
    end = WIDTH - 0.15 - _LEFT

    y = 1.75
    _lanes(axes, y, "together: each has half of every tile")
    at, tile = 0.0, 0
    while at < end:
        for consumer in range(2):
            _piece(axes, at, min(2 * _PRODUCTS, end - at), y, consumer, DARK, str(tile))
        _piece(axes, at, min(2 * _PRODUCTS, end - at), y, 2, DARK)
        at += 2 * _PRODUCTS
        if at < end:
            for consumer in range(2):
                _piece(axes, at, min(_WRITE, end - at), y, consumer, MID, str(tile))
        at, tile = at + _WRITE, tile + 1

    y = 4.8
    _lanes(axes, y, "in turns: each has every second tile")
    at, tile = 0.0, 0
    while at < end:
        consumer, wide = tile % 2, min(_PRODUCTS, end - at)
        _piece(axes, at, wide, y, consumer, DARK, str(tile))
        _piece(axes, at, wide, y, 2, DARK)
        if at + _PRODUCTS < end:
            _piece(axes, at + _PRODUCTS, min(_WRITE, end - at - _PRODUCTS), y, consumer, MID, str(tile))
            x = _LEFT + at + _PRODUCTS
            lower, upper = y + 1.5 * _LANE, y + 0.5 * _LANE
            arrow(axes, (x, upper if consumer == 0 else lower), (x, lower - 0.1 if consumer == 0 else upper + 0.1), 2.0)
        at, tile = at + _PRODUCTS, tile + 1
    legend(axes, 0.2, y + 3 * _LANE + 0.3, (
        (DARK, "products"),
        (MID, "results on their way to C"),
        (INK, "an arrow: the turn is passed on"),
    ))  # fmt: skip
    return figure


def picture_results(lesson: Descriptor) -> Figure:
    """How do a warp's results come to C, and to which places of shared memory?"""
    chunks, rows, shown = lesson.constants["BOX"] // 8, 8, 2  # the chunk that one store of the warp writes
    wide, high, left = 0.56, 0.31, 1.7
    figure, axes = canvas(10.6)
    text = axes.text
    text(0.2, 0.45, "13c: the way of a warp's results", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "8 of the 16 rows of a box. A cell is a chunk: 8 results, 16 bytes.", fontsize=TEXT)

    def rows_of(top: float, title: str, swizzled: bool) -> None:
        text(0.2, top - 0.2, title, fontsize=TEXT, fontweight="bold")
        for row in range(rows):
            text(left - 0.12, top + (row + 0.5) * high, f"row {row}", ha="right", va="center", fontsize=SMALL)
            for place in range(chunks):
                chunk = place ^ row if swizzled else place
                fill = DARK if chunk == shown else PALE
                box(axes, left + place * wide, top + row * high, wide, high, fill, GREY)
                _label(axes, left + (place + 0.5) * wide, top + (row + 0.5) * high, str(chunk), fill)

    middle = left + chunks * wide / 2
    rows_of(1.65, "registers: four lanes have a chunk", False)
    arrow(axes, (middle, 1.65 + rows * high + 0.1), (middle, 4.9))
    text(middle + 0.2, 4.5, "each lane stores 4 bytes,", fontsize=SMALL)
    text(middle + 0.2, 4.8, "chunk by chunk", fontsize=SMALL)
    rows_of(5.45, "shared memory: a row is all 32 banks", True)
    arrow(axes, (middle, 5.45 + rows * high + 0.1), (middle, 8.7))
    text(middle + 0.2, 8.3, "one lane asks TMA", fontsize=SMALL)
    text(middle + 0.2, 8.6, "for the whole box", fontsize=SMALL)
    box(axes, left, 8.8, chunks * wide, 0.75, "white", GREY)
    box(axes, left + 2 * wide, 8.92, 2.5 * wide, 0.3, MID, GREY)
    text(left - 0.12, 9.18, "C", ha="right", va="center", fontsize=TEXT, fontweight="bold")
    legend(axes, 0.2, 9.7, (
        (DARK, f"chunk {shown} of eight rows: what one store of the warp writes"),
        (MID, "the box in C, its columns in order again"),
    ))  # fmt: skip
    return figure
