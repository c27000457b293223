"""What the exercise and the bug hunt of lesson 09c leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, narrow_requests, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 128, 128, 32, 4  # kernel.cu's block tile, and the warps of a block
_WM, _WN = 64, 64
_STAGES, _MMA_K = 4, 16
_HALF = 2  # bytes of an element


def _ldmatrix(counts: Counts) -> float:
    """8 in each step of a warp: 16 rows of A, or 16 columns of B, each."""
    steps = ceil_div(counts.shape[2], _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * (_WM + _WN) // 16


EXERCISE = Exercise(
    task="keep STAGES tiles of A and of B in shared memory, copied ahead by cp.async as in lesson 08. The fragments and the "
    "products are there; they are 09b's.",
    gaps={
        "copy": Gap(
            "copy the thread's run in row r of its rows, and in the columns from i on: copy_run<ALIGNED> takes a place in shared "
            "memory, one in global memory, and how many elements are there. to[i / RUN] is the place of row 0 in stage 0, `from` "
            "that in the matrix. `there` of the rows from row 0 on exist, and `left` elements of the run in each of them.",
        ),
        "first": Gap(
            "start copying the tiles after the first one, so that STAGES - 1 of them are on their way. What if K has fewer? Each "
            "tile closes a group, whether it exists or not."
        ),
        "arrived": Gap(
            "a new tile begins. Make sure that it is there, for all threads. How many groups may be under way now? The copies "
            "below go to the stage of the tile before this one: who must have finished with it?"
        ),
        "ahead": Gap(
            "copy the tiles for the stage `ahead`, if there are any, and close their group. `tiles` counts those that are still "
            "to be used, this one among them. What would the wait above count if some rounds had no group?"
        ),
    },
    hints=(
        "The ring is lesson 08a's, and its picture shows it: tile number n lies in stage n % STAGES, and its copies are group "
        "number n of each thread. Of the groups that a thread has committed, which one must be complete when a tile is used? For "
        "the copy: how many bytes has a row of the tile, and how many elements lie between two rows of the matrix?",
        "In copy: a row of the tile is 2 * COLS bytes, one of the matrix `pitch` elements; rows below the last one have nothing. "
        "In first: tiles 1 … STAGES - 2, tile s to offset s * STAGE, only if s < tiles, and a commit after each in any case. In "
        "arrived: a wait for all but the newest STAGES - 2 groups, and a barrier. In ahead: while the tile that lies STAGES - 1 "
        "ahead exists, copy(ahead, BK); the commit stands outside of the `if`.",
        "nearly the code, in the gaps' order:\n"
        "  copy_run<ALIGNED>(to[i / RUN] + stage + 2 * r * COLS, from + r * pitch + i, left, or 0 where r >= there);\n"
        "  for (int s = 1; s < STAGES - 1; ++s) { if (s < tiles) copy(s * STAGE, BK); and a commit }\n"
        "  cp_async_wait<STAGES - 2>(); and a barrier;\n"
        "  if (tiles > STAGES - 1) copy(ahead, BK); and a commit.",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "Each block copies its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "Each tile is copied by one call of copy(…): the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "A and B are copied 16 bytes at a time",
            narrow_requests,
            lambda counts: counts.shape[0] * counts.shape[1] / 2 / 32,  # C's: a pair a lane
            "requests of fewer bytes a thread",
            "On this shape ALIGNED is true: one copy_run of WIDTH = 8 elements for a run. (C is written in pairs, which are "
            "counted as well.)",
        ),
        Goal(
            "Fragments are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            lambda counts: 4 * _ldmatrix(counts),
            "wavefronts",
            "8 ldmatrix of 4 wavefronts for a step, each once: the rows of a tile must lie where a_at and b_at say.",
        ),
        Goal(
            "A thread meets one barrier a tile",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K),
            "barriers",
            "The barrier after the wait says both: the tile is there, and nobody reads the stage that is filled next.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and mend it.",
    bug={"                if (tiles > STAGES - 1) copy(ahead, BK);": "                if (tiles > STAGES - 2) copy(ahead, BK);"},
    hints=(
        "Waits, barriers and the swizzle are right, and every sum is. Something is done that no sum needs: count what is copied, "
        "tile by tile, with 6 tiles and STAGES = 4.",
        "Before the loop STAGES - 1 tiles are on their way, and each round copies the tile that lies STAGES - 1 ahead. Which "
        "rounds have no such tile, and where would it lie?",
        "With `tiles` still to be used, this one among them, the tile that lies STAGES - 1 ahead exists if tiles is above STAGES "
        "- 1. Look at the condition of the copy in the loop.",
    ),
    check_finds="wrong_place",
)


# The quiz


def flop_a_byte(q: Quiz) -> Question:
    BM, BN = q.choose((64, 96, 128, 192, 256)), q.choose((64, 96, 128, 192, 256))
    answer = BM * BN / (BM + BN)
    return Question(
        f"A block tile of {BM}×{BN}, elements of two bytes. How many FLOP does a block do for each byte of A and B that it "
        "copies?",
        answer,
        "FLOP/B",
        f"A step along K is {BM}·{BN} multiply-adds, 2·{BM}·{BN} FLOP, and takes {BM} elements of A and {BN} of B, "
        f"2·({BM} + {BN}) bytes: {BM}·{BN}/({BM} + {BN}) = {answer:.4g}.",
        tolerance=0.005,
    )


def stages_that_fit(q: Quiz) -> Question:
    BM, BN = q.choose((64, 128, 256)), q.choose((64, 128, 256))
    BK = q.choose((32, 64))
    name, kib = q.choose((("8.0", 163), ("8.6", 99), ("9.0", 227)))
    stage = _HALF * BK * (BM + BN)
    answer = 1024 * kib // stage
    return Question(
        f"BM = {BM}, BN = {BN}, BK = {BK}, elements of two bytes. On compute capability {name} a block may have {kib} KiB of "
        "shared memory. How many stages of As and Bs fit?",
        answer,
        "",
        f"A stage: 2·{BK}·({BM} + {BN}) = {grouped(stage)} bytes. {kib} KiB are {grouped(1024 * kib)}, and "
        f"{grouped(1024 * kib)}/{grouped(stage)} = {1024 * kib / stage:.4g}, rounded down.",
    )


def where_an_eight_lies(q: Quiz) -> Question:
    row, k = q.whole(2, _BM - 1), 8 * q.whole(0, 3)
    plain = _HALF * (row * _K + k)
    moved = row // 2 % 4
    answer = plain ^ moved << 4
    return Question(
        "As has rows of BK = 32 elements of two bytes, and a_at is Swizzle<2, 4, 3>: bits 7 and 8 of the offset are XORed into "
        f"its bits 4 and 5. At how many bytes from the beginning of As does element (row {row}, k = {k}) lie?",
        answer,
        "bytes",
        f"Without the swizzle: 2·({row}·32 + {k}) = {grouped(plain)}. A row is 64 bytes, so bits 7 and 8 are row/2 mod 4 = "
        f"{moved}. Bits 4 and 5 are number {k}/8 = {k // 8} of the eights of the row: {k // 8} ^ {moved} = {k // 8 ^ moved}. So "
        f"it is {row}·64 + {k // 8 ^ moved}·16 = {grouped(answer)}.",
    )


def clocks_a_copy_has(q: Quiz) -> Question:
    stages, BK, clocks = q.whole(3, 6), q.choose((16, 32, 64)), q.choose((4, 6))
    multiply = BK // _MMA_K * (_WM // 16) * (_WN // 8)
    tile = 2 * multiply * clocks
    answer = (stages - 1) * tile
    return Question(
        f"Two warps share a scheduler, each with a warp tile of 64×64, and an mma.sync keeps the tensor core busy for {clocks} "
        f"clocks. BK = {BK}, STAGES = {stages}, and nothing else takes time. How many clocks pass from the copy of a tile to its "
        "first use?",
        answer,
        "clocks",
        f"A warp multiplies a tile by {BK}/16·4·8 = {multiply} mma.sync, two warps by {2 * multiply}: {2 * multiply}·{clocks} = "
        f"{grouped(tile)} clocks. A tile is copied STAGES - 1 = {stages - 1} tiles ahead: {stages - 1}·{grouped(tile)} = "
        f"{grouped(answer)}.",
    )


def copies_of_a_thread(q: Quiz) -> Question:
    BM, BN = q.choose((64, 128, 256)), q.choose((64, 128, 256))
    BK, threads = q.choose((32, 64)), q.choose((128, 256))
    answer = _HALF * BK * (BM + BN) // (16 * threads)
    return Question(
        f"BM = {BM}, BN = {BN}, BK = {BK}, {threads} threads, elements of two bytes, copies of 16 bytes that all threads share "
        "equally. How many cp.async does a thread execute for a tile of A and one of B together?",
        answer,
        "",
        f"The two tiles are 2·{BK}·({BM} + {BN}) = {grouped(_HALF * BK * (BM + BN))} bytes. {threads} threads copy "
        f"16·{threads} = {grouped(16 * threads)} bytes with one cp.async each: "
        f"{grouped(_HALF * BK * (BM + BN))}/{grouped(16 * threads)} = {answer}.",
    )


QUIZ = (flop_a_byte, copies_of_a_thread, stages_that_fit, where_an_eight_lies, clocks_a_copy_has)
