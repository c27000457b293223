"""What the exercise and the bug hunt of lesson 09c leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, narrow_requests, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 128, 128, 32, 4  # kernel.cu's C tile and k-tile, and the warps of a block
_WM, _WN = 64, 64
_STAGES, _MMA_K = 4, 16
_HALF = 2  # bytes of an element


def _ldmatrix(counts: Counts) -> float:
    """8 in each k-step of a warp: 16 rows of A, or 16 columns of B, each."""
    k_steps = ceil_div(counts.shape[2], _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * k_steps * (_WM + _WN) // 16


EXERCISE = Exercise(
    task="keep a ring of STAGES k-tiles in shared memory, filled ahead of time by cp.async as in lesson 08a. The fragments and "
    "the products are given; they are 09b's.",
    gaps={
        "copy": Gap(
            "copy one piece: WIDTH elements, r rows below the thread's first row and i columns to the right. copy_run<ALIGNED> "
            "takes where it goes in shared memory, where it comes from in global memory, and how many of its elements exist. "
            "For r = 0 it goes to to[i / RUN] in stage 0; for r = 0 and i = 0 it comes from `from`. `there` rows exist from "
            "the thread's first one on, and `left` elements of the piece in each of them.",
        ),
        "first": Gap(
            "start copying the k-tiles after the first one, so that STAGES - 1 of them are in flight. What if K has fewer? "
            "Commit a group for each k-tile, whether it exists or not."
        ),
        "arrived": Gap(
            "a new k-tile begins. Make sure that it has arrived, for all threads. How many groups may still be in flight? The "
            "copies below go to the stage of the k-tile before this one: who must have finished with it?"
        ),
        "ahead": Gap(
            "copy the k-tile for the stage `ahead`, if there is one, and commit a group. `tiles` counts the k-tiles that are "
            "still to be used, including this one. What would the wait above count if some iterations committed no group?"
        ),
    },
    hints=(
        "The ring is lesson 08a's, and its picture shows it: k-tile n goes to stage n % STAGES, and its copies are group n of "
        "each thread. Which of the groups that a thread has committed must be complete when a k-tile is used? For the copy: "
        "how many bytes is a row of the k-tile, and how many elements is it from one row of the matrix to the next?",
        "In copy: a row of the k-tile is 2 * COLS bytes, a row of the matrix `pitch` elements; below the last row nothing "
        "exists. In first: k-tiles 1 … STAGES - 2, k-tile s to offset s * STAGE, only if s < tiles, and a commit after each in "
        "any case. In arrived: a wait for all but the newest STAGES - 2 groups, and a barrier. In ahead: if the k-tile STAGES "
        "- 1 ahead exists, copy(ahead, BK); the commit is outside of the `if`.",
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
            "One call of copy(…) copies each k-tile: the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "A and B are copied 16 bytes at a time",
            narrow_requests,
            lambda counts: counts.shape[0] * counts.shape[1] / 2 / 32,  # C's: a pair a lane
            "requests of fewer bytes per thread",
            "On this shape ALIGNED is true: one copy_run of WIDTH = 8 elements for each piece. (C is written in pairs, which "
            "are counted as well.)",
        ),
        Goal(
            "Fragments are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            lambda counts: 4 * _ldmatrix(counts),
            "wavefronts",
            "8 ldmatrix of 4 wavefronts per k-step, each once: the rows of a k-tile must be where a_at and b_at say.",
        ),
        Goal(
            "A thread meets one barrier per k-tile",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K),
            "barriers",
            "The barrier after the wait does both jobs: the k-tile has arrived, and no thread still reads the stage that is "
            "filled next.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and correct it.",
    bug={"                if (tiles > STAGES - 1) copy(ahead, BK);": "                if (tiles > STAGES - 2) copy(ahead, BK);"},
    hints=(
        "Waits, barriers and the swizzle are right, and so is every sum. Something is done that no sum needs: count what is "
        "copied, k-tile by k-tile, for 6 k-tiles and STAGES = 4.",
        "Before the loop, STAGES - 1 k-tiles are in flight, and each iteration copies the one that is STAGES - 1 ahead. Which "
        "iterations have no such k-tile, and where in the matrices would it be?",
        "`tiles` k-tiles are still to be used, including this one. So the k-tile STAGES - 1 ahead exists if tiles is greater "
        "than STAGES - 1. Look at the condition of the copy in the loop.",
    ),
    check_finds="wrong_place",
)


# The quiz


def flop_a_byte(q: Quiz) -> Question:
    BM, BN = q.choose((64, 96, 128, 192, 256)), q.choose((64, 96, 128, 192, 256))
    answer = BM * BN / (BM + BN)
    return Question(
        f"A C tile of {BM}×{BN}, elements of two bytes. How many FLOP does a block do for each byte of A and B that it copies?",
        answer,
        "FLOP/B",
        f"For each k, there are {BM}·{BN} multiply-adds, 2·{BM}·{BN} FLOP. They need {BM} elements of A and {BN} of B, "
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
        f"BM = {BM}, BN = {BN}, BK = {BK}, elements of two bytes. On compute capability {name}, a block may have {kib} KiB of "
        "shared memory. How many stages of As and Bs fit?",
        answer,
        "",
        f"A stage: 2·{BK}·({BM} + {BN}) = {grouped(stage)} bytes. {kib} KiB are {grouped(1024 * kib)}, and "
        f"{grouped(1024 * kib)}/{grouped(stage)} = {1024 * kib / stage:.4g}, rounded down.",
    )


def place_of_a_chunk(q: Quiz) -> Question:
    row, k = q.whole(2, _BM - 1), 8 * q.whole(0, 3)
    plain = _HALF * (row * _K + k)
    moved = row // 2 % 4
    answer = plain ^ moved << 4
    return Question(
        "As has rows of BK = 32 elements of two bytes, and a_at is Swizzle<2, 4, 3>: bits 7 and 8 of the offset are XORed into "
        f"its bits 4 and 5. How many bytes from the beginning of As is element (row {row}, k = {k})?",
        answer,
        "bytes",
        f"Without the swizzle: 2·({row}·32 + {k}) = {grouped(plain)}. A row is 64 bytes, so bits 7 and 8 are row/2 mod 4 = "
        f"{moved}. Bits 4 and 5 are the chunk of the row, {k}/8 = {k // 8}: {k // 8} ^ {moved} = {k // 8 ^ moved}. So "
        f"it is {row}·64 + {k // 8 ^ moved}·16 = {grouped(answer)}.",
    )


def cycles_of_a_copy(q: Quiz) -> Question:
    stages, BK, cycles = q.whole(3, 6), q.choose((16, 32, 64)), q.choose((4, 6))
    multiply = BK // _MMA_K * (_WM // 16) * (_WN // 8)
    k_tile = 2 * multiply * cycles
    answer = (stages - 1) * k_tile
    return Question(
        f"Two warps share a scheduler, each with a warp tile of 64×64, and an mma.sync keeps the tensor core busy for {cycles} "
        f"cycles. BK = {BK}, STAGES = {stages}, and nothing else takes time. How many cycles pass from the copy of a k-tile to "
        "its first use?",
        answer,
        "cycles",
        f"A warp executes {BK}/16·4·8 = {multiply} mma.sync for a k-tile, two warps {2 * multiply}: {2 * multiply}·{cycles} = "
        f"{grouped(k_tile)} cycles. A k-tile is copied STAGES - 1 = {stages - 1} k-tiles ahead: {stages - 1}·{grouped(k_tile)} "
        f"= {grouped(answer)}.",
    )


def copies_of_a_thread(q: Quiz) -> Question:
    BM, BN = q.choose((64, 128, 256)), q.choose((64, 128, 256))
    BK, threads = q.choose((32, 64)), q.choose((128, 256))
    answer = _HALF * BK * (BM + BN) // (16 * threads)
    return Question(
        f"BM = {BM}, BN = {BN}, BK = {BK}, {threads} threads, elements of two bytes, copies of 16 bytes that all threads share "
        "equally. How many cp.async does a thread execute for a k-tile, A and B together?",
        answer,
        "",
        f"A k-tile is 2·{BK}·({BM} + {BN}) = {grouped(_HALF * BK * (BM + BN))} bytes. {threads} threads copy "
        f"16·{threads} = {grouped(16 * threads)} bytes with one cp.async each: "
        f"{grouped(_HALF * BK * (BM + BN))}/{grouped(16 * threads)} = {answer}.",
    )


QUIZ = (flop_a_byte, copies_of_a_thread, stages_that_fit, place_of_a_chunk, cycles_of_a_copy)
