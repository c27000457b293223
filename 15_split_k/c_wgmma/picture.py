"""Lesson 15c's picture: a cluster of four blocks, what each multiplies, and what one of them adds up."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas
from plots.style import DARK, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor

_SLICES, _ROWS = 4, 8  # blocks of the cluster, rows of sums that are drawn
_SHADES = (PALE, LIGHT, MID, DARK)
_LEFT, _STEP, _WIDTH = 0.9, 1.7, 1.35  # inches: where block 0 is, from one to the next, of its sums
_ADDS = 1  # the block whose rows are marked


def picture(lesson: Descriptor) -> Figure:
    """Which block multiplies what, and which block adds what?"""
    figure, axes = canvas(6.7)
    axes.text(0.3, 0.45, f"15c: a C tile, and its cluster of {_SLICES} blocks", fontsize=TITLE, fontweight="bold")

    axes.text(_LEFT, 1.0, "1. Each block multiplies a slice of K.", fontsize=TEXT, fontweight="bold")
    for block, shade in enumerate(_SHADES):
        x = _LEFT + block * _STEP
        box(axes, x, 1.2, _STEP, 0.3, shade, INK)
        box(axes, x + 0.35, 1.65, _STEP - 0.7, 0.75, shade, INK)
    axes.text(_LEFT - 0.15, 1.35, "A", ha="right", va="center", fontsize=TEXT)
    axes.text(_LEFT - 0.15, 2.02, "B", ha="right", va="center", fontsize=TEXT)
    axes.text(_LEFT, 2.68, "K goes to the right. B's rows are drawn side by side.", fontsize=SMALL)

    axes.text(_LEFT, 3.15, "2. Each leaves its sums in its own shared memory.", fontsize=TEXT, fontweight="bold")
    height = 0.19
    for block, shade in enumerate(_SHADES):
        x = _LEFT + block * _STEP
        axes.text(x + _WIDTH / 2, 3.45, f"block {block}", ha="center", va="center", fontsize=SMALL)
        for row in range(_ROWS):
            marked = row % _SLICES == _ADDS
            box(axes, x, 3.6 + row * height, _WIDTH, height, shade if marked else "white", INK, 1.8 if marked else 0.5)

    below = 3.6 + _ROWS * height
    adds = f"3. Block {_ADDS} adds up every {_SLICES}th row, from all of them."
    axes.text(_LEFT, below + 1.35, adds, fontsize=TEXT, fontweight="bold")
    to = _LEFT + _ADDS * _STEP + _WIDTH / 2
    for block in range(_SLICES):
        start = _LEFT + block * _STEP + _WIDTH / 2
        axes.annotate("", (to, below + 0.6), (start, below + 0.04), arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.2})
    box(axes, to - _WIDTH / 2, below + 0.63, _WIDTH, 0.25, INK)
    axes.text(to + _WIDTH / 2 + 0.15, below + 0.75, "rows of C", va="center", fontsize=TEXT)
    return figure
