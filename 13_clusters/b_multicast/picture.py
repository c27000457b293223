"""Lesson 13b's pictures: who asks for which bytes in a cluster, and which arrivals make a stage empty."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor


def _label(axes: Axes, x: float, y: float, words: str, fill: str = PALE) -> None:
    white = fill in (DARK, MID)
    axes.text(x, y, words, ha="center", va="center", fontsize=SMALL, color="white" if white else INK,
              fontweight="bold" if white else "normal")  # fmt: skip


def picture(lesson: Descriptor) -> Figure:
    """Who asks for which part of A and B, and where does it come to?"""
    boxes = lesson.constants["BN"] // lesson.constants["BOX"]
    figure, axes = canvas(9.5)
    text = axes.text
    text(0.2, 0.45, "13b: who asks, and who gets", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One step along K, the two blocks of a cluster.", fontsize=TEXT)
    wide, high = 0.72, 0.8
    left, middle = 3.0, 2.2

    text(0.2, middle - 0.55, "tile of B in global memory", fontsize=TEXT, fontweight="bold")
    for j in range(boxes):
        fill = (DARK, MID)[j % 2]
        box(axes, left + j * wide, middle - 0.3, wide, high, fill, "white")
        _label(axes, left + (j + 0.5) * wide, middle + 0.1, str(j), fill)
    for block in range(2):
        top = 4.3 + block * 2.1
        text(0.2, top - 0.3, f"block {block}", fontsize=TEXT, fontweight="bold")
        box(axes, 0.5, top, 1.3, high, LIGHT, GREY)
        _label(axes, 1.15, top + high / 2, f"As: rows {block}")
        for j in range(boxes):
            fill = (DARK, MID)[j % 2]
            box(axes, left + j * wide, top, wide, high, fill, "white")
            _label(axes, left + (j + 0.5) * wide, top + high / 2, str(j), fill)
        text(left + boxes * wide + 0.15, top + high / 2, "Bs", va="center", fontsize=SMALL)
    for j in range(boxes):
        x = left + (j + 0.5) * wide
        arrow(axes, (x, middle + 0.55), (x, 4.25))
        arrow(axes, (x, 4.3 + high + 0.05), (x, 4.3 + 2.05))
    legend(axes, 0.2, 7.75, (
        (DARK, "boxes that block 0 requests, for both"),
        (MID, "boxes that block 1 requests, for both"),
        (LIGHT, "each block's own tile of A, for itself"),
    ))  # fmt: skip
    return figure


def picture_empty(lesson: Descriptor) -> Figure:
    """Who has to say that a stage has been read, and to whom?"""
    consumers = lesson.constants["CONSUMERS"]
    figure, axes = canvas(7.0)
    text = axes.text
    text(0.2, 0.45, "13b: when is a stage empty?", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "An arrow is an arrival. Each producer may fill the stage in", fontsize=TEXT)
    text(0.2, 1.21, "both blocks, so it has to hear of all consumers.", fontsize=TEXT)
    high, wide = 0.62, 2.0
    left, right = 0.5, 5.2
    ends = []
    for block in range(2):
        top = 2.3 + block * 2.3
        text(left, top - 0.2, f"block {block}", fontsize=TEXT, fontweight="bold")
        box(axes, right, top + 0.35, 2.2, high, PALE, GREY)
        _label(axes, right + 1.1, top + 0.35 + high / 2, f"empty, block {block}")
        ends.append((right, top + 0.35 + high / 2))
    for block in range(2):
        top = 2.3 + block * 2.3
        for i in range(consumers):
            y = top + i * 0.8
            box(axes, left, y, wide, high, DARK)
            _label(axes, left + wide / 2, y + high / 2, f"consumer {i}", DARK)
            for place, end in enumerate(ends):
                arrow(axes, (left + wide + 0.05, y + high / 2), (end[0] - 0.05, end[1] + (2 * block + i - 1.5) * 0.12),
                      2.0 if place == block else 1.2)  # fmt: skip
    legend(axes, 0.2, 6.3, ((DARK, "has read the stage"),))
    return figure
