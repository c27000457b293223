"""What the exercise and the bug hunt of lesson 10a leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its block tiles on.
_M, _N, _K, _WARPS = 64, 64, 32, 4


def _read_wavefronts(counts: Counts) -> float:
    """In each step of a warp 4 reads of A, a wavefront each, and 2 of B, two each."""
    return tiles(counts, _M, _N) * _WARPS * ceil_div(counts.shape[2], _K) * _K * (4 * 1 + 2 * 2)


EXERCISE = Exercise(
    task="ask TMA for the tiles, know when they are there, and read A where the swizzle has put it. The tensor maps "
    "and the multiplication are there.",
    gaps={
        "swizzle": Gap(
            "read As[row][k] for the thread's rows into a_frag[i]: row i lies i·LANES_M below the first. Element (row, k) is in "
            "16 bytes number k / 4 of its row, and TMA has put number c of row r to place c ^ r % 8. `as` is where the "
            "thread's first row begins in As, in bytes, with its row % 8 already in the bits of the place."
        ),
        "ask": Gap(
            "let the tiles number `tile` of A and of B come to this stage. Which bytes shall the mbarrier of the stage expect? "
            "Coordinates are in elements, innermost first: {k, row} in A, {column, k} in B. A stage holds As, and T::BS bytes "
            "behind its beginning Bs."
        ),
        "next": Gap(
            "go on to the next stage: when have its tiles arrived, and for which parity of its mbarrier must one wait? Then ask "
            "for the tile that comes next to the stage that was just used. What must be over before?"
        ),
    },
    hints=(
        "In swizzle: 16 bytes hold four steps; within them nothing moves. In ask: one arrival and T::STAGE bytes complete a "
        "phase. In next: write down for six tiles in which stage each lies, and the how-manieth time this stage is filled. "
        "Parities count 0, 1, 0, …; a wait for a phase that is over returns at once. `more` says whether there is a next tile.",
        "In swizzle: the XOR takes k / 4 to bits 4 to 6 of the offset; rows i·LANES_M lower are 4·i·LANES_M·BK bytes further, "
        "and k % 4 floats are added within the 16 bytes. In ask: first the expectation, then two loads, all at full[stage]. In "
        "next: the parity changes when the ring begins again. After the wait a barrier of the block: only then has every warp "
        "read the old tiles, and one thread may ask for tile + STAGES.",
        "nearly the code, in the gaps' order:\n"
        "  address of a_frag[i]: shared + (as ^ k / 4 * 16) + 4 * (i * T::LANES_M * BK + k % 4), a const volatile float*;\n"
        "  mbarrier_arrive_expect_tx(full[stage], T::STAGE);\n"
        "  tma_load(beginning of the stage, map_a, {tile * BK, row of the block}, full[stage]);\n"
        "  tma_load(that + T::BS, map_b, {column of the block, tile * BK}, full[stage]);\n"
        "  used = stage; stage = (stage + 1) % STAGES; if (stage == 0) parity ^= 1;\n"
        "  if (more) mbarrier_wait(full[stage], parity); __syncthreads();\n"
        "  if (t == 0 && tile + STAGES < tiles) ask(used, tile + STAGES);",
    ),
    starter_fails="mbarrier_hang",
    goals=(
        Goal(
            "The blocks bring each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "Each tile is asked for by one call of ask(…), by one thread: the first STAGES before the loop, the others in it.",
        ),
        Goal(
            "A thread meets one barrier a tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The mbarrier says that tiles are there. The barrier of the block is for the other thing: everyone has read the old "
            "ones. Once a tile is enough for both.",
        ),
        Goal(
            "As and Bs are read without bank conflicts, each value of a step once",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "Eight lanes read eight rows at once. By the swizzle they lie in eight different 16 bytes of a 128-byte line: does "
            "the address have the XOR?",
        ),
    ),
)

_WAIT_AND_ASK = """                __syncthreads();  // everyone has read the tiles before others come to their place
                if (t == 0 && tile + STAGES < tiles) ask(used, tile + STAGES);
