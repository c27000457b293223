"""Lesson 13a's pictures: two C tiles on one SM in time, the order of the C tiles, and a block over time."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import timeline
from plots.drawing import SMALL, TEXT, TITLE, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor
from runner.core.results import ROOT

_LEFT, _RIGHT, _LANE = 1.75, WIDTH - 0.15, 0.72  # inches: where time begins and ends, height of a lane
_FIRST, _PRODUCTS, _STORE = 0.8, 1.3, 0.75  # inches: the first k-tiles on their way, products, results to C


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
    """When do the next C tile's loads start? A block for each C tile, and a block that stays."""
    figure, axes = canvas(7.7)
    text = axes.text
    text(0.2, 0.45, "13a: two C tiles on one SM", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right, not to scale.", fontsize=TEXT)
    names = ("producer", "consumers")

    def lanes(y: float, title: str) -> None:
        text(0.2, y - 0.22, title, fontsize=TEXT + 1, fontweight="bold")
        axes.plot([_LEFT, _RIGHT], [y, y], color=GREY, linewidth=0.6)
        for row, name in enumerate(names):
            axes.plot([_LEFT, _RIGHT], [y + (row + 1) * _LANE] * 2, color=GREY, linewidth=0.6)
            text(_LEFT - 0.12, y + (row + 0.5) * _LANE, name, ha="right", va="center", fontsize=SMALL)

    def tile(y: float, asks: float, begins: float, number: int) -> float:
        """C tile `number`: its loads start at `asks`, its products at `begins`. Returns when they end. Once the ring is full, no
        load can start before the products do."""
        _piece(axes, asks, _FIRST, y, 0, PALE, f"{number}")
        _piece(axes, begins, _PRODUCTS - 0.5, y, 0, LIGHT, f"{number}")
        _piece(axes, begins, _PRODUCTS, y, 1, DARK, f"C tile {number}")
        _piece(axes, begins + _PRODUCTS, _STORE, y, 1, MID, "write")
        return begins + _PRODUCTS

    y = 1.85
    lanes(y, "lesson 12: a block for each C tile")
    ends = tile(y, _LEFT, _LEFT + _FIRST, 0) + _STORE
    tile(y, ends, ends + _FIRST, 1)

    y = 4.3
    lanes(y, "this step: the block stays")
    ends = tile(y, _LEFT, _LEFT + _FIRST, 0)
    ends = tile(y, ends - 0.5, ends + _STORE, 1) + _STORE
    axes.plot([ends] * 2, [y - 0.05, y + 2 * _LANE + 0.05], color=INK, linewidth=1.5, linestyle="--")
    text(ends + 0.1, y + 1.5 * _LANE, "done", va="center", fontsize=SMALL)
    legend(axes, 0.2, y + 2 * _LANE + 0.3, (
        (PALE, "loads: the first k-tiles, as many as the ring can hold"),
        (LIGHT, "loads: the others, each as soon as a stage is empty"),
        (DARK, "products"),
        (MID, "results written to C"),
    ))  # fmt: skip
    return figure


def hilbert(number: int, side: int) -> tuple[int, int]:
    """Row and column of a C tile on the curve through side×side of them."""
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
    """In which order are the C tiles computed? Three orders of 16×16 C tiles."""
    side = 16
    orders = {
        "row by row": [divmod(i, side) for i in range(side * side)],
        "groups of 8 rows": [(i // (8 * side) * 8 + i % 8, i % (8 * side) // 8) for i in range(side * side)],
        "Hilbert curve": [hilbert(i, side) for i in range(side * side)],
    }
    at_once = 64
    cell = 0.13
    wide = side * cell
    figure, axes = canvas(7.6)
    text = axes.text
    text(0.2, 0.45, "13a: the order of the C tiles", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"C has {side}×{side} tiles, and {at_once} blocks begin together.", fontsize=TEXT)
    for place, (title, tiles) in enumerate(orders.items()):
        x = 0.5 + place * (wide + 0.52)
        text(x, 1.5, title, fontsize=TEXT, fontweight="bold")
        order, first = 1.65, 1.65 + wide + 0.3
        for y in (order, first):
            for line in range(side + 1):
                axes.plot([x, x + wide], [y + line * cell] * 2, color=GREY, linewidth=0.3)
                axes.plot([x + line * cell] * 2, [y, y + wide], color=GREY, linewidth=0.3)
        axes.plot(
            [x + (column + 0.5) * cell for _, column in tiles],
            [order + (row + 0.5) * cell for row, _ in tiles],
            color=INK,
            linewidth=1.3,
        )
        for row, column in tiles[:at_once]:
            box(axes, x + column * cell, first + row * cell, cell, cell, DARK, "white", 0.3)
        for row in {row for row, _ in tiles[:at_once]}:
            box(axes, x - 0.26, first + row * cell, 0.18, cell, LIGHT, GREY, 0.4)
        for column in {column for _, column in tiles[:at_once]}:
            box(axes, x + column * cell, first + wide + 0.08, cell, 0.18, LIGHT, GREY, 0.4)
    legend(axes, 0.2, 1.65 + 2 * wide + 0.3 + 0.55, (
        (DARK, f"the first {at_once} C tiles of the order above"),
        (LIGHT, "rows of A and columns of B that they need"),
    ))  # fmt: skip
    return figure


def picture_timeline(lesson: Descriptor) -> Figure:
    """What is left of the bubble between two C tiles? The block on the CPU device and on a GPU, as recorded."""
    return timeline.of_lesson(ROOT, lesson)
