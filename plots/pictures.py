"""The explanatory pictures of the lessons, from the constants and the thread mapping in their kernel.cu.

Each shows the matrices where they meet: A on the left of C, B above it, so that a row of A and a column of B cross at
their element of C. Coordinates are inches from the top left corner.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from plots import pictures_09a, pictures_09b, pictures_09c
from plots.drawing import SMALL, TEXT, TITLE, WARP, Kernel, arrow, box, canvas, counted, grid, read_kernel
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH, save, style
from runner.core.results import folder_of

SECTOR = 32  # bytes: what one request to global memory moves at least (CUDA guide, device memory accesses)
FLOAT = 4  # bytes
PER_SECTOR = SECTOR // FLOAT


def _rectangles(elements: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """The elements (row, column) as one rectangle (row, column, rows, columns) where they fill it, else one each."""
    (top, left), (bottom, right) = map(min, zip(*elements, strict=True)), map(max, zip(*elements, strict=True))
    tall, wide = bottom - top + 1, right - left + 1
    return [(top, left, tall, wide)] if tall * wide == len(elements) else [(row, col, 1, 1) for row, col in elements]


def access(name: str, kernel: Kernel) -> Figure:
    """Lessons 01 and 02: which elements of C warp 0 of a block owns, and which sectors of A and B it reads at one step k."""
    rows, cols = kernel.constants["BM"], kernel.constants["BN"]
    steps, k = 2 * PER_SECTOR, 3  # steps along K that are drawn, and the one that is looked at
    owned = [kernel.element(thread) for thread in range(WARP)]
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
        for row, col, tall, wide in _rectangles([kernel.element(thread) for thread in threads]):
            fill = DARK if warp == 0 else PALE if warp % 2 else "white"
            box(axes, x_c + col * cell, y_c + row * cell, wide * cell, tall * cell, fill)
    grid(axes, x_c, y_c, rows, cols, cell)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    for warp, inwards in ((0, 1), (warps - 1, -1)):  # the label stands inside, an arrow leads to the stripe
        row, col = kernel.element(warp * WARP + WARP // 2)
        inner = 0.5 + 0.5 * inwards  # the arrow ends at the stripe's inner edge
        tip = x_c + (col + (inner if kernel.x_is_row else 0.5)) * cell, y_c + (row + (0.5 if kernel.x_is_row else inner)) * cell
        shift = (1.0 * inwards, 0.0) if kernel.x_is_row else (0.0, 0.75 * inwards)
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

    text(0.2, 0.45, f"{name}: what one warp reads", fontsize=TITLE, fontweight="bold")
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

    down, across = ("x", "y") if kernel.x_is_row else ("y", "x")
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


def tiles(name: str, kernel: Kernel) -> Figure:
    """Lesson 03: the tiles that a block walks along K, what one thread reads of them in shared memory, and the two barriers."""
    rows, cols, depth = (kernel.constants[key] for key in ("BM", "BN", "BK"))
    side, cell = 0.5, 2.3 / max(rows, cols, depth)  # inches: a tile in 1, an element in 2
    count, high, now = 4, 3, 1  # tiles along K and N, along M, and the one at k0
    figure, axes = canvas(7.2 + (count + high) * side + rows * cell)  # 7.2: all the text between and below
    text = axes.text
    text(0.2, 0.45, f"{name}: tiles march along K", fontsize=TITLE, fontweight="bold")

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
    white = {"color": "white", "fontweight": "bold", "ha": "center", "va": "center", "fontsize": TEXT}
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


def column(name: str, kernel: Kernel) -> Figure:
    """Lesson 04: a thread's column of C and what it reads for it at one step k, and the passes that load the tiles."""
    rows, cols, depth, TM = (kernel.constants[key] for key in ("BM", "BN", "BK", "TM"))
    threads = rows // TM * cols
    cell = 3.6 / max(rows, cols)
    figure, axes = canvas(7.7 + (rows + depth) * cell)
    text = axes.text
    text(0.2, 0.45, f"{name}: {TM} results a thread", fontsize=TITLE, fontweight="bold")

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
    code = {"fontsize": TEXT, "family": "monospace"}
    text(x_as - 0.55, y_c + rows * cell + 0.32, f"As[{rows}][{depth}]", **code)
    text(x_c + cols * cell, y_bs - 0.14, f"Bs[{depth}][{cols}]", ha="right", **code)
    text(x_c, y_c + rows * cell + 0.32, f"C: a block's {rows}×{cols} elements", fontsize=TEXT)
    slanted = {"fontsize": TEXT, "fontstyle": "italic"}
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
    white = {"color": "white", "ha": "center", "va": "center", "fontsize": SMALL}
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


