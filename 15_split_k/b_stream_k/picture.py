"""Lesson 15b's picture: four C tiles on three SMs, a block for each and in equal shares of k-tiles."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import LANE, SMALL, TEXT, TITLE, arrow, box, canvas, lanes, legend, piece
from plots.style import DARK, INK, LIGHT, MID, PALE
from runner.core.descriptors import Descriptor

_SMS, _TILES, _K_TILES = 3, 4, 6
_LEFT, _RIGHT = 1.0, 7.8  # inches: of the lanes
_K_TILE = 3.2 / _K_TILES  # of a k-tile
_COST = 0.14  # what it takes to leave sums, or to fetch them
_SHADES = (PALE, LIGHT, MID, DARK)  # of C tiles


def _pieces(sm: int) -> list[tuple[int, int, int]]:
    """C tile, first k-tile and how many, of each piece of an SM's share, in its order: from the end to the beginning."""
    share = _TILES * _K_TILES // _SMS
    end, begin = (sm + 1) * share, sm * share
    found = []
    while end > begin:
        tile = (end - 1) // _K_TILES
        start = max(begin, tile * _K_TILES)
        found.append((tile, start - tile * _K_TILES, end - start))
        end = start
    return found


def picture(lesson: Descriptor) -> Figure:
    """Where did the idle time go, and who waits for whom?"""
    names = [f"SM {sm}" for sm in range(_SMS)]
    whole, shared = 1.9, 4.55
    figure, axes = canvas(shared + _SMS * LANE + 1.4)
    axes.text(_LEFT - 0.7, 0.45, f"{lesson.number}: four C tiles of six k-tiles, on three SMs", fontsize=TITLE, fontweight="bold")
    axes.text(_LEFT - 0.7, 0.87, "Time goes to the right. “1: 0–5” means k-tiles 0 to 5 of C tile 1.", fontsize=TEXT)

    axes.text(_LEFT, whole - 0.2, "a block for each C tile", fontsize=TEXT, fontweight="bold")
    lanes(axes, _LEFT, _RIGHT, whole, names)
    long = _K_TILES * _K_TILE
    for tile in range(_TILES):
        start = _LEFT + tile // _SMS * long
        piece(axes, start, start + long, whole, tile % _SMS, _SHADES[tile], f"{tile}: 0–{_K_TILES - 1}")
    for sm in range(_TILES % _SMS, _SMS):
        x, y = _LEFT + long, whole + sm * LANE
        box(axes, x, y + 0.08, long, LANE - 0.16, "white", INK, 1.0, hatch="//")
        axes.text(x + long / 2, y + 0.52 * LANE, "idle", ha="center", va="center", fontsize=SMALL,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 2})  # fmt: skip

    axes.text(_LEFT, shared - 0.2, "an equal share for each SM", fontsize=TEXT, fontweight="bold")
    lanes(axes, _LEFT, _RIGHT, shared, names)
    left: dict[int, tuple[float, float]] = {}  # by C tile: where sums were left
    for sm in range(_SMS):
        x = _LEFT
        for tile, first, count in _pieces(sm):
            last = first + count - 1
            end = x + count * _K_TILE
            piece(axes, x, end, shared, sm, _SHADES[tile], f"{tile}: {first}–{last}" if count > 1 else f"{tile}: {first}")
            x = end
            top = shared + sm * LANE + 0.08
            if last < _K_TILES - 1 or first > 0:
                box(axes, x, top, _COST, LANE - 0.16, INK)
                if last < _K_TILES - 1:
                    left[tile] = (x + _COST, top + LANE - 0.26)
                else:
                    arrow(axes, left[tile], (x, top + 0.1))
                x += _COST

    below = shared + _SMS * LANE + 0.35
    legend(axes, _LEFT, below, [(INK, "sums to the workspace, or from it")])
    axes.text(_LEFT + 0.45, below + 0.55, "(wider than to scale)", va="center", fontsize=TEXT)
    return figure
