"""The pictures of step 09f: two tiles of C in time, and the order of the tiles."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import LANE, SMALL, TEXT, TITLE, box, canvas, lanes, legend, piece
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _RIGHT = 1.6, WIDTH - 0.15  # inches: where time begins and ends


def picture(lesson: Descriptor) -> Figure:
    """Two tiles of C on one SM: a block for each, and a block that stays."""
    figure, axes = canvas(8.35)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: two tiles of C in time", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One SM, time from left to right, not to scale.", fontsize=TEXT)
    names = ("cp.async", "mma.sync", "to C")
    fill, sums, write, gap = 0.86, 1.2, 0.9, 0.05

    def c_tile(y: float, filled: float, begins: float, label: str) -> float:
        """A tile whose first copies begin at `filled` and its products at `begins`; returns where these end."""
        piece(axes, filled, filled + fill, y, 0, PALE, "fill")
        piece(axes, filled + fill + gap, begins + sums - 0.3, y, 0, LIGHT, "copy")
        piece(axes, begins, begins + sums, y, 1, DARK, f"tile {label}")
        piece(axes, begins + sums + gap, begins + sums + gap + write, y, 2, MID, "write")
        return begins + sums

    y = 1.95
    text(0.2, y - 0.5, "Step 09e: a block for each tile", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, y - 0.17, "Begin and end stand alone.", fontsize=SMALL)
    lanes(axes, _LEFT, _RIGHT, y, names)
    start = _LEFT + 0.05
    end = c_tile(y, start, start + fill + gap, "0")
    second = end + gap + write + gap
    c_tile(y, second, second + fill + gap, "1")

    y = 5.0
    text(0.2, y - 0.5, "This step: the block stays", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, y - 0.17, "The next tile's first copies run while results are written.", fontsize=SMALL)
    lanes(axes, _LEFT, _RIGHT, y, names)
    end = c_tile(y, start, start + fill + gap, "0")
    second = end + gap
    end = c_tile(y, second, second + gap + write + gap, "1") + gap + write
    axes.plot([end + 0.03] * 2, [y - 0.02, y + 3 * LANE], color=INK, linewidth=1.5, linestyle="--")
    text(end + 0.12, y + 2.5 * LANE, "done", va="center", fontsize=SMALL)

    y += 3 * LANE + 0.3
    legend(axes, 0.2, y, ((PALE, "first tiles of A and B"), (LIGHT, "the other tiles of A and B")))
    legend(axes, 4.4, y, ((DARK, "products"), (MID, "results to C")))
    return figure


def picture_order(lesson: Descriptor) -> Figure:
    """Which tiles of C are computed at the same time: row by row, and in groups."""
    group = lesson.constants.get("GROUP", 8)
    rows, cols, blocks, high = 2 * group, 24, 6 * group, 0.28
    wide = high * lesson.constants["BN"] / lesson.constants["BM"]  # a tile's shape
    figure, axes = canvas(7.95)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: the order of tiles", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"C, {rows}×{cols} tiles, and {blocks} blocks that begin together.", fontsize=TEXT)

    def tiles(left: float, title: str, at_once: list[tuple[int, int]]) -> None:
        top = 1.75
        text(left, top - 0.25, title, fontsize=TEXT, fontweight="bold")
        for row in {row for row, _ in at_once}:
            box(axes, left - 0.36, top + row * high, 0.22, high, LIGHT, GREY, 0.5)
        for col in {col for _, col in at_once}:
            box(axes, left + col * wide, top + rows * high + 0.14, wide, 0.22, LIGHT, GREY, 0.5)
        for row, col in at_once:
            box(axes, left + col * wide, top + row * high, wide, high, DARK)
        for row in range(rows + 1):
            axes.plot([left, left + cols * wide], [top + row * high] * 2, color=GREY, linewidth=0.4)
        for col in range(cols + 1):
            axes.plot([left + col * wide] * 2, [top, top + rows * high], color=GREY, linewidth=0.4)

    tiles(0.5, "row by row", [divmod(tile, cols) for tile in range(blocks)])
    tiles(4.4, f"down groups of {group} rows", [(tile % group, tile // group) for tile in range(blocks)])
    legend(
        axes, 0.2, 6.9, ((DARK, "tiles that are computed at the same time"), (LIGHT, "rows of A and columns of B that they need"))
    )
    return figure
