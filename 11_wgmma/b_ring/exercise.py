"""What the exercise and the bug hunt of lesson 11b leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import ceil_div

_BM, _BN, _K = 128, 256, 64  # kernel.cu's block tile
_HALF = 2  # bytes of an element


def _stores(counts: Counts) -> Measured:
    """Requests of all warps that store to C, and the line with most of them."""
    lines = counts.lines(space="global", op="store", array="C")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


EXERCISE = Exercise(
    task="keep the tensor cores fed: fill a ring of STAGES stages ahead, know when a stage's tiles are there, and when it may be "
    "filled again. The products and their descriptors are there; they are 11a's.",
    gaps={
        "load": Gap(
            "thread 0 asks for tile n of A and of B. In which stage does it lie, and which mbarrier shall say that it is there? "
            "How many bytes come, in how many boxes?"
        ),
        "arrived": Gap(
            "wait until tile n is there. Its stage has been used n / STAGES times before: which parity has the phase that its "
            "bytes complete?"
        ),
        "ahead": Gap(
            "this round's products have begun. Which batch must be complete before a stage is filled again, and who else reads "
            "that stage? Then thread 0 asks for the tile that comes there, if there is one."
        ),
    },
    hints=(
        "The ring is lesson 08's: tile n lies in stage n % STAGES. Each stage has an mbarrier of its own, whose phases go on by "
        "one each time the stage is filled. In round n the tiles n to n + STAGES - 2 are there or on their way; the stage that "
        "is left held tile n - 1.",
        "In load: a stage begins n % STAGES * STAGE bytes behind shared; STAGE bytes come, As in one box, Bs in BN / BOX of "
        "them. In arrived: the phases of a stage have the parities 0, 1, 0, …: n / STAGES % 2. In ahead: wgmma_wait<1> leaves "
        "only this round's batch under way, so that the one before has read its stage; the other warpgroup's batch is another "
        "one, and needs a barrier; then load(n + STAGES - 1), if it is below tiles.",
        "nearly the code, in the gaps' order:\n"
        "  char* to = shared + n % STAGES * STAGE; Mbarrier& arrived = full[n % STAGES];\n"
        "  arrive_expect_tx(arrived, STAGE); tma_load(to, map_a, {n * BK, row0}, arrived);\n"
        "  for j = 0, BOX, …: tma_load(to + BS + j * BK * 2, map_b, {col0 + j, n * BK}, arrived);\n"
        "  mbarrier_wait(full[n % STAGES], n / STAGES % 2);\n"
        "  wgmma_wait<1>(); __syncthreads(); if (t == 0 && n + STAGES - 1 < tiles) load(n + STAGES - 1);",
    ),
    starter_fails="Shared memory is read where nobody has written.",
    goals=(
        Goal(
            "Each block loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "Each tile is asked for by one call of load(n): the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "C is stored two elements of a thread at a time",
            _stores,
            lambda counts: counts.shape[0] * counts.shape[1] / 64,
            "stores of a warp",
            "A thread holds two neighbours of a row: store2 writes them at once where every row of C allows it.",
        ),
        Goal(
            "A thread meets one barrier a tile along K, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The one in the loop says that both warpgroups have used the stage that is filled next. That a tile is there, its "
            "mbarrier says.",
        ),
    ),
)

HUNT = Hunt(
    task="two lines of this kernel have changed places, and yet the result is nearly always right on a GPU. Find the order of "
    "events in which it is not, then the two lines, and put them back.",
    bug={
        "        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage,\n"
        "        __syncthreads();             // and so has the other warpgroup's\n": (
            "        __syncthreads();             // and so has the other warpgroup's\n"
            "        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage,\n"
        ),
    },
    hints=(
        "Stages, bytes and parities are right, and with one warpgroup nothing would be wrong. Which stage does thread 0 have "
        "filled in round n, and which two batches have read it?",
        "Thread 0 belongs to the first warpgroup. What it waits for itself is its own warpgroup's batch. What does it know of "
        "the second one's, and from where?",
        "A barrier says that the others have come as far as it, not further. Let the second warpgroup's batch n - 1 be slow: it "
        "meets the barrier of round n first, and waits for that batch behind it. Meanwhile thread 0 has the stage overwritten.",
    ),
    check_says="Shared memory is overwritten while wgmma is still reading it.",
)
