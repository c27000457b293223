"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, grid
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

SECTOR = 32  # bytes: what one request to global memory moves at least (CUDA guide, device memory accesses)
FLOAT = 4  # bytes
PER_SECTOR = SECTOR // FLOAT


def picture(lesson: Descriptor) -> Figure:
    """A thread's column of C and what it reads for it at one step k, and the passes that load the tiles."""
    rows, cols, depth, TM = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM"))
    threads = rows // TM * cols
    cell = 3.6 / max(rows, cols)
    figure, axes = canvas(7.7 + (rows + depth) * cell)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: {TM} results a thread", fontsize=TITLE, fontweight="bold")

    # 1. The block tile of C with its warps, one thread's elements, and what it reads at one step.
    text(0.2, 0.95, f"1. A thread owns {TM} rows of one column of C", fontsize=TEXT + 1, fontweight="bold")
    thread, k = cols + 4, 3  # any will do
    warp, x, y = thread // WARP, thread % cols, thread // cols * TM
    x_as, y_bs = 0.75, 1.55
    x_c, y_c = x_as + depth * cell + 0.75, y_bs + depth * cell + 0.6
    box(axes, x_as, y_c, depth * cell, rows * cell, PALE)
    box(axes, x_as + k * cell, y_c + y * cell, cell, TM * cell, DARK)
    box(axes, x_c, y_bs, cols * cell, depth * cell, PALE)
    box(axes, x_c + warp * WARP % cols * cell, y_bs + k * cell, WARP * cell, cell, MID)
    box(axes, x_c + x * cell, y_bs + k * cell, cell, cell, DARK)
    for other in range(threads // WARP):
        left, top = other * WARP % cols, other * WARP // cols * TM
        fill = LIGHT if other == warp else "white"
        box(axes, x_c + left * cell, y_c + top * cell, WARP * cell, TM * cell, fill, GREY, 1.4)
        label = f"warp {other}"
        text(x_c + (left + WARP / 2) * cell, y_c + (top + TM / 2) * cell, label, ha="center", va="center", fontsize=SMALL)
    box(axes, x_c + x * cell, y_c + y * cell, cell, TM * cell, DARK)
    grid(axes, x_as, y_c, rows, depth, cell, line=0.25)
    grid(axes, x_c, y_bs, depth, cols, cell, line=0.25)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    code: dict[str, Any] = {"fontsize": TEXT, "family": "monospace"}
    text(x_as - 0.55, y_c + rows * cell + 0.32, f"As[{rows}][{depth}]", **code)
    text(x_c + cols * cell, y_bs - 0.14, f"Bs[{depth}][{cols}]", ha="right", **code)
    text(x_c, y_c + rows * cell + 0.32, f"C: a block's {rows}×{cols} elements", fontsize=TEXT)
    slanted: dict[str, Any] = {"fontsize": TEXT, "fontstyle": "italic"}
    text(x_as + (k + 0.5) * cell, y_c - 0.12, "k", ha="center", **slanted)
    text(x_c - 0.1, y_bs + (k + 0.5) * cell, "k", ha="right", va="center", **slanted)
    text(x_c + (x + 0.5) * cell, y_c - 0.12, "x", ha="center", **slanted)
    text(x_as - 0.1, y_c + y * cell, "y", ha="right", va="center", **slanted)
    text(x_as - 0.1, y_c + (y + TM) * cell, f"+{TM}", ha="right", va="center", fontsize=SMALL)
    x_text = x_c + cols * cell + 0.2
    legend = f"thread t = {thread}:\nx = t % {cols} = {x}\ny = t / {cols} · {TM}\n   = {y}"
    text(x_text, y_c, legend, fontsize=SMALL, va="top", linespacing=1.4)
    legend = f"dark: its {TM}\nelements of C,\n{TM} of As, 1 of Bs"
    text(x_text, y_c + rows * cell / 2, legend, fontsize=SMALL, va="top", linespacing=1.4)

    # 2. One step in registers.
    top = y_c + rows * cell + 0.9
    text(0.2, top, f"2. A step k: {TM} multiply-adds, {TM} + 1 reads", fontsize=TEXT + 1, fontweight="bold")
    text(0.45, top + 0.42, "b_frag = Bs[k][x]", **code)
    text(0.45, top + 0.78, f"acc[i] += As[y + i][k] * b_frag   i = 0 … {TM - 1}", **code)
    text(0.45, top + 1.14, f"acc[{TM}] and b_frag are registers of the thread", fontsize=TEXT)

    # 3. The tiles, filled in passes.
    top += 1.75
    of_a, of_b = threads // depth, threads // cols  # rows of As and Bs in a pass
    text(0.2, top, f"3. {threads} threads load the tiles in passes", fontsize=TEXT + 1, fontweight="bold")
    tall, wide = 2.2 / rows, 0.13  # an element of As
    x_as, y = 1.5, top + 0.6
    x_bs, bs_tall = x_as + depth * wide + 1.0, 0.13
    bs_wide = (WIDTH - 0.3 - x_bs) / cols
    white: dict[str, Any] = {"color": "white", "ha": "center", "va": "center", "fontsize": SMALL}
    for number in range(rows // of_a):
        edge = y + number * of_a * tall
        box(axes, x_as, edge, depth * wide, of_a * tall, MID if number % 2 == 0 else LIGHT, INK, 1.4)
        box(axes, x_as, edge, depth * wide, WARP // depth * tall, DARK)
        text(x_as - 0.1, edge + of_a * tall / 2, f"pass {number + 1}", ha="right", va="center", fontsize=SMALL)
    for number in range(depth // of_b):
        edge = y + number * of_b * bs_tall
        box(axes, x_bs, edge, cols * bs_wide, of_b * bs_tall, MID if number % 2 == 0 else LIGHT, INK, 1.4)
        box(axes, x_bs, edge, WARP * bs_wide, bs_tall, DARK)
        colour = white | ({} if number % 2 == 0 else {"color": INK})
        text(x_bs + cols * bs_wide / 2, edge + (of_b + 1) * bs_tall / 2, f"pass {number + 1}", **colour)
    text(x_as + depth * wide / 2, y - 0.14, "As", ha="center", **code)
    text(x_bs + cols * bs_wide / 2, y - 0.14, "Bs", ha="center", **code)
    a_rows, b_cols = WARP // depth, WARP
    said = (
        f"dark: warp 0 (t = 0 … {WARP - 1})\nAs: {a_rows} rows of {depth}, {a_rows * depth * FLOAT // SECTOR} sectors\n"
        f"Bs: {b_cols} neighbours, {b_cols * FLOAT // SECTOR} sectors"
    )
    text(x_bs, y + depth * bs_tall + 0.2, said, fontsize=TEXT, va="top", linespacing=1.3)
    return figure
