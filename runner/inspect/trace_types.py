"""What the C++ programs say of a launch, as JSON: the fields of their objects. common/facts.hpp lists the ids that are in them.
website/types.py makes the explorer's types of them.

Texts are for people to read; what is decided is decided by ids and fields.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Access = Literal["read", "write"]
Figure = Literal["requests", "threads", "bytes", "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts"]  # of a line


class Place(TypedDict):
    """An instruction of the kernel."""

    what: str  # mbarrier.arrive
    file: str
    line: int


class Waiting(TypedDict):
    """Threads, linear in the block, that wait at an mbarrier."""

    threads: list[int]
    parity: int
    at: Place


class Barrier(TypedDict):
    """The phase of an mbarrier that is open."""

    name: str  # full[1]
    phase: int  # from 0; its parity is phase % 2
    arrivals: int  # that it counts a phase
    arrivals_missing: int
    arrived: list[int]  # threads, in this phase
    absent: list[int]  # threads, in the phase before and not in this one
    passed: list[int]  # threads that have gone past it in phase 0, when nothing was complete
    bytes_expected: int
    bytes_missing: int  # below 0: so many more have come than it was told to expect
    bytes_under_way: int  # that copies still bring
    waiting: list[Waiting]


class Group(TypedDict):
    """Threads that are at the same place and have come the same way."""

    threads: list[int]
    returned: bool
    at: Place | None  # where they wait
    at_mbarrier: bool
    last: Place | None  # the last instruction of mbarriers, copies and wgmma that they have been through


class Likely(TypedDict):
    """The likeliest mistake; common/autopsy.hpp lists the ids."""

    id: str
    text: str
    barriers: list[str]
    threads: list[int]
    phase: int
    bytes: int
    arrivals: int
    came: int


class Autopsy(TypedDict):
    """Of a block in which no thread can go on, and some wait at mbarriers."""

    kernel: str
    block: list[int]
    barriers: list[Barrier]
    groups: list[Group]
    likely: Likely | None


class _Fault(TypedDict):
    id: str
    text: str  # one sentence; of an mbarrier_hang an autopsy of several lines


class Fault(_Fault, total=False):
    """Why there is no result."""

    autopsy: Autopsy  # of an mbarrier_hang that was traced


class _Pattern(TypedDict):
    id: str
    text: str  # a clause


_From = TypedDict("_From", {"from": int}, total=False)  # no name in Python


class Pattern(_Pattern, _From, total=False):
    """What wrong elements have in common; which fields there are depends on the id."""

    matrices: str  # "A, B"
    lengths: str  # "K, N": what the pitches of these are taken for
    to: int  # the elements hold the steps of the sum over k from "from" to this one, of "of"
    of: int
    row: int
    column: int
    modulo: int
    tile_rows: int
    tile_columns: int
    problem: int  # of a batch, from 0


class _First(TypedDict):
    """The first wrong element, or the first of the padding that was written to."""

    row: int
    column: int
    block: list[int] | None  # x, y, z; where it is known who computes it
    warp: int | None
    thread: list[int] | None
    got: float | str  # "nothing" where nothing was written; "nan", "inf", "-inf"
    expected: float | str | None
    bound: float | str | None


class First(_First, total=False):
    """The same; in a batch with the problem that it is in."""

    problem: int  # from 0


class Verdict(TypedDict):
    """What a result was held to be."""

    passed: bool
    checked: int
    compared: int
    wrong: int
    error_over_bound: float
    rms_error: float
    rms_limit: float
    failure: str | None
    first: First | None
    patterns: list[Pattern]  # of the values first, then of their places
    text: str  # several lines, the first one a sentence; empty where it passed


class Side(TypedDict):
    """The earlier one of two accesses that do not get along."""

    access: Access
    thread: list[int] | None
    file: str
    line: int


class _Finding(TypedDict):
    id: str
    text: str
    access: Access
    array: str
    row: int | None  # of a matrix: the element, which may lie outside of it
    column: int | None
    offset: int  # of another array: bytes from its start
    beyond: int  # rows or columns past the edge, at most; 0 where that is not known of all
    block: int
    thread: list[int] | None
    file: str
    line: int
    other: Side | None
    count: int


class Finding(_Finding, total=False):
    """What the tracer found."""

    in_one_tile: bool  # of a race in a check: whether it is there with one tile along K, too
    problem: int  # of a matrix of a batch: whose it is, from 0


class Sample(TypedDict):
    """One request of a warp as an example."""

    block: int
    warp: int
    lanes: list[int]
    offsets: list[int]


class TensorMap(TypedDict):
    """What cuTensorMapEncodeTiled() was told, by its arguments' names; dimensions innermost first."""

    tensorDataType: str
    tensorRank: int
    globalDim: list[int]
    globalStrides: list[int]  # bytes, of dimension 1 on
    boxDim: list[int]
    elementStrides: list[int]
    swizzle: Literal["none", "32B", "64B", "128B"]
    oobFill: Literal["zero", "nan"]


