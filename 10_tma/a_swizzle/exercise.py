"""What the exercise and the bug hunt of lesson 10a leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its C tiles on.
_M, _N, _K, _WARPS = 64, 64, 32, 4


def _read_wavefronts(counts: Counts) -> float:
    """In each step of a warp 4 reads of A, a wavefront each, and 2 of B, two each."""
    return tiles(counts, _M, _N) * _WARPS * ceil_div(counts.shape[2], _K) * _K * (4 * 1 + 2 * 2)


EXERCISE = Exercise(
    task="request k-tiles from TMA, find out when they have arrived, and read A where the swizzle has put it. The tensor "
    "maps and the multiplication are given.",
    gaps={
        "swizzle": Gap(
            "read As[row][k] for the thread's rows into a_frag[i]: row i is i·LANES_M rows below the first. Element (row, k) "
            "is in chunk k / 4 of its row, 16 bytes, and TMA has put chunk c of row r at place c ^ r % 8. `as` is where the "
            "thread's first row begins in As, in bytes, with its row % 8 already in the bits of the place."
        ),
        "ask": Gap(
            "have TMA bring k-tile number `tile` of A and of B to this stage. How many bytes must the stage's mbarrier "
            "expect? Coordinates are in elements, innermost first: {k, row} in A, {column, k} in B. A stage holds As first; "
            "Bs begins T::BS bytes after the start of the stage."
        ),
        "next": Gap(
            "go on to the next stage: when have its tiles arrived, and which parity of its mbarrier do you wait for? Then "
            "request the next k-tile for the stage that was just used. What must have happened before that?"
        ),
    },
    hints=(
        "In swizzle: a chunk of 16 bytes holds four steps, and within it nothing moves. In ask: one arrival and T::STAGE "
        "bytes complete a phase. In next: for six k-tiles, write down the stage of each, and how many times that stage has "
        "been filled before. Parities go 0, 1, 0, …; a wait for a phase that is complete returns at once. `more` says "
        "whether there is another k-tile.",
        "In swizzle: the XOR takes k / 4 to bits 4 to 6 of the offset; i·LANES_M rows down is 4·i·LANES_M·BK bytes further, "
        "and within the chunk you add k % 4 floats. In ask: first the expectation, then two loads, all at full[stage]. In "
        "next: the parity changes whenever the ring starts over. A barrier of the block follows the wait: only then has "
        "every warp read the old k-tile, and one thread may request k-tile `tile` + STAGES.",
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
            "The blocks load each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "One call of ask(…), by one thread, requests each k-tile: the first STAGES before the loop, the others in it.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The mbarrier says that a k-tile has arrived. The block's barrier says that everyone has read the old one. Once "
            "per k-tile is enough for both.",
        ),
        Goal(
            "As and Bs are read without bank conflicts, each value of a step once",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "Eight lanes read eight rows at once. The swizzle puts them at eight different places of a 128-byte line. Does "
            "your address include the XOR?",
        ),
    ),
)

_WAIT_AND_ASK = """                __syncthreads();  // everyone has read the tiles before others come to their place
                if (t == 0 && tile + STAGES < tiles) ask(used, tile + STAGES);
