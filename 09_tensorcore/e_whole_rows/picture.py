"""The picture of 09e: what one store of a warp writes."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, WIDTH
from runner.core.descriptors import Descriptor

_SECTOR = 8  # cells


def picture(lesson: Descriptor) -> Figure:
    """Which elements one store of a warp writes: from fragments, and from rows in shared memory."""
    figure, axes = canvas(6.75)
    text, cell, high = axes.text, 0.094, 0.115
    text(0.2, 0.45, f"{lesson.name}: what one store writes", fontsize=TITLE, fontweight="bold")
    wn, mma_m = lesson.constants["WN"], lesson.constants["MMA_M"]
    text(0.2, 0.87, f"{mma_m} rows of a warp tile, {wn} columns, {2 * wn} bytes each.", fontsize=TEXT)
    width = wn * cell / 2  # a cell is two elements, 4 bytes

    def rows(left: float, top: float, title: str, first: int, count: int, units: int) -> None:
        text(left, top - 0.2, title, fontsize=TEXT, fontweight="bold")
        touched = -(-units // _SECTOR) * _SECTOR
        for row in range(first, first + count):
            box(axes, left, top + row * 2 * high, touched * cell, 2 * high, LIGHT)
            box(axes, left, top + row * 2 * high, units * cell, 2 * high, DARK)
        for row in range(mma_m + 1):
            axes.plot([left, left + width], [top + row * 2 * high] * 2, color=GREY, linewidth=0.4)
        for col in range(0, wn // 2 + 1, _SECTOR):
            axes.plot([left + col * cell] * 2, [top, top + mma_m * 2 * high], color=INK, linewidth=1.6)

    top = 1.55
    rows(0.3, top, "from fragments", 0, 8, 4)
    rows(WIDTH - 0.3 - width, top, "from rows", 0, 4, wn // 2)
    middle = top + mma_m * high
    arrow(axes, (0.3 + width + 0.15, middle), (WIDTH - 0.45 - width, middle))
    text(WIDTH / 2, middle - 0.2, "shared", ha="center", fontsize=SMALL)
    text(WIDTH / 2, middle + 0.35, "memory", ha="center", fontsize=SMALL)
    below = top + mma_m * 2 * high + 0.25
    legend(axes, 0.3, below, ((DARK, "what one store of a warp writes"), (LIGHT, "the rest of the sectors that it touches")))
    text(0.3, below + 1.12, "Bold lines: where sectors begin and end, 32 bytes apart.", fontsize=SMALL)
    return figure