class Field(TypedDict):
    name: str  # as the PTX ISA calls it
    bits: str  # 13–0
    encoded: int
    value: int
    unit: str


class Element(TypedDict):
    row: int
    k: int


class _Chunk(TypedDict):
    row: int
    address: int  # in shared memory


class Chunk(_Chunk, total=False):
    """16 bytes of shared memory, and the first element that is read or written there."""

    k: int  # of a matrix
    column: int  # of a box
    holds: Element | None  # where a tile is meant: what of it lies there
    wrong: bool


class Tile(TypedDict):
    rows: int
    columns: int
    row: int  # the descriptor is meant to begin here
    k: int
    swizzle: str
    at: int


class Note(TypedDict):
    id: str
    text: str


class Descriptor(TypedDict):
    """A matrix descriptor of wgmma, as gemm_descriptor reads it."""

    schema: int
    kind: Literal["wgmma"]
    number: str
    fields: list[Field]
    rows: int
    depth: int
    major: Literal["k", "row"]
    chunks: list[Chunk]
    tile: Tile | None
    wrong: int
    notes: list[Note]


class Box(TypedDict):
    """What one copy by a tensor map moves, as gemm_descriptor reads it."""

    schema: int
    kind: Literal["tensor_map"]
    fields: TensorMap
    box_bytes: int
    shared_bytes: int
    row_bytes: int  # from a row to the next
    chunks: list[Chunk]


class Line(TypedDict):
    """A source line's accesses to one array, of one width and kind."""

    file: str
    line: int
    array: str
    space: Literal["global", "shared"]
    op: Literal["load", "store"]
    width: int  # bytes a thread; 0: boxes of the copy engine, each a request
    matrix: bool  # by ldmatrix or stmatrix
    requests: int
    threads: int
    bytes: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int
    diverged: bool
    tensor_map: TensorMap | None  # of boxes of the copy engine that have one, the sample's
    sample: Sample


class Wgmma(TypedDict):
    """A source line's multiplications by warpgroups, of one form."""

    file: str
    line: int
    m: int  # of one of them
    n: int
    k: int
    count: int  # instructions, each of a warpgroup
    flop: float
    shared_bytes: int  # that they read by their descriptors
    wavefronts: None  # nobody knows how many passes over the banks that takes
    a: str | None  # the first one's descriptors, 0x…; None where A comes from registers
    major_a: Literal["k", "row"] | None
    b: str
    major_b: Literal["k", "row"]


class Totals(TypedDict):
    """Over the blocks that were traced."""

    flop: float
    global_load_bytes: int
    global_store_bytes: int
    global_bytes: int
    flop_per_byte: float | None
    shared_bytes: int
    shared_bytes_per_flop: float | None


