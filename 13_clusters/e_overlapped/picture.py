"""Lesson 13e's pictures: one consumer over time, whose boxes leave while the next tile is multiplied; a C in tiles of two sizes,
round by round; a consumer's piece of Cᵀ."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import LANE, SMALL, TEXT, TITLE, box, canvas, grid, lanes, legend, piece
from plots.style import DARK, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _STEP = 1.7, 0.86  # inches: where time begins, a k-tile
_SMS = 132  # of an H200


def _label(axes: Axes, x: float, y: float, words: str, **how: object) -> None:
    axes.text(x, y, words, ha="center", va="center", fontsize=SMALL, **how)


def picture(lesson: Descriptor) -> Figure:
    """When does each box of a C tile's results leave, and how many registers still hold some?"""
    boxes, rows = lesson.constants["WGMMA_N"] // lesson.constants["BOX_ROWS"], lesson.constants["BOX_ROWS"]
    figure, axes = canvas(6.45)
    text = axes.text
    text(0.2, 0.45, "13e: results leave during the products", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One consumer, time from left to right, not to scale.", fontsize=TEXT)
    y, right = 1.25, WIDTH - 0.15
    lanes(axes, _LEFT, right, y, ("products", "threads", "copy engine", "registers"))

    packed, begin = _LEFT + 0.9, _LEFT + 1.5
    piece(axes, _LEFT, packed, y, 0, MID, "")
    piece(axes, packed, begin, y, 1, LIGHT, "")
    for k in range(boxes + 2):
        x = begin + k * _STEP
        if x + 0.2 > right:
            break
        last = k == boxes + 1
        piece(axes, x, min(x + _STEP, right), y, 0, DARK, "…" if last else str(k))
        if k < boxes:
            piece(axes, x + 0.12, x + 0.42, y, 1, PALE, "")
            piece(axes, x + 0.42, min(x + 0.92, right), y, 2, PALE, str(k))
            held = (boxes - k) * rows // 4  # registers of a thread, two results each
            # A box's registers are free as soon as the threads have written it to shared memory.
            piece(axes, packed + 0.2 if k == 0 else x - _STEP + 0.27, x + 0.27, y, 3, LIGHT, str(held))
    legend(axes, 0.2, y + 4 * LANE + 0.3, (
        (MID, "the last products of C tile j − 1"),
        (DARK, "k-tiles of C tile j"),
        (LIGHT, "rounding and packing; registers of packed results"),
        (PALE, "a box of results of C tile j − 1 on its way to C"),
    ))  # fmt: skip
    text(0.2, y + 4 * LANE + 2.3, "Registers: of a thread, with packed results that have not left.", fontsize=SMALL)
    return figure


def _rounds(axes: Axes, y: float, height: float, counts: Sequence[int], unit: float) -> None:
    """C tiles of all SMs, one SM below the other, round after round: `counts` of them, in a time of `unit` inches each."""
    left = 1.0
    for place, count in enumerate(counts):
        x, busy = left + place * unit, count / _SMS * height
        box(axes, x, y, unit, height, PALE, "white", 1.5)
        box(axes, x, y, unit, busy, DARK, "white", 1.5)
        if busy > 0.5 * height:
            _label(axes, x + unit / 2, y + busy / 2, f"{count} C tiles", color="white", fontweight="bold")
        else:
            _label(axes, x + unit / 2, y + (busy + height) / 2, f"{count} C tiles", color=INK, fontweight="bold")
    axes.text(left - 0.15, y + height / 2, f"{_SMS} SMs", ha="center", va="center", rotation=90, fontsize=SMALL)


def picture_rounds(lesson: Descriptor) -> Figure:
    """How long does C take in C tiles of two sizes, and how many SMs have one?"""
    figure, axes = canvas(7.1)
    text = axes.text
    text(0.2, 0.45, "13e: 3072×3072 in C tiles of two sizes", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "Time from left to right: products alone, to scale.", fontsize=TEXT)
    y, full = 1.7, 2.05  # inches: a round of tiles with 128·256 elements
    # As step 13a deals them out; as this step does, with no more clusters than its rounds need.
    for rows, columns, counts in ((128, 256, (132, 132, 24)), (192, 128, (128, 128, 128))):
        assert sum(counts) == 3072 // rows * (3072 // columns)
        text(1.0, y - 0.15, f"{rows}×{columns}: {sum(counts)} C tiles", fontsize=TEXT, fontweight="bold")
        _rounds(axes, y, 1.6, counts, full * rows * columns / (128 * 256))
        y += 2.4
    legend(axes, 0.2, y - 0.3, ((DARK, "SMs with a C tile"), (PALE, "SMs without")))
    return figure


def picture_transposed(lesson: Descriptor) -> Figure:
    """Which part of a C tile does a consumer compute, and what is M and N of its products?"""
    rows, consumers, columns = lesson.constants["WGMMA_N"], lesson.constants["CONSUMERS"], lesson.constants["WGMMA_M"]
    rows_of_box = lesson.constants["BOX_ROWS"]
    figure, axes = canvas(7.0)
    text = axes.text
    text(0.2, 0.45, "13e: a C tile, computed as Cᵀ", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"To scale. A cell is {rows_of_box}×{columns} elements: a box of results.", fontsize=TEXT)
    cell, left, top = 0.92, 0.8, 1.55
    high = rows / columns * cell
    text(left, top - 0.2, f"C: {rows}×{consumers * columns}", fontsize=TEXT, fontweight="bold")
    for consumer in range(consumers):
        box(axes, left + consumer * cell, top, cell, high, (DARK, MID)[consumer], "white", 1.5)
        for b in range(rows // rows_of_box):
            y = top + (b + 0.5) * rows_of_box / columns * cell
            _label(axes, left + (consumer + 0.5) * cell, y, str(b), color="white", fontweight="bold")
    grid(axes, left, top, rows // rows_of_box, consumers, cell, "white", 1.2)
    axes.text(left - 0.15, top + high / 2, "rows: 64 to 256", ha="center", va="center", rotation=90, fontsize=SMALL)

    x, y = left + consumers * cell + 0.9, top
    for consumer in range(consumers):
        text(x, y - 0.2, f"consumer {consumer}: Cᵀ, {columns}×{rows}", fontsize=TEXT, fontweight="bold")
        box(axes, x, y, high, cell, (DARK, MID)[consumer], "white", 1.5)
        for b in range(rows // rows_of_box):
            _label(axes, x + (b + 0.5) * rows_of_box / columns * cell, y + cell / 2, str(b), color="white", fontweight="bold")
        grid(axes, x, y, 1, rows // rows_of_box, cell, "white", 1.2)
        y += cell + 1.0
    text(x, y - 0.35, f"wgmma's M is {columns} columns of C,", fontsize=SMALL)
    text(x, y - 0.03, f"its N the {rows} rows.", fontsize=SMALL)
    legend(axes, 0.2, top + high + 0.5, (
        (DARK, "consumer 0: 64 columns of B, all rows of the C tile"),
        (MID, "consumer 1: the other 64 columns"),
        ("white", "numbers: boxes of results; 0 leaves first"),
    ))  # fmt: skip
    return figure
