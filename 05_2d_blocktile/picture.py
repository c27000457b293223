"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, grid, legend
from plots.style import GREY, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor

CODE: dict[str, Any] = {"fontsize": TEXT, "family": "monospace"}
HEAD: dict[str, Any] = {"fontsize": TEXT + 1, "fontweight": "bold"}
SAID: dict[str, Any] = {"fontsize": SMALL, "va": "top", "linespacing": 1.35}


def picture(lesson: Descriptor) -> Figure:
    """Who works where, and from which memory: a block in the matrices, its warps and threads in the block tile, a thread in
    its registers."""
    figure, axes = canvas(10.66)
    axes.text(0.2, 0.42, f"{lesson.name}: block, warp and thread", fontsize=TITLE, fontweight="bold")
    _matrices(axes, 0.95, lesson)
    _block_tile(axes, 3.62, lesson)
    _registers(axes, 8.62, lesson)
    return figure


def _matrices(axes: Axes, top: float, lesson: Descriptor) -> None:
    """A block's tile of C, and the tiles of A and B that it has reached along K. Not to scale."""
    text, (rows, cols) = axes.text, (lesson.constants[key] for key in ("BM", "BN"))
    text(0.2, top, "1. A block, in global memory", **HEAD)
    side, along, blocks, tiles, row, col, at = 0.32, 0.17, 4, 6, 1, 2, 2
    x_a, y_b = 0.55, top + 0.22
    x_c, y_c = x_a + tiles * along + 0.35, y_b + tiles * along * 0.62 + 0.14
    down = along * 0.62
    for x, y, wide, tall in (
        (x_a, y_c, tiles * along, blocks * side),
        (x_c, y_b, blocks * side, tiles * down),
        (x_c, y_c, blocks * side, blocks * side),
    ):
        box(axes, x, y, wide, tall, "white", GREY)
    box(axes, x_a, y_c + row * side, tiles * along, side, PALE, GREY)
    box(axes, x_c + col * side, y_b, side, tiles * down, PALE, GREY)
    box(axes, x_a + at * along, y_c + row * side, along, side, MID, INK)
    box(axes, x_c + col * side, y_b + at * down, side, down, MID, INK)
    grid(axes, x_c, y_c, blocks, blocks, side, line=0.6)
    box(axes, x_c + col * side, y_c + row * side, side, side, LIGHT, INK, 1.8)
    for x, y, name in ((x_a - 0.2, y_c + 0.2, "A"), (x_c - 0.2, y_b + 0.2, "B"), (x_c - 0.2, y_c + 0.2, "C")):
        text(x, y, name, ha="center", fontsize=TEXT)
    left, above = x_c + blocks * side + 0.3, y_b + 0.1
    text(left, above + 1.35, f"(not to scale: these tiles of A and B\nare {lesson.constants['BK']} steps along K)", **SAID)
    needed = [(PALE, "what it needs of A and B"), (MID, "of that, in shared memory now")]
    legend(axes, left, above, [(LIGHT, f"its tile of C, {rows}×{cols}"), *needed], 0.46)


def _block_tile(axes: Axes, top: float, lesson: Descriptor) -> None:
    """The block tile of C with the elements of warp 0 and of one thread, and what that reads at one step."""
    text = axes.text
    rows, cols, depth, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    text(0.2, top, "2. A warp and a thread, in shared memory", **HEAD)
    thread, k, cell, thin = 20, depth // 2, 3.2 / max(rows, cols), 0.05  # any thread of warp 0; thin: a step along K
    x, y = thread % threads_n, thread // threads_n
    x_as, y_bs = 0.7, top + 0.25
    x_c, y_c = x_as + depth * thin + 0.2, y_bs + depth * thin + 0.2
    box(axes, x_as, y_c, depth * thin, rows * cell, MID, GREY)
    box(axes, x_c, y_bs, cols * cell, depth * thin, MID, GREY)
    for i in range(TM):
        box(axes, x_as + k * thin, y_c + (y + i * threads_m) * cell, thin, cell, INK)
        for j in range(TN):
            left, above = x_c + j * threads_n * cell, y_c + i * threads_m * cell
            box(axes, left, above, threads_n * cell, WARP // threads_n * cell, LIGHT)
            box(axes, left + x * cell, above + y * cell, cell, cell, INK)
    for j in range(TN):
        box(axes, x_c + (x + j * threads_n) * cell, y_bs + k * thin, cell, thin, INK)
    grid(axes, x_c, y_c, TM, TN, threads_n * cell, line=0.6)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    text(x_as - 0.12, y_c + 0.2, "As", ha="right", **CODE)
    text(x_c + cols * cell + 0.1, y_bs + depth * thin / 2, "Bs", va="center", **CODE)
    text(x_c, y_c + rows * cell + 0.3, f"C: {TM}×{TN} squares of {threads_m}×{threads_n}", fontsize=TEXT)

    # One of the squares, enlarged: a box is a thread.
    x_square, y_square, wide = x_c + cols * cell + 0.35, y_c + 0.38, 2.45 / max(threads_m, threads_n)
    box(axes, x_square, y_square, threads_n * wide, WARP // threads_n * wide, LIGHT)
    box(axes, x_square + x * wide, y_square + y * wide, wide, wide, INK)
    grid(axes, x_square, y_square, threads_m, threads_n, wide)
    box(axes, x_square, y_square, threads_n * wide, threads_m * wide, "none", INK, 1.8)
    text(x_square, y_square - 0.13, "a square, enlarged:\na box is a thread", fontsize=SMALL)
    below = y_square + threads_m * wide + 0.12
    legend(axes, x_square, below, [(LIGHT, "warp 0"), (INK, f"thread {thread}, and what\nit reads at a step k")], 0.5)


def _registers(axes: Axes, top: float, lesson: Descriptor) -> None:
    """A step k of one thread."""
    text, (TM, TN) = axes.text, (lesson.constants[key] for key in ("TM", "TN"))
    text(0.2, top, "3. A thread at a step k, in registers", **HEAD)
    side = 1.3 / max(TM, TN)
    x_acc, y_acc = 2.5, top + 0.58
    box(axes, x_acc - 0.3 - side, y_acc, side, TM * side, MID)
    box(axes, x_acc, y_acc - 0.2 - side, TN * side, side, MID)
    box(axes, x_acc, y_acc, TN * side, TM * side, LIGHT)
    grid(axes, x_acc - 0.3 - side, y_acc, TM, 1, side)
    grid(axes, x_acc, y_acc - 0.2 - side, 1, TN, side)
    grid(axes, x_acc, y_acc, TM, TN, side)
    text(x_acc - 0.45 - side, y_acc + TM * side / 2, f"a_frag[{TM}]", ha="right", va="center", **CODE)
    right = x_acc + TN * side + 0.15
    text(right, y_acc - 0.2 - side / 2, f"b_frag[{TN}]", va="center", **CODE)
    text(right, y_acc + 0.3, f"acc[{TM}][{TN}]", va="center", **CODE)
    text(right, y_acc + 0.68, "acc[i][j] +=", va="center", **CODE)
    text(right, y_acc + 1.02, "    a_frag[i] * b_frag[j]", va="center", **CODE)
