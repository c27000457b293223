"""Lesson 09b's pictures: who holds which element of mma.sync's fragments, what ldmatrix is given and gives, the swizzle."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, WIDTH
from runner.core.descriptors import Descriptor

BANKS, WORD = 32, 4  # of shared memory; bytes
CHUNK = 16  # bytes: what a lane's address of ldmatrix stands for
A_SWIZZLE, B_SWIZZLE = (2, 3, 3), (3, 3, 4)  # kernel.cu's a_at and b_at
USED = 2, 1  # of Bs and of As: the chunk of each row that the matrix reads which is drawn; any will do
_CELL = 14  # points, of what stands in a box
_FLAT = 0.68  # height of a chunk's box, of its width
_SHOWN = 5  # the lane to follow: any will do


# Row and column that a lane holds. PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type", where groupID is
# lane >> 2 and threadID_in_group is lane % 4.


def a_element(lane: int, i: int) -> tuple[int, int]:
    """Of A, 16×16: a_i, i = 0 … 7."""
    group, in_group = lane >> 2, lane % 4
    return group if 0 <= i < 2 or 4 <= i < 6 else group + 8, in_group * 2 + (i & 1) + (0 if i < 4 else 8)


def b_element(lane: int, i: int) -> tuple[int, int]:
    """Of B, 16×8: b_i, i = 0 … 3."""
    group, in_group = lane >> 2, lane % 4
    return in_group * 2 + (i & 1) + (0 if i < 2 else 8), group


def c_element(lane: int, i: int) -> tuple[int, int]:
    """Of C, 16×8: c_i, i = 0 … 3."""
    group, in_group = lane >> 2, lane % 4
    return group if i < 2 else group + 8, in_group * 2 + (i & 1)


def swizzle(bits: int, base: int, shift: int, offset: int) -> int:
    """Swizzle<B, M, S>::apply of common/parts/swizzle.hpp, which is CuTe's."""
    return offset ^ (offset >> shift & ((1 << bits) - 1) << base)


