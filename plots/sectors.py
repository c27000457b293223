"""What a warp needs of A and B at one step, and which elements of C are its own; sectors are framed, not counted."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, grid, legend
from plots.style import DARK, GREY, INK, MID, PALE
from runner.core.descriptors import Descriptor
from runner.core.memory import SECTOR, WORD

PER_SECTOR = SECTOR // WORD  # floats


def _rectangles(elements: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """The elements (row, column) as one rectangle (row, column, rows, columns) where they fill it, else one each."""
    (top, left), (bottom, right) = map(min, zip(*elements, strict=True)), map(max, zip(*elements, strict=True))
    tall, wide = bottom - top + 1, right - left + 1
    return [(top, left, tall, wide)] if tall * wide == len(elements) else [(row, col, 1, 1) for row, col in elements]


def needed(lesson: Descriptor, k: int, *, x_is_row: bool) -> tuple[list[list[tuple[int, int]]], dict[str, set[tuple[int, int]]]]:
    """The elements (row, column) of the block's tile of C that each warp owns, and those of A and B, in the part of them
    that meets this tile, that warp 0 needs at step k, where a thread has one element. `x_is_row`: threadIdx.x runs along
    the rows of C."""

    def element(thread: int) -> tuple[int, int]:
        y, x = divmod(thread, lesson.block[0])
        return (x, y) if x_is_row else (y, x)

    threads = lesson.constants["BM"] * lesson.constants["BN"]
    owned = [[element(first + lane) for lane in range(WARP)] for first in range(0, threads, WARP)]
    return owned, {"A": {(row, k) for row, _ in owned[0]}, "B": {(k, col) for _, col in owned[0]}}


def picture(lesson: Descriptor, *, x_is_row: bool) -> Figure:
    """Which elements of C warp 0 of a block owns, and which of A and B it needs at one step k."""
    rows, cols = lesson.constants["BM"], lesson.constants["BN"]
    steps, k = 2 * PER_SECTOR, 3  # steps along K that are drawn, and the one that is looked at
    owned, used = needed(lesson, k, x_is_row=x_is_row)

    cell = 4.25 / max(rows, cols)
    x_a, x_c = 0.7, 0.7 + steps * cell + 0.6
    y_b = 2.65
    y_c = y_b + steps * cell + 0.6
    bottom = y_c + rows * cell
    figure, axes = canvas(bottom + 0.95)
    text = axes.text

    def matrix(name: str, x: float, y: float, height: int, width: int) -> None:
        for row, col in sorted(used[name]):
            box(axes, x + col * cell, y + row * cell, cell, cell, DARK)
        grid(axes, x, y, height, width, cell, GREY, 0.4)
        for col in range(0, width, PER_SECTOR):
            box(axes, x + col * cell, y, PER_SECTOR * cell, height * cell, "none", INK, 2.2)

    matrix("A", x_a, y_c, rows, steps)
    matrix("B", x_c, y_b, steps, cols)
    for warp, elements in enumerate(owned):  # C: a stripe a warp
        for row, col, tall, wide in _rectangles(elements):
            fill = DARK if warp == 0 else PALE if warp % 2 else "white"
            box(axes, x_c + col * cell, y_c + row * cell, wide * cell, tall * cell, fill)
    grid(axes, x_c, y_c, rows, cols, cell)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 2.2)
    for warp, inwards in ((0, 1), (len(owned) - 1, -1)):  # the label stands inside, an arrow leads to the stripe
        row, col = owned[warp][WARP // 2]
        inner = 0.5 + 0.5 * inwards  # the arrow ends at the stripe's inner edge
        tip = x_c + (col + (inner if x_is_row else 0.5)) * cell, y_c + (row + (0.5 if x_is_row else inner)) * cell
        shift = (1.0 * inwards, 0.0) if x_is_row else (0.0, 0.75 * inwards)
        axes.annotate(
            f"warp {warp}",
            tip,
            (tip[0] + shift[0], tip[1] + shift[1]),
            ha="center",
            va="center",
            fontsize=TEXT,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 3},
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16},
        )

    text(0.2, 0.45, f"{lesson.name}: what one warp needs", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.85, "At one step k, in a block's part of A, B and C", fontsize=TEXT)
    legend(axes, 0.2, 1.1, [(DARK, "warp 0")])
    legend(axes, 2.1, 1.1, [(PALE, "every second warp of C")])
    text(0.2, 1.75, f"Between thick lines, a row is a sector: {PER_SECTOR} floats", fontsize=TEXT)

    text(x_c + cols * cell, y_b - 0.12, "B", fontsize=TEXT, fontweight="bold", ha="right")
    text(x_c - 0.12, y_b + (k + 0.5) * cell, "k", ha="right", va="center", fontsize=TEXT, fontstyle="italic")
    text(x_c - 0.12, y_b + steps * cell, "↓ K", ha="right", va="bottom", fontsize=SMALL)
    text(x_a, bottom + 0.32, "A", fontsize=TEXT, fontweight="bold")
    text(x_a + (k + 0.5) * cell, y_c - 0.12, "k", ha="center", fontsize=TEXT, fontstyle="italic")
    text(x_a + steps * cell, y_c - 0.12, "→ K", ha="right", fontsize=SMALL)
    for row in (0, rows - 1):
        text(x_a - 0.1, y_c + (row + 0.5) * cell, str(row), ha="right", va="center", fontsize=SMALL)
    text(x_a - 0.42, (y_c + bottom) / 2, "row", ha="center", va="center", rotation=90, fontsize=SMALL)

    down, across = ("x", "y") if x_is_row else ("y", "x")
    text(x_c - 0.3, y_c + 1.0, f"threadIdx.{down}", ha="center", va="center", rotation=90, fontsize=SMALL)
    arrow(axes, (x_c - 0.3, y_c + 1.75), (x_c - 0.3, y_c + 2.6))
    text(x_c + 0.3, y_c - 0.3, f"threadIdx.{across}", va="center", fontsize=SMALL)
    arrow(axes, (x_c + 1.75, y_c - 0.3), (x_c + 2.6, y_c - 0.3))
    text(x_c, bottom + 0.32, f"C: {rows}×{cols} elements", fontsize=TEXT, fontweight="bold")
    text(x_c, bottom + 0.66, "of one block, a thread each", fontsize=TEXT)

    side = steps * cell / 4  # where the block lies: C as a grid of blocks
    text(x_a, y_b - 0.12, "grid of blocks on C", fontsize=TEXT)
    box(axes, x_a + side, y_b + side, side, side, MID)
    grid(axes, x_a, y_b, 3, 4, side, GREY, 1.2)
    text(x_a + 1.5 * side, y_b + 1.5 * side, "this", ha="center", va="center", fontsize=SMALL, color="white", fontweight="bold")
    return figure
