"""What gemm_check and gemm_judge say of a learner's kernel, as JSON: the fields of their objects."""

from __future__ import annotations

from typing import TypedDict

from runner.inspect.trace_types import Fault, Finding, Trace, Verdict


class Operand(TypedDict):
    """One matrix of a problem, as it lies in memory."""

    name: str  # "A"
    pitch_name: str | None  # "lda"; none of a row
    pitch: int  # in elements
    tight: int  # the least pitch
    stride: int  # from one problem's to the next one's, of a batch; else 0
    offset: int  # elements by which it begins behind an aligned address


class Case(TypedDict):
    """One case of the check."""

    id: str  # of the difficulty
    what: str  # the same as a noun
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    operands: list[Operand]
    alpha: float | None  # none: NaN, which JSON does not have
    beta: float | None
    variant: str  # "bf16": the types
    batch: int  # how many problems; 1 where there is no batch
    groups: list[list[int]]  # M, N, K of each problem of a grouped batch; else none
    seed: int
    schedule: int  # of what a GPU leaves open; 0 on a GPU
    passed: bool
    error: Fault | None
    verdict: Verdict | None  # none after an error
    findings: list[Finding]


class Declared(TypedDict):
    """The tile that the kernel's descriptor says."""

    BM: int
    BN: int
    BK: int


class _Timed(TypedDict):
    name: str
    passed: bool
    failure: str  # for people


class Timed(_Timed, total=False):
    """The time of one kernel on a GPU."""

    m: int
    n: int
    k: int
    ms_median: float


class Checked(TypedDict):
    """gemm_check's object."""

    schema: int
    name: str
    dtype: str
    device: str
    device_name: str
    seed: int
    like: str
    tile: Declared
    cases: list[Case]  # up to the first that failed
    passed: bool
    trace: Trace | None  # of the run whose accesses are counted
    times: list[Timed] | None
    seconds: float


class Marked(TypedDict):
    """gemm_judge's object."""

    schema: int
    lesson: str
    seed: int
    passed: bool
    total: int
    cases: list[Case]
