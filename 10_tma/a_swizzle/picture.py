"""Lesson 10a's pictures: a tensor map as a window on a matrix, an mbarrier's life, the 128-byte swizzle in the banks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, PALE, WIDTH
from runner.core.descriptors import Descriptor

CHUNK, SPAN = 16, 128  # bytes: what the swizzle moves, and within what
ROWS = 8  # after which the swizzle begins again
_CELL = 15  # points, of what stands in a box
_USED = 2  # the chunk that is read in the picture of the banks; any will do


def place(row: int, chunk: int, swizzled: bool) -> int:
    """Where a chunk of a row is in its 128 bytes: CU_TENSOR_MAP_SWIZZLE_128B (PTX ISA, "Swizzling Modes")."""
    return chunk ^ row % ROWS if swizzled else chunk


def wavefronts(rows: Iterable[int], chunk: int, swizzled: bool) -> int:
    """Of a read of the same chunk of these rows: how many share their four banks at most."""
    places = [place(row, chunk, swizzled) for row in rows]
    return max(places.count(one) for one in places)


def _span(axes: Axes, start: tuple[float, float], end: tuple[float, float], label: str, side: str) -> None:
    """A measure with arrows at both ends and its label above, below, left or right of it."""
    style = {"arrowstyle": "<|-|>", "color": INK, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 13}
    axes.annotate("", end, start, arrowprops=style)
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    dx, dy, how = {
        "above": (0, -0.1, {"ha": "center", "va": "bottom"}),
        "below": (0, 0.1, {"ha": "center", "va": "top"}),
        "left": (-0.1, 0, {"ha": "right", "va": "center"}),
        "right": (0.1, 0, {"ha": "left", "va": "center"}),
    }[side]
    axes.text(x + dx, y + dy, label, fontsize=SMALL, **how)


def picture(lesson: Descriptor) -> Figure:
    """What each field of A's tensor map says, and what TMA brings for a box at the edge."""
    BM, BK = lesson.constants["BM"], lesson.constants["BK"]
    figure, axes = canvas(7.95)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a window on a matrix", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "A in global memory, by the fields of its tensor map", fontsize=TEXT)
    x, y, wide, tall, pad = 1.75, 2.25, 3.5, 3.05, 0.65
    box_w, box_h = 0.95, 1.0

    # The matrix, and what lies between its rows.
    box(axes, x + wide, y, pad, tall, "white", GREY, 0.8)
    for row in range(1, 8):
        axes.plot([x + wide, x + wide + pad], [y + row * tall / 8] * 2, color=GREY, linewidth=0.6)
    box(axes, x, y, wide, tall, PALE, INK, 1.8)
    axes.plot([x], [y], marker="o", markersize=11, color=INK, clip_on=False)
    text(0.2, y - 0.62, "address", fontsize=SMALL)
    arrow(axes, (0.95, y - 0.5), (x - 0.07, y - 0.05))
    _span(axes, (x, y - 0.75), (x + wide + pad, y - 0.75), "strides[0]: bytes from row to row", "above")
    _span(axes, (x, y - 0.22), (x + wide, y - 0.22), "sizes[0] = K", "above")
    _span(axes, (x - 0.25, y), (x - 0.25, y + tall), "sizes[1]\n= M", "left")

    # A box inside, and one over the edge; both are whole in shared memory then.
    right = WIDTH - 0.35 - box_w
    text(right + box_w / 2, y - 0.1, "shared\nmemory", ha="center", va="center", fontsize=TEXT)
    inside = (x + 1.35, y + 0.4)
    _span(axes, (inside[0], inside[1] + box_h + 0.15), (inside[0] + box_w, inside[1] + box_h + 0.15), f"box[0] = {BK}", "below")
    _span(axes, (inside[0] - 0.15, inside[1]), (inside[0] - 0.15, inside[1] + box_h), f"box[1]\n= {BM}", "left")
    over = (x + wide - box_w * 0.6, y + tall - box_h * 0.6)
    for name, part_w, part_h, (left, top) in (("1", 1.0, 1.0, inside), ("2", 0.6, 0.6, over)):
        for at in (left, right):
            if part_w < 1:
                box(axes, at, top, box_w, box_h, "white", INK, 1.2, hatch="///", zorder=2.5)
            box(axes, at, top, box_w * part_w, box_h * part_h, DARK, INK, 1.2, zorder=2.5)
            text(at + box_w * part_w / 2, top + box_h * part_h / 2, name, color="white", ha="center", va="center", fontsize=TEXT,
                 fontweight="bold")  # fmt: skip
        arrow(axes, (left + box_w + 0.03, top + box_h / 2), (right - 0.08, top + box_h / 2))

    below = y + tall + 0.72
    legend(axes, 0.3, below, (
        (PALE, "the matrix"),
        ("white", "padding between its rows: never read"),
        (DARK, "elements that a copy reads"),
    ))  # fmt: skip
    box(axes, 0.3, below + 1.26, 0.32, 0.26, "white", GREY, 1.0, hatch="///")
    text(0.75, below + 1.39, "beyond its edges: TMA writes zeros", va="center", fontsize=TEXT)
    return figure


