"""The picture of step 09c: the ring of stages in time."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import LANE, TEXT, TITLE, barrier, barrier_legend, canvas, lanes, legend, piece
from plots.style import DARK, LIGHT, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _RIGHT = 1.75, WIDTH - 0.15  # inches: where time begins and ends


def picture(lesson: Descriptor) -> Figure:
    """Which tile lies in which stage, from tile to tile along K."""
    stages, shown = lesson.constants["STAGES"], 5
    figure, axes = canvas(3.4 + stages * LANE)
    axes.text(0.2, 0.45, f"{lesson.name}: {stages} stages in time", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "A block, from tile to tile along K. Time from left to right.", fontsize=TEXT)
    y = 1.3
    lanes(axes, _LEFT, _RIGHT, y, tuple(f"stage {stage}" for stage in range(stages)))
    period = (_RIGHT - _LEFT) / shown
    for stage in range(stages):
        for tile in range(stage, shown + stages, stages):
            used, begins = _LEFT + tile * period, _LEFT + max(tile - stages + 1, 0) * period
            if begins < min(used, _RIGHT):
                piece(axes, begins + 0.05, min(used, _RIGHT) - 0.05, y, stage, LIGHT, f"copy {tile}", period - 0.1)
            if tile < shown:
                piece(axes, used + 0.05, used + period - 0.05, y, stage, DARK, f"use {tile}")
    for tile in range(shown):
        barrier(axes, _LEFT + tile * period, y, stages)
    y += stages * LANE + 0.4
    legend(axes, _LEFT, y, ((DARK, "in use: read by ldmatrix"), (LIGHT, "on its way, or there and not yet used")))
    barrier_legend(axes, _LEFT, y + 0.84)
    return figure
