"""The pictures of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, PALE
from runner.core.descriptors import Descriptor

FLOATS = 4  # of an access


def _place(lane: int, lanes_m: int) -> tuple[int, int]:
    """lane_m, lane_n of the kernel."""
    return lane % 2 + lane // 4 % (lanes_m // 2) * 2, lane // 2 % 2 + lane // (2 * lanes_m) * 2


def picture(lesson: Descriptor) -> Figure:
    """What a warp owns of the C tile: in lesson 06a, and here."""
    rows, cols, WM, WN, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "WM", "WN", "TM", "TN"))
    cell, top, thin = 2.75 / cols, 1.95, 0.14
    figure, axes = canvas(6.6)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: what a warp owns", fontsize=TITLE, fontweight="bold")

    def block(left: float, title: str, strips: list[tuple[int, int]], width: int, groups: list[tuple[int, int]]) -> None:
        """strips: first row and number of rows of what warp 0 owns, `width` columns wide; groups: a lane's, row and column."""
        text(left, top - 0.85, title, fontsize=TEXT, fontweight="bold")
        box(axes, left - thin - 0.12, top, thin, rows * cell, PALE, GREY)
        box(axes, left, top - thin - 0.12, cols * cell, thin, PALE, GREY)
        for first, many in strips:
            box(axes, left, top + first * cell, width * cell, many * cell, LIGHT)
            box(axes, left - thin - 0.12, top + first * cell, thin, many * cell, LIGHT, GREY)
        box(axes, left, top - thin - 0.12, width * cell, thin, LIGHT, GREY)
        for row, col in groups:
            box(axes, left + col * cell, top + row * cell, FLOATS * cell, FLOATS * cell, DARK)
        box(axes, left, top, cols * cell, rows * cell, "none", INK, 1.8)
        text(left + cols * cell / 2, top - 0.4, "Bs[k]", ha="center", fontsize=SMALL, family="monospace")
        text(left - thin - 0.2, top + rows * cell / 2, "As[k]", ha="right", va="center", fontsize=SMALL, family="monospace",
             rotation=90)  # fmt: skip

    threads_m, threads_n, lane = rows // TM, cols // TN, 6  # the lane that is looked at: any will do
    here = [(lane // threads_n * FLOATS + i * threads_m, lane % threads_n * FLOATS + j * threads_n)
            for i in range(0, TM, FLOATS) for j in range(0, TN, FLOATS)]  # fmt: skip
    strips = [(i * threads_m, WARP // threads_n * FLOATS) for i in range(0, TM, FLOATS)]
    block(0.95, "Lesson 06a", strips, cols, here)
    lanes_m, lanes_n = WM // TM, WN // TN
    lane_m, lane_n = _place(lane, lanes_m)
    here = [(lane_m * FLOATS + i * lanes_m, lane_n * FLOATS + j * lanes_n)
            for i in range(0, TM, FLOATS) for j in range(0, TN, FLOATS)]  # fmt: skip
    left = 4.95
    block(left, "This lesson", [(0, WM)], WN, here)
    for row in range(0, rows, WM):
        for col in range(0, cols, WN):
            box(axes, left + col * cell, top + row * cell, WN * cell, WM * cell, "none", GREY, 1.0)
    below = top + rows * cell + 0.4
    shades = [
        (LIGHT, "warp 0: its elements of C, and what it reads at a step k"),
        (DARK, f"lane {lane} of warp 0: {len(here)} squares of {FLOATS}×{FLOATS}"),
        (PALE, "what other warps read"),
    ]
    legend(axes, 0.55, below, shades)
    return figure


def picture_lanes(lesson: Descriptor) -> Figure:
    """Where the lanes are in the warp tile."""
    WM, WN, TM, TN = (lesson.constants[key] for key in ("WM", "WN", "TM", "TN"))
    lanes_m, lanes_n = WM // TM, WN // TN
    wide, tall, x, y = 0.7, 0.42, 1.6, 1.75
    figure, axes = canvas(5.6)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: the lanes of a warp", fontsize=TITLE, fontweight="bold")
    for lane in range(WARP):
        m, n = _place(lane, lanes_m)
        fill, colour = (DARK, "white") if lane < 4 else (LIGHT, INK) if lane < WARP // 2 else ("white", INK)
        box(axes, x + n * wide, y + m * tall, wide, tall, fill, GREY)
        text(x + (n + 0.5) * wide, y + (m + 0.5) * tall, str(lane), ha="center", va="center", fontsize=TEXT, color=colour)
    box(axes, x, y, lanes_n * wide, lanes_m * tall, "none", INK, 1.6)
    _axis(axes, x, y, lanes_m, lanes_n, wide, tall)
    right = x + lanes_n * wide + 0.35
    half = WARP // 2
    shades = [(DARK, "lanes 0 to 3"), (LIGHT, f"lanes 4 to {half - 1}"), ("white", f"lanes {half} to {WARP - 1}")]
    legend(axes, right, y, shades)
    said = "Lanes in a row read\nthe same 16 bytes\nof As. Lanes in a\ncolumn read the same\n16 bytes of Bs."
    text(right, y + 1.5, said, fontsize=TEXT, va="top", linespacing=1.3)
    return figure


def _axis(axes: Axes, x: float, y: float, lanes_m: int, lanes_n: int, wide: float, tall: float) -> None:
    text = axes.text
    text(x + lanes_n * wide / 2, y - 0.45, "lane_n", ha="center", fontsize=TEXT, family="monospace")
    for n in range(lanes_n):
        text(x + (n + 0.5) * wide, y - 0.12, str(n), ha="center", fontsize=SMALL)
    for m in range(lanes_m):
        text(x - 0.12, y + (m + 0.5) * tall, str(m), ha="right", va="center", fontsize=SMALL)
    text(x - 0.65, y + lanes_m * tall / 2, "lane_m", ha="center", va="center", rotation=90, fontsize=TEXT, family="monospace")
