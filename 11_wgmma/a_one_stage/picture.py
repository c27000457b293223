"""Lesson 11a's pictures: one wgmma and its four warps, who owns which sums, the atom that the swizzle permutes, what the fields
of a matrix descriptor say, the two proxies, and blocks whose loads and products take turns."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

M, K = 64, 16  # of one wgmma; its N is the C tile's
WARPS = M // 16  # of a warpgroup
SPAN, CHUNK = 128, 16  # bytes: of a row of the swizzle's pattern, and what changes places within it
ATOM = 8  # spans of the pattern
BOX = SPAN // 2  # elements of a span
_CELL = 14  # points, of what stands in a box
_WARP, _LANE = 1, 5  # those to follow: any will do
_WIDE = 1.95  # inches of an atom


def sum_element(thread: int, index: int) -> tuple[int, int]:
    """Row and column of sum `index` of a thread of the warpgroup. PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16",
    matrix D."""
    warp, lane = divmod(thread, WARP)
    return warp * 16 + lane // 4 + (index & 2) * 4, index // 4 * 8 + lane % 4 * 2 + (index & 1)


def chunk_at(row: int, place: int) -> int:
    """Which 16 bytes of row `row` of an atom lie at place `place`. PTX ISA, "Shared Memory Layout": 128-byte swizzle."""
    return place ^ row % ATOM


def picture(lesson: Descriptor) -> Figure:
    """What one wgmma takes from where, and which part of it is one warp's?"""
    cols = lesson.constants["BN"]
    scale, x_c, y_c = 0.038, 2.35, 2.7  # inches of an element; the corner of C
    figure, axes = canvas(y_c + M * scale + 2.5)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: one wgmma", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.88, "Four warps start it together. A number is a warp.", fontsize=TEXT)
    wide_a, tall_b = 1.25, 0.7  # A's columns and B's rows, drawn wider than their 16
    x_a, y_b, wide_c = x_c - 0.35 - wide_a, y_c - 0.3 - tall_b, cols * scale
    box(axes, x_c, y_b, wide_c, tall_b, MID, INK, 1.8)
    text(x_c + wide_c / 2, y_b + tall_b / 2, f"B: {K}×{cols}", ha="center", va="center", fontsize=TEXT, color="white",
         fontweight="bold")  # fmt: skip
    text(x_c + wide_c / 2, y_b - 0.12, "shared memory", ha="center", fontsize=SMALL)
    for warp in range(WARPS):
        top, tall = y_c + warp * M * scale / WARPS, M * scale / WARPS
        mine = warp == _WARP
        box(axes, x_a, top, wide_a, tall, MID if mine else PALE, GREY)
        box(axes, x_c, top, wide_c, tall, DARK if mine else "white", GREY)
        for x, wide in ((x_a, wide_a), (x_c, wide_c)):
            text(x + wide / 2, top + tall / 2, str(warp), ha="center", va="center", fontsize=TEXT,
                 color="white" if mine else INK)  # fmt: skip
    for x, wide in ((x_a, wide_a), (x_c, wide_c)):
        box(axes, x, y_c, wide, M * scale, "none", INK, 1.8)
    bottom = y_c + M * scale
    text(x_a + wide_a / 2, y_c - 0.12, f"A: {M}×{K}", ha="center", fontsize=TEXT)
    text(x_a + wide_a / 2, bottom + 0.3, "shared memory", ha="center", fontsize=SMALL)
    text(x_c + wide_c / 2, bottom + 0.3, f"sums: {M}×{cols}, registers", ha="center", fontsize=SMALL)
    legend(axes, 0.2, bottom + 0.7, (
        (DARK, f"sums of warp {_WARP}, in its registers"),
        (MID, f"what goes to the tensor core of warp {_WARP}"),
        (PALE, "rows of A that go to other warps' tensor cores"),
        ("white", "sums of the other warps"),
    ))  # fmt: skip
    return figure


