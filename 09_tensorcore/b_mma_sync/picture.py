"""Lesson 09b's picture: who holds which element of mma.sync's fragments, who gives ldmatrix which address, the swizzle."""

from __future__ import annotations

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, counted
from plots.style import DARK, GREY, INK, LIGHT, PALE, WIDTH
from runner.core.descriptors import Descriptor

BANKS, WORD = 32, 4  # of shared memory; bytes
UNIT = 16  # bytes: what a lane's address of ldmatrix stands for
A_SWIZZLE, B_SWIZZLE = (2, 3, 3), (3, 3, 4)  # kernel.cu's a_at and b_at
_CELL = 12.5  # points


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
    """Swizzle<B, M, S>::apply of common/swizzle.hpp, which is CuTe's."""
    return offset ^ (offset >> shift & ((1 << bits) - 1) << base)


def wavefronts(places: list[int]) -> int:
    """Of a read of 16 bytes at each of the eight places, in units of 16 bytes: how many share their four banks at most."""
    groups = [place % (BANKS * WORD // UNIT) for place in places]
    return max(groups.count(group) for group in groups)


def _map(
    axes: Axes, x: float, y: float, cell: float, element: Callable[[int, int], tuple[int, int]], count: int, shown: int
) -> None:
    """A box for each two elements i, i + 1 that a lane holds side by side or on top of each other, the lane in it."""
    for lane in range(WARP):
        for i in range(0, count, 2):
            (row, col), (low, right) = element(lane, i), element(lane, i + 1)
            fill, colour = (DARK, "white") if lane == shown else (LIGHT if (i // 2) % 2 == (i // 4) % 2 else "white", INK)
            wide, tall = (right - col + 1) * cell, (low - row + 1) * cell
            box(axes, x + col * cell, y + row * cell, wide, tall, fill, GREY)
            axes.text(x + col * cell + wide / 2, y + row * cell + tall / 2, str(lane), ha="center", va="center",
                      fontsize=_CELL, color=colour)  # fmt: skip


def _matrices(axes: Axes, x: float, y: float, side: float, registers: tuple[str, ...]) -> None:
    """A 16×16 tile: its four 8×8 matrices, which lanes give their rows' addresses, which register they become."""
    half = side / 2
    for i, register in enumerate(registers):
        left, top = x + i // 2 * half, y + i % 2 * half
        box(axes, left, top, half, half, LIGHT if i in (0, 3) else "white", GREY)
        for row in range(1, 8):
            axes.plot([left, left + 0.12], [top + row * half / 8] * 2, color=GREY, linewidth=0.8)
        axes.text(left + half / 2, top + half * 0.36, f"lanes\n{8 * i} … {8 * i + 7}", ha="center", va="center", fontsize=SMALL)
        axes.text(left + half / 2, top + half * 0.78, register, ha="center", va="center", fontsize=SMALL, fontweight="bold")
    box(axes, x, y, side, side, "none", INK, 1.6)


def _banks(axes: Axes, x: float, y: float, cell: float, pitch: int, used: int, swizzled: tuple[int, int, int] | None) -> int:
    """Eight rows of a tile in shared memory, 128 bytes a line, as far as its first eight units go; `used`: the unit that a
    matrix reads. Returns its wavefronts."""
    across = BANKS * WORD // UNIT
    units = min(pitch, across)
    tall, read = cell * 0.76, []
    for row in range(8):
        for unit in range(units):
            offset = (row * pitch + unit) * (UNIT // 2)  # elements of two bytes
            place = (swizzle(*swizzled, offset) if swizzled else offset) // (UNIT // 2)
            line, group = (row, place % across) if pitch >= across else divmod(place, across)
            dark = unit == used
            if dark:
                read.append(place)
            left, top = x + group * cell, y + line * tall
            box(axes, left, top, cell, tall, DARK if dark else PALE if row % 2 else "white", GREY)
            label = str(unit) if pitch >= across else f"{row}:{unit}"
            axes.text(left + cell / 2, top + tall / 2, label, ha="center", va="center", fontsize=_CELL,
                      color="white" if dark else INK)  # fmt: skip
    lines = 8 * units // across
    box(axes, x, y, across * cell, lines * tall, "none", INK, 1.6)
    return wavefronts(read)


def picture(lesson: Descriptor) -> Figure:
    """Who holds what in the fragments of mma.sync, who gives ldmatrix which address, and in which banks the tiles' rows lie."""
    rows, cols, steps = (lesson.constants[key] for key in ("MMA_M", "MMA_N", "MMA_K"))
    figure, axes = canvas(22.1)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: who holds what", fontsize=TITLE, fontweight="bold")

    # 1. The fragments.
    text(0.2, 0.95, f"1. Fragments of mma.sync.m{rows}n{cols}k{steps}", fontsize=TEXT + 1, fontweight="bold")
    cell, shown = 0.262, 5
    x_a, y_b = 0.25, 1.4
    x_c, y_c = x_a + steps * cell + 0.45, y_b + steps * cell + 0.6
    _map(axes, x_a, y_c, cell, a_element, 8, shown)
    _map(axes, x_c, y_b, cell, b_element, 4, shown)
    _map(axes, x_c, y_c, cell, c_element, 4, shown)
    for x, y, height, width in ((x_a, y_c, rows, steps), (x_c, y_b, steps, cols), (x_c, y_c, rows, cols)):
        box(axes, x, y, width * cell, height * cell, "none", INK, 1.8)
    for i in range(4):
        left, top = x_a + (i // 2 * 8 + 4) * cell, y_c + (rows * cell + 0.28 if i % 2 else -0.12)
        text(left, top, f"a_frag[{i}]", ha="center", fontsize=SMALL)
    for i in range(2):
        text(x_c + cols * cell + 0.1, y_b + (8 * i + 4) * cell, f"b_\nfrag\n[{i}]", va="center", fontsize=SMALL)
        text(x_c + cols * cell + 0.1, y_c + (8 * i + 4) * cell, f"acc\n[{2 * i}],\n[{2 * i + 1}]", va="center", fontsize=SMALL)
    text(x_c + cols * cell / 2, y_b - 0.1, f"B: {steps}×{cols}", ha="center", fontsize=TEXT)
    text(x_a, y_c - 0.5, f"A: {rows}×{steps}", fontsize=TEXT)
    text(x_c + cols * cell / 2, y_c + rows * cell + 0.28, f"C: {rows}×{cols}", ha="center", fontsize=TEXT)
    said = (
        f"The numbers are lanes,\ndark: lane {shown}.\n\nA box is what a lane has\nin one register of A or B:\ntwo neighbours "
        "along K.\nIn C: two floats.\n\nA shade is one 8×8 matrix."
    )
    text(x_a, y_b + 0.25, said, fontsize=TEXT, va="top", linespacing=1.3)

    # 2. Addresses.
    top = y_c + rows * cell + 0.95
    text(0.2, top, "2. Four matrices: which lane names which row", fontsize=TEXT + 1, fontweight="bold")
    side, y = 2.35, top + 0.65
    x_right = WIDTH / 2 + 0.4
    for x, title, below, registers in (
        (0.6, "As: ldmatrix", "K →", ("[i][0]", "[i][1]", "[i][2]", "[i][3]")),
        (x_right, "Bs: ldmatrix.trans", "N →", ("[j][0]", "[j][1]", "[j+1][0]", "[j+1][1]")),
    ):
        text(x + side / 2, y - 0.15, title, ha="center", fontsize=TEXT)
        _matrices(axes, x, y, side, registers)
        text(x + side / 2, y + side + 0.28, below, ha="center", fontsize=SMALL)
    text(0.45, y + side / 2, "rows of A", rotation=90, ha="center", va="center", fontsize=SMALL)
    text(x_right - 0.17, y + side / 2, "K", ha="center", va="center", fontsize=SMALL)
    said = (
        "A lane gives the address of one row of 16 bytes. Bold: where in a_frag\nand b_frag the matrix goes. The lanes that get "
        "it: see 1."
    )
    text(0.2, y + side + 0.95, said, fontsize=SMALL)

    # 3. Banks.
    top = y + side + 1.55
    text(0.2, top, "3. Where eight rows lie: 128 bytes across", fontsize=TEXT + 1, fontweight="bold")
    small, y = 0.43, top + 0.6
    x_right = WIDTH - 0.2 - 8 * small
    for title, pitch, used, chosen in (
        ("Bs", lesson.constants["BN"] * 2 // UNIT, 2, B_SWIZZLE),
        ("As", lesson.constants["BK"] * 2 // UNIT, 1, A_SWIZZLE),
    ):
        for x, swizzled in ((0.35, None), (x_right, chosen)):
            found = _banks(axes, x, y, small, pitch, used, swizzled)
            how = f"<{', '.join(map(str, swizzled))}>" if swizzled else "plain"
            text(x + 4 * small, y - 0.14, f"{title}, {how}: {counted(found, 'wavefront')}", ha="center", fontsize=SMALL)
        y += min(pitch, 8) * small * 0.76 + 0.7
    said = (
        "A box is 16 bytes, 8 elements, in 4 banks. In it, of Bs: which of its\nrow's first eight; of As: row:which. Dark: what "
        "one matrix reads."
    )
    text(0.2, y - 0.05, said, fontsize=SMALL)
    return figure