class Owners(TypedDict):
    """Which thread of one block stored which element."""

    array: str
    block: int
    rows: list[int]
    cols: list[int]
    threads: list[int]


# What one block did in order: gemm_inspect --history


class HistoryArray(TypedDict):
    """Memory that the block's accesses name."""

    name: str  # "A", "As"; "shared memory" for dynamic arrays, "global memory" for an allocation without a matrix
    space: Literal["global", "shared"]
    rows: int | None  # of a matrix; None of other memory, whose elements' size nobody knows
    cols: int | None
    pitch: int | None  # elements
    element_bytes: float | None
    bytes: int
    offset: int | None  # of a shared array: bytes from where the block's shared memory begins; (offset + byte) / 4 % 32 is a bank
    rank: int | None  # of a shared array that is another block's of the cluster: whose


class HistoryAccess(TypedDict):
    """What a request is of: its place, its array, its form."""

    site: int
    line: int | None  # index into the trace's lines
    array: int
    op: Literal["load", "store"]
    width: int  # bytes a thread; 0 of a box
    copy: bool  # by cp.async or a box: no register is in between
    matrix: bool  # by ldmatrix: 16 bytes a thread, which it hands out to the others


# [lanes as a mask, bytes from the first lane's of each lane that takes part]
HistoryPattern = tuple[int, list[int]]

# A warp's request: access, warp, pattern, where its first lane is (bytes from the array's start), units (sectors of global
# memory, wavefronts of shared memory). Of a store to shared memory of which it is known what was stored, also: array, pattern,
# where the first lane's bytes come from. Lanes that take part in the first pattern and not in the second stored zeros.
HistoryRequest = list[int]


class _HistoryEvent(TypedDict):
    e: Literal[
        "barrier", "met", "commit", "copied", "begin", "expect", "arrive", "wait", "passed", "phase", "box", "landed", "wgmma",
        "summed", "mma", "cluster_arrive", "cluster_passed", "cluster_met", "returned",
    ]  # fmt: skip


class HistoryEvent(_HistoryEvent, total=False):
    """Everything that is no warp's request. `e` says which fields there are; warps, lanes and threads count in the block.

    barrier, met        lanes of a warp have come to __syncthreads() (warp, lanes, site); all have
    commit, copied      cp.async: a group is closed (warp, lanes); a wait has ended: so many groups have landed since (warp,
                        lanes, count)
    begin               an mbarrier begins (warp, lanes, barrier, count: arrivals a phase, site)
    expect, arrive      at an mbarrier (warp, lanes, barrier, phase, site; expect: bytes)
    wait, passed        a warp has to wait for that phase; it has seen it complete (warp, lanes, barrier, phase, site)
    phase               that phase is complete (barrier, phase)
    box                 a copy of the copy engine (TMA) begins, see HistoryBox (warp, lanes, copy: index into copies)
    landed              a load's bytes are all there; or a store's have been read (copy)
    wgmma               a warpgroup has issued one, see HistoryMultiply (warp, lanes, multiply: index into multiplies)
    summed              a warp's sums of that batch and all before it are there (warp, lanes, batch, warpgroup)
    mma                 a warp has multiplied on tensor cores (warp, site)
    cluster_arrive, cluster_passed, cluster_met      the same as barrier and met for the cluster (warp, lanes)
    returned            all threads of the warp have returned (warp)
    """

    warp: int
    lanes: int  # mask
    site: int
    barrier: int  # index into mbarriers
    phase: int  # from 0
    bytes: int
    count: int
    copy: int
    multiply: int
    warpgroup: int
    batch: int
    rank: int  # of the warp's block, where that is another one of the cluster


