"""The pictures of step 09c: the ring of stages in time, and what a warp does in a tile."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _RIGHT, _LANE = 1.75, WIDTH - 0.15, 0.66  # inches: where time begins and ends, height of a lane


def _lanes(axes: Axes, y: float, names: tuple[str, ...]) -> None:
    axes.plot([_LEFT, _RIGHT], [y, y], color=GREY, linewidth=0.6)
    for i, label in enumerate(names):
        axes.plot([_LEFT, _RIGHT], [y + (i + 1) * _LANE] * 2, color=GREY, linewidth=0.6)
        axes.text(_LEFT - 0.12, y + (i + 0.52) * _LANE, label, ha="right", va="center", fontsize=SMALL)


def _piece(axes: Axes, x: float, end: float, y: float, row: int, fill: str, label: str, most: float = WIDTH) -> None:
    """A box from x to `end`; its label stands in the middle of its first `most` inches."""
    box(axes, x, y + row * _LANE + 0.08, end - x, _LANE - 0.16, fill, GREY)
    how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if fill in (DARK, MID) else {}
    middle = (x + min(end, x + most)) / 2
    axes.text(middle, y + (row + 0.52) * _LANE, label, ha="center", va="center", fontsize=SMALL, **how)


def _barrier(axes: Axes, x: float, y: float, count: int) -> None:
    axes.plot([x, x], [y - 0.08, y + count * _LANE + 0.08], color=INK, linewidth=6, solid_capstyle="butt")


def _barrier_legend(axes: Axes, x: float, y: float) -> None:
    axes.plot([x + 0.16, x + 0.16], [y - 0.02, y + 0.3], color=INK, linewidth=6, solid_capstyle="butt")
    axes.text(x + 0.45, y + 0.13, "wait and barrier", va="center", fontsize=TEXT)


def picture(lesson: Descriptor) -> Figure:
    """Which tile lies in which stage, from tile to tile along K."""
    stages, shown = lesson.constants["STAGES"], 5
    figure, axes = canvas(3.4 + stages * _LANE)
    axes.text(0.2, 0.45, f"{lesson.name}: {stages} stages in time", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "A block, from tile to tile along K. Time from left to right.", fontsize=TEXT)
    y = 1.3
    _lanes(axes, y, tuple(f"stage {stage}" for stage in range(stages)))
    period = (_RIGHT - _LEFT) / shown
    for stage in range(stages):
        for tile in range(stage, shown + stages, stages):
            used, begins = _LEFT + tile * period, _LEFT + max(tile - stages + 1, 0) * period
            if begins < min(used, _RIGHT):
                _piece(axes, begins + 0.05, min(used, _RIGHT) - 0.05, y, stage, LIGHT, f"copy {tile}", period - 0.1)
            if tile < shown:
                _piece(axes, used + 0.05, used + period - 0.05, y, stage, DARK, f"use {tile}")
    for tile in range(1, shown):
        _barrier(axes, _LEFT + tile * period, y, stages)
    y += stages * _LANE + 0.4
    legend(axes, _LEFT, y, ((DARK, "in use: read by ldmatrix"), (LIGHT, "on its way, or there and not yet used")))
    _barrier_legend(axes, _LEFT, y + 0.84)
    return figure


def picture_steps(lesson: Descriptor) -> Figure:
    """What a warp does in a tile, step by step: in 09b, and here."""
    depth, mma_k, stages = (lesson.constants[key] for key in ("BK", "MMA_K", "STAGES"))
    steps = depth // mma_k
    figure, axes = canvas(8.75)
    axes.text(0.2, 0.45, f"{lesson.name}: the steps of a tile", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "One warp, time from left to right, not to scale.", fontsize=TEXT)

    y = 1.95
    axes.text(0.2, y - 0.5, "Step 09b", fontsize=TEXT + 1, fontweight="bold")
    axes.text(0.2, y - 0.17, "Behind the barrier every warp waits for its first fragments.", fontsize=SMALL)
    _lanes(axes, y, ("to As, Bs", "ldmatrix", "mma.sync"))
    narrow, store = 0.45, 0.72
    period = (_RIGHT - _LEFT - 0.1) / 2
    wide = (period - store - 0.25 - narrow) / 2
    for tile, name in ((0, "n"), (1, "n+1")):
        x = _LEFT + 0.1 + tile * period
        _piece(axes, x, x + narrow, y, 1, MID, "0")
        _piece(axes, x + narrow, x + narrow + wide, y, 2, DARK, f"{name}: 0")
        _piece(axes, x + narrow, x + 2 * narrow, y, 1, MID, "1")
        _piece(axes, x + narrow + wide, x + narrow + 2 * wide, y, 2, DARK, "1")
        end = x + narrow + 2 * wide
        _piece(axes, end, end + store, y, 0, LIGHT, f"n+{tile + 1}")
        _barrier(axes, end + store + 0.1, y, 3)

    y = 5.15
    axes.text(0.2, y - 0.5, "This step", fontsize=TEXT + 1, fontweight="bold")
    axes.text(0.2, y - 0.17, "Fragments are read while the step before is multiplied.", fontsize=SMALL)
    _lanes(axes, y, ("cp.async", "ldmatrix", "mma.sync"))
    shown = max(4, steps)
    width = (_RIGHT - _LEFT) / shown
    for at in range(shown):
        tile, step = divmod(at, steps)
        x, name = _LEFT + at * width, "n" if tile == 0 else f"n+{tile}"
        after, next_step = divmod(at + 1, steps)
        next_name = "n" if after == 0 else f"n+{after}"
        if step == steps - 1:
            _barrier(axes, x + 0.03, y, 3)
        _piece(axes, x + 0.1, x + width - 0.04, y, 2, DARK, f"{name}: {step}")
        _piece(axes, x + 0.1, x + 0.72 * width, y, 1, MID, f"{next_name}: {next_step}")
        if step == 0:
            _piece(axes, x + 0.1, x + 0.85 * width, y, 0, LIGHT, f"n+{tile + stages - 1}")
    y += 3 * _LANE + 0.3
    legend(axes, 0.2, y, ((DARK, "products of tile: step"), (MID, "fragments of tile: step")))
    legend(axes, 4.4, y, ((LIGHT, "a tile to As and Bs"),))
    _barrier_legend(axes, 4.4, y + 0.42)
    return figure
