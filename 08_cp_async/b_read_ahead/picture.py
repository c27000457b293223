"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas
from plots.style import DARK, INK, PALE, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """The order of copy, wait, barrier and reads within a tile."""
    stages, depth = lesson.constants["STAGES"], lesson.constants["BK"]
    figure, axes = canvas(4.0)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: the order within a tile", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "Dark: the step whose products are added. Pale: what is read", fontsize=TEXT)
    cell, y = (WIDTH - 0.6) / depth, 1.5
    for step in range(depth):
        x = 0.3 + step * cell
        box(axes, x, y, cell, 0.55, DARK, "white", 1.6)
        text(x + cell / 2, y + 0.275, f"k = {step}", ha="center", va="center", color="white", fontsize=SMALL)
        box(axes, x, y + 0.6, cell, 0.45, PALE, "white", 1.6)
        text(x + cell / 2, y + 0.825, f"read {(step + 1) % depth}", ha="center", va="center", fontsize=SMALL)
    arrow(axes, (0.3 + cell / 2, y + 1.5), (0.3 + cell / 2, y + 1.08))
    text(0.3, y + 1.8, f"copy tile n + {stages - 1},\ncommit", fontsize=SMALL, va="center")
    line = 0.3 + (depth - 1) * cell
    axes.plot([line, line], [y - 0.08, y + 1.25], color=INK, linewidth=6, solid_capstyle="butt")
    code: dict[str, Any] = {"ha": "right", "fontsize": SMALL}
    text(WIDTH - 0.3, y + 1.55, f"wait<{stages - 2}>, __syncthreads()", family="monospace", **code)
    text(WIDTH - 0.3, y + 1.87, f"then read 0 of tile n + 1, at k = {depth - 1}", **code)
    return figure
