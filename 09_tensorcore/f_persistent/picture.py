"""The picture of step 09f: how often the warps of a block meet."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas
from plots.style import GREY, INK, LIGHT, MID, WIDTH
from runner.core.descriptors import Descriptor

_BEFORE = 32  # BK of lesson 09e
_DRAWN = 256  # elements of K
_LEFT, _RIGHT, _HIGH = 0.3, WIDTH - 0.3, 0.62  # inches


def picture(lesson: Descriptor) -> Figure:
    """When do a block's warps meet at a barrier, with k-tiles of 32 and of 64?"""
    BK, MMA_K = lesson.constants["BK"], lesson.constants["MMA_K"]
    figure, axes = canvas(5.75)
    text, wide = axes.text, (_RIGHT - _LEFT) / (_DRAWN // MMA_K)
    text(_LEFT, 0.45, f"{lesson.name}: when the warps meet", fontsize=TITLE, fontweight="bold")
    text(_LEFT, 0.9, f"{_DRAWN} elements of K, time from left to right, to scale", fontsize=TEXT)

    def row(y: float, name: str, depth: int) -> None:
        steps = depth // MMA_K
        text(_LEFT, y - 0.22, f"{name}: k-tiles of {depth}", fontsize=TEXT + 1, fontweight="bold")
        for tile in range(_DRAWN // depth):
            left = _LEFT + tile * steps * wide
            for step in range(steps):
                box(axes, left + step * wide, y, wide, _HIGH, (MID, LIGHT)[tile % 2], GREY, 0.8)
            text(left + steps * wide / 2, y + _HIGH + 0.26, f"k-tile {tile}", ha="center", va="center", fontsize=SMALL)
            meet = left + (steps - 1) * wide
            axes.plot([meet, meet], [y - 0.08, y + _HIGH + 0.08], color=INK, linewidth=6, solid_capstyle="butt")

    row(1.85, "Lesson 09e", _BEFORE)
    row(3.45, "This lesson", BK)
    y, after = 4.7, _LEFT + wide + 0.15
    box(axes, _LEFT, y, wide, 0.28, MID, GREY, 0.8)
    text(after, y + 0.14, "a k-step; all have the same number of HMMAs", va="center", fontsize=TEXT)
    axes.plot([_LEFT + wide / 2] * 2, [y + 0.42, y + 0.8], color=INK, linewidth=6, solid_capstyle="butt")
    text(after, y + 0.61, "a barrier, before the last k-step of a k-tile", va="center", fontsize=TEXT)
    return figure
