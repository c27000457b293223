"""A hang: every mbarrier as a row, what its open phase still waits for, and who waits there; from gemm_inspect's JSON.

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.access import spans
from plots.drawing import box, canvas
from plots.style import DARK, GREY, INK, LIGHT, PALE, WIDTH, save, style
from runner.core.figures import grouped

_TITLE, _TEXT, _SMALL = 21, 17, 15  # points
_LEFT, _CHIP, _BAR = 0.2, 0.62, 2.35  # inches: the margin, a phase, a bar
_ROW, _LINE = 1.0, 0.34  # of an mbarrier, of a line of text
_WIDE = 68  # characters of a line of small text
_PHASES = 3  # the newest that are drawn


def who(threads: Sequence[int]) -> str:
    """`thread 128`, `threads 0–127`."""
    return f"thread {threads[0]}" if len(threads) == 1 else f"threads {spans(threads)}"


def place(at: Mapping) -> str:
    """`kernel.cu:40`: the lesson is in the title."""
    return f"{Path(at['file']).name}:{at['line']}"


def _waits(barrier: Mapping) -> list[str]:
    return [
        f"{who(entry['threads'])} {'waits' if len(entry['threads']) == 1 else 'wait'} for parity {entry['parity']} at "
        f"{place(entry['at'])}"
        for entry in barrier["waiting"]
    ]


def _bar(axes: Axes, x: float, y: float, share: float, words: str) -> None:
    """How much of it has come, dark; the words below."""
    box(axes, x, y, _BAR, 0.26, "white", GREY, 1.0)
    box(axes, x, y, _BAR * (1 if share >= 1 else min(share, 0.94)), 0.26, DARK)  # that something is missing shows
    axes.text(x, y + 0.5, words, fontsize=_SMALL)


def _barrier(axes: Axes, y: float, barrier: Mapping, suspect: bool) -> float:
    """Draws one from y on; where the next begins."""
    waits = _waits(barrier)
    tall = _ROW + _LINE * len(waits)
    box(
        axes,
        _LEFT,
        y,
        WIDTH - 2 * _LEFT,
        tall - 0.08,
        PALE if suspect else "white",
        INK if suspect else GREY,
        2.0 if suspect else 0.8,
    )
    axes.text(_LEFT + 0.12, y + 0.36, barrier["name"], fontsize=_TEXT, fontweight="bold")
    phase = barrier["phase"]
    first = max(0, phase - _PHASES + 1)
    x = _LEFT + 0.12
    for number in range(first, phase + 1):
        is_open = number == phase
        box(axes, x, y + 0.5, _CHIP, 0.32, "white" if is_open else LIGHT, INK, 1.6 if is_open else 0.6)
        axes.text(x + _CHIP / 2, y + 0.66, f"{number}: {number % 2}", ha="center", va="center", fontsize=_SMALL)
        x += _CHIP
    came = barrier["arrivals"] - barrier["arrivals_missing"]
    _bar(axes, 2.45, y + 0.16, came / barrier["arrivals"], f"{came} of {barrier['arrivals']} arrivals")
    expected, missing = barrier["bytes_expected"], barrier["bytes_missing"]
    if expected or missing:
        there = expected - missing
        _bar(axes, 5.2, y + 0.16, there / expected if expected else 1, f"{grouped(there)} of {grouped(expected)} bytes")
    for number, words in enumerate(waits):
        axes.text(_LEFT + 0.12, y + _ROW + 0.12 + _LINE * number, words, fontsize=_SMALL)
    return y + tall


def _doings(found: Mapping) -> list[str]:
    """A line for each group of threads that waits elsewhere or has returned, and what they did last."""
    lines = []
    for group in found["groups"]:
        many = len(group["threads"]) > 1
        now = ("have returned" if many else "has returned") if group["returned"] else ""
        if not group["returned"] and not group["at_mbarrier"]:
            now = f"{'wait' if many else 'waits'} at {group['at']['what']}, {place(group['at'])}"
        last = f"last: {group['last']['what']}, {place(group['last'])}" if group["last"] else ""
        if now or last:
            lines += textwrap.wrap(f"{who(group['threads'])} {'; '.join(part for part in (now, last) if part)}", _WIDE)
    return lines


def hang(lesson: str, found: Mapping) -> Figure:
    """`found`: the autopsy of a block in which no thread can go on."""
    doings = _doings(found)
    likely = found["likely"]
    guess = textwrap.wrap(f"Likely: {likely['text']}", _WIDE - 2) if likely else []
    suspects = likely["barriers"] if likely else []
    rows = sum(_ROW + _LINE * len(barrier["waiting"]) for barrier in found["barriers"])
    below = 0.5 + _LINE * (len(doings) + 1)
    figure, axes = canvas(1.6 + rows + below + (0.4 + _LINE * len(guess) if guess else 0))
    axes.text(_LEFT, 0.42, f"{lesson}: no thread can go on", fontsize=_TITLE, fontweight="bold")
    x, y, z = found["block"]
    axes.text(_LEFT, 0.8, f"block ({x},{y},{z}); of each mbarrier its phases, number: parity,", fontsize=_SMALL)
    axes.text(_LEFT, 1.1, "the open one white, and what has come to it, dark", fontsize=_SMALL)
    top = 1.35
    for barrier in found["barriers"]:
        top = _barrier(axes, top, barrier, barrier["name"] in suspects)
    top += 0.3
    axes.text(_LEFT, top, "what the threads did", fontsize=_SMALL, color=GREY)
    for number, words in enumerate(doings):
        axes.text(_LEFT, top + _LINE * (number + 1), words, fontsize=_SMALL)
    if guess:
        top += _LINE * (len(doings) + 1)
        box(axes, _LEFT, top, WIDTH - 2 * _LEFT, 0.25 + _LINE * len(guess), PALE)
        for number, words in enumerate(guess):
            axes.text(_LEFT + 0.12, top + 0.36 + _LINE * number, words, fontsize=_SMALL)
    return figure


def draw(lesson: str, found: Mapping, folder: Path) -> list[Path]:
    """Draws it into folder/<lesson>_hang.png and .svg."""
    with style():
        return save(hang(lesson, found), folder / f"{lesson}_hang")
