"""Lesson 13d's pictures: consumers together and in turns over time, and what a turn's mbarriers say."""

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
    figure, axes = canvas(7.95)
    text = axes.text
    text(0.2, 0.45, "13d: together, and in turns", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right, not to scale. A number is a C tile.", fontsize=TEXT)
    end = WIDTH - 0.15 - _LEFT

    y = 1.6
    _lanes(axes, y, "together: each has half of every C tile")
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

    y = 4.35
    _lanes(axes, y, "in turns: each has every second C tile")
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
    y += 3 * _LANE + 0.3
    legend(axes, 0.2, y, ((DARK, "products"), (MID, "results on their way to C")))
    arrow(axes, (0.36, y + 0.82), (0.36, y + 1.14), 2.0)
    text(0.65, y + 0.97, "the turn is passed on", va="center", fontsize=TEXT)
    return figure


def picture_turn(lesson: Descriptor) -> Figure:
    """What do the mbarriers of the turns say, and who goes on when a phase ends?"""
    figure, axes = canvas(6.2)
    text = axes.text
    text(0.2, 0.45, "13d: phases of the turns", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right, not to scale. A number is a C tile.", fontsize=TEXT)
    y, turn, count = 1.4, 1.2, 5
    end = _LEFT + count * turn
    for row in range(5):
        axes.plot([_LEFT, end], [y + row * _LANE] * 2, color=GREY, linewidth=0.6)
    for row, name in enumerate(("consumer 0", "turn[1]", "consumer 1", "turn[0]")):
        text(_LEFT - 0.12, y + (row + 0.5) * _LANE, name, ha="right", va="center", fontsize=SMALL)
    for tile in range(count):
        consumer, at = tile % 2, tile * turn
        _piece(axes, at, turn, y, 2 * consumer, DARK, str(tile))
        if tile < count - 1:
            _piece(axes, at + turn, _WRITE, y, 2 * consumer, MID, str(tile))
    for row, ends in ((1, (0, 1, 3, 5)), (3, (0, 2, 4, 5))):
        for phase, (begins, last) in enumerate(zip(ends, ends[1:], strict=False)):
            wide = (last - begins) * turn
            _piece(axes, begins * turn, wide, y, row, PALE, f"phase {phase}" if wide > turn + 0.1 or phase == 0 else "2")
    for tile in range(count - 1):
        x, row = _LEFT + (tile + 1) * turn, 1 if tile % 2 == 0 else 3
        arrow(axes, (x, y + (row - 0.5) * _LANE), (x, y + (row + 0.32) * _LANE), 2.0)
        axes.plot([x, x], [y - 0.06, y + 4 * _LANE + 0.06], color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=0)
    y += 4 * _LANE + 0.35
    legend(axes, 0.2, y, (
        (DARK, "products"),
        (MID, "results on their way to C"),
        (PALE, "a phase of the mbarrier (even: parity 0)"),
    ))  # fmt: skip
    arrow(axes, (0.36, y + 1.24), (0.36, y + 1.56), 2.0)
    text(0.65, y + 1.4, "four arrivals end the phase: the other consumer goes on", va="center", fontsize=TEXT)
    return figure
