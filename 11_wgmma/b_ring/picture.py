"""Lesson 11b's pictures: the ring of stages over time, and who multiplies which part of the C tile."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_ROUNDS = 5  # batches of products that are drawn


def picture(lesson: Descriptor) -> Figure:
    """What the stages hold while the tensor cores work on one batch after the other, and what the threads do meanwhile."""
    stages = lesson.constants["STAGES"]
    tall, left, y = 0.63, 1.55, 1.65
    figure, axes = canvas(y + (stages + 2) * tall + 2.5)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a ring of {stages} stages in time", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right, not to scale. A number is a k-tile;", fontsize=TEXT)
    text(0.2, 1.2, f"k-tile n is in stage n mod {stages}.", fontsize=TEXT)
    wide = (WIDTH - 0.15 - left) / (_ROUNDS + 1)  # inches of a batch, and of what is before the first
    start = left + wide

    def lane(row: float, name: str) -> None:
        axes.plot([left, WIDTH - 0.15], [y + (row + 1) * tall] * 2, color=GREY, linewidth=0.6)
        text(left - 0.12, y + (row + 0.5) * tall, name, ha="right", va="center", fontsize=SMALL)

    def piece(begins: float, ends: float, row: float, fill: str, label: str) -> None:
        how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if fill in (DARK, MID) else {}
        box(axes, begins + 0.05, y + row * tall + 0.1, ends - begins - 0.1, tall - 0.2, fill, GREY)
        text(begins + wide / 2, y + (row + 0.5) * tall, label, ha="center", va="center", fontsize=SMALL, **how)

    axes.plot([left, WIDTH - 0.15], [y, y], color=GREY, linewidth=0.6)
    lane(0, "threads")
    lane(1, "tensor cores")
    for stage in range(stages):
        lane(2 + stage, f"stage {stage}")
    for n in range(_ROUNDS):
        x = start + n * wide
        piece(x, x + wide, 1, DARK, str(n))
        piece(x, x + 0.62 * wide, 0, "white", "")
        text(x + 0.31 * wide, y + 0.5 * tall, f"{n + 1}", ha="center", va="center", fontsize=SMALL)
        axes.plot([x, x], [y - 0.12, y + (2 + stages) * tall + 0.12], color=INK, linewidth=3, solid_capstyle="butt")
    piece(start - 0.62 * wide, start, 0, "white", "")
    text(start - 0.31 * wide, y + 0.5 * tall, "0", ha="center", va="center", fontsize=SMALL)
    for tile in range(_ROUNDS + stages - 1):
        used = start + tile * wide
        begins, ends = max(left, used - (stages - 1) * wide), min(used, start + _ROUNDS * wide)
        piece(begins, ends, 2 + tile % stages, LIGHT, str(tile))
        if tile < _ROUNDS:
            piece(used, used + wide, 2 + tile % stages, DARK, str(tile))
    legend(axes, 0.2, y + (stages + 2) * tall + 0.35, (
        (DARK, "a k-tile that is being multiplied"),
        (LIGHT, "a k-tile that is on its way, or has arrived"),
        ("white", "threads start this batch of products, then wait"),
        (INK, "wait<1>, barrier: the batch before, if any, is complete,"),
    ))  # fmt: skip
    text(0.65, y + (stages + 2) * tall + 2.2, "and TMA may fill its stage", fontsize=TEXT)
    return figure


def picture_tile(lesson: Descriptor) -> Figure:
    """Which part of the C tile is whose, and what does each warpgroup read for it?"""
    bm, bn, bk = lesson.tile
    rows, span = lesson.constants["WGMMA_M"], lesson.constants["BOX"]
    scale, x_c, y_c = 0.0205, 2.4, 3.15
    figure, axes = canvas(y_c + bm * scale + 1.95)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: two warpgroups share B", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.88, f"A block's k-tiles of {bk} steps, and its C tile", fontsize=TEXT)
    wide_a, tall_b = bk * scale, bk * scale
    x_a, y_b = x_c - 0.25 - wide_a, y_c - 0.25 - tall_b
    for j in range(0, bn, span):
        box(axes, x_c + j * scale, y_b, span * scale, tall_b, MID, "white")
    text(x_c + bn * scale / 2, y_b - 0.12, f"Bs: {bk}×{bn}", ha="center", fontsize=SMALL)
    for group in range(bm // rows):
        top, tall = y_c + group * rows * scale, rows * scale
        box(axes, x_a, top, wide_a, tall, LIGHT if group == 0 else PALE, GREY)
        box(axes, x_c, top, bn * scale, tall, LIGHT if group == 0 else PALE, GREY)
        text(x_a + wide_a / 2, top + tall / 2, f"{group}", ha="center", va="center", fontsize=TEXT)
        text(x_c + bn * scale / 2, top + tall / 2, f"sums of warpgroup {group}: {rows}×{bn}", ha="center", va="center",
             fontsize=TEXT)  # fmt: skip
    for x, y, wide, tall in ((x_c, y_b, bn * scale, tall_b), (x_a, y_c, wide_a, bm * scale), (x_c, y_c, bn * scale, bm * scale)):
        box(axes, x, y, wide, tall, "none", INK, 1.8)
    text(x_a + wide_a / 2, y_c - 0.12, f"As: {bm}×{bk}", ha="center", fontsize=SMALL)
    legend(axes, 0.2, y_c + bm * scale + 0.35, (
        (MID, "read by each warpgroup on its own; white lines: boxes"),
        (LIGHT, "read or computed by warpgroup 0"),
        (PALE, "read or computed by warpgroup 1"),
    ))  # fmt: skip
    return figure
