"""Lesson 14a's picture: the five levels of a composition, and what passes between them."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor

_LEFT, _WIDE, _HIGH, _GAP = 0.3, 6.4, 0.86, 0.48  # inches
# A level, what it says, its part, and what it hands down.
_LEVELS = (
    ("device", "which kernel, with which arguments", "launch()", "pointers, pitches, sizes"),
    ("kernel", "which C tile is next, which part of K", "scheduler", "work: a C tile, a range of k-tiles"),
    ("block", "how k-tiles get to shared memory", "mainloop, loader", "a stage, a k-step"),
    ("warp", "how a k-tile is multiplied", "atom", "sums, in registers"),
    ("thread", "what becomes of a sum", "epilogue, output", "results, to C"),
)
_SHADES = (PALE, LIGHT, MID, DARK, LIGHT)


def picture(lesson: Descriptor) -> Figure:
    """What goes into each level of a composition, and what comes out of it?"""
    figure, axes = canvas(1.25 + len(_LEVELS) * (_HIGH + _GAP))
    text = axes.text
    text(_LEFT, 0.45, "14a: five levels", fontsize=TITLE, fontweight="bold")
    text(_LEFT, 0.87, "What one level hands to another.", fontsize=TEXT)
    y = top = 1.2
    for shade, (level, says, part, down) in zip(_SHADES, _LEVELS, strict=True):
        ink = "white" if shade in (MID, DARK) else "black"
        box(axes, _LEFT, y, _WIDE, _HIGH, shade, GREY, 1.0)
        text(_LEFT + 0.15, y + 0.28, f"{level}: {part}", va="center", fontsize=TEXT, fontweight="bold", color=ink)
        text(_LEFT + 0.15, y + 0.62, says, va="center", fontsize=SMALL, color=ink)
        arrow(axes, (_LEFT + 0.5, y + _HIGH), (_LEFT + 0.5, y + _HIGH + _GAP))
        text(_LEFT + 0.8, y + _HIGH + _GAP / 2, down, va="center", fontsize=SMALL)
        y += _HIGH + _GAP
    # Past the levels between: the epilogue is told where its sums belong.
    kernel, thread = (top + level * (_HIGH + _GAP) + _HIGH / 2 for level in (1, 4))
    right, past = _LEFT + _WIDE, _LEFT + _WIDE + 0.4
    axes.plot([right, past, past], [kernel, kernel, thread], color=INK, linewidth=1.6)
    arrow(axes, (past, thread), (right, thread))
    text(past + 0.12, (kernel + thread) / 2, "work", va="center", fontsize=SMALL)
    return figure
