"""The pictures of this lesson, from the sizes that its descriptor names: a thread's outer product, and its elements of C."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import TEXT, TITLE, WARP, box, canvas, grid, legend
from plots.style import DARK, INK
from runner.core.descriptors import Descriptor

CODE: dict[str, Any] = {"fontsize": TEXT, "family": "monospace"}
LINES: dict[str, Any] = {"fontsize": TEXT, "linespacing": 1.35}
INDEX: dict[str, Any] = {"fontsize": TEXT, "fontstyle": "italic", "ha": "center", "va": "center"}
OTHERS = "#d9d9d9"  # beside the one blue, which is a thread's or a product's own
_PATCHES = 2  # of the C tile's, each way, that are drawn
_THREAD = 20  # the one to follow: any of warp 0 will do


def picture(lesson: Descriptor) -> Figure:
    """What does a thread do at a step k: each of its values of As times each of its values of Bs?"""
    TM, TN = lesson.constants["TM"], lesson.constants["TN"]
    side, i, j = 2.4 / max(TM, TN), TM * 5 // 8, TN // 4  # the product that is followed: any will do
    x, y = 2.6, 1.75  # acc's corner
    figure, axes = canvas(y + TM * side + 0.35)
    text = axes.text
    text(0.2, 0.42, f"{lesson.name}: one step of one thread", fontsize=TITLE, fontweight="bold")
    left, above = x - 0.25 - side, y - 0.25 - side
    for x_of, y_of, down, across, row, col in (
        (left, y, TM, 1, i, 0),
        (x, above, 1, TN, 0, j),
        (x, y, TM, TN, i, j),
    ):
        box(axes, x_of, y_of, across * side, down * side, OTHERS)
        box(axes, x_of + col * side, y_of + row * side, side, side, DARK)
        grid(axes, x_of, y_of, down, across, side, INK, 0.8)
    text(left - 0.2, y + (i + 0.5) * side, "i", **INDEX)
    text(x + (j + 0.5) * side, above - 0.2, "j", **INDEX)
    text(left - 0.15, y + side, f"a_frag[{TM}],\nread from As", ha="right", va="center", **LINES)
    right = x + TN * side + 0.25
    text(right, above + side / 2, f"b_frag[{TN}],\nread from Bs", va="center", **LINES)
    text(right, y + side, f"acc[{TM}][{TN}], the sums", va="center", **LINES)
    legend(axes, right, y + 1.15, [(DARK, "acc[i][j] +=\na_frag[i]\n* b_frag[j]")])
    return figure


def picture_thread(lesson: Descriptor) -> Figure:
    """Which elements of the C tile are one thread's, and what does it read for them at a step k?"""
    rows, cols, depth, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    cell = 3.2 / (_PATCHES * max(threads_m, threads_n))
    x_c, y_c = 0.65 + depth * cell + 0.25, 1.2 + depth * cell + 0.25
    figure, axes = canvas(y_c + _PATCHES * threads_m * cell + 0.65)
    text = axes.text
    text(0.2, 0.42, f"{lesson.name}: one thread's elements", fontsize=TITLE, fontweight="bold")
    drawn = f"{_PATCHES}×{_PATCHES} of the {TM}×{TN} patches of the C tile"
    text(0.2, 0.85, f"{drawn}, {threads_m}×{threads_n} elements each", fontsize=TEXT)
    _tiles(axes, x_c, y_c, cell, lesson)
    legend(axes, x_c + _PATCHES * threads_n * cell + 0.4, y_c + 0.65, (
        (DARK, f"thread {_THREAD}'s, and\nwhat it reads of\nAs and Bs\nat step k"),
        (OTHERS, "other threads'\nin warp 0"),
    ), 1.35)  # fmt: skip
    return figure


def _tiles(axes: Axes, x_c: float, y_c: float, cell: float, lesson: Descriptor) -> None:
    """The first patches of the C tile with the elements of warp 0 and of one thread, and what that reads at one step. The corner
    of C is (x_c, y_c)."""
    text = axes.text
    rows, cols, depth, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    (y, x), k, high = divmod(_THREAD, threads_n), depth // 2, WARP // threads_n  # high: rows of a patch that a warp has
    x_as, y_bs = x_c - 0.25 - depth * cell, y_c - 0.25 - depth * cell
    tall, wide = _PATCHES * threads_m, _PATCHES * threads_n  # elements that are drawn
    for i in range(_PATCHES):
        box(axes, x_as + k * cell, y_c + (y + i * threads_m) * cell, cell, cell, DARK)
        box(axes, x_c + (x + i * threads_n) * cell, y_bs + k * cell, cell, cell, DARK)
        for j in range(_PATCHES):
            left, above = x_c + j * threads_n * cell, y_c + i * threads_m * cell
            box(axes, left, above, threads_n * cell, high * cell, OTHERS)
            box(axes, left + x * cell, above + y * cell, cell, cell, DARK)
    for left, above, down, across in ((x_as, y_c, tall, depth), (x_c, y_bs, depth, wide), (x_c, y_c, tall, wide)):
        grid(axes, left, above, down, across, cell)
        box(axes, left, above, across * cell, down * cell, "none", INK, 1.8)
    for i in range(1, _PATCHES):
        axes.plot([x_c, x_c + wide * cell], [y_c + i * threads_m * cell] * 2, color=INK, linewidth=1.8)
        axes.plot([x_c + i * threads_n * cell] * 2, [y_c, y_c + tall * cell], color=INK, linewidth=1.8)
    right, bottom = x_c + wide * cell, y_c + tall * cell
    text(x_as - 0.12, y_c + 0.2, "As", ha="right", **CODE)
    text(x_c - 0.35, y_bs + 0.2, "Bs", ha="right", **CODE)
    text(x_as + (k + 0.5) * cell, y_c - 0.17, "k", **INDEX)
    text(x_c - 0.17, y_bs + (k + 0.5) * cell, "k", **INDEX)
    text(right + 0.12, y_bs + depth * cell / 2, "…", va="center", fontsize=TEXT)
    text(right + 0.12, y_c + tall * cell / 2, "…", va="center", fontsize=TEXT)
    text(x_c + wide * cell / 2, bottom + 0.25, "⋮", ha="center", va="center", fontsize=TEXT)
