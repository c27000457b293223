"""Lesson 13b's pictures: which block requests which bytes, and which arrivals make a stage empty."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor


def _label(axes: Axes, x: float, y: float, words: str, fill: str = PALE) -> None:
    white = fill in (DARK, MID)
    axes.text(x, y, words, ha="center", va="center", fontsize=SMALL, color="white" if white else INK,
              fontweight="bold" if white else "normal")  # fmt: skip


def _path(axes: Axes, points: Sequence[tuple[float, float]], colour: str, width: float, dashed: bool = False) -> None:
    """An arrow along several points."""
    xs, ys = zip(*points[:-1], strict=True)
    line = (0, (4, 3)) if dashed else "solid"
    axes.plot(xs, ys, color=colour, linewidth=width, linestyle=line, solid_joinstyle="miter", zorder=4)
    how = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 18,
           "linestyle": line}  # fmt: skip
    axes.annotate("", points[-1], points[-2], arrowprops=how, zorder=5)


def picture(lesson: Descriptor) -> Figure:
    """Which block requests which boxes of B, and where do they go?"""
    boxes, cluster = lesson.constants["BN"] // lesson.constants["BOX"], lesson.constants["CLUSTER"]
    fills = (DARK, MID)
    figure, axes = canvas(7.9)
    text = axes.text
    text(0.2, 0.45, "13b: one request, two destinations", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One k-tile of B, in four boxes, and the two blocks of a cluster.", fontsize=TEXT)
    wide, high = 0.72, 0.62
    top, floor, frame = 1.25, 2.45, 3.5  # inches: L2 from top to floor; width of a block's frame
    blocks = 4.75  # where the blocks begin
    lefts = (0.3, WIDTH - 0.3 - frame)
    box(axes, 0.3, top, WIDTH - 0.6, floor - top, PALE, GREY)
    text(WIDTH / 2, top + 0.6, "L2", ha="center", va="center", fontsize=TEXT, fontweight="bold")
    for block, left in enumerate(lefts):
        mine = range(block, boxes, cluster)
        first = left + (frame - len(mine) * wide) / 2
        for place, j in enumerate(mine):
            box(axes, first + place * wide, top + 0.3, wide, high, fills[block], "white")
            _label(axes, first + (place + 0.5) * wide, top + 0.3 + high / 2, str(j), fills[block])
        box(axes, left, blocks, frame, 1.75, "white", INK, 1.4)
        text(left + 0.15, blocks + 0.33, f"block {block}: its Bs", fontsize=SMALL, fontweight="bold")
        start = left + (frame - boxes * wide) / 2
        for j in range(boxes):
            box(axes, start + j * wide, blocks + 0.75, wide, high, fills[j % cluster], "white")
            _label(axes, start + (j + 0.5) * wide, blocks + 0.75 + high / 2, str(j), fills[j % cluster])
    fork = (3.0, 3.6)  # where the way of each block's boxes forks
    for block, left in enumerate(lefts):
        trunk = left + frame / 2
        axes.plot([trunk] * 2, [floor, fork[block]], color=fills[block], linewidth=4, zorder=4)
        for to in lefts:  # not below the words beside the blocks' requests
            end = to + frame / 2 + (0.45 if block else -0.45) + (0.2 if to < WIDTH / 2 else -0.2)
            corner = [(trunk, fork[block]), (end, fork[block]), (end, blocks - 0.02)]
            _path(axes, corner, fills[block], 4)
        outer = left + 0.25 if block == 0 else left + frame - 0.25
        _path(axes, [(outer, blocks), (outer, floor + 0.03)], INK, 1.6, dashed=True)
        words = "requests\n" + " and ".join(str(j) for j in range(block, boxes, cluster))
        side = ("left", 0.12) if block == 0 else ("right", -0.12)
        text(outer + side[1], 4.28, words, ha=side[0], va="center", fontsize=SMALL)
    legend(axes, 0.2, 6.75, (
        (DARK, "requested once by block 0, delivered to both"),
        (MID, "requested once by block 1, delivered to both"),
    ))  # fmt: skip
    return figure


def picture_empty(lesson: Descriptor) -> Figure:
    """Which consumer has to tell which block that a stage has been read?"""
    consumers = lesson.constants["CONSUMERS"]
    figure, axes = canvas(7.0)
    text = axes.text
    text(0.2, 0.45, "13b: when is a stage empty?", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "An arrow is an arrival. Each producer may fill the stage in", fontsize=TEXT)
    text(0.2, 1.21, "both blocks, so it has to hear from all consumers.", fontsize=TEXT)
    high, wide = 0.62, 2.0
    left, right = 0.5, 5.2
    ends = []
    for block in range(2):
        top = 2.3 + block * 2.3
        text(left, top - 0.2, f"block {block}", fontsize=TEXT, fontweight="bold")
        box(axes, right, top + 0.35, 2.2, high, PALE, GREY)
        _label(axes, right + 1.1, top + 0.35 + high / 2, f"empty, block {block}")
        ends.append((right, top + 0.35 + high / 2))
    for block in range(2):
        top = 2.3 + block * 2.3
        for i in range(consumers):
            y = top + i * 0.8
            box(axes, left, y, wide, high, DARK)
            _label(axes, left + wide / 2, y + high / 2, f"consumer {i}", DARK)
            for place, end in enumerate(ends):
                arrow(axes, (left + wide + 0.05, y + high / 2), (end[0] - 0.05, end[1] + (2 * block + i - 1.5) * 0.12),
                      2.0 if place == block else 1.2)  # fmt: skip
    legend(axes, 0.2, 6.3, ((DARK, "has read the stage"),))
    return figure