class HistoryBox(TypedDict):
    """One copy of the copy engine, as an event `box` begins it."""

    access: int | None  # index into accesses; None where nothing of it lies in an array
    units: int  # sectors
    thread: int
    shared: int | None  # index into arrays
    offset: int  # bytes from the shared array's start
    bytes: int  # of shared memory, all of it
    barrier: int | None  # index into mbarriers; None of a store
    array: int | None  # index into arrays: the matrix
    row: int  # of the matrix, of the box's first element; may lie outside of it
    col: int
    rows: int
    cols: int
    element_bytes: int
    swizzle: Literal["none", "32B", "64B", "128B"]
    rank: int  # of the block that has asked for it


class Operand(TypedDict):
    """What a wgmma reads of shared memory: 16 bytes from each of its places."""

    array: int
    offset: int  # bytes from the array's start, of the first place
    places: int  # index into places


class HistoryMultiply(TypedDict):
    """One wgmma, as an event `wgmma` begins it."""

    site: int
    wgmma: int | None  # index into the trace's wgmma
    warpgroup: int
    batch: int  # of the warpgroup, from 0: what a commit closes
    m: int
    n: int
    k: int
    a: Operand | None  # None where A comes from registers
    b: Operand | None
    a_descriptor: str | None  # 0x…
    b_descriptor: str


class HistoryMbarrier(TypedDict):
    name: str  # full[1]
    array: int | None
    offset: int
    arrivals: int  # a phase


class BlockHistory(TypedDict):
    """What one block did, in the order in which the CPU device ran it: one that a GPU could have taken, and no GPU's time.

    A warp's events stand in its own order. Warps run one after another until each has to wait, so that only barriers, mbarriers
    and copies tell what comes before what in different warps.
    """

    block: list[int]  # x, y, z
    index: int  # in the grid, x fastest
    rank: int  # in its cluster
    cluster: int  # the index of that one's first block
    threads: int
    arrays: list[HistoryArray]
    sites: list[Place]  # what: "access", "ldmatrix", "cp.async", "__syncthreads()", "mbarrier.arrive" …
    accesses: list[HistoryAccess]
    patterns: list[HistoryPattern]
    events: list[HistoryRequest | HistoryEvent]
    copies: list[HistoryBox]
    multiplies: list[HistoryMultiply]
    places: list[list[int]]  # bytes from the first of them; first along K where that is the major dimension, else along rows
    mbarriers: list[HistoryMbarrier]
    truncated: bool  # more happened than is kept; the events are the first ones


class _Trace(TypedDict):
    """gemm_inspect's object, and what gemm_check says of the run whose accesses it counts."""

    schema: int
    lesson: str
    variant: str  # bf16
    kernel: str
    m: int
    n: int
    k: int
    alpha: float
    beta: float
    batch: int  # how many problems; 1 where there is no batch
    groups: list[list[int]]  # M, N, K of each problem of a grouped batch, of which m, n and k are the largest; else none
    seed: int
    like: str
    blocks: int
    traced_blocks: int
    threads_per_block: int
    barriers_per_thread: float
    seconds: float
    lines: list[Line]
    wgmma: list[Wgmma]
    findings: list[Finding]
    totals: Totals
    owners: Owners
    verdict: Verdict | None
    error: Fault | None


class Undefined(TypedDict):
    """What CUDA's manuals leave undefined, and a GPU of today lets pass."""

    id: str
    text: str
    count: int


class Overrun(TypedDict):
    """Past the end of an array whose length the compiler knows, of a file that is compiled with -fsanitize=bounds,object-size."""

    file: str
    line: int
    column: int  # of the closing bracket
    array: str  # its type; through a pointer, that of an element
    index: int | None  # none through a pointer
    where: str  # kernel, block and thread: or nothing, of the host
    count: int


class Trace(_Trace, total=False):
    """With what gemm_inspect alone says."""

    undefined: list[Undefined]  # with --tolerant, as the next
    overruns: list[Overrun]
    block_dim: list[int]  # threads of a block: x, y, z
    before: str | None  # the lesson to compare with: the one before in its ladder, or else in the course
    history: list[BlockHistory]  # of the blocks that --history keeps
