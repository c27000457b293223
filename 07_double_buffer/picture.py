"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas
from plots.style import DARK, GREY, INK, LIGHT, MID, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """When the loads, stores and sums of two k-tiles happen, with one stage as in step 06b and with two."""
    depth = lesson.constants["BK"]
    figure, axes = canvas(7.75)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: two k-tiles in time", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One block, time from left to right, not to scale.", fontsize=TEXT)
    left, right, tall = 1.55, WIDTH - 0.15, 0.64
    white: dict[str, Any] = {"color": "white", "fontweight": "bold"}

    def rows(y: float, names: tuple[str, ...]) -> None:
        for i, label in enumerate(names):
            axes.plot([left, right], [y + (i + 1) * tall] * 2, color=GREY, linewidth=0.6)
            text(left - 0.12, y + (i + 0.52) * tall, label, ha="right", va="center", fontsize=SMALL, linespacing=1.15)
        axes.plot([left, right], [y] * 2, color=GREY, linewidth=0.6)

    def piece(x: float, end: float, y: float, row: int, fill: str, label: str) -> None:
        box(axes, x, y + row * tall + 0.1, end - x, tall - 0.2, fill, GREY)
        how = white if fill in (DARK, MID) else {}
        text((x + end) / 2, y + (row + 0.5) * tall, label, ha="center", va="center", fontsize=SMALL, linespacing=1.1, **how)

    def barrier(x: float, y: float, count: int) -> None:
        axes.plot([x, x], [y - 0.1, y + count * tall + 0.1], color=INK, linewidth=6, solid_capstyle="butt")

    # One stage: on the way, store, barrier, sums, barrier; one after the other.
    y = 1.9
    text(0.2, y - 0.52, "Step 06b: one stage", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, y - 0.2, "While a k-tile is on its way, the block computes nothing.", fontsize=SMALL)
    rows(y, ("global →\nregisters", "As, Bs"))
    period = 3.19
    for tile, label in ((0, "t"), (1, "t + 1")):
        x = left + tile * period
        piece(x, x + 1.13, y, 0, LIGHT, f"load {label}")
        piece(x + 1.13, x + 1.61, y, 1, MID, "st.")
        piece(x + 1.73, x + 3.09, y, 1, DARK, f"sums {label}")
        barrier(x + 1.67, y, 2)
        barrier(x + 3.15, y, 2)

    # Two stages: the next tile is on its way during the sums of this one.
    y = 4.35
    text(0.2, y - 0.52, "This lesson: two stages", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, y - 0.2, f"While a k-tile is used ({depth} steps), the next one is on its way.", fontsize=SMALL)
    rows(y, ("global →\nregisters", "stage 0", "stage 1"))
    period, at = 2.06, 0.12
    barrier(left + 0.03, y, 3)
    for tile, label in ((0, "t"), (1, "t + 1"), (2, "t + 2")):
        x = left + at + tile * period
        following = ("t + 1", "t + 2", "t + 3")[tile]
        piece(x, x + 1.38, y, 0, LIGHT, f"load {following}")
        piece(x, x + 1.38, y, 1 + tile % 2, DARK, f"sums {label}")
        piece(x + 1.38, x + 1.88, y, 2 - tile % 2, MID, "st.")
        barrier(x + 1.97, y, 3)

    y = 6.65
    for x, fill, label in ((0.2, LIGHT, "on the way from global memory"), (4.75, DARK, "in use: reads and sums")):
        box(axes, x, y, 0.42, 0.28, fill, GREY)
        text(x + 0.55, y + 0.15, label, va="center", fontsize=SMALL)
    box(axes, 0.2, y + 0.48, 0.42, 0.28, MID, GREY)
    text(0.75, y + 0.63, "st.: stores to shared memory", va="center", fontsize=SMALL)
    axes.plot([4.96, 4.96], [y + 0.44, y + 0.8], color=INK, linewidth=6, solid_capstyle="butt")
    text(5.3, y + 0.63, "__syncthreads()", va="center", fontsize=SMALL, family="monospace")
    return figure
