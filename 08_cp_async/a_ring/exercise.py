"""What the exercise and the bug hunt of lesson 08a leave out, ask and tell."""

from collections.abc import Mapping

from runner.inspect.counts import Counts, bank_conflicts, barriers, bytes_loaded, bytes_of_tiles, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped

_BM, _BN, _BK, _PAD = 128, 256, 8, 4  # kernel.cu's


def _requests_for_b(counts: Counts) -> tuple[float, Mapping | None]:
    """That load B, of all warps."""
    lines = counts.lines(space="global", op="load", array="B")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


EXERCISE = Exercise(
    task="keep STAGES k-tiles in shared memory, and copy ahead of the sums with cp.async. The copies of A are given.",
    gaps={
        "tile_b": Gap(
            "copy WIDTH floats of row b_k + i of B's k-tile, as the kernel does for A. Where do zeros belong? The line below "
            "puts a zero everywhere, at once.",
            "*reinterpret_cast<float*>(b_write + stage + 4 * i * BN) = 0.0f;",
        ),
        "first": Gap(
            "start copying the k-tiles after the first one, so that STAGES - 1 of them are on their way. What if K has "
            "fewer? Each k-tile closes a group, whether it exists or not."
        ),
        "arrived": Gap(
            "a new k-tile begins. Make sure that it has arrived, for all threads. How many groups may be under way now? The "
            "copies below go to the stage of the k-tile before this one: who must have finished with it?"
        ),
        "ahead": Gap(
            "copy the k-tile for the stage `ahead`, if there is one (copying.value), and close its group. What would the wait "
            "above count if some rounds had no group?"
        ),
    },
    hints=(
        "K-tile number n is in stage n % STAGES, and its copies are group number n of each thread: every k-tile gets a commit, "
        "and so does one that does not exist. Write down for STAGES = 4 which groups have been committed when k-tile 0 begins, "
        "which one must be complete, and how many may therefore be under way. What are the answers when k-tile 1 begins?",
        "Before the loop: k-tiles 1 … STAGES - 2, number s to offset s * STAGE, BK steps each, only if s < tiles; a commit after "
        "each in any case. So STAGES - 1 groups are committed whenever a k-tile begins that has not been waited for, and it is "
        "the oldest of them: wait until at most STAGES - 2 are under way. The wait is for a thread's own copies, so a barrier "
        "follows. After it everyone has finished with the k-tile before, and its stage, `ahead`, can be filled again: copy BK "
        "steps to it if there are k-tiles left, and commit outside of the `if`.",
        "nearly the code:\n"
        "  cp_async_or_zero<4 * WIDTH>(to row i of Bs, b + i * ldb, b_k + i < steps and the column is below N);\n"
        "  for (int s = 1; s < STAGES - 1; ++s) { if (s < tiles) copy(s * STAGE, BK); and a commit }\n"
        "  cp_async_wait<STAGES - 2>(); and a barrier, where a k-tile begins;\n"
        "  if (copying.value) copy(ahead, BK); and a commit.",
    ),
    starter_fails="copy_in_flight",
    goals=(
        Goal(
            "The blocks copy each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN),
            "bytes",
            "Each k-tile is copied by one call of copy(…): the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "A copy of B moves 16 bytes where alignment allows it",
            _requests_for_b,
            lambda counts: ceil_div(counts.shape[0], _BM) * counts.shape[2] * ceil_div(counts.shape[1], 4 * WARP),
            "requests",
            "WIDTH is 4 floats where ALIGNED: cp_async_or_zero<4 * WIDTH>, and one call for a thread's four columns.",
        ),
        Goal(
            "A thread meets one barrier per k-tile",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _BK),
            "barriers",
            "The barrier after the wait does both jobs: the k-tile has arrived, and no thread still reads the stage that is "
            "filled next.",
        ),
        Goal(
            "Shared memory takes no more wavefronts than the lesson's kernel",
            bank_conflicts,
            # A copy of A takes four, one for each of the rows, whose 8 steps lie in one line of global memory; one could do it.
            lambda counts: tiles(counts, _BM, _BN) * counts.shape[2] * 3 * _BM // 32,
            "wavefronts beyond the ideal",
            "Let b_write stay where it is: the threads of a warp copy to neighboring places of a row of Bs.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and fix it.",
    bug={
        "                gemm::ptx::cp_async_commit();": "                if (copying.value) gemm::ptx::cp_async_commit();",
    },
    hints=(
        "The formulas, guards and barriers are right. A wait says how many groups may be under way, and not which: count the "
        "groups that a thread has committed when it waits, k-tile by k-tile, with 6 of them and STAGES = 4.",
        "While there are k-tiles to copy, all is well. Look at the last STAGES - 1: nothing is copied anymore, and yet some "
        "of what was copied is still to be waited for. Which groups does the same wait leave under way there?",
        "A wait for all but the newest STAGES - 2 groups waits for the next k-tile only if every k-tile has committed a "
        "group, even an empty one. Look at the commits: one of them has a condition.",
    ),
    check_finds="copy_in_flight",
    race=True,
)


# The quiz


def tiles_under_way(q: Quiz) -> Question:
    stages, tiles = q.whole(3, 8), q.whole(12, 40)
    at = tiles - q.whole(1, stages + 3)
    answer = min(stages - 1, tiles - 1 - at)
    newest = at + stages - 1
    return Question(
        f"Suppose STAGES = {stages}, and K gives {tiles} k-tiles, numbers 0 to {tiles - 1}. A thread has just executed step k = "
        f"0 of k-tile {at}, with its copy(…) and its commit. At most how many k-tiles may it still be copying?",
        answer,
        "k-tiles",
        f"The wait where k-tile {at} began left at most STAGES - 2 groups under way: k-tile {at} is complete. Step k = 0 then "
        f"committed group {newest}, "
        f"{'the copies of k-tile ' + str(newest) if newest < tiles else 'which is empty, as there is no such k-tile'}"
        f". Of the k-tiles after {at}, up to STAGES - 1 = {stages - 1} are under way, as far as they exist: "
        f"min({stages - 1}, {tiles - 1} - {at}) = {answer}.",
    )


def shared_bytes_of_a_ring(q: Quiz) -> Question:
    BM, BN, BK = q.choose((64, 96, 128, 256)), q.choose((64, 128, 256)), q.choose((8, 16, 32))
    stages = q.whole(2, 5)
    stage = 4 * BK * (BM + _PAD + BN)
    answer = stages * stage
    fit = [name for name, kib in (("8.0", 163), ("8.6", 99), ("9.0", 227)) if answer <= 1024 * kib]
    return Question(
        f"Tiles of BM = {BM} by BN = {BN} with BK = {BK}, As padded to rows of BM + 4 floats, STAGES = {stages}. How many bytes "
        "of shared memory does a block take?",
        answer,
        "bytes",
        f"A stage: 4·BK·(BM + 4 + BN) = 4·{BK}·{BM + 4 + BN} = {grouped(stage)}. {stages} of them: {grouped(answer)}. "
        f"A block may have 163 KiB on 8.0, 99 KiB on 8.6 and 227 KiB on 9.0: it fits on {' and '.join(fit) or 'none of these'}.",
    )


def groups_that_a_wait_may_leave(q: Quiz) -> Question:
    stages, ahead = q.whole(4, 8), q.whole(1, 3)
    answer = stages - 1 - ahead
    return Question(
        f"Suppose STAGES = {stages}, and a loop that copies less far ahead: before it the first {stages - ahead} k-tiles are "
        f"copied, a group each; in round n, after the barrier, k-tile n + {stages - ahead}. Round n begins by waiting for "
        "k-tile n. What is the largest P for which cp_async_wait<P>() is enough?",
        answer,
        "",
        f"When round n begins, groups 0 to n + {stages - ahead} - 1 are committed. K-tile n is complete if at most the "
        f"groups after n are under way: n + {stages - ahead} - 1 - n = {answer}. ({ahead} stage{'s' if ahead > 1 else ''} of "
        "shared memory would then be wasted, but that is another matter.)",
    )


def stages_that_registers_would_hold(q: Quiz) -> Question:
    BM, BN, BK = q.choose((64, 128)), q.choose((128, 256)), q.choose((8, 16))
    threads, ahead = q.choose((128, 256)), q.whole(2, 4)
    one = BM * BK // threads + BK * BN // threads
    answer = one * ahead
    return Question(
        f"A kernel loads its k-tiles through registers, as lesson 07 does: BM = {BM}, BN = {BN}, BK = {BK}, {threads} threads. "
        f"It wants {ahead} k-tiles on their way. How many registers of a thread hold them?",
        answer,
        "registers",
        f"A k-tile of A and one of B are {BM}·{BK} + {BK}·{BN} = {grouped(BM * BK + BK * BN)} floats, {one} for each of "
        f"{threads} threads. {ahead} of them: {answer}. With cp.async it is none, whatever the number.",
    )


def bytes_of_zeros(q: Quiz) -> Question:
    M, N, K = q.whole(20, 100), 2 * q.whole(10, 50) + 1, 2 * q.whole(10, 40) + 1
    down, across, tiles = ceil_div(M, _BM), ceil_div(N, _BN), ceil_div(K, _BK)
    stored, loaded = 4 * down * across * tiles * _BK * (_BM + _BN), 4 * K * (across * M + down * N)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1; BM = {_BM}, BN = {_BN}, BK = {_BK} as here. How many bytes of zeros do all "
        "copies together put into shared memory?",
        stored - loaded,
        "bytes",
        f"{down}·{across} blocks fill {tiles} stages each with 4·{_BK}·({_BM} + {_BN}) = {grouped(4 * _BK * (_BM + _BN))} bytes "
        f"without the padding: {grouped(stored)}. They read 4·(⌈{N}/{_BN}⌉·{M}·{K} + ⌈{M}/{_BM}⌉·{K}·{N}) = {grouped(loaded)} "
        f"from global memory; the difference, {grouped(stored - loaded)} bytes, are zeros.",
    )


QUIZ = (
    tiles_under_way,
    shared_bytes_of_a_ring,
    groups_that_a_wait_may_leave,
    stages_that_registers_would_hold,
    bytes_of_zeros,
)
