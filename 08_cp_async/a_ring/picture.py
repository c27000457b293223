"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas
from plots.style import DARK, GREY, INK, LIGHT, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """Which tile each stage of the ring holds from tile to tile, and what is under way."""
    stages = lesson.constants["STAGES"]
    tiles_, wide, tall = 8, 1.15, 0.42  # tiles along K that are drawn; inches of a cell
    figure, axes = canvas(6.6 + tiles_ * tall)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a ring of {stages} stages", fontsize=TITLE, fontweight="bold")

    # 1. One moment.
    now = stages  # the second panel has a row with the same tiles
    text(0.2, 0.95, f"1. While tile {now} is used", fontsize=TEXT + 1, fontweight="bold")
    side, y, gap = 1.5, 2.75, (WIDTH - 0.6 - stages * 1.5) / (stages - 1)
    text(WIDTH / 2, 1.45, "global memory: A and B", fontsize=TEXT, ha="center")
    axes.plot([0.3, WIDTH - 0.3], [1.6, 1.6], color=INK, linewidth=2)
    for stage in range(stages):
        x = 0.3 + stage * (side + gap)
        ahead = (stage - now) % stages
        fill, colour = (LIGHT, INK) if ahead else (DARK, "white")
        box(axes, x, y, side, 1.05, fill, INK, 1.8)
        text(x + side / 2, y + 0.45, f"tile {now + ahead}", ha="center", color=colour, fontsize=TEXT, fontweight="bold")
        text(x + side / 2, y + 0.8, "copied" if ahead else "used", ha="center", color=colour, fontsize=SMALL)
        text(x + side / 2, y + 1.32, f"stage {stage}", ha="center", fontsize=SMALL)
        if ahead:
            arrow(axes, (x + side / 2, 1.62), (x + side / 2, y - 0.06), 1.6)
            text(x + side / 2 + 0.12, 2.25, f"group {now + ahead}", fontsize=SMALL)
        else:
            arrow(axes, (x + side / 2, y + 1.42), (x + side / 2, y + 1.9), 3)
            text(x + side / 2 + 0.15, y + 1.75, "to registers", fontsize=SMALL)
    text(0.3, y + 2.3, f"light: up to {stages - 1} tiles on their way, past the registers", fontsize=TEXT)

    # 2. From tile to tile.
    top = y + 2.9
    text(0.2, top, "2. From tile to tile: what the stages hold", fontsize=TEXT + 1, fontweight="bold")
    x0, y0 = 1.1, top + 0.65
    text(x0 - 0.12, y0 - 0.12, "used", ha="right", fontsize=SMALL)
    for stage in range(stages):
        text(x0 + (stage + 0.5) * wide, y0 - 0.12, f"stage {stage}", ha="center", fontsize=SMALL)
    for tile in range(tiles_):
        row = y0 + tile * tall
        text(x0 - 0.12, row + tall / 2, f"tile {tile}", ha="right", va="center", fontsize=SMALL)
        for stage in range(stages):
            held = tile + (stage - tile) % stages
            fill, colour = (LIGHT, INK) if held != tile else (DARK, "white")
            if held >= tiles_:
                fill, colour = "white", GREY
            box(axes, x0 + stage * wide, row, wide, tall, fill, GREY, 1.0)
            label = str(held) if held < tiles_ else "–"
            text(x0 + (stage + 0.5) * wide, row + tall / 2, label, ha="center", va="center", color=colour, fontsize=SMALL)
    x, ends = x0 + stages * wide + 0.15, tiles_ - stages + 1
    for tile, said in ((0, f"starts {stages - 1}"), (1, f"starts {stages}"), (ends, "empty"), (ends + 1, "groups")):
        text(x, y0 + (tile + 0.5) * tall, said, va="center", fontsize=SMALL)

    return figure
