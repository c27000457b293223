"""The explanatory pictures of the lessons, from the constants and the thread mapping in their kernel.cu.

Each shows the matrices where they meet: A on the left of C, B above it, so that a row of A and a column of B cross at
their element of C. Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH, new_figure, save, style
from runner.results import UserError

WARP = 32  # threads
SECTOR = 32  # bytes: what one request to global memory moves at least (CUDA guide, device memory accesses)
FLOAT = 4  # bytes
PER_SECTOR = SECTOR // FLOAT

_TITLE, _TEXT, _SMALL = 22, 17, 15  # points


@dataclass(frozen=True)
class Kernel:
    """What a picture takes from a kernel.cu."""

    constants: dict[str, int]  # BM, BN, …
    block: tuple[int, int]  # blockDim.x, blockDim.y
    x_is_row: bool  # threadIdx.x runs along the rows of C

    def element(self, thread: int) -> tuple[int, int]:
        """Row and column, in the block's tile of C, of the block's thread number `thread`."""
        x, y = thread % self.block[0], thread // self.block[0]
        return (x, y) if self.x_is_row else (y, x)


def read_kernel(path: Path) -> Kernel:
    """Reads tile constants, block and thread mapping. Throws UserError when one is not found."""
    source = path.read_text(encoding="utf-8")
    constants = {name: int(value) for name, value in re.findall(r"constexpr int (\w+) = (\d+);", source)}
    block = re.search(r"const dim3 block\((\w+), (\w+)\);", source)
    row = re.search(r"\brow = [^;]*\+ (?:threadIdx\.)?([xy]);", source)
    if not block or not row or not {"BM", "BN", block[1], block[2]} <= constants.keys():
        raise UserError(
            f"{path} does not give BM, BN, `const dim3 block(…)` and `row = … + threadIdx.…;` as plots/pictures.py reads them."
        )
    return Kernel(constants, (constants[block[1]], constants[block[2]]), row[1] == "x")


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = new_figure(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    return figure, axes


def _box(axes: Axes, x: float, y: float, width: float, height: float, fill: str, edge: str = "none", line: float = 0.8) -> None:
    axes.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line))


def _grid(axes: Axes, x: float, y: float, rows: int, cols: int, cell: float, colour: str = GREY, line: float = 0.4) -> None:
    for row in range(rows + 1):
        axes.plot([x, x + cols * cell], [y + row * cell] * 2, color=colour, linewidth=line)
    for col in range(cols + 1):
        axes.plot([x + col * cell] * 2, [y, y + rows * cell], color=colour, linewidth=line)


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], width: float = 1.6) -> None:
    style_ = {"arrowstyle": "-|>", "color": INK, "linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
    axes.annotate("", end, start, arrowprops=style_)


def _rectangles(elements: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """The elements (row, column) as one rectangle (row, column, rows, columns) where they fill it, else one each."""
    (top, left), (bottom, right) = map(min, zip(*elements, strict=True)), map(max, zip(*elements, strict=True))
    tall, wide = bottom - top + 1, right - left + 1
    return [(top, left, tall, wide)] if tall * wide == len(elements) else [(row, col, 1, 1) for row, col in elements]


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


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
    figure, axes = _canvas(bottom + 2.6)
    text = axes.text

    def matrix(name: str, x: float, y: float, height: int, width: int) -> None:
        for row, col in ((row, sector * PER_SECTOR) for row, sector in sorted(sectors[name])):
            _box(axes, x + col * cell, y + row * cell, PER_SECTOR * cell, cell, LIGHT)
        for row, col in sorted(used[name]):
            _box(axes, x + col * cell, y + row * cell, cell, cell, DARK)
        _grid(axes, x, y, height, width, cell)
        for col in range(0, width, PER_SECTOR):
            _box(axes, x + col * cell, y, PER_SECTOR * cell, height * cell, "none", INK, 1.8)
        for row, col in ((row, sector * PER_SECTOR) for row, sector in sorted(sectors[name])):
            edge, top = x + col * cell, y + row * cell
            _box(axes, edge, top, PER_SECTOR * cell, cell, "none", INK, 1.4)
            if {(row, col - 1), (row, col)} <= used[name]:  # between two dark sectors
                axes.plot([edge, edge], [top, top + cell], color="white", linewidth=2.4)

    matrix("A", x_a, y_c, rows, steps)
    matrix("B", x_c, y_b, steps, cols)
    warps = rows * cols // WARP
    for warp in range(warps):  # C: a stripe a warp
        threads = range(warp * WARP, (warp + 1) * WARP)
        for row, col, tall, wide in _rectangles([kernel.element(thread) for thread in threads]):
            fill = DARK if warp == 0 else PALE if warp % 2 else "white"
            _box(axes, x_c + col * cell, y_c + row * cell, wide * cell, tall * cell, fill)
    _grid(axes, x_c, y_c, rows, cols, cell)
    _box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
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
            fontsize=_TEXT,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 3},
            arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16},
        )

    def moved(name: str, between: str) -> str:
        broadcast = " (broadcast)" if len(used[name]) == 1 else ""
        return f"{len(sectors[name]) * SECTOR} B moved,{between}{len(used[name]) * FLOAT} B used{broadcast}"

    text(0.2, 0.45, f"{name}: what one warp reads", fontsize=_TITLE, fontweight="bold")
    text(0.2, 0.85, "Warp 0 of a block, at one step k. Dark: what it reads.", fontsize=_TEXT)
    text(0.2, 1.17, f"Light: the rest of the {SECTOR}-byte sectors moved for it.", fontsize=_TEXT)

    text(x_c, y_b - 0.42, f"B: {_count(len(sectors['B']), 'sector')}", fontsize=_TEXT, fontweight="bold")
    text(x_c, y_b - 0.12, moved("B", " "), fontsize=_TEXT)
    text(x_c - 0.12, y_b + (k + 0.5) * cell, "k", ha="right", va="center", fontsize=_TEXT, fontstyle="italic")
    text(x_c - 0.12, y_b + steps * cell, "↓ K", ha="right", va="bottom", fontsize=_SMALL)
    text(x_a, bottom + 0.32, f"A: {_count(len(sectors['A']), 'sector')}", fontsize=_TEXT, fontweight="bold")
    text(x_a, bottom + 0.95, moved("A", "\n"), fontsize=_TEXT, linespacing=1.25)
    text(x_a + (k + 0.5) * cell, y_c - 0.12, "k", ha="center", fontsize=_TEXT, fontstyle="italic")
    text(x_a + steps * cell, y_c - 0.12, "→ K", ha="right", fontsize=_SMALL)
    for row in (0, rows - 1):
        text(x_a - 0.1, y_c + (row + 0.5) * cell, str(row), ha="right", va="center", fontsize=_SMALL)
    text(x_a - 0.42, (y_c + bottom) / 2, "row", ha="center", va="center", rotation=90, fontsize=_SMALL)

    down, across = ("x", "y") if kernel.x_is_row else ("y", "x")
    text(x_c - 0.3, y_c + 1.0, f"threadIdx.{down}", ha="center", va="center", rotation=90, fontsize=_SMALL)
    _arrow(axes, (x_c - 0.3, y_c + 1.75), (x_c - 0.3, y_c + 2.6))
    text(x_c + 0.3, y_c - 0.3, f"threadIdx.{across}", va="center", fontsize=_SMALL)
    _arrow(axes, (x_c + 1.75, y_c - 0.3), (x_c + 2.6, y_c - 0.3))
    text(x_c, bottom + 0.32, f"C: {rows}×{cols} elements", fontsize=_TEXT, fontweight="bold")
    stripes = f"one block: a thread an element,\na stripe of {WARP} threads a warp"
    text(x_c, bottom + 0.95, stripes, fontsize=_TEXT, linespacing=1.25)

    side = steps * cell / 4  # where the block lies: C as a grid of blocks
    text(x_a, y_b - 0.12, "grid of blocks on C", fontsize=_TEXT)
    _box(axes, x_a + side, y_b + side, side, side, MID)
    _grid(axes, x_a, y_b, 3, 4, side, GREY, 1.2)
    text(x_a + 1.5 * side, y_b + 1.5 * side, "this", ha="center", va="center", fontsize=_SMALL, color="white", fontweight="bold")

    total, wanted = sum(map(len, sectors.values())), sum(map(len, used.values()))
    _box(axes, 0.2, bottom + 1.25, WIDTH - 0.4, 1.15, PALE)
    text(WIDTH / 2, bottom + 1.72, f"{len(sectors['A'])} + {len(sectors['B'])} = {_count(total, 'sector')} per step and warp",
         ha="center", fontsize=_TITLE - 1, fontweight="bold")
    text(WIDTH / 2, bottom + 2.15, f"{total * SECTOR} B moved, {wanted * FLOAT} B used", ha="center", fontsize=_TEXT + 1)
    return figure


def tiles(name: str, kernel: Kernel) -> Figure:
    """Lesson 03: the tiles that a block walks along K, what one thread reads of them in shared memory, and the two barriers."""
    rows, cols, depth = (kernel.constants[key] for key in ("BM", "BN", "BK"))
    side, cell = 0.5, 2.3 / max(rows, cols, depth)  # inches: a tile in 1, an element in 2
    count, high, now = 4, 3, 1  # tiles along K and N, along M, and the one at k0
    figure, axes = _canvas(7.2 + (count + high) * side + rows * cell)  # 7.2: all the text between and below
    text = axes.text
    text(0.2, 0.45, f"{name}: tiles march along K", fontsize=_TITLE, fontweight="bold")

    # 1. A block's way through global memory: `now` is the tile at k0, those before it are done.
    text(0.2, 0.95, "1. The block loads a tile of A and one of B", fontsize=_TEXT + 1, fontweight="bold")
    x_a, x_c, y_b = 1.0, 2.4 + count * side, 1.5
    y_c, block_row, block_col = y_b + count * side + 0.6, 1, 1
    for step in range(count):
        fill = DARK if step == now else LIGHT if step < now else PALE
        _box(axes, x_a + step * side, y_c + block_row * side, side, side, fill)
        _box(axes, x_c + block_col * side, y_b + step * side, side, side, fill)
    _box(axes, x_c + block_col * side, y_c + block_row * side, side, side, MID)
    for x, y, tall, wide in ((x_a, y_c, high, count), (x_c, y_b, count, count), (x_c, y_c, high, count)):
        _grid(axes, x, y, tall, wide, side, GREY, 1.2)
    white = {"color": "white", "fontweight": "bold", "ha": "center", "va": "center", "fontsize": _TEXT}
    text(x_a + (now + 0.5) * side, y_c + (block_row + 0.5) * side, "As", **white)
    text(x_c + (block_col + 0.5) * side, y_b + (now + 0.5) * side, "Bs", **white)
    text(x_c + (block_col + 0.5) * side, y_c + (block_row + 0.5) * side, "C", **white)
    first, last = (now + 1.1) * side, (count - 0.1) * side
    y, x = y_c + (block_row + 0.5) * side, x_c + (block_col + 0.5) * side
    _arrow(axes, (x_a + first, y), (x_a + last, y), 3)
    _arrow(axes, (x, y_b + first), (x, y_b + last), 3)
    text(x_a, y_c + high * side + 0.32, "A  (M×K)", fontsize=_TEXT)
    text(x_c, y_c + high * side + 0.32, "C  (M×N)", fontsize=_TEXT)
    text(x_c + count * side, y_b - 0.12, "B  (K×N)", fontsize=_TEXT, ha="right")
    text(x_a + now * side, y_c - 0.12, "k0", fontsize=_TEXT, fontstyle="italic", ha="center")
    text(x_c - 0.12, y_b + now * side, "k0", fontsize=_TEXT, fontstyle="italic", ha="right", va="center")
    text(x_a + (now + 1) * side + 0.1, y_c - 0.12, f"k0 += {depth}", fontsize=_TEXT)
    legend = "dark: the tiles that are\nin shared memory now\nlight: done\narrow: still to come"
    text(0.2, y_b - 0.05, legend, fontsize=_TEXT, va="top", linespacing=1.3)

    # 2. Shared memory, and one thread's share of it.
    top = y_c + high * side + 0.85
    text(0.2, top, "2. Thread (x, y) reads a row and a column of them", fontsize=_TEXT + 1, fontweight="bold")
    x_as, x_bs, y = 1.0, WIDTH - 0.7 - cols * cell, top + 0.55
    row, col = rows * 5 // 16, cols * 11 // 16  # the thread that is looked at: any will do
    for x, name_, tall, wide in ((x_as, "As", rows, depth), (x_bs, "Bs", depth, cols)):
        text(x + wide * cell / 2, y - 0.14, f"{name_}[{tall}][{wide}]", ha="center", fontsize=_TEXT, family="monospace")
        _box(axes, x, y, wide * cell, tall * cell, PALE)
    _box(axes, x_as, y + row * cell, depth * cell, cell, DARK)
    _box(axes, x_bs + col * cell, y, cell, depth * cell, DARK)
    _grid(axes, x_as, y, rows, depth, cell)
    _grid(axes, x_bs, y, depth, cols, cell)
    text(x_as - 0.12, y + (row + 0.5) * cell, "y", ha="right", va="center", fontsize=_TEXT, fontstyle="italic")
    text(x_bs + (col + 0.5) * cell, y + depth * cell + 0.27, "x", ha="center", fontsize=_TEXT, fontstyle="italic")
    text((x_as + depth * cell + x_bs) / 2, y + rows * cell / 2, "×", ha="center", va="center", fontsize=34)
    formula = f"acc += As[y][k] * Bs[k][x]   k = 0 … {depth - 1}"
    text(WIDTH / 2, y + rows * cell + 0.68, formula, ha="center", fontsize=_TEXT, family="monospace", fontweight="bold")
    shared = str(cols) if rows == cols else f"{cols} or {rows}"
    reuse = f"Loaded once from global memory, read by {shared} threads"
    text(WIDTH / 2, y + rows * cell + 1.02, reuse, ha="center", fontsize=_TEXT)

    # 3. Time: what all threads do, and where they wait for each other.
    top = y + rows * cell + 1.6
    text(0.2, top, "3. Two barriers a tile", fontsize=_TEXT + 1, fontweight="bold")
    y = top + 0.25
    for x, wide, fill, colour, label in (
        (0.2, 2.2, PALE, INK, "load\nAs and Bs"),
        (2.75, 3.1, DARK, "white", f"{depth} multiply-adds\na thread"),
        (6.2, 1.6, PALE, INK, f"k0 += {depth}:\nload …"),
    ):
        _box(axes, x, y, wide, 0.95, fill, GREY)
        text(x + wide / 2, y + 0.475, label, ha="center", va="center", color=colour, fontsize=_TEXT, linespacing=1.25)
    for x, why in ((2.575, "tiles complete"), (6.025, "tiles no longer read")):
        axes.plot([x, x], [y - 0.1, y + 1.05], color=INK, linewidth=6, solid_capstyle="butt")
        text(x, y + 1.35, "__syncthreads()", ha="center", fontsize=_SMALL, family="monospace")
        text(x, y + 1.65, why, ha="center", fontsize=_SMALL)
    return figure


PICTURES: dict[str, Callable[[str, Kernel], Figure]] = {"01_naive": access, "02_coalesced": access, "03_smem": tiles}


def draw(root: Path, lesson: str, out_stem: Path) -> list[Path]:
    """Draws the picture of `lesson` (a key of PICTURES) from root/<lesson>/kernel.cu to out_stem.png and .svg."""
    with style():
        return save(PICTURES[lesson](lesson, read_kernel(root / lesson / "kernel.cu")), out_stem)


def draw_all(root: Path, folder: Path) -> list[Path]:
    """Draws every picture into `folder`, named after its lesson."""
    return [path for lesson in PICTURES for path in draw(root, lesson, folder / lesson)]
