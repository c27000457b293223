"""The picture of 09d: what a warp does in a k-tile."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import LANE, SMALL, TEXT, TITLE, barrier, barrier_legend, canvas, lanes, legend, piece
from plots.style import DARK, LIGHT, MID, WIDTH
from runner.core.descriptors import Descriptor

_LEFT, _RIGHT = 1.75, WIDTH - 0.15  # inches: where time begins and ends


def picture(lesson: Descriptor) -> Figure:
    """What a warp does in a k-tile, k-step by k-step: in 09c, and here."""
    depth, mma_k, stages = (lesson.constants[key] for key in ("BK", "MMA_K", "STAGES"))
    steps = depth // mma_k
    figure, axes = canvas(8.0)
    axes.text(0.2, 0.45, f"{lesson.name}: the k-steps of a k-tile", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.87, "One warp, time from left to right, not to scale.", fontsize=TEXT)

    y = 1.85
    axes.text(0.2, y - 0.5, "Lesson 09c", fontsize=TEXT + 1, fontweight="bold")
    axes.text(0.2, y - 0.17, "After the barrier, every warp waits for its first fragments.", fontsize=SMALL)
    lanes(axes, _LEFT, _RIGHT, y, ("cp.async", "ldmatrix", "mma.sync"))
    narrow, gap = 0.45, 0.16
    period = (_RIGHT - _LEFT - 0.1) / 2
    wide = (period - gap - narrow) / 2
    for tile, name in ((0, "n"), (1, "n+1")):
        x = _LEFT + 0.1 + tile * period
        barrier(axes, x - 0.07, y, 3)
        piece(axes, x, x + narrow, y, 1, MID, "0")
        piece(axes, x + narrow, x + 2 * narrow, y, 1, MID, "1")
        piece(axes, x + narrow, x + narrow + 1.2 * wide, y, 0, LIGHT, f"n+{tile + stages - 1}")
        piece(axes, x + narrow, x + narrow + wide, y, 2, DARK, f"{name}: 0")
        piece(axes, x + narrow + wide, x + narrow + 2 * wide, y, 2, DARK, "1")

    y = 4.78
    axes.text(0.2, y - 0.5, "Here", fontsize=TEXT + 1, fontweight="bold")
    axes.text(0.2, y - 0.17, "Fragments are read while the k-step before is being multiplied.", fontsize=SMALL)
    lanes(axes, _LEFT, _RIGHT, y, ("cp.async", "ldmatrix", "mma.sync"))
    shown = max(4, steps)
    width = (_RIGHT - _LEFT) / shown
    for at in range(shown):
        tile, step = divmod(at, steps)
        x, name = _LEFT + at * width, "n" if tile == 0 else f"n+{tile}"
        after, next_step = divmod(at + 1, steps)
        next_name = "n" if after == 0 else f"n+{after}"
        if step == steps - 1:
            barrier(axes, x + 0.03, y, 3)
        piece(axes, x + 0.1, x + width - 0.04, y, 2, DARK, f"{name}: {step}")
        piece(axes, x + 0.1, x + 0.72 * width, y, 1, MID, f"{next_name}: {next_step}")
        if step == 0:
            piece(axes, x + 0.1, x + 0.85 * width, y, 0, LIGHT, f"n+{tile + stages - 1}")
    y += 3 * LANE + 0.3
    legend(axes, 0.2, y, ((DARK, "products of a k-step"), (MID, "reads of its fragments")))
    legend(axes, 4.4, y, ((LIGHT, "copy of a k-tile"),))
    barrier_legend(axes, 4.4, y + 0.42)
    return figure