_MOMENTS: tuple[tuple[str, str, str, int], ...] = (
    # what happens, arrivals missing, bytes missing after it, the open phase
    ("init", "1", "–", 0),
    ("arrive,\nexpect", "0", "A, B", 0),
    ("B is\nthere", "0", "A", 0),
    ("A is\nthere", "1", "–", 1),
    ("arrive,\nexpect", "0", "A, B", 1),
    ("A is\nthere", "0", "B", 1),
    ("B is\nthere", "1", "–", 2),
)


def picture_barrier(lesson: Descriptor) -> Figure:
    """One mbarrier over two phases: what it still misses, and whom it lets go on."""
    figure, axes = canvas(7.85)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: the life of an mbarrier", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "A phase needs one arrival and the bytes of two boxes", fontsize=TEXT)
    left, y, tall = 1.7, 2.0, 0.56
    wide = (WIDTH - 0.15 - left) / len(_MOMENTS)
    rows = ("arrivals\nmissing", "bytes\nmissing", "open\nphase", "its\nparity", "wait for\nparity 0", "wait for\nparity 1")
    tops = [y + row * (tall + 0.1) + (0.3 if row > 3 else 0) for row in range(len(rows))]
    for top, label in zip(tops, rows, strict=True):
        text(left - 0.15, top + tall / 2, label, ha="right", va="center", fontsize=SMALL)
    for moment, (event, arrivals, missing, phase) in enumerate(_MOMENTS):
        x = left + moment * wide
        text(x + wide / 2, y - 0.4, event, ha="center", va="center", fontsize=SMALL)
        values = (arrivals, missing, str(phase), str(phase % 2))
        for row, value in enumerate(values):
            fill = (LIGHT if phase % 2 else "white") if row > 1 else "white" if value in ("0", "–") else PALE
            box(axes, x + 0.03, tops[row], wide - 0.06, tall, fill, GREY)
            text(x + wide / 2, tops[row] + tall / 2, value, ha="center", va="center", fontsize=SMALL)
        for parity in range(2):
            goes = phase % 2 != parity  # the last phase to complete had this parity, or none has
            how: dict[str, Any] = {"color": "white"} if goes else {}
            box(axes, x + 0.03, tops[4 + parity], wide - 0.06, tall, DARK if goes else "white", GREY)
            text(x + wide / 2, tops[4 + parity] + tall / 2, "goes\non" if goes else "waits", ha="center", va="center",
                 fontsize=_CELL - 2, **how)  # fmt: skip
    for moment in range(1, len(_MOMENTS)):
        if _MOMENTS[moment][3] != _MOMENTS[moment - 1][3]:
            x = left + moment * wide
            axes.plot([x, x], [y - 0.75, tops[-1] + tall + 0.1], color=INK, linewidth=5, solid_capstyle="butt")
    below = tops[-1] + tall + 0.4
    legend(axes, 0.3, below, (
        (INK, "nothing missing: the phase completes, the next opens"),
        (PALE, "something is missing"),
        (LIGHT, "a phase of parity 1"),
    ))  # fmt: skip
    return figure


def picture_banks(lesson: Descriptor) -> Figure:
    """In which banks do lanes 0 to 7 find a float of the same step of eight rows of A? How many wavefronts that takes is for
    Predict to ask."""
    cell, y = 0.38, 2.35
    tall = cell
    chunks = SPAN // CHUNK
    figure, axes = canvas(7.0)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: eight rows of As in the banks", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "Each line is a row: 128 bytes, all 32 banks. Each square is a", fontsize=TEXT)
    text(0.2, 1.24, "chunk: 16 bytes, four banks. Numbers count a row's chunks.", fontsize=TEXT)
    for x, swizzled, title in ((1.05, False, "as the rows are in A"), (WIDTH - 0.2 - chunks * cell, True, "128-byte swizzle")):
        text(x + chunks * cell / 2, y - 0.42, title, ha="center", fontsize=TEXT, fontweight="bold")
        text(x, y - 0.1, "banks 0–3", fontsize=_CELL - 2)
        text(x + chunks * cell, y - 0.1, "28–31", ha="right", fontsize=_CELL - 2)
        for row in range(ROWS):
            label = f"row {row}" if not swizzled else f"{row}"
            text(x - 0.1, y + (row + 0.5) * tall, label, ha="right", va="center", fontsize=_CELL)
            for chunk in range(chunks):
                used = chunk == _USED
                left, top = x + place(row, chunk, swizzled) * cell, y + row * tall
                box(axes, left, top, cell, tall, DARK if used else "white", GREY)
                text(left + cell / 2, top + tall / 2, str(chunk), ha="center", va="center", fontsize=_CELL,
                     color="white" if used else INK)  # fmt: skip
        box(axes, x, y, chunks * cell, ROWS * tall, "none", INK, 1.8)
    below = y + ROWS * tall + 0.3
    legend(axes, 0.2, below, [(DARK, f"the chunk of k = {4 * _USED} to {4 * _USED + 3}: each of four reads takes")])
    text(0.65, below + 0.51, "one float of it, in row r for lane r", fontsize=TEXT)
    text(0.2, below + 1.0, "Lanes 8 to 31 read the same floats as lanes 0 to 7.", fontsize=TEXT)
    return figure
