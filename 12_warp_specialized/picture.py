"""Lesson 12's pictures: who waits for whom around the ring, where the registers go, and a block over time."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from plots import timeline
from plots.drawing import SMALL, TEXT, TITLE, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor
from runner.core.results import ROOT

_BATCHES = 5  # of products that are drawn, of each consumer
_LATE = 0.25  # batches that each consumer is behind the one before it
_FLIGHT = 1.3  # batches that a k-tile is on its way


def _begins(tile: int, consumer: int) -> float:
    """When a consumer's batch begins, in batches from when the first k-tiles are requested."""
    return _FLIGHT + 0.2 + tile + _LATE * consumer


def _asked(tile: int, stages: int, consumers: int) -> float:
    """The first k-tiles at once, a later one when the last consumer has done the batch of the one that it replaces."""
    return 0.1 * tile if tile < stages else _begins(tile - stages, consumers - 1) + 1


def picture(lesson: Descriptor) -> Figure:
    """Who waits for whom: producer, consumers and stages over time."""
    stages, consumers = lesson.constants["STAGES"], lesson.constants["CONSUMERS"]
    tall, left, y = 0.56, 1.62, 1.5
    lanes = 1 + consumers + stages
    figure, axes = canvas(y + lanes * tall + 2.5)
    text = axes.text
    text(0.2, 0.45, "12: who waits for whom", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "Time from left to right, not to scale. A number is a k-tile;", fontsize=TEXT)
    text(0.2, 1.24, f"k-tile n is in stage n mod {stages}.", fontsize=TEXT)
    end = _begins(_BATCHES - 1, 0) + 1
    wide = (WIDTH - 0.15 - left) / end

    def piece(begins: float, ends: float, row: int, fill: str, label: str = "") -> None:
        how: dict[str, Any] = {"color": "white", "fontweight": "bold"} if fill in (DARK, MID) else {}
        ends = min(ends, end)
        box(
            axes,
            left + begins * wide,
            y + row * tall + 0.07,
            (ends - begins) * wide,
            tall - 0.14,
            fill,
            "white" if fill == DARK else GREY,
        )
        text(left + (begins + ends) / 2 * wide, y + (row + 0.5) * tall, label, ha="center", va="center", fontsize=SMALL, **how)

    names = ["producer", *(f"consumer {i}" for i in range(consumers)), *(f"stage {i}" for i in range(stages))]
    for row, name in enumerate(names):
        axes.plot([left, WIDTH - 0.15], [y + (row + 1) * tall] * 2, color=GREY, linewidth=0.6)
        text(left - 0.12, y + (row + 0.5) * tall, name, ha="right", va="center", fontsize=SMALL)
    for i in range(consumers):
        piece(0, _begins(0, i), 1 + i, "white", "waits")
        for tile in range(_BATCHES):
            if _begins(tile, i) < end:
                piece(_begins(tile, i), _begins(tile, i) + 1, 1 + i, DARK, str(tile))
    piece(0, 0.1 * stages, 0, MID)
    ready = 0.1 * stages
    tile = stages
    while (asked := _asked(tile, stages, consumers)) < end:
        piece(ready, asked, 0, "white", "waits")
        piece(asked, asked + 0.16, 0, MID)
        given_back = y + tall * (1 + consumers) - 0.1
        for colour, width in (("white", 3.5), (INK, 2)):
            how = {"arrowstyle": "-|>", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 14}
            axes.annotate("", (left + asked * wide, y + tall - 0.1), (left + asked * wide, given_back), zorder=5, arrowprops=how)
        ready, tile = asked + 0.16, tile + 1
    piece(ready, end, 0, "white")
    for n in range(tile):
        row, asked = 1 + consumers + n % stages, _asked(n, stages, consumers)
        piece(asked, asked + _FLIGHT, row, PALE, str(n))
        if asked + _FLIGHT < end:
            piece(asked + _FLIGHT, _begins(n, 0), row, LIGHT)
        if _begins(n, 0) < end:
            piece(_begins(n, 0), _begins(n, consumers - 1) + 1, row, DARK, str(n))
    legend(axes, 0.2, y + lanes * tall + 0.3, (
        (MID, "the producer requests k-tiles"),
        (PALE, "a k-tile on its way"),
        (LIGHT, "the k-tile has arrived: the full mbarrier says so"),
        (DARK, "products; a stage that a consumer is reading"),
        (INK, "both consumers have given a stage back: it is empty"),
    ))  # fmt: skip
    return figure


def picture_order(lesson: Descriptor) -> Figure:
    """What comes before what? The block on the CPU device, as recorded."""
    return timeline.order_of_lesson(ROOT, lesson)


def picture_timeline(lesson: Descriptor) -> Figure:
    """When do the tensor cores idle? The same block on a GPU, as recorded."""
    return timeline.cycles_of_lesson(ROOT, lesson)


def picture_registers(lesson: Descriptor) -> Figure:
    """How many registers does a thread of each warpgroup have, at launch and then, and what are they for?"""
    c = lesson.constants
    consumers, sums = c["CONSUMERS"], c["WGMMA_N"] // 2
    late = {"producer": c["PRODUCER_REGISTERS"], **{f"consumer {i}": c["CONSUMER_REGISTERS"] for i in range(consumers)}}
    launch = sum(late.values()) // len(late)
    left, y, tall = 1.95, 1.95, 0.55
    scale = (WIDTH - 0.95 - left) / max(late.values())  # inches a register
    figure, axes = canvas(y + 2 * (len(late) * tall + 0.75) + 1.15)
    text = axes.text
    text(0.2, 0.45, "12: where registers go", fontsize=TITLE, fontweight="bold")
    text(0.2, 0.9, "A bar is a warpgroup, as long as the registers that each", fontsize=TEXT)
    text(0.2, 1.24, "of its 128 threads has.", fontsize=TEXT)
    for title, top, bars in (
        ("at launch", y, dict.fromkeys(late, launch)),
        ("after setmaxnreg", y + len(late) * tall + 0.75, late),
    ):
        text(left, top - 0.15, title, fontsize=TEXT, fontweight="bold")
        for row, (name, count) in enumerate(bars.items()):
            at = top + row * tall
            text(left - 0.12, at + tall / 2, name, ha="right", va="center", fontsize=SMALL)
            kept = min(count, late["producer"]) if name == "producer" else min(count, sums)
            box(axes, left, at + 0.08, count * scale, tall - 0.16, PALE, GREY)
            box(axes, left, at + 0.08, kept * scale, tall - 0.16, MID if name == "producer" else DARK, GREY)
            text(left + count * scale + 0.12, at + tall / 2, str(count), va="center", fontsize=SMALL, fontweight="bold")
        axes.plot([left + launch * scale] * 2, [top, top + len(late) * tall], color=INK, linewidth=1.6, linestyle=(0, (4, 3)))
    legend(axes, 0.2, y + 2 * (len(late) * tall + 0.75) - 0.25, (
        (DARK, f"the {sums} accumulators of a consumer's thread"),
        (MID, "what the producer keeps"),
        (PALE, "the rest: addresses, counters, or nothing"),
    ))  # fmt: skip
    return figure
