"""The picture of step 09c: its timelines."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _RIGHT, _LANE = 1.75, WIDTH - 0.15, 0.62  # inches: where time begins and ends, height of a lane


def picture(lesson: Descriptor) -> Figure:
    """Three timelines: the stages from tile to tile along K, a tile's steps, and two tiles of C of one block."""
    stages, depth, mma_k, wm, wn = (lesson.constants[key] for key in ("STAGES", "BK", "MMA_K", "WM", "WN"))
    steps, rows, cols = depth // mma_k, lesson.constants["BM"], lesson.constants["BN"]
    mmas = wm // lesson.constants["MMA_M"] * (wn // lesson.constants["MMA_N"])
    copies = 2 * depth * (rows + cols) // (16 * lesson.block[0])  # of 16 bytes, by a thread
    figure, axes = canvas(13.2)
    text, small, normal = axes.text, SMALL, TEXT

    def heading(y: float, title: str, below: str) -> None:
        text(0.2, y - 0.5, title, fontsize=normal + 1, fontweight="bold")
        text(0.2, y - 0.17, below, fontsize=small)

    def lanes(y: float, names: tuple[str, ...]) -> None:
        axes.plot([_LEFT, _RIGHT], [y, y], color=GREY, linewidth=0.6)
        for i, label in enumerate(names):
            axes.plot([_LEFT, _RIGHT], [y + (i + 1) * _LANE] * 2, color=GREY, linewidth=0.6)
            text(_LEFT - 0.12, y + (i + 0.52) * _LANE, label, ha="right", va="center", fontsize=small)

    def piece(x: float, end: float, y: float, row: int, fill: str, label: str, most: float = WIDTH) -> None:
        box(axes, x, y + row * _LANE + 0.07, end - x, _LANE - 0.14, fill, GREY)
        how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if fill in (DARK, MID) else {}
        middle = (x + min(end, x + most)) / 2
        text(middle, y + (row + 0.52) * _LANE, label, ha="center", va="center", fontsize=small, **how)

    def barrier(x: float, y: float, count: int) -> None:
        axes.plot([x, x], [y - 0.06, y + count * _LANE + 0.06], color=INK, linewidth=6, solid_capstyle="butt")

    text(0.2, 0.45, f"{lesson.name}: three timelines", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.85, "Time from left to right, not to scale.", fontsize=normal)

    # 1. From tile to tile along K.
    y, shown = 1.95, 5
    below = f"A copy has the time of {stages - 1} tiles. Thick: wait and barrier."
    heading(y, f"1. {stages} stages, from tile to tile along K", below)
    lanes(y, tuple(f"stage {stage}" for stage in range(stages)))
    period = (_RIGHT - _LEFT) / shown
    for stage in range(stages):
        for tile in range(stage, shown + stages, stages):
            used, begins = _LEFT + tile * period, _LEFT + max(tile - stages + 1, 0) * period
            if begins < min(used, _RIGHT):
                piece(begins + 0.04, min(used, _RIGHT) - 0.04, y, stage, LIGHT, f"copy {tile}", period - 0.08)
            if tile < shown:
                piece(used + 0.04, used + period - 0.04, y, stage, DARK, f"use {tile}")
    for tile in range(1, shown):
        barrier(_LEFT + tile * period, y, stages)

    # 2. The steps of one tile.
    y = 5.0
    heading(y, f"2. Tile n: {steps} steps of {mma_k} along K, a warp", "ldmatrix reads the fragments of the step after.")
    lanes(y, ("cp.async", "ldmatrix", "mma.sync"))
    width = (_RIGHT - _LEFT) / steps
    for step in range(steps):
        x = _LEFT + step * width
        piece(x + 0.08, x + width - 0.04, y, 2, DARK, f"{mmas}, step {step}")
        piece(x + 0.08, x + 0.93 * width, y, 1, MID, f"step {step + 1}" if step + 1 < steps else "0, n + 1")
    piece(_LEFT + 0.08, _LEFT + 1.25 * width, y, 0, LIGHT, f"{copies}, of tile n + {stages - 1}")
    barrier(_LEFT + (steps - 1) * width + 0.02, y, 3)
    text(_RIGHT, y + 3 * _LANE + 0.33, "wait, barrier: tile n + 1 is there", ha="right", fontsize=small)

    # 3. From tile to tile of C.
    y = 8.35
    heading(y, "3. Two tiles of C on one SM", "A block for each tile: begin and end stand alone.")
    names = ("cp.async", "mma.sync", "to C")
    fill, sums, write, gap = 0.86, 1.2, 0.86, 0.04

    def c_tile(x: float, y: float, filled: float, label: str) -> float:
        """From `filled` (its first tiles are being copied) on; returns where its sums end."""
        piece(filled, filled + fill, y, 0, PALE, "fill")
        piece(filled + fill + gap, x + sums - 0.35, y, 0, LIGHT, "copy")
        piece(x, x + sums, y, 1, DARK, f"tile {label}")
        piece(x + sums + gap, x + sums + gap + write, y, 2, MID, "write")
        return x + sums

    lanes(y, names)
    start = _LEFT + 0.05
    end = c_tile(start + fill + gap, y, start, "0")
    second = end + gap + write + gap
    c_tile(second + fill + gap, y, second, "1")
    y = 11.05
    text(0.2, y - 0.17, "Persistent: the next fill runs while results are written.", fontsize=small)
    lanes(y, names)
    end = c_tile(start + fill + gap, y, start, "0")
    second = end + gap
    end = c_tile(second + fill + gap, y, second, "1") + gap + write
    axes.plot([end, end], [y - 0.02, y + 3 * _LANE], color=INK, linewidth=1.5, linestyle="--")
    text(end + 0.12, y + 2.5 * _LANE, "done", va="center", fontsize=small)
    return figure
