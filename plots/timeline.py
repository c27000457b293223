"""The timeline of a block: its lanes on the CPU device, the same block's on a GPU, or the first above the second
(runner/core/lanes.py).

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import data
from plots.drawing import SMALL, TEXT, TITLE, box, canvas
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH, save, style
from runner.core.descriptors import Descriptor
from runner.core.lanes import TOLD, WAITS, Lane, Timeline, from_recorded, from_stamps, union
from runner.core.results import UserError

_LEFT, _RIGHT = 1.62, WIDTH - 0.25  # inches: where time begins and ends
_TALL, _DOES, _WAITS = 0.6, 0.28, 0.2  # of a lane, of what it does, of what it waits for
_LINE = 0.32  # of the legend
_COLUMN, _SHORT = 4.2, 26  # inches: where its second column begins; characters of what is beside something else
_ASKED = 0.11  # inches: tiles on their way above products of the same lane
_FILL = {"products": DARK, "writes": LIGHT, "loads": PALE}
_HATCH = {
    "full": "////",
    "empty": "\\\\\\\\",
    "turn": "xxxx",
    "mbarrier": "++",
    "barrier": "....",
    "cluster": "oo",
    "drain": "----",
}
# What stamps cannot tell.
_NOTE = "GPU: loads and products end where a warp has waited for them."
_TICKS = 5  # at most, on an axis


def _hatched(axes: Axes, x: float, y: float, width: float, height: float, kind: str) -> None:
    """White and hatched: a wait."""
    box(axes, x, y, width, height, "white", GREY, 0.6, hatch=_HATCH[kind])


def _step(length: float) -> int:
    """Between two ticks: 1, 2 or 5 times a power of ten."""
    rough = length / _TICKS
    power = 10 ** math.floor(math.log10(rough))
    return int(next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough)) or 1


def _lane(axes: Axes, y: float, lane: Lane, scale: float) -> None:
    def x(at: float) -> float:
        return _LEFT + at * scale

    axes.text(_LEFT - 0.12, y + _TALL / 2, lane.name, ha="right", va="center", fontsize=SMALL)
    top = y + 0.06
    both = bool(lane.of("loads") and lane.of("products"))
    rows = {"loads": (top, _ASKED if both else _DOES), "writes": (top, _DOES), "products": (top, _DOES)}
    if both:
        rows["products"] = rows["writes"] = top + _ASKED, _DOES - _ASKED
    for kind, (place, tall) in rows.items():
        for begin, end in union(lane.of(kind)):
            box(axes, x(begin), place, (end - begin) * scale, tall, _FILL[kind], GREY, 0.6)
    for kind, colour, line in (("loads", MID, 2.2), ("products", "white", 1.0)):  # where each begins
        place, tall = rows[kind]
        for span in lane.of(kind):
            axes.plot([x(span.begin)] * 2, [place + 0.02, place + tall - 0.02], color=colour, linewidth=line)
    for kind in WAITS:
        for begin, end in union(lane.of(kind)):
            _hatched(axes, x(begin), top + _DOES, (end - begin) * scale, _WAITS, kind)
    axes.plot([_LEFT, _RIGHT], [y + _TALL] * 2, color=GREY, linewidth=0.6)


def _panel(axes: Axes, y: float, title: str, found: Timeline) -> float:
    """Draws it from y on; where the next may begin."""
    axes.text(0.2, y, title, fontsize=TEXT, fontweight="bold")
    y += 0.2
    scale = (_RIGHT - _LEFT) / found.length
    for lane in found.lanes:
        _lane(axes, y, lane, scale)
        y += _TALL
    step = _step(found.length)
    for at in range(0, int(found.length) + 1, step):
        place = _LEFT + at * scale
        axes.plot([place] * 2, [y, y + 0.08], color=INK, linewidth=1.0)
        axes.text(min(place, _RIGHT - 0.15), y + 0.28, f"{at:,}".replace(",", " "), ha="center", fontsize=SMALL)
    axes.text(_LEFT - 0.32, y + 0.28, found.unit.removeprefix("clock "), ha="right", fontsize=SMALL)
    return y + 0.75


def _words(kind: str) -> str:
    words = {"loads": "tiles on their way, from when they are requested", "products": "products under way, a batch each"}
    return words.get(kind, TOLD[kind])


def _legend_rows(kinds: Sequence[str]) -> list[list[str]]:
    """The kinds in their order, two short ones in a row."""
    rows: list[list[str]] = []
    for kind in kinds:
        if rows and len(rows[-1]) == 1 and all(len(_words(one)) <= _SHORT for one in (*rows[-1], kind)):
            rows[-1].append(kind)
        else:
            rows.append([kind])
    return rows


def _swatch(axes: Axes, x: float, y: float, kind: str) -> None:
    if kind in _HATCH:
        _hatched(axes, x, y, 0.42, 0.26, kind)
    else:
        box(axes, x, y, 0.42, 0.26, _FILL[kind], GREY, 1.0)
    if kind == "loads":
        axes.plot([x] * 2, [y, y + 0.26], color=MID, linewidth=3)
    axes.text(x + 0.56, y + 0.13, _words(kind), va="center", fontsize=SMALL)


def _figure(title: str, on_cpu: Timeline | None, gpu: tuple[str, Timeline] | None) -> Figure:
    """What is not None, the CPU device's above the GPU's."""
    parts = [("CPU device: in which order, not when", on_cpu)] if on_cpu else []
    if gpu:
        parts.append((f"{gpu[0]}: cycles", gpu[1]))
    kinds = [kind for kind in TOLD if any(kind in found.kinds for _, found in parts)]
    rows = _legend_rows(kinds)
    tall = 0.75 + sum(0.95 + _TALL * len(found.lanes) for _, found in parts) + _LINE * len(rows) + (0.45 if gpu else 0.1)
    figure, axes = canvas(tall)
    axes.text(0.2, 0.45, title, fontsize=TITLE, fontweight="bold")
    y = 0.95
    for words, found in parts:
        y = _panel(axes, y, words, found)
    y -= 0.15
    for row in rows:
        for place, kind in enumerate(row):
            _swatch(axes, 0.2 + place * (_COLUMN - 0.2), y, kind)
        y += _LINE
    if gpu:
        axes.text(0.2, y + 0.22, _NOTE, fontsize=SMALL)
    return figure


def twin(title: str, on_cpu: Timeline, gpu: tuple[str, Timeline] | None) -> Figure:
    """gpu: its name, and what was recorded there; None where nothing was."""
    return _figure(title, on_cpu, gpu)


def _on_cpu(root: Path, lesson: Descriptor) -> Timeline:
    recorded = data.timeline_of_cpu(root)
    if not recorded or lesson.name not in recorded["lessons"]:
        raise UserError(f"{data.TIMELINE_CPU} has no {lesson.name}; GEMM_DEVICE=cpu ./gemm timeline --record writes it.")
    return from_recorded(recorded["lessons"][lesson.name])


def _on_gpu(root: Path, lesson: Descriptor) -> tuple[str, Timeline] | None:
    """The published GPU's name and timeline, where there is one."""
    recorded = data.timeline(root)
    block = recorded["lessons"].get(lesson.name) if recorded else None
    return (recorded["gpu"], from_stamps(block)) if recorded and block else None


def of_lesson(root: Path, lesson: Descriptor) -> Figure:
    """From what is recorded: the CPU device's, and below it the published GPU's, where there is one. Throws UserError."""
    return twin(f"{lesson.number}: a block over time", _on_cpu(root, lesson), _on_gpu(root, lesson))


def order_of_lesson(root: Path, lesson: Descriptor) -> Figure:
    """The upper half of `of_lesson` as a picture of its own. Throws UserError."""
    return _figure(f"{lesson.number}: a block, in one possible order", _on_cpu(root, lesson), None)


def cycles_of_lesson(root: Path, lesson: Descriptor) -> Figure:
    """The lower half of `of_lesson` as a picture of its own. Throws UserError where no GPU's is recorded."""
    gpu = _on_gpu(root, lesson)
    if not gpu:
        raise UserError(f"{data.TIMELINE} has no {lesson.name}; ./gemm timeline --record writes it, on a GPU.")
    return _figure(f"{lesson.number}: a block over time", None, gpu)


def draw(title: str, on_cpu: Timeline, gpu: tuple[str, Timeline] | None, stem: Path) -> list[Path]:
    """Draws it to stem.png and .svg."""
    with style():
        return save(twin(title, on_cpu, gpu), stem)
