"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, grid
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """The tiles that a block walks along K, what one thread reads of them in shared memory, and the two barriers."""
    rows, cols, depth = (lesson.constants[key] for key in ("BM", "BN", "BK"))
    side, cell = 0.5, 2.3 / max(rows, cols, depth)  # inches: a tile in 1, an element in 2
    count, high, now = 4, 3, 1  # tiles along K and N, along M, and the one at k0
    figure, axes = canvas(7.2 + (count + high) * side + rows * cell)  # 7.2: all the text between and below
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: tiles march along K", fontsize=TITLE, fontweight="bold")

    # 1. A block's way through global memory: `now` is the tile at k0, those before it are done.
    text(0.2, 0.95, "1. The block loads a tile of A and one of B", fontsize=TEXT + 1, fontweight="bold")
    x_a, x_c, y_b = 1.0, 2.4 + count * side, 1.5
    y_c, block_row, block_col = y_b + count * side + 0.6, 1, 1
    for step in range(count):
        fill = DARK if step == now else LIGHT if step < now else PALE
        box(axes, x_a + step * side, y_c + block_row * side, side, side, fill)
        box(axes, x_c + block_col * side, y_b + step * side, side, side, fill)
    box(axes, x_c + block_col * side, y_c + block_row * side, side, side, MID)
    for x, y, tall, wide in ((x_a, y_c, high, count), (x_c, y_b, count, count), (x_c, y_c, high, count)):
        grid(axes, x, y, tall, wide, side, GREY, 1.2)
    white: dict[str, Any] = {"color": "white", "fontweight": "bold", "ha": "center", "va": "center", "fontsize": TEXT}
    text(x_a + (now + 0.5) * side, y_c + (block_row + 0.5) * side, "As", **white)
    text(x_c + (block_col + 0.5) * side, y_b + (now + 0.5) * side, "Bs", **white)
    text(x_c + (block_col + 0.5) * side, y_c + (block_row + 0.5) * side, "C", **white)
    first, last = (now + 1.1) * side, (count - 0.1) * side
    y, x = y_c + (block_row + 0.5) * side, x_c + (block_col + 0.5) * side
    arrow(axes, (x_a + first, y), (x_a + last, y), 3)
    arrow(axes, (x, y_b + first), (x, y_b + last), 3)
    text(x_a, y_c + high * side + 0.32, "A  (M×K)", fontsize=TEXT)
    text(x_c, y_c + high * side + 0.32, "C  (M×N)", fontsize=TEXT)
    text(x_c + count * side, y_b - 0.12, "B  (K×N)", fontsize=TEXT, ha="right")
    text(x_a + now * side, y_c - 0.12, "k0", fontsize=TEXT, fontstyle="italic", ha="center")
    text(x_c - 0.12, y_b + now * side, "k0", fontsize=TEXT, fontstyle="italic", ha="right", va="center")
    text(x_a + (now + 1) * side + 0.1, y_c - 0.12, f"k0 += {depth}", fontsize=TEXT)
    legend = "dark: the tiles that are\nin shared memory now\nlight: done\narrow: still to come"
    text(0.2, y_b - 0.05, legend, fontsize=TEXT, va="top", linespacing=1.3)

    # 2. Shared memory, and one thread's share of it.
    top = y_c + high * side + 0.85
    text(0.2, top, "2. Thread (x, y) reads a row and a column of them", fontsize=TEXT + 1, fontweight="bold")
    x_as, x_bs, y = 1.0, WIDTH - 0.7 - cols * cell, top + 0.55
    row, col = rows * 5 // 16, cols * 11 // 16  # the thread that is looked at: any will do
    for x, name_, tall, wide in ((x_as, "As", rows, depth), (x_bs, "Bs", depth, cols)):
        text(x + wide * cell / 2, y - 0.14, f"{name_}[{tall}][{wide}]", ha="center", fontsize=TEXT, family="monospace")
        box(axes, x, y, wide * cell, tall * cell, PALE)
    box(axes, x_as, y + row * cell, depth * cell, cell, DARK)
    box(axes, x_bs + col * cell, y, cell, depth * cell, DARK)
    grid(axes, x_as, y, rows, depth, cell)
    grid(axes, x_bs, y, depth, cols, cell)
    text(x_as - 0.12, y + (row + 0.5) * cell, "y", ha="right", va="center", fontsize=TEXT, fontstyle="italic")
    text(x_bs + (col + 0.5) * cell, y + depth * cell + 0.27, "x", ha="center", fontsize=TEXT, fontstyle="italic")
    text((x_as + depth * cell + x_bs) / 2, y + rows * cell / 2, "×", ha="center", va="center", fontsize=34)
    formula = f"acc += As[y][k] * Bs[k][x]   k = 0 … {depth - 1}"
    text(WIDTH / 2, y + rows * cell + 0.68, formula, ha="center", fontsize=TEXT, family="monospace", fontweight="bold")
    shared = str(cols) if rows == cols else f"{cols} or {rows}"
    reuse = f"Loaded once from global memory, read by {shared} threads"
    text(WIDTH / 2, y + rows * cell + 1.02, reuse, ha="center", fontsize=TEXT)

    # 3. Time: what all threads do, and where they wait for each other.
    top = y + rows * cell + 1.6
    text(0.2, top, "3. Two barriers a tile", fontsize=TEXT + 1, fontweight="bold")
    y = top + 0.25
    for x, wide, fill, colour, label in (
        (0.2, 2.2, PALE, INK, "load\nAs and Bs"),
        (2.75, 3.1, DARK, "white", f"{depth} multiply-adds\na thread"),
        (6.2, 1.6, PALE, INK, f"k0 += {depth}:\nload …"),
    ):
        box(axes, x, y, wide, 0.95, fill, GREY)
        text(x + wide / 2, y + 0.475, label, ha="center", va="center", color=colour, fontsize=TEXT, linespacing=1.25)
    for x, why in ((2.575, "tiles complete"), (6.025, "tiles no longer read")):
        axes.plot([x, x], [y - 0.1, y + 1.05], color=INK, linewidth=6, solid_capstyle="butt")
        text(x, y + 1.35, "__syncthreads()", ha="center", fontsize=SMALL, family="monospace")
        text(x, y + 1.65, why, ha="center", fontsize=SMALL)
    return figure
