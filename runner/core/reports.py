"""What gemm_bench measures, as JSON: the fields of a results file."""

from __future__ import annotations

from typing import TypedDict


class Device(TypedDict, total=False):
    """What it was measured on."""

    kind: str  # "cuda", "cpu"
    name: str
    compute_capability: str  # "9.0"
    multiprocessors: int
    l2_bytes: int
    driver: str
    cuda: str
    power_limit_w: float | None


class Spread(TypedDict):
    """Over rounds."""

    median: float
    p10: float
    p90: float


class EnergyUse(TypedDict):
    """What a launch takes, in loops of more than a second; None where the GPU does not tell."""

    ms: Spread
    joules: Spread | None
    megacycles: Spread | None  # of SM cycles: clock × time
    power_w: float | None  # the loops' average


class Tiling(TypedDict):
    """How the kernel divided the problem."""

    BM: int  # rows of a C tile
    BN: int  # its columns
    BK: int  # steps of K in a k-tile
    slices: int  # of K, for each C tile (split-K)
    blocks: int  # of the launch; fewer than C tiles · slices where they are persistent
    blocks_per_sm: int  # that an SM has at once


class Way(TypedDict):
    """In which a lesson that chooses could divide a problem."""

    kernel: int  # a number that only the lesson reads
    slices: int  # of K


class Run(TypedDict, total=False):
    """One lesson at one size that it gets right; with times where the device has any."""

    lesson: str
    variant: str  # "fp32", "bf16.nt"
    m: int
    n: int
    k: int
    batch: int  # how many problems; 1 where it is missing
    groups: list[list[int]]  # M, N, K of each, where they differ; m, n and k are then the largest
    alpha: float
    beta: float
    error_over_bound: float
    checked: int
    rms_error: float
    rms_limit: float
    tiling: Tiling  # of a lesson that says what it chose; of most others it is the descriptor's tile, and one slice
    way: Way  # of a lesson that chooses, where it was told to divide the problem like that
    ms_median: float
    ms_p10: float
    ms_p90: float
    rounds: int
    tflops: float
    baseline: str
    baseline_kernel: str
    baseline_ms_median: float
    ratio: float  # of the baseline's time to the lesson's
    sm_clock_mhz: float | None
    power_w: float | None
    cache: str
    energy: EnergyUse  # where it was measured
    baseline_energy: EnergyUse
    kernel_hash: str  # of the source that was measured


class _Failed(TypedDict):
    lesson: str
    variant: str  # "fp32", "bf16.nt"
    m: int
    n: int
    k: int
    ran: bool
    failure: str  # for people


class Failed(_Failed, total=False):
    """One lesson at one size that it gets wrong."""

    way: Way  # as in Run


class LeftOut(TypedDict):
    """A size that does not fit into this machine's memory."""

    m: int
    n: int
    k: int
    reason: str  # for people


class Skipped(TypedDict):
    """A lesson that does not run on this device."""

    lesson: str
    reason: str


class Resources(TypedDict):
    """What a block of a lesson takes."""

    registers: int | None
    local_bytes: int | None
    blocks_per_sm: int | None
    threads_per_block: int
    static_shared_bytes: int
    dynamic_shared_bytes: int


class Variant(TypedDict):
    """One that a lesson takes."""

    text: str


class Described(TypedDict):
    """A lesson's descriptor, as far as charts need it."""

    ladder: str
    variants: list[Variant]


class Results(TypedDict, total=False):
    """A results file."""

    schema: int
    device: Device
    runs: list[Run]
    lessons: dict[str, Described]
    seed: int
    resources: dict[str, Resources | None]  # by lesson
    skipped: list[Skipped]
    failed: list[Failed]
    left_out: list[LeftOut]  # where there are some
    commit: str | None
    date: str
