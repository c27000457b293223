"""What a warp reads at one step: the sectors of A and B under the elements that its threads need."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, counted, grid
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

SECTOR = 32  # bytes: what one request to global memory moves at least (CUDA guide, device memory accesses)
FLOAT = 4  # bytes
PER_SECTOR = SECTOR // FLOAT


def _rectangles(elements: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """The elements (row, column) as one rectangle (row, column, rows, columns) where they fill it, else one each."""
    (top, left), (bottom, right) = map(min, zip(*elements, strict=True)), map(max, zip(*elements, strict=True))
    tall, wide = bottom - top + 1, right - left + 1
    return [(top, left, tall, wide)] if tall * wide == len(elements) else [(row, col, 1, 1) for row, col in elements]


def picture(lesson: Descriptor, *, x_is_row: bool) -> Figure:
    """Which elements of C warp 0 of a block owns, and which sectors of A and B it reads at one step k, where a thread has one
    element. `x_is_row`: threadIdx.x runs along the rows of C."""

    def element(thread: int) -> tuple[int, int]:
        """Row and column, in the block's tile of C, of the block's thread number `thread`."""
        y, x = divmod(thread, lesson.block[0])
        return (x, y) if x_is_row else (y, x)

    rows, cols = lesson.constants["BM"], lesson.constants["BN"]
    steps, k = 2 * PER_SECTOR, 3  # steps along K that are drawn, and the one that is looked at
    owned = [element(thread) for thread in range(WARP)]
    used = {"A": {(row, k) for row, _ in owned}, "B": {(k, col) for _, col in owned}}
    sectors = {matrix: {(row, col // PER_SECTOR) for row, col in used[matrix]} for matrix in used}

    cell = 4.25 / max(rows, cols)
    x_a, x_c = 0.7, 0.7 + steps * cell + 0.6
    y_b = 2.3
    y_c = y_b + steps * cell + 0.6
    bottom = y_c + rows * cell
    figure, axes = canvas(bottom + 2.6)
    text = axes.text

    def matrix(name: str, x: float, y: float, height: int, width: int) -> None:
        for row, col in ((row, sector * PER_SECTOR) for row, sector in sorted(sectors[name])):
            box(axes, x + col * cell, y + row * cell, PER_SECTOR * cell, cell, LIGHT)
        for row, col in sorted(used[name]):
            box(axes, x + col * cell, y + row * cell, cell, cell, DARK)
        grid(axes, x, y, height, width, cell)
        for col in range(0, width, PER_SECTOR):
            box(axes, x + col * cell, y, PER_SECTOR * cell, height * cell, "none", INK, 1.8)
        for row, col in ((row, sector * PER_SECTOR) for row, sector in sorted(sectors[name])):
            edge, top = x + col * cell, y + row * cell
            box(axes, edge, top, PER_SECTOR * cell, cell, "none", INK, 1.4)
            if {(row, col - 1), (row, col)} <= used[name]:  # between two dark sectors
                axes.plot([edge, edge], [top, top + cell], color="white", linewidth=2.4)

    matrix("A", x_a, y_c, rows, steps)
    matrix("B", x_c, y_b, steps, cols)
    warps = rows * cols // WARP
    for warp in range(warps):  # C: a stripe a warp
        threads = range(warp * WARP, (warp + 1) * WARP)
        for row, col, tall, wide in _rectangles([element(thread) for thread in threads]):
            fill = DARK if warp == 0 else PALE if warp % 2 else "white"
            box(axes, x_c + col * cell, y_c + row * cell, wide * cell, tall * cell, fill)
    grid(axes, x_c, y_c, rows, cols, cell)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    for warp, inwards in ((0, 1), (warps - 1, -1)):  # the label stands inside, an arrow leads to the stripe
        row, col = element(warp * WARP + WARP // 2)
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

    def moved(name: str, between: str) -> str:
        broadcast = " (broadcast)" if len(used[name]) == 1 else ""
        return f"{len(sectors[name]) * SECTOR} B moved,{between}{len(used[name]) * FLOAT} B used{broadcast}"

    text(0.2, 0.45, f"{lesson.name}: what one warp reads", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.85, "Warp 0 of a block, at one step k. Dark: what it reads.", fontsize=TEXT)
    text(0.2, 1.17, f"Light: the rest of the {SECTOR}-byte sectors moved for it.", fontsize=TEXT)

    text(x_c, y_b - 0.42, f"B: {counted(len(sectors['B']), 'sector')}", fontsize=TEXT, fontweight="bold")
    text(x_c, y_b - 0.12, moved("B", " "), fontsize=TEXT)
    text(x_c - 0.12, y_b + (k + 0.5) * cell, "k", ha="right", va="center", fontsize=TEXT, fontstyle="italic")
    text(x_c - 0.12, y_b + steps * cell, "↓ K", ha="right", va="bottom", fontsize=SMALL)
    text(x_a, bottom + 0.32, f"A: {counted(len(sectors['A']), 'sector')}", fontsize=TEXT, fontweight="bold")
    text(x_a, bottom + 0.95, moved("A", "\n"), fontsize=TEXT, linespacing=1.25)
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
    stripes = f"one block: a thread an element,\na stripe of {WARP} threads a warp"
    text(x_c, bottom + 0.95, stripes, fontsize=TEXT, linespacing=1.25)

    side = steps * cell / 4  # where the block lies: C as a grid of blocks
    text(x_a, y_b - 0.12, "grid of blocks on C", fontsize=TEXT)
    box(axes, x_a + side, y_b + side, side, side, MID)
    grid(axes, x_a, y_b, 3, 4, side, GREY, 1.2)
    text(x_a + 1.5 * side, y_b + 1.5 * side, "this", ha="center", va="center", fontsize=SMALL, color="white", fontweight="bold")

    total, wanted = sum(map(len, sectors.values())), sum(map(len, used.values()))
    box(axes, 0.2, bottom + 1.25, WIDTH - 0.4, 1.15, PALE)
    text(
        WIDTH / 2,
        bottom + 1.72,
        f"{len(sectors['A'])} + {len(sectors['B'])} = {counted(total, 'sector')} per step and warp",
        ha="center",
        fontsize=TITLE - 1,
        fontweight="bold",
    )
    text(WIDTH / 2, bottom + 2.15, f"{total * SECTOR} B moved, {wanted * FLOAT} B used", ha="center", fontsize=TEXT + 1)
    return figure
