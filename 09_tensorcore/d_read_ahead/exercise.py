"""What the exercise and the bug hunt of lesson 09d leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, shared_load_wavefronts, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 256, 128, 32, 8  # kernel.cu's C tile, and the warps of a block
_WM, _WN = 64, 64
_MMA_M, _MMA_N, _MMA_K = 16, 8, 16
_HALF = 2  # bytes of an element


def _ldmatrix(counts: Counts) -> float:
    """8 in each k-step of a warp: 16 rows of A, or 16 columns of B, each."""
    steps = ceil_div(counts.shape[2], _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * (_WM + _WN) // 16


EXERCISE = Exercise(
    task="read the fragments of each k-step while those of the one before are multiplied, also from one k-tile to the next. The "
    "copies are there, they are 09c's, and so are the fragments of A.",
    gaps={
        "read_b": Gap(
            "fill to.b, 16 columns at a time, from rows step * MMA_K, … of Bs in this stage. b[j] is where this lane's row "
            "begins for k-step 0 in stage 0. The zeros below only let the kernel run.",
            "for (auto& two : to.b) two[0][0] = two[0][1] = two[1][0] = two[1][1] = 0;",
        ),
        "multiply": Gap(
            "add the products of with.a[i] and with.b to acc[i][j], for all TILES_M·TILES_N of them. b[j / 2][j % 2] is the "
            "fragment of 8 columns. In which order do two neighbors always share a fragment?"
        ),
        "arrived": Gap(
            "the fragments of the next k-step come from the next k-tile. Make sure that it is there, for all threads, and go on "
            "to its stage: LAST is the last one, STAGE the distance from one to the next. What else does the barrier here allow?"
        ),
        "next": Gap(
            "read the fragments of the next k-step into the set that is not being used: of k-step step + 1, or of k-step 0 at "
            "the end of a k-tile. When is there no next one? (copying.value is true while there are k-tiles to copy.)"
        ),
    },
    hints=(
        "K-steps 0 and 1 of a k-tile use sets 0 and 1 of `frag`. While one set is multiplied, the other is filled. So the last "
        "k-step of a k-tile fills set 0 with the first fragments of the next k-tile, which must have arrived by then. For the "
        "fragments: how many rows of Bs further down is the next k-step, and how many bytes are in a row?",
        "In read_b: TILES_N / 2 times ldmatrix_trans. The next k-step is MMA_K rows of BN elements of two bytes further down, "
        "and each j has its own address. In multiply: down a column of products, then up the next one. In arrived: a wait for "
        "all but the newest STAGES - 2 groups, a barrier, and the next stage, which is 0 after LAST. In next: "
        "fragments.read(the other set, stage, the next k-step's number in its k-tile), unless this is the last k-step of the "
        "last k-tile.",
        "nearly the code, in the gaps' order:\n"
        "  ldmatrix_trans(to.b[j], b[j] + stage + 2 * step * MMA_K * BN);\n"
        "  for each j, for each e: i = e or, where j is odd, TILES_M - 1 - e;\n"
        "  mma_m16n8k16<T>(acc[i][j], with.a[i], with.b[j / 2][j % 2]);\n"
        "  cp_async_wait<STAGES - 2>(); and a barrier; stage = stage == LAST ? 0 : stage + STAGE;\n"
        "  if (copying.value || step < BK / MMA_K - 1 || tiles > 1)\n"
        "  fragments.read(frag[(step + 1) % 2], stage, (step + 1) % (BK / MMA_K));",
    ),
    starter_fails="copy_in_flight",
    goals=(
        Goal(
            "Each block copies its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "One call of copy(…), which is there already, copies a k-tile. Is each C tile computed only once?",
        ),
        Goal(
            "A warp reads the fragments of a k-step in 8 ldmatrix",
            shared_reads,
            _ldmatrix,
            "reads of shared memory",
            "Four for the 64 rows of A, four for the 64 columns of B. Each k-step's fragments are read once, a k-step ahead.",
        ),
        Goal(
            "Fragments are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            lambda counts: 4 * _ldmatrix(counts),
            "wavefronts",
            "Lanes 8·i … 8·i + 7 of an ldmatrix name eight rows, whose swizzled places are in different banks.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait does both: the next k-tile is there, and the stage to be filled is no longer read.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and mend it.",
    bug={
        "                gemm::ptx::cp_async_wait<STAGES - 2>();\n                __syncthreads();  // the next": (
            "                gemm::ptx::cp_async_wait<STAGES - 1>();\n                __syncthreads();  // the next"
        ),
    },
    hints=(
        "Formulas, barriers and stages are right. In the last k-step of a k-tile the first fragments of the next one are read: "
        "write down which groups of copies a thread has committed by then, and which of them are complete for certain.",
        "A group is committed for each k-tile, STAGES - 1 before the loop and one in k-step 0 of each k-tile. In the last k-step "
        "of k-tile n the newest group is that of k-tile n + STAGES - 1. How many are newer than the group of k-tile n + 1?",
        "K-tiles n + 2 … n + STAGES - 1 may still be in flight, STAGES - 2 groups. There are two waits in the kernel: do both "
        "say so?",
    ),
    check_finds="copy_in_flight",
    race=True,
)


# The quiz


def wavefronts_a_multiplication(q: Quiz) -> Question:
    WM, WN = q.choose((16, 32, 48, 64, 96, 128)), q.choose((16, 32, 64, 80, 96, 128))
    loads, mmas = WM // 16 + WN // 16, WM // 16 * (WN // 8)
    return Question(
        f"A warp tile of {WM}×{WN}, fragments by ldmatrix.x4 (16×16 elements of two bytes, without bank conflicts), mma.sync of "
        "m16n8k16. How many wavefronts of shared memory does a warp need for each mma.sync?",
        4 * loads / mmas,
        "wavefronts",
        f"An ldmatrix.x4 reads 512 bytes, 4 wavefronts of 128. A k-step takes {WM}/16 + {WN}/16 = {loads} of them, and "
        f"{WM}/16·{WN}/8 = {mmas} mma.sync: 4·{loads}/{mmas} = {4 * loads / mmas:.4g}. With 64×64 it is 32/32 = 1.",
        tolerance=0.005,
    )


def registers_of_a_thread(q: Quiz) -> Question:
    WM, WN, sets = q.choose((32, 48, 64)), q.choose((32, 48, 64, 96)), q.choose((1, 2))
    sums, fragments = WM * WN // WARP, WM // 16 * 4 + WN // 16 * 4
    answer = sums + sets * fragments
    return Question(
        f"A warp tile of {WM}×{WN}, and {sets} set{'s' if sets > 1 else ''} of fragments for mma.sync of m16n8k16, of two-byte "
        "elements. How many registers of a thread hold sums and fragments?",
        answer,
        "registers",
        f"Sums: {WM}·{WN}/32 = {sums}. A set: {WM}/16 fragments of A with 4 registers, {WN}/8 of B with 2: {WM // 16}·4 + "
        f"{WN // 8}·2 = {fragments}. {sums} + {sets}·{fragments} = {answer}.",
    )


def cycles_that_fragments_have(q: Quiz) -> Question:
    WM, WN, warps, cycles = q.choose((32, 64)), q.choose((32, 64, 96)), q.choose((1, 2, 4)), q.choose((4, 6))
    products = WM // _MMA_M * (WN // _MMA_N)
    answer = products * warps * cycles
    return Question(
        f"{warps} warp{'s share' if warps > 1 else ' has'} a scheduler, each with a warp tile of {WM}×{WN}. An mma.sync keeps "
        f"the tensor core busy for {cycles} cycles, and nothing else takes time. Fragments are read one k-step of 16 ahead. How "
        "many cycles do they have to arrive, if the warps take turns?",
        answer,
        "cycles",
        f"A k-step of a warp is {WM}/16·{WN}/8 = {products} mma.sync. Fragments have as long as the products of all warps take: "
        f"{warps}·{products}·{cycles} = {answer}.",
    )


def shared_fragments(q: Quiz) -> Question:
    down, across = q.whole(2, 6), q.choose((4, 6, 8, 12))
    answer = down * across - across
    return Question(
        f"A k-step's products are {down} rows with {across} in each, and mma.sync (i, j) takes fragment i of A and j of B. "
        "They are done column by column, each column from the top. How many of them share a fragment with the one before?",
        answer,
        "",
        f"Within a column all but the first share the fragment of B: {across}·{down - 1} = {answer}. The first of a column "
        f"shares neither with the last of the column before. (Down one column and up the next, all but the very first would: "
        f"{down * across - 1}.)",
    )


def where_a_step_begins(q: Quiz) -> Question:
    BK, stages = q.choose((32, 48, 64)), q.whole(3, 6)
    tile, step = q.whole(2, 12), q.whole(0, BK // _MMA_K - 1)
    rows_a, columns_b = 256, 128
    stage = _HALF * BK * (rows_a + columns_b)
    after, next_step = divmod(step + 1, BK // _MMA_K)
    answer = (tile + after) % stages * stage + _HALF * BK * rows_a + _HALF * next_step * _MMA_K * columns_b
    return Question(
        f"BM = 256, BN = 128, BK = {BK}, STAGES = {stages}; in each stage Bs comes after As, all elements have two bytes, and "
        f"k-tile n is in stage n mod STAGES. In k-step {step} of k-tile {tile} a warp reads the next k-step's fragments. At how "
        "many bytes from the beginning of shared memory does the first of their rows of Bs begin?",
        answer,
        "bytes",
        f"The next k-step is number {next_step} of k-tile {tile + after}, in stage {(tile + after) % stages}. A stage is "
        f"2·{BK}·(256 + 128) = {grouped(stage)} bytes, As the first {grouped(_HALF * BK * rows_a)} of them, and {next_step}·16 "
        f"rows of Bs are {grouped(_HALF * next_step * _MMA_K * columns_b)}: {(tile + after) % stages}·{grouped(stage)} + "
        f"{grouped(_HALF * BK * rows_a)} + {grouped(_HALF * next_step * _MMA_K * columns_b)} = {grouped(answer)}.",
    )


QUIZ = (
    wavefronts_a_multiplication,
    registers_of_a_thread,
    cycles_that_fragments_have,
    shared_fragments,
    where_a_step_begins,
)