def outer_product(name: str, kernel: Kernel) -> Figure:
    """Lesson 05: a thread's elements of C and what it reads for them at one step, the outer product, and the banks of a read."""
    rows, cols, depth, TM, TN = (kernel.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    figure, axes = canvas(13.65)
    text = axes.text
    text(0.2, 0.45, f"{name}: {TM}×{TN} results a thread", fontsize=TITLE, fontweight="bold")
    code, slanted = {"fontsize": TEXT, "family": "monospace"}, {"fontsize": TEXT, "fontstyle": "italic"}

    # 1. The block tile of C, the elements of warp 0 and of one thread, and what that reads at one step.
    text(0.2, 0.95, f"1. A thread owns {TM} rows times {TN} columns of C", fontsize=TEXT + 1, fontweight="bold")
    thread, k, cell, thin = 20, depth // 2, 4.1 / max(rows, cols), 0.07  # any thread of warp 0; thin: a step along K
    x, y = thread % threads_n, thread // threads_n
    own_rows, own_cols = [y + i * threads_m for i in range(TM)], [x + j * threads_n for j in range(TN)]
    x_as, y_bs = 0.75, 1.5
    x_c, y_c = x_as + depth * thin + 0.45, y_bs + depth * thin + 0.4
    box(axes, x_as, y_c, depth * thin, rows * cell, PALE, GREY)
    box(axes, x_c, y_bs, cols * cell, depth * thin, PALE, GREY)
    for i in range(TM):
        for j in range(TN):
            left, top = x_c + j * threads_n * cell, y_c + i * threads_m * cell
            box(axes, left, top, threads_n * cell, WARP // threads_n * cell, LIGHT)
    for row in own_rows:
        box(axes, x_as + k * thin, y_c + (row - 0.5) * cell, thin, 2 * cell, DARK)
    for col in own_cols:
        box(axes, x_c + (col - 0.5) * cell, y_bs + k * thin, 2 * cell, thin, DARK)
    for row in own_rows:
        for col in own_cols:
            box(axes, x_c + (col - 0.5) * cell, y_c + (row - 0.5) * cell, 2 * cell, 2 * cell, DARK)
    grid(axes, x_c, y_c, TM, TN, threads_n * cell, line=0.6)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    text(x_as - 0.55, y_c + rows * cell + 0.32, f"As[{rows}][{depth}]", **code)
    text(x_c + cols * cell, y_bs - 0.12, f"Bs[{depth}][{cols}]", ha="right", **code)
    text(x_c + 0.75, y_c + rows * cell + 0.32, f"C: a block's {rows}×{cols} elements", fontsize=TEXT)
    text(x_as + (k + 0.5) * thin, y_c - 0.1, "k", ha="center", **slanted)
    text(x_c - 0.1, y_bs + (k + 0.5) * thin, "k", ha="right", va="center", **slanted)
    x_text = x_c + cols * cell + 0.2
    legend = f"thread t = {thread}:\nx = t % {threads_n} = {x}\ny = t / {threads_n} = {y}"
    text(x_text, y_c, legend, fontsize=SMALL, va="top", linespacing=1.4)
    legend = f"dark: its rows\ny + i·{threads_m}, its\ncolumns x + j·{threads_n}\n(drawn twice\nas large)"
    text(x_text, y_c + 1.0, legend, fontsize=SMALL, va="top", linespacing=1.4)
    legend = f"light: warp 0,\n{WARP // threads_n} rows of {threads_n}\nin each square"
    text(x_text, y_c + 2.85, legend, fontsize=SMALL, va="top", linespacing=1.4)

    # 2. One step in registers.
    top = y_c + rows * cell + 0.9
    said = f"2. A step k: {TM} + {TN} reads, {TM * TN} multiply-adds"
    text(0.2, top, said, fontsize=TEXT + 1, fontweight="bold")
    side = 1.36 / max(TM, TN)
    x_acc, y_acc = 2.5, top + 0.85
    box(axes, x_acc - 0.3 - side, y_acc, side, TM * side, MID)
    box(axes, x_acc, y_acc - 0.2 - side, TN * side, side, MID)
    box(axes, x_acc, y_acc, TN * side, TM * side, LIGHT)
    grid(axes, x_acc - 0.3 - side, y_acc, TM, 1, side)
    grid(axes, x_acc, y_acc - 0.2 - side, 1, TN, side)
    grid(axes, x_acc, y_acc, TM, TN, side)
    text(x_acc - 0.45 - side, y_acc + TM * side / 2, f"a_frag[{TM}]", ha="right", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc - 0.2 - side / 2, f"b_frag[{TN}]", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc + 0.35, f"acc[{TM}][{TN}]", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc + 0.75, "acc[i][j] +=", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc + 1.08, "    a_frag[i] * b_frag[j]", va="center", **code)

    # 3. The banks that b_frag[j] of one warp comes from, for the kernel's columns and for neighbouring ones.
    top = y_acc + TM * side + 0.65
    text(0.2, top, "3. Why a thread's columns lie apart", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, top + 0.36, "Banks of one read of a row of Bs by a warp:", fontsize=TEXT)
    wide, tall = (WIDTH - 0.6) / 32, 0.2
    base = top + 1.0
    for said, step in ((f"column x + j·{threads_n}", 1), (f"column x·{TN} + j", TN)):
        words = [t * step for t in range(threads_n)]
        banks = [word % 32 for word in words]
        deep = max(banks.count(bank) for bank in banks)
        text(0.3, base - 0.12, f"{said}: {counted(deep, 'wavefront')}", fontsize=TEXT)
        for bank in range(32):
            box(axes, 0.3 + bank * wide, base, wide, tall, PALE, GREY)
        for at, bank in enumerate(banks):
            box(axes, 0.3 + bank * wide, base + banks[:at].count(bank) * tall, wide, tall, DARK, "white")
        base += deep * tall + 0.68
    text(0.3, base - 0.3, "A box: a bank, 0 … 31; a dark one: a word that threads want", fontsize=SMALL)
    return figure


def timeline(name: str, kernel: Kernel) -> Figure:
    """Lesson 07: when the loads, stores and sums of two tiles happen, with one stage as in lesson 06 and with two."""
    depth = kernel.constants["BK"]
    figure, axes = canvas(10.6)
    text = axes.text
    text(0.2, 0.45, f"{name}: two tiles in time", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One block, time from left to right, not to scale.", fontsize=TEXT)
    left, right, lane = 1.55, WIDTH - 0.15, 0.8
    white = {"color": "white", "fontweight": "bold"}

    def lanes(y: float, names: tuple[str, ...]) -> None:
        for i, label in enumerate(names):
            axes.plot([left, right], [y + (i + 1) * lane] * 2, color=GREY, linewidth=0.6)
            text(left - 0.12, y + (i + 0.52) * lane, label, ha="right", va="center", fontsize=SMALL, linespacing=1.15)
        axes.plot([left, right], [y] * 2, color=GREY, linewidth=0.6)

    def piece(x: float, end: float, y: float, row: int, fill: str, label: str) -> None:
        box(axes, x, y + row * lane + 0.1, end - x, lane - 0.2, fill, GREY)
        how = white if fill in (DARK, MID) else {}
        text((x + end) / 2, y + (row + 0.5) * lane, label, ha="center", va="center", fontsize=SMALL, linespacing=1.1, **how)

    def barrier(x: float, y: float, rows: int) -> None:
        axes.plot([x, x], [y - 0.1, y + rows * lane + 0.1], color=INK, linewidth=6, solid_capstyle="butt")

    # One stage: on the way, store, barrier, sums, barrier; one after the other.
    y = 1.95
    text(0.2, y - 0.5, "Lesson 06: one stage, two barriers a tile", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, y - 0.19, "While tiles are on their way, the block computes nothing.", fontsize=SMALL)
    lanes(y, ("global →\nregisters", "As, Bs"))
    period = 3.19
    for tile, label in ((0, "t"), (1, "t + 1")):
        x = left + tile * period
        piece(x, x + 1.13, y, 0, LIGHT, f"tile {label}")
        piece(x + 1.13, x + 1.61, y, 1, MID, "st.")
        piece(x + 1.73, x + 3.09, y, 1, DARK, f"sums {label}")
        barrier(x + 1.67, y, 2)
        barrier(x + 3.15, y, 2)

    # Two stages: the next tile is on its way during the sums of this one.
    y = 4.75
    text(0.2, y - 0.5, "This lesson: two stages, one barrier a tile", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, y - 0.19, f"While a tile is used ({depth} steps), the next one is on its way.", fontsize=SMALL)
    lanes(y, ("global →\nregisters", "stage 0", "stage 1"))
    period, at = 2.06, 0.12
    barrier(left + 0.03, y, 3)
    for tile, label in ((0, "t"), (1, "t + 1"), (2, "t + 2")):
        x = left + at + tile * period
        following = ("t + 1", "t + 2", "t + 3")[tile]
        piece(x, x + 1.38, y, 0, LIGHT, f"tile {following}")
        piece(x, x + 1.38, y, 1 + tile % 2, DARK, f"sums {label}")
        piece(x + 1.38, x + 1.88, y, 2 - tile % 2, MID, "st.")
        barrier(x + 1.97, y, 3)

    # What the barrier stands for, and the legend.
    y = 7.75
    text(0.2, y, "The one barrier says two things:", fontsize=TEXT + 1, fontweight="bold")
    for i, line in enumerate(
        (
            "• the next tiles are complete: the next round may read",
            "   the stage that this round has stored to;",
            "• these tiles are no longer read: the next round may",
            "   store to the stage that this round has read.",
        )
    ):
        text(0.2, y + 0.38 + 0.33 * i, line, fontsize=TEXT)
    y = 9.5
    for x, fill, label in (
        (0.2, LIGHT, "on the way from global memory"),
        (4.75, DARK, "reads and sums"),
    ):
        box(axes, x, y, 0.42, 0.28, fill, GREY)
        text(x + 0.55, y + 0.15, label, va="center", fontsize=SMALL)
    box(axes, 0.2, y + 0.48, 0.42, 0.28, MID, GREY)
    text(0.75, y + 0.63, "st.: stores to shared memory", va="center", fontsize=SMALL)
    axes.plot([4.96, 4.96], [y + 0.44, y + 0.8], color=INK, linewidth=6, solid_capstyle="butt")
    text(5.3, y + 0.63, "__syncthreads()", va="center", fontsize=SMALL, family="monospace")
    return figure


def lanes(name: str, kernel: Kernel) -> Figure:
    """Lesson 06: a block's warp tiles, a thread's elements, which lanes read the same 16 bytes, the banks of a store to As."""
    rows, cols, depth, pad = (kernel.constants[key] for key in ("BM", "BN", "BK", "PAD"))
    WM, WN, TM, TN = (kernel.constants[key] for key in ("WM", "WN", "TM", "TN"))
    lanes_m, lanes_n, warps_n, width = WM // TM, WN // TN, cols // WN, 4  # width: floats of an access

    def place(lane: int) -> tuple[int, int]:  # lane_m, lane_n of the kernel
        return lane % 2 + lane // 4 % (lanes_m // 2) * 2, lane // 2 % 2 + lane // (2 * lanes_m) * 2

    figure, axes = canvas(14.0)
    text = axes.text
    text(0.2, 0.45, f"{name}: a warp's results as a tile", fontsize=TITLE, fontweight="bold")

    # 1. The block tile of C, its warp tiles, and one thread's elements.
    text(0.2, 0.95, f"1. {rows // WM * warps_n} warp tiles of {WM}×{WN} in a block", fontsize=TEXT + 1, fontweight="bold")
    cell, x_c, y_c, lane = 3.5 / cols, 0.4, 1.3, 6  # the lane that is looked at: any will do
    lane_m, lane_n = place(lane)
    for warp in range(rows // WM * warps_n):
        left, top = x_c + warp % warps_n * WN * cell, y_c + warp // warps_n * WM * cell
        box(axes, left, top, WN * cell, WM * cell, LIGHT if warp == 0 else "white", GREY, 1.4)
        text(left + WN * cell / 2, top + WM * cell * 0.4, f"warp {warp}", ha="center", va="center", fontsize=SMALL)
    groups = [(i * lanes_m + lane_m * width, j * lanes_n + lane_n * width)
              for i in range(0, TM, width) for j in range(0, TN, width)]  # fmt: skip
    for row, col in groups:
        box(axes, x_c + col * cell, y_c + row * cell, width * cell, width * cell, DARK)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    said = (
        f"light: the tile of warp 0,\n{WM} rows, {WN} columns\n\ndark: what lane {lane} owns,\n{len(groups)} groups of "
        f"{width}×{width}\n\na step along K reads\n{TM // width} × 16 bytes of As,\n{TN // width} × 16 bytes of Bs"
    )
    text(x_c + cols * cell + 0.25, y_c + 0.05, said, fontsize=TEXT, va="top", linespacing=1.3)

    # 2. The lanes in the warp tile.
    top = y_c + rows * cell + 0.55
    text(0.2, top, "2. Where the lanes lie: pairs read the same", fontsize=TEXT + 1, fontweight="bold")
    wide, tall, x, y = 0.62, 0.34, 1.5, top + 0.95
    for other in range(WARP):
        m, n = place(other)
        fill, colour = (DARK, "white") if other < 4 else (LIGHT, INK) if other < WARP // 2 else ("white", INK)
        box(axes, x + n * wide, y + m * tall, wide, tall, fill, GREY)
        text(x + (n + 0.5) * wide, y + (m + 0.5) * tall, str(other), ha="center", va="center", fontsize=SMALL, color=colour)
    box(axes, x, y, lanes_n * wide, lanes_m * tall, "none", INK, 1.6)
    text(x + lanes_n * wide / 2, y - 0.42, "lane_n: 16 bytes of Bs", ha="center", fontsize=SMALL)
    for n in range(lanes_n):
        text(x + (n + 0.5) * wide, y - 0.1, str(n), ha="center", fontsize=SMALL)
    for m in range(lanes_m):
        text(x - 0.1, y + (m + 0.5) * tall, str(m), ha="right", va="center", fontsize=SMALL)
    text(x - 0.72, y + lanes_m * tall / 2, "lane_m:\n16 bytes of As", ha="center", va="center", rotation=90, fontsize=SMALL)
    half = [place(other) for other in range(WARP // 2)]
    said = (
        f"lanes 0 and 2: the same of As\nlanes 0 and 1: the same of Bs\n\nlanes 0 … {WARP // 2 - 1} (shaded) read\n"
        f"{len({m for m, _ in half})} × 16 bytes of As,\n{len({n for _, n in half})} × 16 bytes of Bs:\n1 wavefront each"
    )
    text(x + lanes_n * wide + 0.3, y, said, fontsize=TEXT, va="top", linespacing=1.3)

    # 3. Banks of a store to As.
    top = y + lanes_m * tall + 0.6
    text(0.2, top, "3. A warp stores v.x to As: lanes a bank", fontsize=TEXT + 1, fontweight="bold")
    left, step = 0.4, (WIDTH - 0.8) / WARP
    y = top + 0.75
    for padding in (0, pad):
        banks: dict[int, list[int]] = {}
        for thread in range(WARP):
            a_row, a_k = thread // (depth // width), thread % (depth // width) * width
            banks.setdefault((a_k * (rows + padding) + a_row) % WARP, []).append(thread)
        most = max(map(len, banks.values()))
        title = f"rows of {rows} + {padding} floats: {most} wavefronts"
        text(left, y - 0.17, title, fontsize=TEXT, family="monospace")
        for bank in range(WARP):
            for i in range(most):
                there = i < len(banks.get(bank, []))
                fill, edge = (DARK, "white") if there else ("white", GREY)
                box(axes, left + bank * step, y + i * 0.28, step, 0.28, fill, edge, 0.5)
                if there:
                    text(left + (bank + 0.5) * step, y + (i + 0.5) * 0.28, str(banks[bank][i]), ha="center", va="center",
                         fontsize=10.5, color="white")  # fmt: skip
        y += most * 0.28
        for bank in (*range(0, WARP, 8), WARP - 1):
            text(left + (bank + 0.5) * step, y + 0.25, str(bank), ha="center", fontsize=SMALL)
        y += 1.0
    text(left, y - 0.42, "Below: the bank. In it: the lanes that store to it.", fontsize=SMALL)
    return figure


def ring(name: str, kernel: Kernel) -> Figure:
    """Lesson 08: which tile each stage of the ring holds from tile to tile, what is under way, and the order within a tile."""
    stages, depth = kernel.constants["STAGES"], kernel.constants["BK"]
    tiles_, wide, tall = 8, 1.15, 0.42  # tiles along K that are drawn; inches of a cell
    figure, axes = canvas(9.7 + tiles_ * tall)
    text = axes.text
    text(0.2, 0.45, f"{name}: a ring of {stages} stages", fontsize=TITLE, fontweight="bold")

    # 1. One moment.
    now = stages + 1
    text(0.2, 0.95, f"1. While tile {now} is used", fontsize=TEXT + 1, fontweight="bold")
    side, y, gap = 1.5, 2.75, (WIDTH - 0.6 - stages * 1.5) / (stages - 1)
    text(WIDTH / 2, 1.45, "global memory: A and B", fontsize=TEXT, ha="center")
    axes.plot([0.3, WIDTH - 0.3], [1.6, 1.6], color=INK, linewidth=2)
    for stage in range(stages):
        x = 0.3 + stage * (side + gap)
        ahead = (stage - now) % stages
        fill, colour = (LIGHT, INK) if ahead else (DARK, "white")
        box(axes, x, y, side, 1.05, fill, INK, 1.8)
        text(x + side / 2, y + 0.45, f"tile {now + ahead}", ha="center", color=colour, fontsize=TEXT, fontweight="bold")
        text(x + side / 2, y + 0.8, "copied" if ahead else "used", ha="center", color=colour, fontsize=SMALL)
        text(x + side / 2, y + 1.32, f"stage {stage}", ha="center", fontsize=SMALL)
        if ahead:
            arrow(axes, (x + side / 2, 1.62), (x + side / 2, y - 0.06), 1.6)
            text(x + side / 2 + 0.12, 2.25, f"group {now + ahead}", fontsize=SMALL)
        else:
            arrow(axes, (x + side / 2, y + 1.42), (x + side / 2, y + 1.9), 3)
            text(x + side / 2 + 0.15, y + 1.75, "to registers", fontsize=SMALL)
    text(0.3, y + 2.3, f"light: up to {stages - 1} tiles on their way, past the registers", fontsize=TEXT)

    # 2. From tile to tile.
    top = y + 2.9
    text(0.2, top, "2. From tile to tile: what the stages hold", fontsize=TEXT + 1, fontweight="bold")
    x0, y0 = 1.1, top + 0.65
    text(x0 - 0.12, y0 - 0.12, "used", ha="right", fontsize=SMALL)
    for stage in range(stages):
        text(x0 + (stage + 0.5) * wide, y0 - 0.12, f"stage {stage}", ha="center", fontsize=SMALL)
    for tile in range(tiles_):
        row = y0 + tile * tall
        text(x0 - 0.12, row + tall / 2, f"tile {tile}", ha="right", va="center", fontsize=SMALL)
        for stage in range(stages):
            held = tile + (stage - tile) % stages
            fill, colour = (LIGHT, INK) if held != tile else (DARK, "white")
            if held >= tiles_:
                fill, colour = "white", GREY
            box(axes, x0 + stage * wide, row, wide, tall, fill, GREY, 1.0)
            label = str(held) if held < tiles_ else "–"
            text(x0 + (stage + 0.5) * wide, row + tall / 2, label, ha="center", va="center", color=colour, fontsize=SMALL)
    x, ends = x0 + stages * wide + 0.15, tiles_ - stages + 1
    for tile, said in ((0, f"starts {stages - 1}"), (1, f"starts {stages}"), (ends, "empty"), (ends + 1, "groups")):
        text(x, y0 + (tile + 0.5) * tall, said, va="center", fontsize=SMALL)

    # 3. Within a tile.
    top = y0 + tiles_ * tall + 0.6
    text(0.2, top, f"3. Tile n: {depth} steps, one wait, one barrier", fontsize=TEXT + 1, fontweight="bold")
    cell, y = (WIDTH - 0.6) / depth, top + 0.3
    for step in range(depth):
        x = 0.3 + step * cell
        box(axes, x, y, cell, 0.55, DARK, "white", 1.6)
        text(x + cell / 2, y + 0.275, f"k = {step}", ha="center", va="center", color="white", fontsize=SMALL)
        box(axes, x, y + 0.6, cell, 0.45, PALE, "white", 1.6)
        text(x + cell / 2, y + 0.825, f"read {(step + 1) % depth}", ha="center", va="center", fontsize=SMALL)
    arrow(axes, (0.3 + cell / 2, y + 1.5), (0.3 + cell / 2, y + 1.08))
    text(0.3, y + 1.8, f"copy tile n + {stages - 1},\ncommit", fontsize=SMALL, va="center")
    line = 0.3 + (depth - 1) * cell
    axes.plot([line, line], [y - 0.08, y + 1.25], color=INK, linewidth=6, solid_capstyle="butt")
    code = {"ha": "right", "fontsize": SMALL}
    text(WIDTH - 0.3, y + 1.55, f"wait<{stages - 2}>, __syncthreads()", family="monospace", **code)
    text(WIDTH - 0.3, y + 1.87, f"then read 0 of tile n + 1, at k = {depth - 1}", **code)
    return figure


PICTURES: dict[str, Callable[[str, Kernel], Figure]] = {
    "01_naive": access,
    "02_coalesced": access,
    "03_smem": tiles,
    "04_1d_blocktile": column,
    "05_2d_blocktile": outer_product,
    "06_vectorized": lanes,
    "07_double_buffer": timeline,
    "08_cp_async": ring,
    "09a_wmma": pictures_09a.fragments,
    "09b_mma_sync": pictures_09b.fragments,
    "09c_pipelined": pictures_09c.pipeline,
}


def draw(root: Path, lesson: str, out_stem: Path) -> list[Path]:
    """Draws the picture of `lesson` (a key of PICTURES) from its kernel.cu below `root` to out_stem.png and .svg."""
    with style():
        return save(PICTURES[lesson](lesson, read_kernel(root / folder_of(lesson, root) / "kernel.cu")), out_stem)


def draw_all(root: Path, folder: Path) -> list[Path]:
    """Draws every picture into `folder`, named after its lesson."""
    return [path for lesson in PICTURES for path in draw(root, lesson, folder / lesson)]
