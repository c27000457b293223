"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas
from plots.style import DARK, GREY, INK, LIGHT, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """A block's warp tiles, a thread's elements, and which lanes read the same 16 bytes."""
    rows, cols = lesson.constants["BM"], lesson.constants["BN"]
    WM, WN, TM, TN = (lesson.constants[key] for key in ("WM", "WN", "TM", "TN"))
    lanes_m, lanes_n, warps_n, width = WM // TM, WN // TN, cols // WN, 4  # width: floats of an access

    def place(lane: int) -> tuple[int, int]:  # lane_m, lane_n of the kernel
        return lane % 2 + lane // 4 % (lanes_m // 2) * 2, lane // 2 % 2 + lane // (2 * lanes_m) * 2

    figure, axes = canvas(9.4)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a warp's results as a tile", fontsize=TITLE, fontweight="bold")

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

    return figure


def picture_banks(lesson: Descriptor) -> Figure:
    """The banks of a warp's store to As, without padding and with it."""
    rows, depth, pad = (lesson.constants[key] for key in ("BM", "BK", "PAD"))
    width = 4  # floats of a load, which go to as many rows of As
    figure, axes = canvas(5.0)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a warp stores v.x to As", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.85, "In a box: a lane. Below: the bank that it stores to", fontsize=TEXT)
    left, step = 0.4, (WIDTH - 0.8) / WARP
    y = 1.6
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
    return figure
