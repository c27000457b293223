"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, grid, legend
from plots.style import DARK, GREY, INK
from runner.core.descriptors import Descriptor

OTHERS = "#d9d9d9"  # beside the one blue, which is a thread's own


def picture(lesson: Descriptor) -> Figure:
    """A thread's column of C in its warp, and what it reads for it at one step k."""
    rows, cols, depth, TM = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM"))
    threads = rows // TM * cols
    cell = 3.4 / max(rows, cols)
    x_as, y_bs = 0.95, 1.2
    x_c, y_c = x_as + depth * cell + 0.45, y_bs + depth * cell + 0.45
    right, bottom = x_c + cols * cell, y_c + rows * cell
    figure, axes = canvas(bottom + 0.55)
    text = axes.text
    text(0.2, 0.42, f"{lesson.name}: {TM} results per thread", fontsize=TITLE, fontweight="bold")
    code: dict[str, Any] = {"fontsize": TEXT, "family": "monospace"}
    slanted: dict[str, Any] = {"fontsize": TEXT, "fontstyle": "italic"}

    thread, k = cols + 4, 3  # any will do
    warp, x, y = thread // WARP, thread % cols, thread // cols * TM
    box(axes, x_as + k * cell, y_c + y * cell, cell, TM * cell, DARK)
    box(axes, x_c + warp * WARP % cols * cell, y_bs + k * cell, WARP * cell, cell, OTHERS)
    box(axes, x_c + x * cell, y_bs + k * cell, cell, cell, DARK)
    for other in range(threads // WARP):
        left, above = x_c + other * WARP % cols * cell, y_c + other * WARP // cols * TM * cell
        box(axes, left, above, WARP * cell, TM * cell, OTHERS if other == warp else "white", GREY, 1.4)
        where = {"ha": "center", "va": "center", "fontsize": SMALL}
        text(left + WARP / 2 * cell, above + TM / 2 * cell, f"warp {other}", **where)
    box(axes, x_c + x * cell, y_c + y * cell, cell, TM * cell, DARK)
    grid(axes, x_as, y_c, rows, depth, cell, line=0.25)
    grid(axes, x_c, y_bs, depth, cols, cell, line=0.25)
    for corner_x, corner_y, across, down in ((x_as, y_c, depth, rows), (x_c, y_bs, cols, depth), (x_c, y_c, cols, rows)):
        box(axes, corner_x, corner_y, across * cell, down * cell, "none", INK, 1.8)
    text(0.2, bottom + 0.32, f"As[{rows}][{depth}]", **code)
    text(right, y_bs - 0.14, f"Bs[{depth}][{cols}]", ha="right", **code)
    text(right, bottom + 0.32, f"C tile, {rows}×{cols}", ha="right", fontsize=TEXT)
    text(x_as + (k + 0.5) * cell, y_c - 0.12, "k", ha="center", **slanted)
    text(x_c - 0.1, y_bs + (k + 0.5) * cell, "k", ha="right", va="center", **slanted)
    text(x_c + (x + 0.5) * cell, y_c - 0.12, "x", ha="center", **slanted)
    text(x_as - 0.1, y_c + y * cell, "y", ha="right", va="top", **slanted)
    text(x_as - 0.1, y_c + (y + TM) * cell, f"y + {TM - 1}", ha="right", va="bottom", fontsize=SMALL)
    legend(axes, right + 0.3, y_c + 0.4, (
        (DARK, f"thread {thread}'s, and\nwhat it reads\nof As and Bs\nat step k"),
        (OTHERS, f"other threads'\nin warp {warp}"),
    ), 1.35)  # fmt: skip
    return figure