def places(pitch: int, chunk: int, swizzled: tuple[int, int, int] | None) -> list[int]:
    """Where `chunk` of each of eight rows lies, in chunks of 16 bytes from the tile's begin on; `pitch`: chunks of a row."""
    offsets = [(row * pitch + chunk) * (CHUNK // 2) for row in range(8)]  # in elements of two bytes
    return [(swizzle(*swizzled, offset) if swizzled else offset) // (CHUNK // 2) for offset in offsets]


def wavefronts(places: list[int]) -> int:
    """Of a read of 16 bytes at each of the eight places, in chunks of 16 bytes: how many share their four banks at most."""
    groups = [place % (BANKS * WORD // CHUNK) for place in places]
    return max(groups.count(group) for group in groups)


def _map(
    axes: Axes, x: float, y: float, cell: tuple[float, float], element: Callable[[int, int], tuple[int, int]], count: int
) -> None:
    """A box for each two elements i, i + 1 that a lane holds side by side or on top of each other, the lane in it. `cell` is
    the width and the height of an element."""
    for lane in range(WARP):
        for i in range(0, count, 2):
            (row, col), (low, right) = element(lane, i), element(lane, i + 1)
            fill, colour = (DARK, "white") if lane == _SHOWN else (LIGHT if (i // 2) % 2 == (i // 4) % 2 else "white", INK)
            left, top = x + col * cell[0], y + row * cell[1]
            wide, tall = (right - col + 1) * cell[0], (low - row + 1) * cell[1]
            box(axes, left, top, wide, tall, fill, GREY)
            axes.text(left + wide / 2, top + tall / 2, str(lane), ha="center", va="center", fontsize=_CELL, color=colour)


def picture(lesson: Descriptor) -> Figure:
    """Which lane holds which elements of the fragments of mma.sync, in which register?"""
    rows, cols, steps = (lesson.constants[key] for key in ("MMA_M", "MMA_N", "MMA_K"))
    wide, low, tall = 0.272, 0.136, 0.215  # of an element; B's boxes are two elements high
    x_a, y_b = 0.2, 1.25
    x_c, y_c = x_a + steps * wide + 0.35, y_b + steps * low + 0.65
    figure, axes = canvas(y_c + rows * tall + 0.45)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: who holds which element", fontsize=TITLE, fontweight="bold")
    _map(axes, x_a, y_c, (wide, tall), a_element, 8)
    _map(axes, x_c, y_b, (wide, low), b_element, 4)
    _map(axes, x_c, y_c, (wide, tall), c_element, 4)
    for x, y, width, height in (
        (x_a, y_c, steps * wide, rows * tall),
        (x_c, y_b, cols * wide, steps * low),
        (x_c, y_c, cols * wide, rows * tall),
    ):
        box(axes, x, y, width, height, "none", INK, 1.8)
    for i in range(4):
        top = y_c + rows * tall + 0.28 if i % 2 else y_c - 0.12
        text(x_a + (i // 2 * 8 + 4) * wide, top, f"a[{i}]", ha="center", fontsize=TEXT)
    right = x_c + cols * wide + 0.1
    for i in range(2):
        text(right, y_b + (8 * i + 4) * low, f"b[{i}]", va="center", fontsize=TEXT)
        text(right, y_c + (8 * i + 4) * tall, f"c[{2 * i}],\nc[{2 * i + 1}]", va="center", fontsize=TEXT)
    text(x_c + cols * wide / 2, y_b - 0.12, f"B: {steps}×{cols}", ha="center", fontsize=TEXT)
    text(x_a, y_c - 0.48, f"A: {rows}×{steps}", fontsize=TEXT)
    text(x_c + cols * wide / 2, y_c + rows * tall + 0.28, f"C: {rows}×{cols}", ha="center", fontsize=TEXT)
    said = (
        "A number is a lane. Its box is\nwhat it holds: two elements of\nA or B, or two floats of C.\nAt the edge: the register."
    )
    text(x_a, y_b - 0.25, said, fontsize=TEXT, va="top", linespacing=1.3)
    legend(axes, x_a, y_b + 1.25, [(DARK, f"lane {_SHOWN}"), (LIGHT, "8×8 elements (white: next)")])
    return figure


def picture_ldmatrix(lesson: Descriptor) -> Figure:
    """Which lane names which row of an 8×8 matrix, and which lanes get its elements?"""
    wide, tall, y, side = 0.345, 0.4, 2.05, 8
    figure, axes = canvas(y + side * tall + 1.75)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: one matrix of ldmatrix", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "A row is 16 bytes of shared memory, 8 elements", fontsize=TEXT)

    def trans_element(lane: int, i: int) -> tuple[int, int]:
        return a_element(lane, i)[::-1]

    for x, title, along, down, element in (
        (0.95, "ldmatrix, of As", "K →", "rows of A ↓", a_element),
        (WIDTH - 0.2 - side * wide, "ldmatrix.trans, of Bs", "N →", "K ↓", trans_element),
    ):
        text(x + side * wide / 2, y - 0.55, title, ha="center", fontsize=TEXT, fontweight="bold")
        text(x, y - 0.12, down, fontsize=SMALL)
        text(x + side * wide, y - 0.12, along, ha="right", fontsize=SMALL)
        for row in range(side):
            middle = y + (row + 0.5) * tall
            text(x - 0.4, middle, f"{row}", ha="right", va="center", fontsize=_CELL)
            arrow(axes, (x - 0.35, middle), (x - 0.03, middle))
        for lane in range(WARP):
            (row, col), (low, right) = element(lane, 0), element(lane, 1)
            fill, colour = (DARK, "white") if lane == _SHOWN else ("white", INK)
            left, top, across, high = x + col * wide, y + row * tall, (right - col + 1) * wide, (low - row + 1) * tall
            box(axes, left, top, across, high, fill, GREY)
            text(left + across / 2, top + high / 2, str(lane), ha="center", va="center", fontsize=_CELL, color=colour)
        box(axes, x, y, side * wide, side * tall, "none", INK, 1.8)
    below = y + side * tall + 0.4
    text(0.2, below, "→  lane that gives the address of this row", fontsize=TEXT)
    text(0.2, below + 0.42, "In a box: the lane that gets these two elements, in one register", fontsize=TEXT)
    legend(axes, 0.2, below + 0.65, [(DARK, f"what lane {_SHOWN} gets")])
    return figure


def picture_matrices(lesson: Descriptor) -> Figure:
    """Which lanes name the rows of the four matrices of a 16×16 tile, and which registers do they become?"""
    side, y = 3.2, 2.1
    half = side / 2
    figure, axes = canvas(y + side + 0.5)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: four matrices at once", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "In a matrix: the lanes that give its rows' addresses,", fontsize=TEXT)
    text(0.2, 1.24, "and the register that it becomes", fontsize=TEXT)
    for x, title, along, down, registers in (
        (0.6, "ldmatrix, of As", "K →", "rows of A", [f"a_frag[i][{i}]" for i in range(4)]),
        (WIDTH - 0.15 - side, "ldmatrix.trans, of Bs", "N →", "K",
         ["b_frag[j][0][0]", "b_frag[j][0][1]", "b_frag[j][1][0]", "b_frag[j][1][1]"]),
    ):  # fmt: skip
        text(x + half, y - 0.18, title, ha="center", fontsize=TEXT, fontweight="bold")
        for i, register in enumerate(registers):
            left, top = x + i // 2 * half, y + i % 2 * half
            box(axes, left, top, half, half, "white", GREY)
            text(left + half / 2, top + half * 0.3, f"lanes\n{8 * i} … {8 * i + 7}", ha="center", va="center", fontsize=TEXT)
            text(left + half / 2, top + half * 0.78, register, ha="center", va="center", fontsize=SMALL)
        box(axes, x, y, side, side, "none", INK, 1.8)
        text(x + half, y + side + 0.3, along, ha="center", fontsize=SMALL)
        text(x - 0.15, y + half, down, rotation=90, ha="center", va="center", fontsize=SMALL)
    return figure


def _banks(axes: Axes, x: float, y: float, cell: float, pitch: int, used: int, swizzled: tuple[int, int, int] | None) -> None:
    """Eight rows of a tile in shared memory, 128 bytes a line, as far as its first eight chunks go; `used`: the chunk that a
    matrix reads."""
    across = BANKS * WORD // CHUNK
    chunks, tall = min(pitch, across), cell * _FLAT
    for chunk in range(chunks):
        for row, place in enumerate(places(pitch, chunk, swizzled)):
            line, group = (row, place % across) if pitch >= across else divmod(place, across)
            dark = chunk == used
            left, top = x + group * cell, y + line * tall
            box(axes, left, top, cell, tall, DARK if dark else LIGHT if row % 2 else "white", GREY)
            label = str(chunk) if pitch >= across else f"{row}:{chunk}"
            axes.text(left + cell / 2, top + tall / 2, label, ha="center", va="center", fontsize=_CELL,
                      color="white" if dark else INK)  # fmt: skip
    lines = 8 * chunks // across
    box(axes, x, y, across * cell, lines * tall, "none", INK, 1.8)


def picture_swizzle(lesson: Descriptor) -> Figure:
    """In which banks do the eight rows lie that one matrix of ldmatrix reads, before and after the swizzle? How many wavefronts
    that takes is for Predict to ask."""
    cell, y = 0.45, 1.6
    figure, axes = canvas(8)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: eight rows in the banks", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "A line is 128 bytes, all 32 banks; a box is 16 bytes, four of them", fontsize=TEXT)
    of_b, of_a = "In a box of Bs: which chunk of its row it is, counted from 0", "In a box of As: the row, and which chunk of it"
    for title, pitch, used, chosen, said in (
        ("Bs", lesson.constants["BN"] * 2 // CHUNK, USED[0], B_SWIZZLE, of_b),
        ("As", lesson.constants["BK"] * 2 // CHUNK, USED[1], A_SWIZZLE, of_a),
    ):
        for x, swizzled in ((0.2, None), (WIDTH - 0.2 - 8 * cell, chosen)):
            _banks(axes, x, y, cell, pitch, used, swizzled)
            how = f"Swizzle<{', '.join(map(str, swizzled))}>" if swizzled else "plain"
            text(x + 4 * cell, y - 0.14, f"{title}, {how}", ha="center", fontsize=TEXT - 1)
        y += min(pitch, 8) * cell * _FLAT + 0.35
        text(0.2, y, said, fontsize=SMALL)
        y += 0.75
    legend(axes, 0.2, y - 0.45, [(DARK, "what one matrix reads, 16 bytes of each row"), (LIGHT, "every second row")])
    return figure
