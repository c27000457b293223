"""What `./gemm atlas --ways` records: how long a problem takes as a lesson chooses to divide it, and in other ways that it
could have chosen."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import NamedTuple, TypedDict

from runner.core import atlas
from runner.core.reports import Device, Failed, LeftOut, Run

CLOSE = 0.05  # a loss up to which a choice counts as right


class Tried(TypedDict):
    """A way to divide a problem, and how long it took."""

    kernel: int | None  # a number that only the lesson reads; of what it chooses none is known
    BM: int  # rows of a C tile
    BN: int  # its columns
    BK: int  # steps of K in a k-tile
    slices: int  # of K
    ms_median: float
    ms_p10: float
    ms_p90: float


class WaysRun(Run):
    """One shape, as the lesson chooses to divide it."""

    others: list[Tried]  # of the ways it could have chosen, those that it takes for the fastest


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


class Summary(NamedTuple):
    """By how much longer what is chosen takes than the fastest of all ways."""

    shapes: int
    close: int  # that lose no more than CLOSE
    mean: float
    most: WaysRun  # where it is largest


def tried(run: Run) -> Tried:
    tiling, way = run["tiling"], run.get("way")
    return {
        "kernel": way["kernel"] if way else None,
        "BM": tiling["BM"],
        "BN": tiling["BN"],
        "BK": tiling["BK"],
        "slices": tiling["slices"],
        "ms_median": run["ms_median"],
        "ms_p10": run["ms_p10"],
        "ms_p90": run["ms_p90"],
    }


def fastest(run: WaysRun) -> Tried:
    """What is chosen, or another way."""
    return min((tried(run), *run["others"]), key=lambda way: way["ms_median"])


def loss(run: WaysRun) -> float:
    """Of ways that are equally fast, one is the fastest by chance, so this is seldom 0."""
    return run["ms_median"] / fastest(run)["ms_median"] - 1.0


def summaries(runs: list[WaysRun]) -> dict[str, Summary]:
    """Of the groups that have shapes, as in the atlas, and of all."""
    members = {name: [run for run in runs if atlas.group_of(run) == name] for name in atlas.GROUPS} | {"all": runs}
    return {
        name: Summary(len(of), sum(loss(run) <= CLOSE for run in of), fmean(loss(run) for run in of), max(of, key=loss))
        for name, of in members.items()
        if of
    }


def worst(runs: Iterable[WaysRun], count: int) -> list[WaysRun]:
    """So many, the largest loss first."""
    return sorted(runs, key=loss, reverse=True)[:count]
