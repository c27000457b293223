"""What `./gemm atlas` records: a lesson's ratio to cuBLAS at many shapes, in groups that have means of their own."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import geometric_mean
from typing import NamedTuple, TypedDict

from runner.core.reports import Device, Failed, LeftOut, Resources, Run

VARIANTS = ("fp32", "bf16")
GROUPS = ("aligned", "odd", "tiny")  # of shapes: see group_of
TINY_MS = 0.020  # cuBLAS's time, below which launching counts as much as multiplying
SLOW = 0.6  # a ratio that no shape which is not tiny should be below

ELEMENT_BYTES = {"fp32": 4, "bf16": 2}  # of A, B and C alike
_ALIGNED = 16  # bytes: what cp.async, TMA and cuBLAS's fast kernels copy at once


class AtlasRun(Run):
    """One shape."""

    set: str  # that it belongs to: "llm", "random"


class RecordedAtlas(TypedDict):
    """One type, whole: the sets' shapes in their order, but for those that failed or did not fit."""

    schema: int
    device: Device
    variant: str  # "fp32"
    lesson: str
    tile: dict[str, int]  # of its first variant: BM, BN, BK
    resources: dict[str, Resources | None]
    kernel_hashes: dict[str, str]
    seed: int  # of the inputs
    shapes: int  # how many were to be measured
    runs: list[AtlasRun]
    failed: list[Failed]
    left_out: list[LeftOut]
    commit: str | None
    date: str


class Group(NamedTuple):
    """The ratios of a group's shapes."""

    shapes: int
    mean: float  # geometric
    least: Run  # where the ratio is least
    slow: int  # shapes with a ratio below SLOW


def group_of(run: Run) -> str:
    """Tiny where cuBLAS takes less than TINY_MS; else aligned where every row of A, B and C begins at a multiple of 16 bytes,
    and odd where one does not: in BF16, cuBLAS itself is several times slower there, which is not to flatter the mean of the
    others."""
    if run["baseline_ms_median"] < TINY_MS:
        return "tiny"
    return "odd" if any(pitch * ELEMENT_BYTES[run["variant"]] % _ALIGNED for pitch in (run["k"], run["n"])) else "aligned"


def groups(runs: Iterable[Run]) -> dict[str, Group]:
    """The groups that have shapes, in the order of GROUPS."""
    members: dict[str, list[Run]] = {name: [] for name in GROUPS}
    for run in runs:
        members[group_of(run)].append(run)
    return {
        name: Group(
            len(of),
            geometric_mean(run["ratio"] for run in of),
            min(of, key=lambda run: run["ratio"]),
            sum(run["ratio"] < SLOW for run in of),
        )
        for name, of in members.items()
        if of
    }


def slowest(runs: Iterable[Run], count: int) -> list[Run]:
    """So many of those that are not tiny, the least ratio first."""
    return sorted((run for run in runs if group_of(run) != "tiny"), key=lambda run: run["ratio"])[:count]
