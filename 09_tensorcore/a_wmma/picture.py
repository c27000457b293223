"""The pictures of step 09a: the fragments of a warp, what one instruction multiplies, and the way of A, B and C."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, grid, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_HMMA = 16, 8, 16  # rows and columns of C and steps along K that one HMMA.16816 multiplies


def picture(lesson: Descriptor) -> Figure:
    """Which fragments does a warp hold, and which two of them does one mma_sync multiply into which third?"""
    BM, BN, BK, WM, WN, F = (lesson.constants[key] for key in ("BM", "BN", "BK", "WM", "WN", "F"))
    down, across, warps_n = WM // F, WN // F, BN // WN
    i, j, step = 1, across // 2, 1  # the product that is shown: any will do
    cell = 4.4 / BN
    x_a, y_b = 0.5, 1.35
    x_c, y_c = x_a + BK * cell + 0.3, y_b + BK * cell + 0.3
    figure, axes = canvas(y_c + BM * cell + 1.95)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: the fragments of a warp", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, f"Small squares: fragments of {F}×{F} elements", fontsize=TEXT)

    for x, y, rows, cols in ((x_a, y_c, BM, BK), (x_c, y_b, BK, BN), (x_c, y_c, BM, BN)):
        box(axes, x, y, cols * cell, rows * cell, PALE)
    side = F * cell
    a = [(x_a + step * side, y_c + row * side) for row in range(down)]
    b = [(x_c + col * side, y_b + step * side) for col in range(across)]
    c = [(x_c + col * side, y_c + row * side) for row in range(down) for col in range(across)]
    for x, y in (*a, *b, *c):
        box(axes, x, y, side, side, DARK if (x, y) in (a[i], b[j], c[i * across + j]) else LIGHT)
    for x, y, rows, cols in ((x_a, y_c, BM, BK), (x_c, y_b, BK, BN), (x_c, y_c, BM, BN)):
        grid(axes, x, y, rows // F, cols // F, side, GREY, 0.8)
        box(axes, x, y, cols * cell, rows * cell, "none", INK, 1.8)
    for warp in range(BM // WM * warps_n):
        left, top = x_c + warp % warps_n * WN * cell, y_c + warp // warps_n * WM * cell
        box(axes, left, top, WN * cell, WM * cell, "none", INK, 2.6)
        if warp:
            axes.text(left + WN * cell / 2, top + WM * cell / 2, f"warp {warp}", ha="center", va="center", fontsize=TEXT,
                      bbox={"facecolor": PALE, "edgecolor": "none", "pad": 4})  # fmt: skip
    text(x_a, y_c - 0.14, "As", fontsize=TEXT)
    text(x_c - 0.14, y_b + 0.26, "Bs", ha="right", fontsize=TEXT)
    text(x_c + BN * cell + 0.1, y_c + BM * cell - 0.05, "C", fontsize=TEXT)
    text(x_a + (step + 0.5) * side, y_c + BM * cell + 0.28, "k", fontsize=TEXT, ha="center", fontstyle="italic")
    text(x_c + BN * cell + 0.1, y_b + (step + 0.5) * side, "k", fontsize=TEXT, va="center", fontstyle="italic")
    shades = [
        (DARK, f"one mma_sync: acc[{i}][{j}] += a_frag[{i}]·b_frag[{j}]"),
        (LIGHT, "the other fragments of warp 0 at step k: a_frag, b_frag, acc"),
        (PALE, "the rest of the tiles in shared memory, and of the block's C"),
    ]
    legend(axes, 0.2, y_c + BM * cell + 0.55, shades, 0.42)
    return figure


def picture_instruction(lesson: Descriptor) -> Figure:
    """What does one instruction of a warp multiply, as FFMA and as HMMA?"""
    rows, cols, steps = _HMMA
    lane, row, col = 5, 4, 5  # what is followed: any will do
    figure, axes = canvas(10.3)
    text = axes.text
    text(0.2, 0.45, "One instruction of a warp", fontsize=TITLE, fontweight="bold")

    text(0.2, 1.05, "FFMA: each lane has three numbers", fontsize=TEXT + 1, fontweight="bold")
    cell = 0.205
    left = WIDTH - 0.25 - WARP * cell
    for y, name in ((1.3, "a"), (1.3 + cell + 0.06, "b"), (1.3 + 2 * (cell + 0.06), "c")):
        text(left - 0.12, y + cell / 2, name, ha="right", va="center", fontsize=TEXT)
        for place in range(WARP):
            box(axes, left + place * cell, y, cell, cell, DARK if place == lane else MID if name == "c" else LIGHT, GREY)
    below = 1.3 + 3 * (cell + 0.06) + 0.25
    text(left, below, "lane 0", fontsize=SMALL)
    text(left + WARP * cell, below, f"lane {WARP - 1}", fontsize=SMALL, ha="right")
    text(left + WARP * cell / 2, below, f"{WARP} times c += a·b", fontsize=TEXT, ha="center")

    top, cell = below + 0.75, 0.192
    text(0.2, top, "HMMA: the warp has three matrices", fontsize=TEXT + 1, fontweight="bold")
    x_a, y_b = 0.25, top + 0.3
    x_c, y_c = x_a + steps * cell + 0.35, y_b + steps * cell + 0.35
    for x, y, high, wide in ((x_a, y_c, rows, steps), (x_c, y_b, steps, cols), (x_c, y_c, rows, cols)):
        of_c = (x, y) == (x_c, y_c)
        box(axes, x, y, wide * cell, high * cell, MID if of_c else LIGHT)
    box(axes, x_a, y_c + row * cell, steps * cell, cell, DARK)
    box(axes, x_c + col * cell, y_b, cell, steps * cell, DARK)
    box(axes, x_c + col * cell, y_c + row * cell, cell, cell, DARK)
    for x, y, high, wide in ((x_a, y_c, rows, steps), (x_c, y_b, steps, cols), (x_c, y_c, rows, cols)):
        grid(axes, x, y, high, wide, cell, GREY, 0.6)
        box(axes, x, y, wide * cell, high * cell, "none", INK, 1.8)
    right = x_c + cols * cell + 0.15
    text(x_a, y_c - 0.14, f"A: {rows}×{steps}", fontsize=TEXT)
    text(right, y_b + 0.28, f"B: {steps}×{cols}", fontsize=TEXT)
    text(right, y_c + 0.28, f"C: {rows}×{cols}", fontsize=TEXT)
    said = f"{rows}·{cols} sums,\neach of {steps} products:\n{rows * cols * steps}\nmultiply-adds"
    text(right, y_c + 0.75, said, fontsize=TEXT, va="top", linespacing=1.3)
    legend(axes, x_a, y_b + 0.1, [(DARK, "one sum: a row of A\ntimes a column of B"), (LIGHT, "inputs"), (MID, "sums")], 0.55)
    return figure


def picture_way(lesson: Descriptor) -> Figure:
    """From which memory to which do the matrices go, and by what?"""
    levels = [0.95 + i * 1.6 for i in range(3)]
    figure, axes = canvas(levels[2] + 1.45)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: the way through memory", fontsize=TITLE, fontweight="bold")
    for level, label in zip(levels, ("global", "shared", "registers"), strict=True):
        box(axes, 0.2, level, WIDTH - 0.4, 0.95, PALE)
        text(0.3, level + 0.48, label, va="center", fontsize=SMALL, fontstyle="italic")
    wide, high = 2.0, 0.8
    left, middle, right = 1.42, 3.95, 5.7

    def place(x: float, level: int, label: str, size: str, fill: str = "white") -> None:
        colour = "white" if fill == DARK else INK
        y = levels[level] + 0.075
        box(axes, x, y, wide, high, fill, INK, 1.6)
        text(x + wide / 2, y + 0.26, label, ha="center", va="center", fontsize=SMALL, color=colour, fontweight="bold")
        text(x + wide / 2, y + 0.58, size, ha="center", va="center", fontsize=SMALL, color=colour)

    place(left, 0, "A, B", "16 bits")
    place(left, 1, "As, Bs", "16 bits")
    place(left, 2, "a_frag, b_frag", "16 bits")
    place(middle, 2, "acc", "32 bits", DARK)
    place(right, 1, "out", "32 bits")
    place(right, 0, "C", "16 bits")
    at = left + wide / 2
    for start, label in ((0, "load8"), (1, "load_matrix_sync")):
        arrow(axes, (at, levels[start] + 0.875), (at, levels[start + 1] + 0.075), 2.2)
        text(at + 0.13, (levels[start] + levels[start + 1] + 0.95) / 2, label, va="center", fontsize=SMALL)
    across = levels[2] + 0.48
    arrow(axes, (left + wide, across), (middle, across), 2.2)
    text((left + wide + middle) / 2, levels[2] + 1.25, "mma_sync", ha="center", fontsize=SMALL)
    up = right + wide / 2 + 0.4
    axes.plot([middle + wide, up], [across] * 2, color=INK, linewidth=2.2)
    for start, begin, label in ((2, across, "store_matrix_sync"), (1, levels[1] + 0.075, "alpha, beta")):
        arrow(axes, (up, begin), (up, levels[start - 1] + 0.875), 2.2)
        text(up - 0.13, (levels[start] + levels[start - 1] + 0.95) / 2, label, ha="right", va="center", fontsize=SMALL)
    return figure
