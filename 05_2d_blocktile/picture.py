"""The pictures of this lesson, from the sizes that its descriptor names: a block in the matrices, a thread in its block tile."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, grid, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor

CODE: dict[str, Any] = {"fontsize": TEXT, "family": "monospace"}
PLAIN: dict[str, Any] = {"fontsize": TEXT, "linespacing": 1.35}
SAID: dict[str, Any] = {"fontsize": SMALL, "va": "top", "linespacing": 1.35}
_SQUARES = 2  # of C's squares each way that are drawn
_THREAD = 20  # the one to follow: any of warp 0 will do


def picture(lesson: Descriptor) -> Figure:
    """Which part of the matrices does a block need: its tile of C, and the tiles of A and B that it has reached along K?"""
    figure, axes = canvas(3.35)
    text, (rows, cols), top = axes.text, (lesson.constants[key] for key in ("BM", "BN")), 0.75
    text(0.2, 0.42, f"{lesson.name}: a block in the matrices", fontsize=TITLE, fontweight="bold")
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
    return figure


def picture_thread(lesson: Descriptor) -> Figure:
    """Which elements of the block tile are one thread's, and what does it read for them at a step k?"""
    rows, cols, depth, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    cell = 3.2 / (_SQUARES * max(threads_m, threads_n))
    x_c, y_c = 0.75 + depth * cell + 0.25, 1.2 + depth * cell + 0.25
    figure, axes = canvas(y_c + 7.6)
    text = axes.text
    text(0.2, 0.42, f"{lesson.name}: a thread in the block tile", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.85, f"{_SQUARES}×{_SQUARES} of the {TM}×{TN} squares of C, {threads_m}×{threads_n} elements each", fontsize=TEXT)
    _shared_memory(axes, x_c, y_c, cell, lesson)
    below = y_c + _SQUARES * threads_m * cell + 0.75
    _registers(axes, below, TM, TN)
    legend(axes, 0.2, below + 1.95, (
        (DARK, f"in registers of thread {_THREAD}"),
        (PALE, "what it reads of As and Bs at a step k"),
        (LIGHT, "what the other threads of warp 0 have in registers"),
        (MID, "in shared memory"),
    ))  # fmt: skip
    return figure


def _shared_memory(axes: Axes, x_c: float, y_c: float, cell: float, lesson: Descriptor) -> None:
    """The first squares of the block tile of C with the elements of warp 0 and of one thread, and what that reads at one step.
    The corner of C is (x_c, y_c)."""
    text = axes.text
    rows, cols, depth, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    (y, x), k, high = divmod(_THREAD, threads_n), depth // 2, WARP // threads_n  # high: rows of a square that a warp has
    x_as, y_bs = x_c - 0.25 - depth * cell, y_c - 0.25 - depth * cell
    tall, wide = _SQUARES * threads_m, _SQUARES * threads_n  # elements that are drawn
    box(axes, x_as, y_c, depth * cell, tall * cell, MID)
    box(axes, x_c, y_bs, wide * cell, depth * cell, MID)
    for i in range(_SQUARES):
        box(axes, x_as + k * cell, y_c + (y + i * threads_m) * cell, cell, cell, PALE, INK)
        box(axes, x_c + (x + i * threads_n) * cell, y_bs + k * cell, cell, cell, PALE, INK)
        for j in range(_SQUARES):
            left, above = x_c + j * threads_n * cell, y_c + i * threads_m * cell
            box(axes, left, above, threads_n * cell, high * cell, LIGHT)
            box(axes, left + x * cell, above + y * cell, cell, cell, DARK)
    for left, above, down, across in ((x_as, y_c, tall, depth), (x_c, y_bs, depth, wide), (x_c, y_c, tall, wide)):
        grid(axes, left, above, down, across, cell)
        box(axes, left, above, across * cell, down * cell, "none", INK, 1.8)
    for i in range(1, _SQUARES):
        axes.plot([x_c, x_c + wide * cell], [y_c + i * threads_m * cell] * 2, color=INK, linewidth=1.8)
        axes.plot([x_c + i * threads_n * cell] * 2, [y_c, y_c + tall * cell], color=INK, linewidth=1.8)
    right, bottom = x_c + wide * cell + 0.15, y_c + tall * cell
    text(x_as - 0.12, y_c + 0.2, "As", ha="right", **CODE)
    text(right, y_bs + depth * cell / 2, "Bs … and so on", va="center", fontsize=TEXT)
    text(right, y_c + tall * cell / 2, f"… and so on,\n{TN} squares\nto the right", va="center", **PLAIN)
    text(x_c, bottom + 0.38, f"… and so on, {TM} squares down", fontsize=TEXT)


def _registers(axes: Axes, top: float, TM: int, TN: int) -> None:
    """A step k of one thread: all that it has in registers for it."""
    text, side = axes.text, 1.3 / max(TM, TN)
    x_acc, y_acc = 2.5, top + 0.3
    for left, above, down, across in (
        (x_acc - 0.3 - side, y_acc, TM, 1),
        (x_acc, y_acc - 0.2 - side, 1, TN),
        (x_acc, y_acc, TM, TN),
    ):
        box(axes, left, above, across * side, down * side, DARK)
        grid(axes, left, above, down, across, side, "white", 0.8)
    text(x_acc - 0.45 - side, y_acc + TM * side / 2, f"a_frag[{TM}]", ha="right", va="center", **CODE)
    right = x_acc + TN * side + 0.15
    text(right, y_acc - 0.2 - side / 2, f"b_frag[{TN}]", va="center", **CODE)
    text(right, y_acc + 0.3, f"acc[{TM}][{TN}]", va="center", **CODE)
    text(right, y_acc + 0.68, "acc[i][j] +=", va="center", **CODE)
    text(right, y_acc + 1.02, "    a_frag[i] * b_frag[j]", va="center", **CODE)
