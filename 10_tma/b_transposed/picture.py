"""Lesson 10b's pictures: the path of a tile of A, the buffers in time, the banks of a transposition."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

CHUNKS = 8  # of 16 bytes: what the swizzle moves, in the 128 bytes of a row
STEPS = 4  # along K: the floats of a chunk
_CELL = 13  # points, of what stands in a box
_TILES = 3  # whose sums are drawn in time
_INNER = 8  # steps of a round: INNER in kernel.cu
_ROW, _CHUNK = 5, 1  # whose way is drawn; any will do


def place(row: int, chunk: int) -> int:
    """Where a chunk of a row of As is in its 128 bytes: CU_TENSOR_MAP_SWIZZLE_128B (PTX ISA, "Swizzling Modes")."""
    return chunk ^ row % CHUNKS


def _number(axes: Axes, x: float, y: float, number: int) -> None:
    """A part of the path, which the list below the picture explains."""
    axes.plot([x], [y], marker="o", markersize=21, color="white", markeredgecolor=INK, markeredgewidth=1.6, zorder=5)
    axes.text(x, y + 0.01, str(number), ha="center", va="center", fontsize=SMALL, fontweight="bold", zorder=6)


def _cells(axes: Axes, x: float, y: float, rows: int, cols: int, wide: float, tall: float) -> None:
    """Empty boxes, and a frame around them."""
    for row in range(rows):
        for col in range(cols):
            box(axes, x + col * wide, y + row * tall, wide, tall, "white", GREY, 0.6)
    box(axes, x, y, cols * wide, rows * tall, "none", INK, 1.8)


def picture(lesson: Descriptor) -> Figure:
    """Through which places does a value of A come to its sums, and who carries it?"""
    figure, axes = canvas(8.0)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: four values of A", fontsize=TITLE, fontweight="bold")
    text(
        0.2,
        0.85,
        f"Row {_ROW}, steps {STEPS * _CHUNK} to {STEPS * _CHUNK + STEPS - 1}. Only a part of each tile is drawn.",
        fontsize=TEXT,
    )
    shades = (PALE, LIGHT, MID, DARK)

    # As, where a row of A is a row, and its chunks have changed places.
    x, y, cell, tall = 1.35, 1.68, 0.34, 0.195
    text(x, y - 0.42, "As: a row of A is a row", fontsize=TEXT, fontweight="bold")
    text(x, y - 0.12, "each cell is 16 bytes, 4 steps", fontsize=SMALL)
    _cells(axes, x, y, CHUNKS, CHUNKS, cell, tall)
    for row in range(CHUNKS):
        if row in (0, _ROW, CHUNKS - 1):
            text(x - 0.1, y + (row + 0.5) * tall, f"row {row}", ha="right", va="center", fontsize=_CELL)
    left, top = x + place(_ROW, _CHUNK) * cell, y + _ROW * tall
    for step, shade in enumerate(shades):
        box(axes, left + step * cell / STEPS, top, cell / STEPS, tall, shade, INK, 0.8)
    arrow(axes, (0.2, y + 2.75 * tall), (x - 0.02, y + 2.75 * tall), 2.2)
    _number(axes, 0.6, y + 2.75 * tall, 1)

    # The registers of one thread.
    x_r, wide_r = 5.65, 1.35
    y_r = top + tall / 2 - STEPS * 0.34 / 2
    text(x_r, y_r - 0.42, "four registers", fontsize=TEXT, fontweight="bold")
    text(x_r, y_r - 0.12, "of one thread", fontsize=SMALL)
    for step, shade in enumerate(shades):
        box(axes, x_r, y_r + step * 0.34, wide_r, 0.34, shade, GREY)
        value = f"A[{_ROW}][{STEPS * _CHUNK + step}]"
        text(x_r + wide_r / 2, y_r + (step + 0.5) * 0.34, value, ha="center", va="center", fontsize=SMALL,
             color="white" if shade in (MID, DARK) else INK)  # fmt: skip
    arrow(axes, (left + cell + 0.05, top + tall / 2), (x_r - 0.08, top + tall / 2), 2.2)
    _number(axes, (x + CHUNKS * cell + x_r) / 2, top + tall / 2, 2)

    # At, where a step is a row.
    cols, y_t, wide_t = 16, y + CHUNKS * tall + 0.78, 0.36
    text(x, y_t - 0.42, "At: a step is a row", fontsize=TEXT, fontweight="bold")
    text(x, y_t - 0.12, "a row of A is a column", fontsize=SMALL)
    _cells(axes, x, y_t, CHUNKS, cols, wide_t, tall)
    for step in range(CHUNKS):
        text(x - 0.1, y_t + (step + 0.5) * tall, "step " * (step in (0, CHUNKS - 1)) + str(step), ha="right", va="center",
             fontsize=_CELL)  # fmt: skip
    for step, shade in enumerate(shades):
        box(axes, x + _ROW * wide_t, y_t + (STEPS * _CHUNK + step) * tall, wide_t, tall, shade, INK, 0.8)
    bend = (x_r + wide_r / 2, y_r + STEPS * 0.34 + 0.05)
    target = (x + (_ROW + 1) * wide_t + 0.05, y_t + (STEPS * _CHUNK + 0.5) * tall)
    arrow(axes, bend, target, 2.2)
    _number(axes, (bend[0] * 0.45 + target[0] * 0.55), (bend[1] * 0.45 + target[1] * 0.55), 3)

    # Four rows of one step: a read for the sums.
    step = STEPS * _CHUNK + 2
    first = x + _ROW // 4 * 4 * wide_t
    box(axes, first, y_t + step * tall, 4 * wide_t, tall, "none", INK, 4.0, zorder=4)
    y_f = y_t + CHUNKS * tall + 0.58
    for row in range(4):
        shade = shades[2] if row == _ROW % 4 else "white"
        box(axes, first + row * wide_t, y_f, wide_t, 0.32, shade, GREY)
    box(axes, first, y_f, 4 * wide_t, 0.32, "none", INK, 1.8)
    text(first + 4 * wide_t + 0.15, y_f + 0.16, f"a_frag[0] to [3], at step {step}", va="center", fontsize=SMALL)
    arrow(axes, (first + 2 * wide_t, y_t + (step + 1) * tall + 0.03), (first + 2 * wide_t, y_f - 0.03), 2.2)
    _number(axes, first + 2 * wide_t, y_t + CHUNKS * tall + 0.2, 4)

    below = y_f + 0.55
    for number, words in enumerate((
        "TMA copies the box, as one thread requested",
        "a thread reads four steps of a row at once",
        "and writes them one at a time",
        "for the sums, a thread reads four rows of a step at once",
    ), start=1):  # fmt: skip
        _number(axes, 0.4, below + (number - 1) * 0.35, number)
        text(0.7, below + (number - 1) * 0.35, words, va="center", fontsize=TEXT)
    return figure


def picture_time(lesson: Descriptor) -> Figure:
    """Which part of shared memory is read, written and requested while the sums of a k-tile are added?"""
    stages, rounds = lesson.constants["STAGES"], lesson.tile[2] // _INNER
    band, gap = 0.13, 0.14
    left, y = 1.6, 1.85
    wide = (WIDTH - 0.15 - left) / (_TILES * rounds)
    tall_at, tall_stage = rounds * band, 0.26
    y_stages = y + 2 * (tall_at + gap) + 0.1
    bottom = y_stages + stages * (2 * tall_stage + gap)
    figure, axes = canvas(bottom + 2.05)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: two At and {stages} stages in time", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"Time runs to the right; each column of an At is a round of {_INNER}", fontsize=TEXT)
    text(0.2, 1.19, "steps. The numbers are those of k-tiles.", fontsize=TEXT)

    def bar(x: float, end: float, top: float, tall: float, fill: str, label: str) -> None:
        box(axes, x, top, end - x, tall, fill, GREY, 0.6)
        text((x + end) / 2, top + tall / 2, label, ha="center", va="center", fontsize=_CELL, fontweight="bold",
             color="white" if fill in (MID, DARK) else INK)  # fmt: skip

    for tile in range(_TILES):
        start = left + tile * rounds * wide
        text(start + rounds * wide / 2, y - 0.22, f"sums of k-tile {tile}", ha="center", fontsize=SMALL, fontweight="bold")
        for which, top in ((tile % 2, DARK), ((tile + 1) % 2, MID)):
            at = y + which * (tall_at + gap)
            for turn in range(rounds):  # a round of steps has a band of At
                for part in range(rounds):
                    there = part > turn if top == DARK else part < turn
                    fill = top if part == turn else LIGHT if there else "white"
                    box(axes, start + turn * wide, at + part * band, wide, band, fill, GREY, 0.5)
            name = tile if top == DARK else tile + 1
            box(axes, start, at, rounds * wide, tall_at, "none", INK, 1.4)
            x_name = start + (0.7 if top == DARK else rounds - 0.7) * wide
            y_name = at + (rounds - 1.0 if top == DARK else 1.0) * band
            text(x_name, y_name, str(name), ha="center", va="center", fontsize=_CELL, fontweight="bold")
    for which in range(2):
        text(
            left - 0.12,
            y + which * (tall_at + gap) + tall_at / 2,
            f"At[{which}]",
            ha="right",
            va="center",
            fontsize=_CELL + 1,
        )
    for stage in range(stages):
        top = y_stages + stage * (2 * tall_stage + gap)
        text(left - 0.62, top + tall_stage, f"stage {stage}", ha="right", va="center", fontsize=_CELL + 1)
        for half, part in enumerate(("As", "Bs")):
            text(left - 0.12, top + (half + 0.5) * tall_stage, part, ha="right", va="center", fontsize=_CELL + 1)
            for moment in range(_TILES):
                start, end = left + moment * rounds * wide, left + (moment + 1) * rounds * wide
                tile = moment + (stage - moment) % stages  # that which the stage holds, or waits for
                ahead = tile - moment
                if ahead == 0:
                    fill = DARK if part == "Bs" else "white"
                elif ahead == 1:
                    fill = MID if part == "As" else LIGHT
                else:
                    fill = PALE
                bar(start, end, top + half * tall_stage, tall_stage, fill, "" if fill == "white" else str(tile))
        box(axes, left, top, _TILES * rounds * wide, 2 * tall_stage, "none", INK, 1.4)
    for tile in range(_TILES + 1):
        x = left + tile * rounds * wide
        if tile:
            axes.plot([x, x], [y - 0.1, bottom - gap + 0.1], color=INK, linewidth=5, solid_capstyle="butt")
    legend(axes, 0.2, bottom + 0.03, (
        (DARK, "read for the sums"),
        (MID, "transposed: read from As, written to the other At"),
        (LIGHT, "complete, and not yet in use"),
        (PALE, "being copied by TMA, or complete already"),
        (INK, "barrier; then one thread requests a k-tile four further on"),
        ("white", "no longer needed, or not yet written"),
    ), line=0.33)  # fmt: skip
    return figure


def picture_banks(lesson: Descriptor) -> Figure:
    """In which banks are what a warp reads and what it writes when it transposes? How many wavefronts that takes is for Predict
    to ask."""
    figure, axes = canvas(7.95)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: who meets which banks", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "A warp has one chunk of each of 32 rows. Each line is all", fontsize=TEXT)
    text(0.2, 1.19, "32 banks, and each small box is one bank.", fontsize=TEXT)
    x, tall = 1.25, 0.2
    cell = (WIDTH - 0.2 - x) / WARP

    def line(top: float, label: str) -> None:
        text(x - 0.1, top + tall / 2, label, ha="right", va="center", fontsize=_CELL)
        for bank in range(WARP):
            box(axes, x + bank * cell, top, cell, tall, "white", GREY, 0.5)

    def banks(top: float) -> None:
        text(x, top, "bank 0", fontsize=_CELL)
        text(x + WARP * cell, top, "bank 31", ha="right", fontsize=_CELL)

    y, first = 2.05, _CHUNK * lesson.constants["BM"]  # threads before `first` have the round's other chunk
    heading = f"A read of As: chunk {_CHUNK}, by threads {first} to {first + CHUNKS - 1}"
    text(0.2, y - 0.34, heading, fontsize=TEXT, fontweight="bold")
    banks(y - 0.06)
    for row in range(CHUNKS):
        line(y + row * tall, f"row {row}")
        left = x + place(row, _CHUNK) * STEPS * cell
        box(axes, left, y + row * tall, STEPS * cell, tall, DARK, INK, 0.8)
        text(
            left + STEPS * cell / 2,
            y + (row + 0.5) * tall,
            f"lane {row}",
            ha="center",
            va="center",
            fontsize=_CELL,
            color="white",
        )
    y += CHUNKS * tall + 0.78
    text(0.2, y - 0.34, "A write to At: step k, all lanes", fontsize=TEXT, fontweight="bold")
    banks(y - 0.06)
    line(y, "step k")
    for lane in range(WARP):
        box(axes, x + lane * cell, y, cell, tall, DARK, LIGHT, 0.8)
    for lane in (0, 8, 16, 24):
        text(x + (lane + 0.12) * cell, y + tall / 2, f"lane {lane}", va="center", fontsize=_CELL, color="white")
    y += tall + 0.78
    text(0.2, y - 0.34, "For comparison: a write with a row in lanes 0 to 7", fontsize=TEXT, fontweight="bold")
    banks(y - 0.06)
    for chunk in range(CHUNKS):
        line(y + chunk * tall, f"step {STEPS * chunk}")
        box(axes, x, y + chunk * tall, STEPS * cell, tall, MID, INK, 0.8)
        for row in range(STEPS):
            axes.plot([x + row * cell] * 2, [y + chunk * tall, y + (chunk + 1) * tall], color="white", linewidth=0.8)
    legend(
        axes,
        0.2,
        y + CHUNKS * tall + 0.15,
        ((DARK, "read or written in this lesson"), (MID, "written at the same time, if lanes followed a row of A")),
        line=0.34,
    )
    return figure
