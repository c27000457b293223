"""The pictures of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import TEXT, TITLE, WARP, arrow, box, canvas, grid, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """Which tiles a block walks along K, and which of them are in shared memory now."""
    depth = lesson.constants["BK"]
    side, count, high, now = 0.62, 4, 3, 1  # inches; tiles along K and N, along M, and the one at k0
    block_row = block_col = 1
    x_a, x_c, y_b = 0.9, 0.9 + count * side + 1.2, 1.75
    y_c = y_b + count * side + 0.75
    figure, axes = canvas(y_c + high * side + 0.55)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: tiles march along K", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.85, "A square is a tile; one block's tiles have a shade", fontsize=TEXT)

    for step in range(count):
        fill = DARK if step == now else LIGHT if step < now else PALE
        box(axes, x_a + step * side, y_c + block_row * side, side, side, fill)
        box(axes, x_c + block_col * side, y_b + step * side, side, side, fill)
    box(axes, x_c + block_col * side, y_c + block_row * side, side, side, MID)
    for x, y, tall, wide in ((x_a, y_c, high, count), (x_c, y_b, count, count), (x_c, y_c, high, count)):
        grid(axes, x, y, tall, wide, side, GREY, 1.2)
    for x, y, word in (
        (x_a + now * side, y_c + block_row * side, "As"),
        (x_c + block_col * side, y_b + now * side, "Bs"),
        (x_c + block_col * side, y_c + block_row * side, "C"),
    ):
        text(x + side / 2, y + side / 2, word, color="white", fontweight="bold", ha="center", va="center", fontsize=TEXT)
    first, last = (now + 1.1) * side, (count - 0.1) * side
    y, x = y_c + (block_row + 0.5) * side, x_c + (block_col + 0.5) * side
    arrow(axes, (x_a + first, y), (x_a + last, y), 3)
    arrow(axes, (x, y_b + first), (x, y_b + last), 3)

    text(x_a, y_c + high * side + 0.32, "A  (M×K)", fontsize=TEXT)
    text(x_c, y_c + high * side + 0.32, "C  (M×N)", fontsize=TEXT)
    text(x_c + count * side, y_b - 0.12, "B  (K×N)", fontsize=TEXT, ha="right")
    text(x_a + (now + 0.5) * side, y_c - 0.12, "k0", fontsize=TEXT, fontstyle="italic", ha="center")
    text(x_c - 0.12, y_b + (now + 0.5) * side, "k0", fontsize=TEXT, fontstyle="italic", ha="right", va="center")
    text(x_a + (now + 1) * side + 0.1, y_c - 0.12, f"k0 += {depth}", fontsize=TEXT)
    shades = [(DARK, "in shared\nmemory now"), (LIGHT, "done"), (PALE, "still to come"), (MID, "the block's C")]
    legend(axes, 0.2, y_b + 0.05, shades, 0.62)
    return figure


def picture_threads(lesson: Descriptor) -> Figure:
    """Which elements of the tiles a thread loads, which its warp loads, and which the thread reads then."""
    rows, cols, depth = (lesson.constants[key] for key in ("BM", "BN", "BK"))
    cell = 1.9 / max(rows, cols, depth)
    row, col = rows * 5 // 16, cols * 11 // 16  # the thread that is looked at: any will do
    x_as, x_bs = 1.3, WIDTH - 1.3 - cols * cell
    loading, using = 1.55, 1.55 + rows * cell + 1.65  # where the tiles of either phase begin
    figure, axes = canvas(using + rows * cell + 1.0)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: who loads, who reads", fontsize=TITLE, fontweight="bold")

    for y, title in ((loading, "1. Thread (x, y) loads the element at its place"), (using, "2. It reads a row and a column")):
        text(0.2, y - 0.52, title, fontsize=TEXT + 1, fontweight="bold")
        for x, name, tall, wide in ((x_as, "As", rows, depth), (x_bs, "Bs", depth, cols)):
            text(x + wide * cell / 2, y - 0.14, f"{name}[{tall}][{wide}]", ha="center", fontsize=TEXT, family="monospace")
            box(axes, x, y, wide * cell, tall * cell, PALE)
            box(axes, x, y + row * cell, WARP * cell, cell, MID)  # a warp is a row of the block
            text(x - 0.12, y + (row + 0.5) * cell, "y", ha="right", va="center", fontsize=TEXT, fontstyle="italic")
            if y == loading or name == "Bs":
                text(x + (col + 0.5) * cell, y + tall * cell + 0.27, "x", ha="center", fontsize=TEXT, fontstyle="italic")
    for x in (x_as, x_bs):
        box(axes, x + col * cell, loading + row * cell, cell, cell, DARK)
    box(axes, x_as, using + row * cell, depth * cell, cell, DARK)
    box(axes, x_bs + col * cell, using, cell, depth * cell, DARK)
    for y in (loading, using):
        grid(axes, x_as, y, rows, depth, cell)
        grid(axes, x_bs, y, depth, cols, cell)

    barrier = loading + rows * cell + 0.65
    axes.plot([0.2, WIDTH - 0.2], [barrier] * 2, color=INK, linewidth=5, solid_capstyle="butt")
    label = {"ha": "center", "va": "center", "fontsize": TEXT, "family": "monospace"}
    text(WIDTH / 2, barrier, "__syncthreads()", bbox={"facecolor": "white", "edgecolor": "none", "pad": 4}, **label)
    shades = [(DARK, "this thread"), (MID, "loaded by the other threads of its warp"), (PALE, "loaded by other warps")]
    legend(axes, 0.2, using + rows * cell + 0.1, shades, 0.3)
    return figure