"""

HUNT = Hunt(
    task="two lines of this kernel have changed places, and yet the result is nearly always right on a GPU. Find the order "
    "of events in which it is wrong, then the two lines, and put them back.",
    bug={
        _WAIT_AND_ASK: "".join(reversed(_WAIT_AND_ASK.splitlines(keepends=True))),
    },
    hints=(
        "Boxes, bytes and parities are right, and a block of only one warp would never go wrong. Who writes to a stage, and "
        "when may it?",
        "Thread 0 requests a k-tile as soon as it gets there itself. Suppose it is the fastest of all, and another warp the "
        "slowest: how far along K has that warp read when the box arrives?",
        "In the last step of a k-tile, thread 0 knows only of its own warp that it has read the k-tile. The block's barrier "
        "tells it that the others have, too. So the barrier must come before the request.",
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
        f"K = {K}, BK = {BK}, and a ring of {stages} stages, each with an mbarrier of its own: k-tile n is in stage n mod "
        f"{stages}. How many phases has the mbarrier of stage {stage} completed when the block has finished its C tile?",
        answer,
        "phases",
        f"There are {tiles} k-tiles, 0 to {tiles - 1}, and each completes a phase of its stage's mbarrier. Stage {stage} "
        f"gets {stage}, {stage + stages} and so on up to {last}: {answer} of them. For k-tile n a thread waits for parity n "
        f"/ {stages}, rounded down, mod 2: for {last} that is {last // stages % 2}.",
    )


def bytes_to_expect(q: Quiz) -> Question:
    size, kind = q.choose(((2, "BF16"), (4, "FP32")))
    BM, BN, BK = 64 * q.whole(1, 4), 64 * q.whole(1, 4), q.choose((8, 16, 32))
    M, K = q.whole(1, BM - 1), BK * q.whole(2, 9) + q.whole(1, BK - 1)
    answer = size * (BM * BK + BK * BN)
    return Question(
        f"{kind}, {size} bytes an element. The boxes are BM×BK = {BM}×{BK} of A and BK×BN = {BK}×{BN} of B, and both arrive "
        f"at the same mbarrier. M = {M} and K = {K}, so that the last boxes of A reach past both edges of the matrix. How "
        "many bytes must the mbarrier be told to expect for the last k-tile?",
        answer,
        "bytes",
        "A whole box counts, wherever it is: what is beyond an edge is written as zeros, and these count, too. "
        f"{size}·({BM}·{BK} + {BK}·{BN}) = {grouped(answer)}.",
    )


def place_of_an_element(q: Quiz) -> Question:
    row, k = q.whole(1, 127), q.whole(0, 31)
    answer, chunk = swizzled(row, k), k // 4
    return Question(
        "A box of FP32 numbers has rows of 32, 128 bytes, and its tensor map has the 128-byte swizzle. The box begins "
        f"at a multiple of 1024 bytes. How many bytes from its beginning is the element of row {row} and step {k}?",
        answer,
        "bytes",
        f"Row {row} begins at 128·{row} = {grouped(128 * row)}. Step {k} is element {k % 4} of chunk {chunk}, which goes to "
        f"place {chunk} ^ ({row} mod 8) = {chunk} ^ {row % 8} = {chunk ^ row % 8}. {grouped(128 * row)} + "
        f"16·{chunk ^ row % 8} + 4·{k % 4} = {grouped(answer)}.",
    )


def wavefronts_of_eight_lanes(q: Quiz) -> Question:
    first, apart, chunk = q.whole(0, 31), q.choose((1, 2, 3, 4, 5, 6, 8, 12, 16)), q.whole(0, 7)
    rows = [first + i * apart for i in range(8)]
    places = [chunk ^ row % 8 for row in rows]
    different = len(set(places))
    answer = 8 // different
    return Question(
        "Rows of 128 bytes are in shared memory, under the 128-byte swizzle. Eight lanes, which are served together, read 16 "
        f"bytes each: chunk {chunk} of the rows {', '.join(map(str, rows[:3]))} and so on, {apart} apart. How many "
        "wavefronts does that take?",
        answer,
        "wavefronts",
        f"A row's chunk {chunk} is at place {chunk} ^ (row mod 8). Rows {apart} apart have {different} different "
        f"value{'s' if different > 1 else ''} of row mod 8, so the lanes use {different} of the eight places, 8/{different} "
        f"= {answer} lane{'s' if answer > 1 else ''} each, one after the other.",
    )


def pitch_that_tma_takes(q: Quiz) -> Question:
    size, kind = q.choose(((1, "FP8"), (2, "BF16"), (4, "FP32")))
    unit = 16 // size
    K = unit * q.whole(20, 300) + q.whole(1, unit - 1)
    answer = unit * ceil_div(K, unit)
    return Question(
        f"A matrix of {kind} numbers, {size} byte{'s' if size > 1 else ''} each, has rows of {K}. What is the smallest "
        "pitch, in elements, that TMA accepts?",
        answer,
        "elements",
        f"Rows must begin at multiples of 16 bytes, {unit} elements: {K} rounded up to a multiple of {unit} is "
        f"{grouped(answer)}. "
        f"The row itself may have any length: the map's size says {grouped(K)}.",
    )


QUIZ = (phases_of_a_stage, bytes_to_expect, place_of_an_element, wavefronts_of_eight_lanes, pitch_that_tma_takes)