"""

HUNT = Hunt(
    task="two lines of this kernel have changed places, and yet the result is nearly always right on a GPU. Find the order of "
    "events in which it is not, then the two lines, and put them back.",
    bug={
        _WAIT_AND_ASK: "".join(reversed(_WAIT_AND_ASK.splitlines(keepends=True))),
    },
    hints=(
        "The boxes, the bytes and the parities are right, and a block of one warp would never go wrong. Who writes to a stage, "
        "and when may it?",
        "Thread 0 asks for a tile as soon as it has come so far itself. Let it be the fastest of all, and another warp the "
        "slowest: which step along K has that one read when the box arrives?",
        "In a tile's last step thread 0 knows of its own warp alone that it has read the tile. That the others have, the "
        "barrier of the block tells it: it must stand before the request.",
    ),
    check_finds="load_in_flight",
    race=True,
)


# The quiz


def swizzled(row: int, k: int) -> int:
    """Bytes from the begin of a tile with rows of 32 floats to the element (row, k), under the 128-byte swizzle."""
    return 128 * row + 16 * (k // 4 ^ row % 8) + 4 * (k % 4)


def phases_of_a_stage(q: Quiz) -> Question:
    stages, BK = q.whole(2, 6), q.choose((8, 16, 32, 64))
    K, stage = q.whole(8 * BK, 60 * BK), q.whole(0, stages - 1)
    tiles = ceil_div(K, BK)
    answer = ceil_div(tiles - stage, stages)
    last = tiles - 1 - (tiles - 1 - stage) % stages
    return Question(
        f"K = {K}, BK = {BK}, and a ring of {stages} stages, each with an mbarrier of its own: tile n lies in stage n mod "
        f"{stages}. "
        f"How many phases has the mbarrier of stage {stage} completed when the block is done with its tile of C?",
        answer,
        "phases",
        f"There are {tiles} tiles along K, 0 to {tiles - 1}, and each completes a phase of its stage's mbarrier. In stage "
        f"{stage} lie "
        f"{stage}, {stage + stages} and so on up to {last}: {answer} of them. For tile n a thread waits for parity n / {stages}, "
        f"rounded down, mod 2: for {last} that is {last // stages % 2}.",
    )


def bytes_to_expect(q: Quiz) -> Question:
    size, kind = q.choose(((2, "BF16"), (4, "FP32")))
    BM, BN, BK = 64 * q.whole(1, 4), 64 * q.whole(1, 4), q.choose((8, 16, 32))
    M, K = q.whole(1, BM - 1), BK * q.whole(2, 9) + q.whole(1, BK - 1)
    answer = size * (BM * BK + BK * BN)
    return Question(
        f"{kind}, {size} bytes an element. The boxes are BM×BK = {BM}×{BK} of A and BK×BN = {BK}×{BN} of B, and both arrive at "
        "the "
        f"same mbarrier. M = {M} and K = {K}, so that the last boxes of A reach past both edges of the matrix. How many bytes "
        "must "
        "the mbarrier be told to expect for the last tile along K?",
        answer,
        "bytes",
        f"A box counts whole, wherever it lies: what is beyond an edge is written as zeros, and counts too. "
        f"{size}·({BM}·{BK} + {BK}·{BN}) = {grouped(answer)}.",
    )


def place_of_an_element(q: Quiz) -> Question:
    row, k = q.whole(1, 127), q.whole(0, 31)
    answer, chunk = swizzled(row, k), k // 4
    return Question(
        "A box of FP32 numbers has rows of 32, 128 bytes, and its map says the 128-byte swizzle. It lies at a multiple of 1024 "
        "bytes. "
        f"How many bytes behind its begin lies the element of row {row} and step {k}?",
        answer,
        "bytes",
        f"Row {row} begins at 128·{row} = {grouped(128 * row)}. Step {k} is number {k % 4} of chunk {chunk}, which goes to place "
        f"{chunk} ^ ({row} mod 8) = {chunk} ^ {row % 8} = {chunk ^ row % 8}. {grouped(128 * row)} + 16·{chunk ^ row % 8} + "
        f"4·{k % 4} = "
        f"{grouped(answer)}.",
    )


def wavefronts_of_eight_lanes(q: Quiz) -> Question:
    first, apart, chunk = q.whole(0, 31), q.choose((1, 2, 3, 4, 5, 6, 8, 12, 16)), q.whole(0, 7)
    rows = [first + i * apart for i in range(8)]
    places = [chunk ^ row % 8 for row in rows]
    different = len(set(places))
    answer = 8 // different
    return Question(
        "Rows of 128 bytes lie in shared memory under the 128-byte swizzle. Eight lanes, which are served together, read 16 "
        f"bytes each: chunk {chunk} of the rows {', '.join(map(str, rows[:3]))} and so on, {apart} apart. How many wavefronts "
        "does that take?",
        answer,
        "wavefronts",
        f"A row's chunk {chunk} lies at place {chunk} ^ (row mod 8). Rows {apart} apart have {different} different "
        f"value{'s' if different > 1 else ''} of row mod 8, so {different} of the eight places are met, each by 8/{different} = "
        f"{answer} lane{'s' if answer > 1 else ''}, one after the other.",
    )


def pitch_that_tma_takes(q: Quiz) -> Question:
    size, kind = q.choose(((1, "FP8"), (2, "BF16"), (4, "FP32")))
    unit = 16 // size
    K = unit * q.whole(20, 300) + q.whole(1, unit - 1)
    answer = unit * ceil_div(K, unit)
    return Question(
        f"A matrix of {kind} numbers, {size} byte{'s' if size > 1 else ''} each, has rows of {K}. What is the smallest pitch, in "
        "elements, with which TMA takes it?",
        answer,
        "elements",
        f"Rows must begin at multiples of 16 bytes, {unit} elements: {K} rounded up to a multiple of {unit} is "
        f"{grouped(answer)}. "
        f"The row itself may have any length: the map's size says {grouped(K)}.",
    )


QUIZ = (phases_of_a_stage, bytes_to_expect, place_of_an_element, wavefronts_of_eight_lanes, pitch_that_tma_takes)