def picture_sums(lesson: Descriptor) -> Figure:
    """Which thread owns which sums, of the first columns of a warp's 16 rows?"""
    rows, cols, wide, tall = 16, 16, 0.34, 0.255
    x, y = 1.6, 2.0
    figure, axes = canvas(y + rows * tall + 1.9)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: who owns which sums", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.88, f"16 rows of a warp, {cols} of its {lesson.constants['BN']} columns. A cell is two sums,", fontsize=TEXT)
    text(0.2, 1.21, "neighbors in a row; its number is the lane that owns them", fontsize=TEXT)
    for lane in range(WARP):
        for e in range(0, 8, 2):
            row, col = sum_element(lane, e)
            fill, colour = (DARK, "white") if lane == _LANE else (LIGHT if (e // 2) % 2 == (e // 4) % 2 else "white", INK)
            box(axes, x + col * wide, y + row * tall, 2 * wide, tall, fill, GREY)
            text(x + (col + 1) * wide, y + (row + 0.5) * tall, str(lane), ha="center", va="center", fontsize=_CELL, color=colour)
    box(axes, x, y, cols * wide, rows * tall, "none", INK, 1.8)
    for e in range(0, 8, 2):
        low, right = divmod(e // 2 % 2 * 2 + e // 4, 2)
        top = y + rows * tall + 0.3 if low else y - 0.13
        text(x + (right + 0.5) * cols / 2 * wide, top, f"acc[i][{e}], acc[i][{e + 1}]", ha="center", fontsize=SMALL)
    for row in (0, 8, 15):
        text(x - 0.12, y + (row + 0.5) * tall, f"row {row}", ha="right", va="center", fontsize=SMALL)
    legend(axes, 0.2, y + rows * tall + 0.5, (
        (DARK, f"lane {_LANE}"),
        (LIGHT, "8×8 sums; white: the next 8×8, in other registers"),
    ))  # fmt: skip
    text(0.2, y + rows * tall + 1.65, f"The next {cols} columns are acc[i][8] … acc[i][15]. i: which 64 rows", fontsize=TEXT)
    return figure


def picture_atom(lesson: Descriptor) -> Figure:
    """Where in the swizzled pattern do the 16 steps of one wgmma lie, and those of the next?"""
    cell, tall, y = 0.43, 0.4, 2.75
    figure, axes = canvas(y + ATOM * tall + 1.85)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: an atom of As", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.88, "8 rows of 128 bytes, as they are in shared memory. A cell is", fontsize=TEXT)
    text(0.2, 1.21, "16 bytes, 8 steps of one row; its number says which 8 of 64", fontsize=TEXT)
    places = SPAN // CHUNK
    for x, first, start in ((0.65, 0, "start"), (WIDTH - 0.2 - places * cell, K, "start + 32 B")):
        text(x + places * cell / 2, y - 0.85, f"steps {first} … {first + K - 1}", ha="center", fontsize=TEXT, fontweight="bold")
        used = range(first // 8, (first + K) // 8)
        for row in range(ATOM):
            for place in range(places):
                chunk = chunk_at(row, place)
                dark = chunk in used
                box(axes, x + place * cell, y + row * tall, cell, tall, DARK if dark else "white", GREY)
                text(x + (place + 0.5) * cell, y + (row + 0.5) * tall, str(chunk), ha="center", va="center", fontsize=_CELL,
                     color="white" if dark else INK)  # fmt: skip
        box(axes, x, y, places * cell, ATOM * tall, "none", INK, 1.8)
        at = x + used[0] * cell
        arrow(axes, (at, y - 0.42), (at, y - 0.02))
        text(at + 0.1, y - 0.22, start, va="center", fontsize=SMALL)
    for row in range(ATOM):
        text(0.53, y + (row + 0.5) * tall, str(row), ha="right", va="center", fontsize=_CELL)
    text(0.53, y - 0.13, "row", ha="right", fontsize=_CELL)
    legend(axes, 0.2, y + ATOM * tall + 0.4, (
        (DARK, "what one wgmma reads of these rows"),
        ("white", "what the three others that take these rows read"),
    ))  # fmt: skip
    text(0.2, y + ATOM * tall + 1.55, "↓  the address that the descriptor names", fontsize=TEXT)
    return figure


def _atoms(axes: Axes, x: float, y: float, tall: float, labels: list[str], dark: set[int], part: float) -> None:
    """A column of atoms, one behind the other in memory; of those in `dark` the first `part` of the width is read."""
    wide = _WIDE
    for i, label in enumerate(labels):
        top = y + i * tall
        box(axes, x, top, wide, tall, "white", GREY)
        if i in dark:
            box(axes, x, top, wide * part, tall, DARK, GREY)
        inside = i in dark and part == 1
        axes.text(x + wide * (0.5 if part == 1 else 0.6), top + tall / 2, label, ha="center", va="center",
                  fontsize=_CELL, color="white" if inside else INK)  # fmt: skip
    box(axes, x, y, wide, len(labels) * tall, "none", INK, 1.8)


def _distance(axes: Axes, x: float, top: float, bottom: float, label: str) -> None:
    """A bracket that says how far two places lie apart."""
    for y in (top, bottom):
        axes.plot([x - 0.1, x], [y, y], color=INK, linewidth=1.6)
    axes.plot([x, x], [top, bottom], color=INK, linewidth=1.6)
    axes.text(x + 0.08, (top + bottom) / 2, label, va="center", fontsize=SMALL)


def picture_descriptor(lesson: Descriptor) -> Figure:
    """Which distances do the fields of a descriptor name, over the bytes of both tiles? How many bytes these are, the text works
    out."""
    bm, bn, bk = lesson.tile
    y, tall, wide = 2.35, 0.245, _WIDE
    x_a, x_b = 0.75, 4.45
    of_a = [f"{row} … {row + 7}" for row in range(0, bm, ATOM)]
    of_b = [f"{k} … {k + 7}" for _ in range(0, bn, BOX) for k in range(0, bk, ATOM)]
    shown = max(len(of_a), len(of_b))
    figure, axes = canvas(y + shown * tall + 1.6)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: what a descriptor says", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.88, "Shared memory, from top to bottom. Each rectangle is an atom.", fontsize=TEXT)
    text(x_a + wide / 2, y - 0.75, "As", ha="center", fontsize=TEXT, fontweight="bold")
    text(x_b + wide / 2, y - 0.75, "Bs", ha="center", fontsize=TEXT, fontweight="bold")
    text(x_a + wide / 2, y - 0.42, f"rows, {bk} steps each", ha="center", fontsize=SMALL)
    text(x_b + wide / 2, y - 0.42, f"steps, {BOX} columns each", ha="center", fontsize=SMALL)
    _atoms(axes, x_a, y, tall, of_a, set(range(M // ATOM)), K / bk)
    per_box = bk // ATOM
    _atoms(axes, x_b, y, tall, of_b, {i for j in range(bn // BOX) for i in range(j * per_box, j * per_box + K // ATOM)}, 1)
    for x in (x_a, x_b):
        arrow(axes, (x - 0.5, y), (x - 0.02, y))
        text(x - 0.28, y - 0.16, "start", ha="center", fontsize=SMALL)
    _distance(axes, x_a + wide + 0.15, y, y + tall, "SBO")
    _distance(axes, x_b + wide + 0.15, y, y + tall, "SBO")
    _distance(axes, x_b + wide + 0.85, y, y + per_box * tall, "LBO")
    for j in range(bn // BOX):
        middle = y + (j + 0.5) * per_box * tall
        text(x_b - 0.15, middle, f"columns\n{j * BOX} … {j * BOX + BOX - 1}", ha="right", va="center", fontsize=_CELL)
    legend(axes, 0.2, y + shown * tall + 0.35, (
        (DARK, f"what the first wgmma reads: {M} rows, {K} steps, {bn} columns"),
        ("white", "what the others read"),
    ))  # fmt: skip
    text(0.2, y + shown * tall + 1.4, "(Drawn before the swizzle, which moves bytes within an atom.)", fontsize=SMALL)
    return figure


def picture_proxies(lesson: Descriptor) -> Figure:
    """Who reaches shared memory by which path, and when is a fence needed between the two?"""
    figure, axes = canvas(7.45)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: two proxies", fontsize=TITLE, fontweight="bold")
    generic, asynchronous, wide, y, tall = 0.2, 4.55, 3.25, 0.85, 0.72
    middle = (generic + wide + asynchronous) / 2
    for x, fill, colour, who in ((generic, LIGHT, INK, "threads"), (asynchronous, DARK, "white", "TMA, wgmma")):
        box(axes, x, y, wide, tall, fill, INK, 1.8)
        text(x + wide / 2, y + tall / 2, who, ha="center", va="center", fontsize=TEXT, fontweight="bold", color=colour)
    shared = y + tall + 1.0
    for x, proxy in ((generic, "generic proxy"), (asynchronous, "async proxy")):
        arrow(axes, (x + 0.45, y + tall + 0.04), (x + 0.45, shared - 0.04))
        arrow(axes, (x + 0.75, shared - 0.04), (x + 0.75, y + tall + 0.04))
        text(x + 1.0, y + tall + 0.5, proxy, va="center", fontsize=TEXT)
    axes.plot([middle] * 2, [y, shared - 0.12], color=INK, linewidth=5, solid_capstyle="butt")
    box(axes, generic, shared, asynchronous + wide - generic, 0.62, "white", INK, 1.8)
    text(middle, shared + 0.31, "shared memory", ha="center", va="center", fontsize=TEXT, fontweight="bold")
    top, row = shared + 1.3, 0.46
    columns = (0.2, 1.5, 3.4, 5.2)
    for x, word in zip(columns, ("lesson", "writes", "reads", "between them"), strict=True):
        text(x, top, word, fontsize=SMALL, fontweight="bold")
    used = (
        ("03 to 09", "threads", "threads", "a barrier"),
        ("10", "TMA", "threads", "an mbarrier"),
        ("11 to 13", "TMA", "wgmma", "an mbarrier"),
        ("13c", "threads", "TMA", "fence, barrier"),
    )
    for number, cells in enumerate(used, 1):
        axes.plot([0.2, WIDTH - 0.2], [top + (number - 0.62) * row] * 2, color=GREY, linewidth=0.6)
        crosses = cells[1] == "threads" and cells[2] != "threads"
        for x, word in zip(columns, cells, strict=True):
            text(x, top + number * row, word, va="center", fontsize=TEXT, fontweight="bold" if crosses else "normal")
    below = top + len(used) * row + 0.55
    axes.plot([0.36, 0.36], [below - 0.17, below + 0.17], color=INK, linewidth=5, solid_capstyle="butt")
    text(0.65, below, "from left to right: fence.proxy.async, then a barrier", va="center", fontsize=TEXT)
    return figure


def picture_turns(lesson: Descriptor) -> Figure:
    """When do the tensor cores of an SM rest, with one block there and with three?"""
    left, tall, load, multiply = 1.75, 0.62, 1.15, 0.5
    right = WIDTH - 0.15
    figure, axes = canvas(7.75)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: taking turns", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.88, "One SM, time from left to right, not to scale.", fontsize=TEXT)

    def lanes(y: float, names: list[str]) -> None:
        for row in range(len(names) + 1):
            axes.plot([left, right], [y + row * tall] * 2, color=GREY, linewidth=0.6)
        for row, name in enumerate(names):
            text(left - 0.12, y + (row + 0.5) * tall, name, ha="right", va="center", fontsize=SMALL)

    def piece(begins: float, ends: float, y: float, fill: str) -> None:
        ends = min(ends, right)
        if ends > begins:
            box(axes, begins, y + 0.1, ends - begins, tall - 0.2, fill, GREY)

    for y, blocks, title in ((1.75, 1, "One block"), (4.05, 3, "Three blocks")):
        text(0.2, y - 0.2, title, fontsize=TEXT, fontweight="bold")
        lanes(y, [*(f"block {block}" for block in range(blocks)), "tensor cores"])
        for block in range(blocks):
            begins = left + block * (load + multiply) / blocks
            while begins < right:
                piece(begins, begins + load, y + block * tall, LIGHT)
                for row in (block, blocks):
                    piece(begins + load, begins + load + multiply, y + row * tall, DARK)
                begins += load + multiply
    legend(axes, 0.2, 6.75, ((LIGHT, "its next k-tiles are on their way"), (DARK, "products")))
    return figure
