"""The pictures of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas, grid, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

_TILES, _AT_ONCE, _GROUP = 16, 64, 8  # C tiles each way, blocks that run at once, kernel.cu's GROUP


def picture(lesson: Descriptor) -> Figure:
    """When a warp reads the fragments of a step and when it adds their products, around the end of a k-tile."""
    depth = lesson.constants["BK"]
    figure, axes = canvas(7.9)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: around the end of a k-tile", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One warp, time from left to right. Not to scale.", fontsize=TEXT)
    left, right, tall = 1.2, WIDTH - 0.15, 0.75

    def rows(y: float, title: str) -> None:
        text(0.2, y - 0.3, title, fontsize=TEXT + 1, fontweight="bold")
        for i in range(3):
            axes.plot([left, right], [y + i * tall] * 2, color=GREY, linewidth=0.6)
        for i, label in enumerate(("reads", "sums")):
            text(left - 0.12, y + (i + 0.5) * tall, label, ha="right", va="center", fontsize=SMALL)

    def piece(x: float, width: float, y: float, row: int, step: int) -> None:
        """A step of k-tile n, or past its end of the next one."""
        fill = (LIGHT, DARK)[row] if step < depth else (PALE, MID)[row]
        how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if row else {}
        box(axes, x + 0.03, y + row * tall + 0.1, width - 0.06, tall - 0.2, fill, GREY)
        text(x + width / 2, y + (row + 0.5) * tall, f"{step % depth}", ha="center", va="center", fontsize=SMALL, **how)

    def barrier(x: float, y: float) -> None:
        axes.plot([x, x], [y - 0.12, y + 2 * tall + 0.12], color=INK, linewidth=6, solid_capstyle="butt")

    first, reading, adding = depth - 3, 0.4, 0.86

    # nvcc moves a step's reads up among the sums of the step before, but not across the barrier.
    y, x = 1.9, left + 0.06
    rows(y, "08a: step 0 is read after the barrier")
    for step in range(first, depth + 3):
        if step == depth:
            barrier(x + 0.08, y)
            x += 0.16
            piece(x, reading, y, 0, step)
            x += reading
        if step != depth - 1:
            piece(x, reading, y, 0, step + 1)
        piece(x, adding, y, 1, step)
        x += adding

    # The next step is read while this one's products are added, across the end of the k-tile, too.
    y, x = 4.4, left + 0.06
    rows(y, "08b: step 0 is read during the sums of step 7")
    for step in range(first, depth + 4):
        if x + adding > right:
            break
        if step == depth - 1:
            barrier(x + 0.04, y)
            x += 0.12
        piece(x, reading, y, 0, step + 1)
        piece(x, adding, y, 1, step)
        x += adding

    legend(axes, 0.3, y + 2 * tall + 0.4, (
        (LIGHT, "reads of k-tile n"), (PALE, "reads of k-tile n + 1"), (INK, "wait and barrier"),
    ), 0.4)  # fmt: skip
    legend(axes, 4.2, y + 2 * tall + 0.4, ((DARK, "sums of k-tile n"), (MID, "sums of k-tile n + 1")), 0.4)
    text(0.3, y + 2 * tall + 1.75, f"Numbers: the step of a k-tile, 0 to {depth - 1}.", fontsize=TEXT)
    return figure


def picture_order(lesson: Descriptor) -> Figure:
    """Which C tiles are computed at once, row by row and in block groups."""
    figure, axes = canvas(6.6)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: which C tiles at once?", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, f"There are {_TILES}×{_TILES} C tiles here, and {_AT_ONCE} blocks run", fontsize=TEXT)
    text(0.2, 1.2, "at the same time.", fontsize=TEXT)
    cell, y = 0.2, 2.35

    def panel(x: float, title: str, in_groups: bool) -> None:
        text(x, y - 0.45, title, fontsize=TEXT, fontweight="bold")
        places = set()
        for block in range(_AT_ONCE):
            group, inside = divmod(block, _GROUP * _TILES)
            row, col = (group * _GROUP + inside % _GROUP, inside // _GROUP) if in_groups else divmod(block, _TILES)
            places.add((row, col))
        for row in {row for row, _ in places}:  # rows of A and columns of B that are needed
            box(axes, x - 0.28, y + row * cell, 0.18, cell, MID)
        for col in {col for _, col in places}:
            box(axes, x + col * cell, y - 0.28, cell, 0.18, MID)
        for row, col in places:
            box(axes, x + col * cell, y + row * cell, cell, cell, DARK)
        grid(axes, x, y, _TILES, _TILES, cell, GREY, 0.6)

    panel(0.55, "row by row", in_groups=False)
    panel(4.5, f"in groups of {_GROUP} rows", in_groups=True)
    legend(axes, 0.3, y + _TILES * cell + 0.25, (
        (DARK, "C tiles that are computed now"),
        (MID, "rows of A (left) and columns of B (top) they need"),
    ))  # fmt: skip
    return figure
