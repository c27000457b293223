"""What `./gemm atlas --ways` records: each way in which a lesson could have divided a problem, and how long it took. From it:
how much time is lost where the lesson did not choose the fastest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple, TypedDict

from runner.core.reports import Device, Failed, LeftOut

CLOSE = 0.05  # a loss up to which a choice counts as right


class WaysRun(TypedDict):
    """One shape."""

    m: int
    n: int
    k: int
    ratio: float  # of the baseline's time to the lesson's
    ways: list[tuple[int, int, int, int, float]]  # BM, BN, BK, slices of K, and ms; what the lesson chooses comes first


class RecordedWays(TypedDict):
    """One type, whole."""

    schema: int
    device: Device
    variant: str  # "fp32"
    lesson: str
    kernel_hashes: dict[str, str]
    draw: int  # the seed of the shapes
    seed: int  # of the inputs
    shapes: int  # how many were to be measured
    runs: list[WaysRun]
    failed: list[Failed]
    left_out: list[LeftOut]
    commit: str | None
    date: str


class Way(NamedTuple):
    """One of a shape's."""

    tile: tuple[int, int, int]
    slices: int
    ms: float


class Summary(NamedTuple):
    """Of all shapes, by loss: by how much longer what is chosen takes than the fastest way."""

    shapes: int
    ways: int
    close: int  # shapes that lose no more than CLOSE
    mean: float
    most: WaysRun  # where it is largest


def chosen(run: WaysRun) -> Way:
    bm, bn, bk, slices, ms = run["ways"][0]
    return Way((bm, bn, bk), slices, ms)


def fastest(run: WaysRun) -> Way:
    bm, bn, bk, slices, ms = min(run["ways"], key=lambda way: way[4])
    return Way((bm, bn, bk), slices, ms)


def loss(run: WaysRun) -> float:
    """At least what is really lost: the shortest of many measured times is a little too short by chance."""
    return chosen(run).ms / fastest(run).ms - 1.0


def summary(runs: Sequence[WaysRun]) -> Summary:
    """Of one shape at least."""
    losses = [loss(run) for run in runs]
    return Summary(
        len(runs), sum(len(run["ways"]) for run in runs), sum(one <= CLOSE for one in losses), fmean(losses), max(runs, key=loss)
    )


def worst(runs: Iterable[WaysRun], count: int) -> list[WaysRun]:
    """So many, the largest loss first."""
    return sorted(runs, key=loss, reverse=True)[:count]
