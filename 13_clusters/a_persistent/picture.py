"""Lesson 13a's pictures: two tiles of C on one SM in time, the order of the tiles, and a block over time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import timeline
from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor
from runner.core.results import ROOT

_LEFT, _RIGHT, _LANE = 1.75, WIDTH - 0.15, 0.72  # inches: where time begins and ends, height of a lane
_FIRST, _PRODUCTS, _STORE = 0.8, 1.3, 0.75  # inches: the first tiles on their way, products, results to C


def _piece(axes: Axes, x: float, wide: float, y: float, row: int, fill: str, label: str) -> None:
    box(axes, x, y + row * _LANE + 0.09, wide, _LANE - 0.18, fill, GREY)
    white = fill in (DARK, MID)
    axes.text(
        x + wide / 2,
        y + (row + 0.5) * _LANE,
        label,
        ha="center",
        va="center",
        fontsize=SMALL,
        color="white" if white else INK,
        fontweight="bold" if white else "normal",
    )


def picture(lesson: Descriptor) -> Figure:
    """When are the next tile's operands asked for? A block a tile of C, and a block that stays."""
    figure, axes = canvas(8.1)
    text = axes.text
    text(0.2, 0.45, "13a: two tiles of C on one SM", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right, not to scale.", fontsize=TEXT)
    names = ("producer", "consumers")

    def lanes(y: float, title: str) -> None:
        text(0.2, y - 0.22, title, fontsize=TEXT + 1, fontweight="bold")
        axes.plot([_LEFT, _RIGHT], [y, y], color=GREY, linewidth=0.6)
        for row, name in enumerate(names):
            axes.plot([_LEFT, _RIGHT], [y + (row + 1) * _LANE] * 2, color=GREY, linewidth=0.6)
            text(_LEFT - 0.12, y + (row + 0.5) * _LANE, name, ha="right", va="center", fontsize=SMALL)

    def tile(y: float, asks: float, begins: float, number: int) -> float:
        """Tile `number`: asked for at `asks`, products from `begins` on. Returns when they end."""
        _piece(axes, asks, _FIRST, y, 0, PALE, f"{number}")
        _piece(axes, asks + _FIRST, begins + _PRODUCTS - 0.5 - asks - _FIRST, y, 0, LIGHT, f"{number}")
        _piece(axes, begins, _PRODUCTS, y, 1, DARK, f"tile {number}")
        _piece(axes, begins + _PRODUCTS, _STORE, y, 1, MID, f"C {number}")
        return begins + _PRODUCTS

    y = 1.85
    lanes(y, "lesson 12: a block for each tile of C")
    ends = tile(y, _LEFT, _LEFT + _FIRST, 0) + _STORE
    tile(y, ends, ends + _FIRST, 1)

    y = 4.55
    lanes(y, "this step: the block stays")
    ends = tile(y, _LEFT, _LEFT + _FIRST, 0)
    ends = tile(y, ends - 0.5, ends + _STORE, 1) + _STORE
    axes.plot([ends] * 2, [y - 0.05, y + 2 * _LANE + 0.05], color=INK, linewidth=1.5, linestyle="--")
    text(ends + 0.1, y + 1.5 * _LANE, "done", va="center", fontsize=SMALL)
    legend(axes, 0.2, y + 2 * _LANE + 0.3, (
        (PALE, "the first tiles of A and B, as many as the ring has room for"),
        (LIGHT, "the others: each as soon as a stage is empty"),
        (DARK, "products"),
        (MID, "results to C"),
    ))  # fmt: skip
    return figure


def hilbert(number: int, side: int) -> tuple[int, int]:
    """Row and column of a tile on the curve through side×side tiles."""
    row = column = 0
    at = 1
    while at < side:
        right = number // 2 % 2
        down = (number ^ right) % 2
        if down == 0:
            row, column = (at - 1 - column, at - 1 - row) if right else (column, row)
        row, column = row + at * down, column + at * right
        number, at = number // 4, at * 2
    return row, column


def picture_order(lesson: Descriptor) -> Figure:
    """In which order are the tiles of C computed? Three orders of 16×16 tiles."""
    side = 16
    orders = {
        "row by row": [divmod(i, side) for i in range(side * side)],
        "down groups of 8 rows": [(i // (8 * side) * 8 + i % 8, i % (8 * side) // 8) for i in range(side * side)],
        "Hilbert's curve": [hilbert(i, side) for i in range(side * side)],
    }
    at_once = 64
    high, wide = 0.1, 0.16
    tall = side * high + 1.0
    figure, axes = canvas(1.5 + 3 * tall + 1.0)
    text = axes.text
    text(0.2, 0.45, "13a: the order of the tiles of C", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"C has {side}×{side} tiles, and {at_once} blocks begin together.", fontsize=TEXT)
    for place, (title, tiles) in enumerate(orders.items()):
        left, top = 0.5, 1.65 + place * tall
        text(left, top - 0.18, title, fontsize=TEXT, fontweight="bold")
        for offset, shown in ((0.0, at_once), (side * wide + 1.6, 0)):
            x = left + offset
            for row, column in tiles[:shown]:
                box(axes, x + column * wide, top + row * high, wide, high, DARK)
            for row in {row for row, _ in tiles[:shown]}:
                box(axes, x - 0.3, top + row * high, 0.2, high, LIGHT, GREY, 0.4)
            for column in {column for _, column in tiles[:shown]}:
                box(axes, x + column * wide, top + side * high + 0.1, wide, 0.2, LIGHT, GREY, 0.4)
            for line in range(side + 1):
                axes.plot([x, x + side * wide], [top + line * high] * 2, color=GREY, linewidth=0.3)
                axes.plot([x + line * wide] * 2, [top, top + side * high], color=GREY, linewidth=0.3)
            if shown == 0:
                xs = [x + (column + 0.5) * wide for _, column in tiles]
                ys = [top + (row + 0.5) * high for row, _ in tiles]
                axes.plot(xs, ys, color=INK, linewidth=1.3)
        middle = top + side * high / 2
        arrow(axes, (left + side * wide + 0.9, middle), (left + side * wide + 0.4, middle))
    legend(axes, 0.2, 1.5 + 3 * tall + 0.1, (
        (DARK, f"the first {at_once} tiles of the order at the right"),
        (LIGHT, "rows of A and columns of B that they need"),
    ))  # fmt: skip
    return figure


def picture_timeline(lesson: Descriptor) -> Figure:
    """Where is the bubble between two tiles of C? The block on the CPU device and on a GPU, as recorded."""
    return timeline.of_lesson(ROOT, lesson)
