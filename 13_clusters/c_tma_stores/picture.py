"""Lesson 13c's pictures: what stmatrix does, where it puts results, and how a box changes hands."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import LANE, SMALL, TEXT, TITLE, arrow, box, canvas, lanes, legend, piece
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_OF_MATRIX = (DARK, LIGHT, MID, PALE)  # a shade for each of the four matrices of a stmatrix


def _label(axes: Axes, x: float, y: float, words: str, fill: str = PALE, size: float = SMALL) -> None:
    white = fill in (DARK, MID)
    axes.text(x, y, words, ha="center", va="center", fontsize=size, color="white" if white else INK,
              fontweight="bold" if white else "normal")  # fmt: skip


def picture(lesson: Descriptor) -> Figure:
    """Which banks does a matrix of stmatrix go to?"""
    chunks, rows, shown = lesson.constants["BOX"] // 8, 8, 2  # the chunk that one matrix of stmatrix writes
    wide, high, left, top = 0.385, 0.36, 0.95, 1.85
    right = left + chunks * wide + 0.6
    figure, axes = canvas(5.95)
    axes.text(0.2, 0.45, "13c: the places of a box", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "8 of the 16 rows of a box. A cell is a chunk: 8 results, 16 bytes.", fontsize=TEXT)
    for x, title, swizzled in ((left, "in C", False), (right, "in shared memory", True)):
        axes.text(x, top - 0.2, title, fontsize=TEXT, fontweight="bold")
        for row in range(rows):
            y = top + row * high
            if not swizzled:
                axes.text(x - 0.1, y + high / 2, f"row {row}", ha="right", va="center", fontsize=SMALL)
            for place in range(chunks):
                chunk = place ^ row if swizzled else place
                fill = DARK if chunk == shown else PALE
                box(axes, x + place * wide, y, wide, high, fill, GREY)
                _label(axes, x + (place + 0.5) * wide, y + high / 2, str(chunk), fill)
    middle = top + rows * high / 2
    arrow(axes, (left + chunks * wide + 0.08, middle), (right - 0.08, middle))
    bottom = top + rows * high + 0.1
    axes.plot([right, right + chunks * wide], [bottom, bottom], color=INK, linewidth=2)
    axes.text(right + chunks * wide / 2, bottom + 0.22, "32 banks, 4 a chunk", ha="center", va="center", fontsize=SMALL)
    legend(axes, 0.2, bottom + 0.65, ((DARK, f"chunk {shown} of eight rows: one matrix of a stmatrix"),))
    return figure


def picture_stmatrix(lesson: Descriptor) -> Figure:
    """Which lane holds a result, and which lane says where it goes?"""
    figure, axes = canvas(7.55)
    axes.text(0.2, 0.45, "13c: one stmatrix", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "A warp's 16 rows and 16 columns, as four matrices of 8×8", fontsize=TEXT)
    top, high = 2.1, 0.27
    axes.text(0.2, top - 0.62, "who holds it", fontsize=TEXT, fontweight="bold")
    axes.text(0.2, top - 0.24, "lane, 2 results a cell", fontsize=SMALL)
    wide = 0.42
    for row in range(16):
        for pair in range(8):
            matrix = row // 8 + pair // 4 * 2
            x, y = 0.2 + pair * wide, top + row * high
            box(axes, x, y, wide, high, _OF_MATRIX[matrix], GREY)
            _label(axes, x + wide / 2, y + high / 2, str(row % 8 * 4 + pair % 4), _OF_MATRIX[matrix], 12.5)
    right = 4.4
    axes.text(right, top - 0.62, "who says where it goes", fontsize=TEXT, fontweight="bold")
    axes.text(right, top - 0.24, "lane, 16 bytes a cell", fontsize=SMALL)
    for row in range(16):
        for half in range(2):
            matrix = row // 8 + half * 2
            x, y = right + half * 4 * wide, top + row * high
            box(axes, x, y, 4 * wide, high, _OF_MATRIX[matrix], GREY)
            _label(axes, x + 2 * wide, y + high / 2, str(half * 16 + row), _OF_MATRIX[matrix], 12.5)
    y = top + 16 * high + 0.25
    for matrix, fill in enumerate(_OF_MATRIX):
        x = 0.2 + matrix % 2 * 3.9
        box(axes, x, y + matrix // 2 * 0.42, 0.32, 0.26, fill, GREY, 1.0)
        axes.text(x + 0.45, y + matrix // 2 * 0.42 + 0.13, f"matrix {matrix}: words[{matrix}]", va="center", fontsize=TEXT)
    return figure


def picture_hands(lesson: Descriptor) -> Figure:
    """When may the warp write to a place again?"""
    fill_time, left, right = 0.8, 1.75, WIDTH - 0.15
    copies = (0.75, 0.75, 1.9, 0.75)  # inches that the copy engine reads a box: the third one is slow
    figure, axes = canvas(5.55)
    axes.text(0.2, 0.45, "13c: a box changes hands", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "Time from left to right, not to scale. A number is a box.", fontsize=TEXT)
    y = 1.35
    lanes(axes, left, right, y, ("warp", "TMA, place 0", "TMA, place 1"))
    read = [0.0, 0.0]  # when each place has been read
    at, passed = left + 0.1, list[tuple[float, int]]()
    for number in range(5):
        place = number % 2
        begins = max(at, read[place])
        if begins > at + 0.05:
            axes.text((at + begins) / 2, y + 0.52 * LANE, "waits", ha="center", va="center", fontsize=SMALL)
        ends = begins + fill_time
        piece(axes, begins, ends, y, 0, DARK if place == 0 else MID, str(number))
        passed.append((ends, place))
        if number < 4:
            begins = ends + 0.04
            read[place] = min(begins + copies[number], right)
            piece(axes, begins, read[place], y, 1 + place, DARK if place == 0 else MID, str(number), 0.75)
        at = ends + 0.04
    for x, place in passed[:4]:
        axes.plot([x + 0.02] * 2, [y + 0.04, y + (2 + place) * LANE - 0.06], color=INK, linewidth=3)
    y += 3 * LANE + 0.45
    legend(axes, 0.2, y, (
        (DARK, "place 0: the warp fills it, TMA reads it"),
        (MID, "place 1: the same"),
    ))  # fmt: skip
    axes.plot([0.36, 0.36], [y + 0.84, y + 1.14], color=INK, linewidth=3)
    axes.text(0.65, y + 0.97, "fence by each lane, lanes meet, one starts the copy", va="center", fontsize=TEXT)
    axes.text(0.2, y + 1.5, "The warp fills a place again when TMA has read it.", va="center", fontsize=TEXT)
    return figure
