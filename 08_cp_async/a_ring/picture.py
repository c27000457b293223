"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, WIDTH
from runner.core.descriptors import Descriptor

_ROUNDS = 6  # of the loop over k-tiles, that are drawn


def picture(lesson: Descriptor) -> Figure:
    """What each stage of the ring holds, round by round: from the start of a k-tile's copy to its use."""
    stages = lesson.constants["STAGES"]
    tall = 0.8
    figure, axes = canvas(4.3 + stages * tall)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a ring of {stages} stages", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.87, "One block, time from left to right. Round n of the loop", fontsize=TEXT)
    text(0.2, 1.2, f"uses k-tile n, which is in stage n mod {stages}.", fontsize=TEXT)

    left, y = 1.2, 2.3
    wide = (WIDTH - 0.15 - left) / (_ROUNDS + 1)  # inches of a round, and of what is before the loop
    start = left + wide
    text((left + start) / 2, y - 0.42, "before", ha="center", va="center", fontsize=SMALL)
    for n in range(_ROUNDS):
        text(start + (n + 0.5) * wide, y - 0.42, f"round {n}", ha="center", va="center", fontsize=SMALL)
    for stage in range(stages + 1):
        axes.plot([left, WIDTH - 0.15], [y + stage * tall] * 2, color=GREY, linewidth=0.6)
    for stage in range(stages):
        text(left - 0.12, y + (stage + 0.5) * tall, f"stage {stage}", ha="right", va="center", fontsize=SMALL)

    def piece(begins: float, ends: float, stage: int, fill: str, label: str) -> None:
        """The label stands in the round where the piece begins, clear of the barriers."""
        how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if fill == DARK else {}
        box(axes, begins + 0.07, y + stage * tall + 0.1, ends - begins - 0.14, tall - 0.2, fill, GREY)
        text(begins + wide / 2, y + (stage + 0.5) * tall, label, ha="center", va="center", fontsize=SMALL, **how)

    for tile in range(_ROUNDS + stages - 1):
        used = start + tile * wide
        piece(max(left, used - (stages - 1) * wide), min(used, start + _ROUNDS * wide), tile % stages, LIGHT, f"copy {tile}")
        if tile < _ROUNDS:
            piece(used, used + wide, tile % stages, DARK, f"use {tile}")
    for n in range(_ROUNDS):
        x = start + n * wide
        axes.plot([x, x], [y - 0.12, y + stages * tall + 0.12], color=INK, linewidth=5, solid_capstyle="butt")

    legend(axes, 0.3, y + stages * tall + 0.45, (
        (DARK, "the k-tile in use"),
        (LIGHT, "a k-tile that is on its way, or has arrived"),
        (INK, f"wait<{stages - 2}> and the barrier"),
    ))  # fmt: skip
    return figure
