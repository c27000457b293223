"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, grid
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """A thread's column of C in its warp, and what it reads for it at one step k."""
    rows, cols, depth, TM = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM"))
    threads = rows // TM * cols
    cell = 5.0 / max(rows, cols)
    figure, axes = canvas(4.75 + (rows + depth) * cell)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: {TM} results a thread", fontsize=TITLE, fontweight="bold")
    code: dict[str, Any] = {"fontsize": TEXT, "family": "monospace"}
    slanted: dict[str, Any] = {"fontsize": TEXT, "fontstyle": "italic"}

    thread, k = cols + 4, 3  # any will do
    warp, x, y = thread // WARP, thread % cols, thread // cols * TM
    x_as, y_bs = 0.95, 1.35
    x_c, y_c = x_as + depth * cell + 0.75, y_bs + depth * cell + 0.55
    left = x_c + warp * WARP % cols * cell
    box(axes, x_as, y_c, depth * cell, rows * cell, PALE)
    box(axes, x_as + k * cell, y_c + y * cell, cell, TM * cell, DARK)
    box(axes, x_c, y_bs, cols * cell, depth * cell, PALE)
    box(axes, left, y_bs + k * cell, WARP * cell, cell, MID)
    box(axes, x_c + x * cell, y_bs + k * cell, cell, cell, DARK)
    for other in range(threads // WARP):
        at, top = x_c + other * WARP % cols * cell, y_c + other * WARP // cols * TM * cell
        fill = LIGHT if other == warp else "white"
        box(axes, at, top, WARP * cell, TM * cell, fill, GREY, 1.4)
        where = {"ha": "center", "va": "center", "fontsize": SMALL}
        text(at + WARP / 2 * cell, top + TM / 2 * cell, f"warp {other}", **where)
    box(axes, x_c + x * cell, y_c + y * cell, cell, TM * cell, DARK)
    grid(axes, x_as, y_c, rows, depth, cell, line=0.25)
    grid(axes, x_c, y_bs, depth, cols, cell, line=0.25)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    bottom = y_c + rows * cell
    text(0.2, bottom + 0.34, f"As[{rows}][{depth}]", **code)
    text(x_c + cols * cell, y_bs - 0.14, f"Bs[{depth}][{cols}]", ha="right", **code)
    text(x_c + cols * cell, bottom + 0.34, f"C: the block's {rows}×{cols} elements", ha="right", fontsize=TEXT)
    text(x_as + (k + 0.5) * cell, y_c - 0.12, "k", ha="center", **slanted)
    text(x_c - 0.1, y_bs + (k + 0.5) * cell, "k", ha="right", va="center", **slanted)
    text(x_c + (x + 0.5) * cell, y_c - 0.12, "x", ha="center", **slanted)
    text(x_as - 0.1, y_c + y * cell, "y", ha="right", va="top", **slanted)
    text(x_as - 0.1, y_c + (y + TM) * cell, f"y + {TM - 1}", ha="right", va="bottom", fontsize=SMALL)

    top = bottom + 0.85
    for fill, said in (
        (DARK, f"thread {thread}: its {TM} elements of C, and what it reads"),
        (LIGHT, f"warp {warp}: the elements of C of its {WARP} threads"),
        (MID, f"what the other threads of warp {warp} read of Bs"),
        (PALE, "the rest of the two tiles in shared memory"),
    ):
        box(axes, 0.3, top, 0.42, 0.28, fill, GREY)
        text(0.9, top + 0.15, said, va="center", fontsize=TEXT)
        top += 0.44
    return figure
