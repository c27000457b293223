"""What the exercise and the bug hunt of lesson 11b leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K = 128, 256, 64  # kernel.cu's C tile
_HALF = 2  # bytes of an element


def _stores(counts: Counts) -> Measured:
    """Requests of all warps that store to C, and the line with most of them."""
    lines = counts.lines(space="global", op="store", array="C")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


EXERCISE = Exercise(
    task="keep the tensor cores fed: fill a ring of STAGES stages ahead of time, and find out when a stage's k-tile has "
    "arrived and when the stage may be filled again. The products and their descriptors are given; they are 11a's.",
    gaps={
        "load": Gap(
            "thread 0 requests k-tile n of A and of B. Which stage does it go to, and which mbarrier will say that it has "
            "arrived? How many bytes come, in how many boxes?"
        ),
        "arrived": Gap(
            "wait until k-tile n has arrived. Its stage has been used n / STAGES times before: which parity has the phase "
            "that its bytes complete?"
        ),
        "ahead": Gap(
            "this round's products have begun. Which batch must be complete before a stage is filled again, and who else "
            "reads that stage? Then thread 0 requests the k-tile that goes there, if there is one."
        ),
    },
    hints=(
        "The ring is lesson 08's: k-tile n is in stage n % STAGES. Each stage has an mbarrier of its own, which completes "
        "one phase each time the stage is filled. In round n, k-tiles n to n + STAGES - 2 have arrived or are on their way; "
        "the remaining stage held k-tile n - 1.",
        "In load: a stage begins n % STAGES * STAGE bytes after shared; STAGE bytes come, As in one box, Bs in BN / BOX of "
        "them. In arrived: the phases of a stage have the parities 0, 1, 0, …: n / STAGES % 2. In ahead: wgmma_wait<1> "
        "leaves only this round's batch under way, so the batch before it has read its stage. The other warpgroup has a "
        "batch of its own, which needs a barrier. Then load(n + STAGES - 1), if that is below tiles.",
        "nearly the code, in the gaps' order:\n"
        "  char* to = shared + n % STAGES * STAGE; Mbarrier& arrived = full[n % STAGES];\n"
        "  arrive_expect_tx(arrived, STAGE); tma_load(to, map_a, {n * BK, row0}, arrived);\n"
        "  for j = 0, BOX, …: tma_load(to + BS + j * BK * 2, map_b, {col0 + j, n * BK}, arrived);\n"
        "  mbarrier_wait(full[n % STAGES], n / STAGES % 2);\n"
        "  wgmma_wait<1>(); __syncthreads(); if (t == 0 && n + STAGES - 1 < tiles) load(n + STAGES - 1);",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "Each block loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "One call of load(n) requests each k-tile: the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "Threads store C two elements at a time",
            _stores,
            lambda counts: counts.shape[0] * counts.shape[1] / 64,
            "stores of a warp",
            "A thread holds two neighbors of a row: gemm::store2() writes them at once where every row of C allows it.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The one in the loop says that both warpgroups have used the stage that is filled next. The mbarrier says that a "
            "k-tile has arrived.",
        ),
    ),
)

HUNT = Hunt(
    task="two lines of this kernel have changed places, and yet the result is nearly always right on a GPU. Find the order "
    "of events in which it is wrong, then the two lines, and put them back.",
    bug={
        "        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage,\n"
        "        __syncthreads();             // and so has the other warpgroup's\n": (
            "        __syncthreads();             // and so has the other warpgroup's\n"
            "        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage,\n"
        ),
    },
    hints=(
        "Stages, bytes and parities are right, and with only one warpgroup nothing would go wrong. Which stage does thread 0 "
        "refill in round n, and which two batches have read it?",
        "Thread 0 belongs to the first warpgroup. It waits only for its own warpgroup's batch. What does it know about the "
        "second one's, and from where?",
        "A barrier says that the others have come as far as the barrier, no further. Suppose that the second warpgroup's "
        "batch n - 1 is slow: the warpgroup passes the barrier of round n first, and waits for that batch only afterwards. "
        "By then thread 0 may have had the stage overwritten.",
    ),
    check_finds="wgmma_in_flight",
    race=True,
)


# The quiz


def stages_that_fit(q: Quiz) -> Question:
    BM, BN, BK = 64 * q.whole(1, 4), 64 * q.whole(1, 4), q.choose((64, 128))
    stage, room = _HALF * BK * (BM + BN), 226 * 1024
    answer = room // stage
    return Question(
        f"BM = {BM}, BN = {BN}, BK = {BK}, elements of two bytes. A block may have 227 KiB of shared memory, and the mbarriers "
        "take one of them, because the stages begin at a multiple of 1024. How many stages fit?",
        answer,
        "stages",
        f"A stage: 2·{BK}·({BM} + {BN}) = {grouped(stage)} bytes. 226·1024 = {grouped(room)}, and "
        f"{grouped(room)}/{grouped(stage)}, rounded down, is {answer}.",
    )


def phase_of_a_tile(q: Quiz) -> Question:
    stages, tile = q.whole(2, 6), q.whole(8, 200)
    answer = tile // stages
    return Question(
        f"A ring has {stages} stages with an mbarrier each. K-tile {tile} goes to stage {tile} mod {stages}. Which phase of "
        "that mbarrier do its bytes complete, counted from 0?",
        answer,
        "",
        f"One of every {stages} k-tiles goes to this stage: {tile}/{stages}, rounded down, is {answer}. A thread that waits "
        f"for it waits for parity {answer % 2}.",
    )


def stage_that_is_filled(q: Quiz) -> Question:
    stages, n = q.whole(3, 9), q.whole(20, 500)
    answer = (n + stages - 1) % stages
    return Question(
        f"STAGES = {stages}. In round n = {n} of the loop, a thread has waited for the batch before, and has passed the "
        "barrier. To which stage does the k-tile go that is requested now?",
        answer,
        "",
        f"It is k-tile {n} + {stages} - 1 = {n + stages - 1}, and {n + stages - 1} mod {stages} = {answer}. That is the "
        f"stage of k-tile {n - 1}, whose products are done.",
    )


def wavefronts_of_a_tile(q: Quiz) -> Question:
    groups, n = q.whole(1, 4), 64 * q.whole(1, 4)
    BM, BK = 64 * groups, 64
    written, read = _HALF * BK * (BM + n) // 128, groups * BK // 16 * (16 + n // 4)
    answer = written + read
    cycles = groups * BK // 16 * n // 2
    return Question(
        f"A block has {groups} warpgroup{'s' if groups > 1 else ''}. Its C tile is {BM}×{n}, and each warpgroup computes 64 "
        f"rows of it with wgmma.m64n{n}k16. How many wavefronts of 128 bytes does a k-tile of {BK} steps take in shared "
        "memory, to write it and to read it?",
        answer,
        "wavefronts",
        f"Written: 2·{BK}·({BM} + {n})/128 = {written}. A wgmma reads 64·16·2/128 = 16 of A and 16·{n}·2/128 = {n // 4} of "
        f"B, and there are {groups}·{BK}/16 = {groups * BK // 16}: {grouped(read)}. Together {grouped(answer)}, for "
        f"{grouped(cycles)} cycles of products.",
    )


def pitch_of_a_copy(q: Quiz) -> Question:
    cols = 8 * q.whole(30, 1000) + q.whole(1, 7)
    lines = ceil_div(_HALF * cols, 128)
    answer = lines * 128
    return Question(
        f"A matrix has {grouped(cols)} columns of BF16 and no padding between its rows. TMA refuses it, so launch() makes a "
        "copy in which each row begins with a cache line of 128 bytes. How many bytes is it from the start of one row to the "
        "next?",
        answer,
        "bytes",
        f"A row has 2·{grouped(cols)} = {grouped(_HALF * cols)} bytes, which is no multiple of 16. It takes {lines} lines: "
        f"{lines}·128 = {grouped(answer)}.",
    )


QUIZ = (
    stages_that_fit,
    phase_of_a_tile,
    stage_that_is_filled,
    wavefronts_of_a_tile,
    pitch_of_a_copy,
)
