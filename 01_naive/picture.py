"""The pictures of this lesson: what a warp needs and requests, by its descriptor, and the machine that the course is about."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots import data, sectors
from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, PALE, WIDTH
from runner.core.descriptors import Descriptor
from runner.core.results import ROOT

_LEFT, _RIGHT = 0.3, WIDTH - 0.3  # inches: the boxes of the machine
_SECTOR = 0.72  # of a cache line that is drawn
_TAG: dict[str, Any] = {"fontsize": SMALL, "fontweight": "bold", "color": "white", "ha": "right", "va": "center"}


def picture(lesson: Descriptor) -> Figure:
    """What a warp reads at one step: in this kernel threadIdx.x runs along the rows of C."""
    return sectors.picture(lesson, x_is_row=True)


def picture_machine(lesson: Descriptor) -> Figure:
    """What is a GPU made of, and which lesson works where? Sizes of compute capability 9.0 (CUDA guide, "Features and Technical
    Specifications") and of an H200's data sheet; rates as `./gemm doctor --measure` recorded them."""
    recorded = data.ceilings(ROOT)
    assert recorded
    rate = {name: f"{found['value']:.2g} TB/s" for name, found in recorded["figures"].items() if found["unit"] == "TB/s"}
    device = recorded["device"]
    figure, axes = canvas(8.0)
    axes.text(0.3, 0.42, f"{lesson.name}: the machine, an NVIDIA H200", fontsize=TITLE, fontweight="bold")
    axes.text(0.3, 0.84, "Not to scale. White on blue: which lessons are about it", fontsize=TEXT)
    _stack(axes, _LEFT, 1.1, 7.2, 4.5, "white")
    axes.text(_LEFT + 0.15, 1.42, f"SM, one of {device['multiprocessors']}", fontsize=TEXT, fontweight="bold")
    _scheduler(axes, _LEFT + 0.15, 1.6)
    _unit(axes, (_LEFT + 0.15, 3.85), (6.9, 0.75), "load/store pipe", "one wavefront per cycle", "01, 02")
    _unit(axes, (_LEFT + 0.15, 4.7), (2.3, 0.75), "L1 cache", "rest of 256 KiB", "01, 02")
    shared = f"up to 228 KiB; read at {rate['shared memory read']}"
    _unit(axes, (_LEFT + 2.45, 4.7), (4.6, 0.75), "shared memory", shared, "03, 06, 08, 10")
    arrow(axes, (3.9, 6.27), (3.9, 5.8))
    axes.text(4.05, 6.12, "copies ahead of use", fontsize=SMALL)
    _tag(axes, _RIGHT - 0.1, 6.06, "07, 08, 10")
    l2 = f"{device['l2_bytes'] / 2**20:.0f} MiB; read at {rate['L2 read']}"
    _unit(axes, (_LEFT, 6.27), (_RIGHT - _LEFT, 0.7), "L2 cache", l2, "13")
    arrow(axes, (3.9, 7.17), (3.9, 6.97))
    hbm = f"141 GB; copied at {rate['DRAM copy']}"
    _unit(axes, (_LEFT, 7.17), (_RIGHT - _LEFT, 0.7), "global memory (HBM)", hbm, "all lessons")
    return figure


def picture_requests(lesson: Descriptor) -> Figure:
    """What do a warp's two loads at one step touch? Memory as cache lines of four sectors, as many as the load touches."""
    _, used = sectors.needed(lesson, 0, x_is_row=True)
    left, right, top, line = 1.15, 4.7, 2.6, 0.14  # inches
    figure, axes = canvas(top + WARP * line + 0.6)
    axes.text(0.3, 0.42, f"{lesson.name}: two loads of one warp", fontsize=TITLE, fontweight="bold")
    legend(axes, 0.3, 0.7, [(DARK, "4 bytes that lanes need"), (LIGHT, "the rest of their sector, requested with them")])
    axes.text(0.3, 1.82, "Each bar is a cache line: 128 bytes, four sectors. To scale", fontsize=TEXT)
    for name, x in (("A", left), ("B", right)):
        lines = len({row for row, _ in used[name]})  # each element of a column is in a line of its own
        axes.text(x, top - 0.18, f"load of {name}", fontsize=TEXT, fontweight="bold")
        for place in range(lines):
            y = top + place * line
            box(axes, x, y, _SECTOR, line, LIGHT)
            box(axes, x, y, _SECTOR / sectors.PER_SECTOR, line, DARK)
            for sector in range(4):
                box(axes, x + sector * _SECTOR, y, _SECTOR, line, "none", INK if sector == 0 else GREY, 0.9)
        count = "1 line, 1 wavefront" if lines == 1 else f"{lines} lines, {lines} wavefronts"
        axes.text(x, top + lines * line + 0.3, count, fontsize=TEXT, va="center")
    for lane in (0, WARP - 1):
        axes.text(left - 0.1, top + (lane + 0.5) * line, f"lane {lane}", ha="right", va="center", fontsize=SMALL)
    axes.text(right, top + line + 0.65, "all lanes: the same element", fontsize=SMALL, va="center")
    return figure


def _stack(axes: Axes, x: float, y: float, width: float, height: float, fill: str) -> None:
    """A box, and the edges of three more of its kind below it."""
    for shift in (0.18, 0.12, 0.06, 0.0):
        box(axes, x + shift, y + shift, width, height, fill, INK, 1.4)


def _tag(axes: Axes, right: float, y: float, lessons: str) -> None:
    axes.text(right, y, lessons, **_TAG, bbox={"facecolor": DARK, "edgecolor": "none", "pad": 4})


def _unit(axes: Axes, corner: tuple[float, float], size: tuple[float, float], name: str, what: str, lessons: str) -> None:
    """A part of the machine: its name, what it has or does, and the lessons about it."""
    (x, y), (width, height) = corner, size
    box(axes, x, y, width, height, PALE, INK, 1.2)
    axes.text(x + 0.12, y + 0.3, name, fontsize=TEXT, fontweight="bold")
    axes.text(x + 0.12, y + 0.58, what, fontsize=SMALL)
    _tag(axes, x + width - 0.15, y + 0.23, lessons)


def _scheduler(axes: Axes, x: float, y: float) -> None:
    """A warp scheduler and the units that are its own."""
    _stack(axes, x, y, 6.74, 2.0, LIGHT)
    axes.text(x + 0.12, y + 0.32, "warp scheduler, one of 4", fontsize=TEXT, fontweight="bold")
    axes.text(x + 0.12, y + 0.6, "room for 16 warps; issues one instruction per cycle", fontsize=SMALL)
    parts = (
        ("registers", "16,384 of 4 bytes", "04, 05, 06"),
        ("FP32 units", "32 multiply-adds\nper cycle", "04 to 08, 10"),
        ("tensor core", "a small product\nof matrices", "09, 11 to 13"),
    )
    for place, (name, what, lessons) in enumerate(parts):
        left = x + 0.1 + 2.2 * place
        box(axes, left, y + 0.72, 2.15, 1.2, PALE, INK, 1.0)
        axes.text(left + 0.1, y + 0.99, name, fontsize=TEXT, fontweight="bold")
        axes.text(left + 0.1, y + 1.09, what, fontsize=SMALL, va="top", linespacing=1.1)
        _tag(axes, left + 2.05, y + 1.75, lessons)
