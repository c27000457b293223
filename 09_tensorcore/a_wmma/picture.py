"""The picture of step 09a: the fragments of a warp tile, and their way from global memory to C."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas
from plots.style import DARK, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_HEAD = 18  # points


def _blocks(
    axes: Axes, x: float, y: float, rows: int, cols: int, side: float, marked: tuple[int, int], fills: tuple[str, str]
) -> None:
    """A grid of fragments with `marked` (row, column) in the second colour."""
    for row in range(rows):
        for col in range(cols):
            fill = fills[(row, col) == marked]
            box(axes, x + col * side, y + row * side, side, side, fill, INK, 1.4)


def picture(lesson: Descriptor) -> Figure:
    """Fragments in a warp tile in a block tile; 16 steps of it; global → shared → fragments → shared → C."""
    BM, BN, BK, WM, WN, F = (lesson.constants[key] for key in ("BM", "BN", "BK", "WM", "WN", "F"))
    down, across, warps_n = WM // F, WN // F, BN // WN
    figure, axes = canvas(15.0)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: fragments of {F}×{F}", fontsize=TITLE, fontweight="bold")

    # 1. The block tile of C, its warp tiles, the fragments of one.
    text(0.2, 0.98, f"1. {BM // WM * warps_n} warp tiles of {WM}×{WN} in a block's {BM}×{BN}", fontsize=_HEAD, fontweight="bold")
    cell, x, y, marked = 3.4 / BN, 0.4, 1.3, (1, 0)
    for warp in range(BM // WM * warps_n):
        left, top = x + warp % warps_n * WN * cell, y + warp // warps_n * WM * cell
        if warp == 0:
            _blocks(axes, left, top, down, across, F * cell, marked, (LIGHT, DARK))
        else:
            text(left + WN * cell / 2, top + WM * cell / 2, f"warp {warp}", ha="center", va="center", fontsize=SMALL)
        box(axes, left, top, WN * cell, WM * cell, "none", INK, 2.4)
    said = (
        f"light and dark: warp 0,\n{down}·{across} = {down * across} fragments of sums\n\ndark: one of them,\n{F * F} floats, "
        f"{F * F // WARP} in each lane.\nWhich lane has which\nis CUDA's affair."
    )
    text(x + BN * cell + 0.25, y + 0.05, said, fontsize=TEXT, va="top", linespacing=1.3)

    # 2. F steps along K.
    top = y + BM * cell + 0.6
    text(0.2, top, f"2. {F} steps along K: {down + across} loads, {down * across} products", fontsize=_HEAD, fontweight="bold")
    side, gap = 0.62, 0.3
    x_a, y_b = 0.8, top + 0.65
    x_c, y_c = x_a + side + gap, y_b + side + gap
    _blocks(axes, x_a, y_c, down, 1, side, (marked[0], 0), (LIGHT, DARK))
    _blocks(axes, x_c, y_b, 1, across, side, (0, marked[1]), (LIGHT, DARK))
    _blocks(axes, x_c, y_c, down, across, side, marked, ("white", MID))
    for i in range(down):
        colour = "white" if i == marked[0] else INK
        text(x_a + side / 2, y_c + (i + 0.5) * side, str(i), ha="center", va="center", fontsize=SMALL, color=colour)
    for j in range(across):
        colour = "white" if j == marked[1] else INK
        text(x_c + (j + 0.5) * side, y_b + side / 2, str(j), ha="center", va="center", fontsize=SMALL, color=colour)
    text(x_c + (marked[1] + 0.5) * side, y_c + (marked[0] + 0.5) * side, "+=", ha="center", va="center", fontsize=SMALL,
         color="white")  # fmt: skip
    text(x_c, y_b - 0.13, "b_frag[j]", fontsize=SMALL, family="monospace")
    text(x_a + side / 2, y_c - 0.13, "a_frag[i]", fontsize=SMALL, family="monospace", ha="center")
    text(x_c, y_c + down * side + 0.3, "acc[i][j]", fontsize=SMALL, family="monospace")
    said = (
        f"dark: one mma_sync adds\na_frag[{marked[0]}]·b_frag[{marked[1]}]\nto acc[{marked[0]}][{marked[1]}]:\n{F}×{F}×{F} "
        f"multiply-adds,\nfor 32 lanes together\n\nA tile has BK = {BK} steps:\nthis {BK // F} times"
    )
    text(x_c + across * side + 0.4, y_b + 0.35, said, fontsize=TEXT, va="top", linespacing=1.3)

    # 3. The way.
    top = y_c + down * side + 0.95
    text(0.2, top, "3. The way through memory", fontsize=_HEAD, fontweight="bold")
    levels = [top + 0.3 + i * 1.5 for i in range(3)]
    for level, label in zip(levels, ("global", "shared", "registers"), strict=True):
        box(axes, 0.2, level, WIDTH - 0.4, 0.85, PALE)
        text(0.32, level + 0.43, label, va="center", fontsize=SMALL, fontstyle="italic")
    wide = 1.95
    left, middle, right = 1.4, 3.85, 5.75

    def place(x: float, level: int, label: str, size: str, dark: bool = False) -> None:
        box(axes, x, levels[level] + 0.06, wide, 0.73, DARK if dark else "white", INK, 1.6)
        colour = "white" if dark else INK
        text(x + wide / 2, levels[level] + 0.3, label, ha="center", va="center", fontsize=SMALL, color=colour, fontweight="bold")
        text(x + wide / 2, levels[level] + 0.58, size, ha="center", va="center", fontsize=SMALL - 1, color=colour)

    def way(x: float, start: int, end: int, label: str) -> None:
        edges = (levels[start] + 0.79, levels[end] + 0.06) if start < end else (levels[start] + 0.06, levels[end] + 0.79)
        arrow(axes, (x, edges[0]), (x, edges[1]), 2.2)
        text(x + 0.13, (edges[0] + edges[1]) / 2, label, va="center", fontsize=SMALL - 1)

    place(left, 0, "A, B", "16 bits")
    place(left, 1, "As, Bs", "16 bits")
    place(left, 2, "a_frag, b_frag", "16 bits")
    place(middle, 2, "acc", "32 bits", dark=True)
    place(right, 1, "out", "32 bits")
    place(right, 0, "C", "16 bits")
    way(left + wide / 2, 0, 1, "8 elements a thread")
    way(left + wide / 2, 1, 2, "load_matrix_sync")
    arrow(axes, (left + wide, levels[2] + 0.43), (middle, levels[2] + 0.43), 2.2)
    text((left + wide + middle) / 2, levels[2] + 1.13, "mma_sync", ha="center", fontsize=SMALL - 1)
    axes.plot([middle + wide, right + wide / 2], [levels[2] + 0.43] * 2, color=INK, linewidth=2.2)
    arrow(axes, (right + wide / 2, levels[2] + 0.43), (right + wide / 2, levels[1] + 0.79), 2.2)
    text(right + wide / 2 - 0.12, (levels[1] + 0.79 + levels[2] + 0.06) / 2, "store_matrix_sync", ha="right", va="center",
         fontsize=SMALL - 1)  # fmt: skip
    arrow(axes, (right + wide / 2, levels[1] + 0.06), (right + wide / 2, levels[0] + 0.79), 2.2)
    text(right + wide / 2 - 0.12, (levels[0] + 0.79 + levels[1] + 0.06) / 2, "alpha, beta", ha="right", va="center",
         fontsize=SMALL - 1)  # fmt: skip
    return figure
