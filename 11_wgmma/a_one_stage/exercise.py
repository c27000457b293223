"""What the exercise and the bug hunt of lesson 11a leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, grouped

_BM, _BN = 128, 128  # kernel.cu's C tile
_HALF = 2  # bytes of an element
_SPAN = 128  # bytes of a row of the swizzle's pattern


def _stores(counts: Counts) -> Measured:
    """Requests of all warps that store to C, and the line with most of them."""
    lines = counts.lines(space="global", op="store", array="C")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


EXERCISE = Exercise(
    task="multiply with wgmma: say where the operands are, have TMA bring the k-tiles, and let the warpgroup multiply them. "
    "The tensor maps, the order of the blocks and the stores to C are given.",
    gaps={
        "descriptors": Gap(
            "a_at(row, k) is the descriptor of 64 rows of As from row `row` on, 16 steps along K from k on; b_at(k) that of "
            "16 rows of Bs from k on, all columns. As and Bs begin at the shared addresses as and bs, and the swizzle "
            "permutes within SPAN bytes. At which address is the first element? How far is it to the next eight rows, and to "
            "the next 64 columns? gemm::ptx::encode() takes the fields by name."
        ),
        "load": Gap(
            "thread 0 requests both tiles, and all threads wait until they have arrived. How many bytes complete a phase of "
            "`full`? A box has BOX columns: how many boxes make a tile of B, and where does each go? Which parity has the "
            "phase that a round waits for?"
        ),
        "multiply": Gap(
            "acc += As · Bs: BK / WGMMA_K steps, and in each an instruction for every 64 rows. What comes before the first "
            "one, and what after the last? Then the tiles may be overwritten, and in the end acc is used. Nobody has set acc to "
            "0: which products must not add to what it holds?"
        ),
    },
    hints=(
        "In descriptors: with the swizzle a row of As is one span of 128 bytes, 64 steps along K; a row of Bs is cut into "
        "spans of 64 columns, and all rows of the first 64 columns come first. One step further along K is 2 bytes in As and "
        "a span in Bs. In load: only one thread arrives at `full`, and it says how many bytes are to come. In multiply: a "
        "batch begins with a fence, ends with a commit, and is complete when someone has waited for it.",
        "In descriptors: A starts at as + row * SPAN + 2 * k, the next 8 rows are 8 * SPAN further on; B starts at bs + k * "
        "SPAN, .leading goes to the next 64 columns, BK spans further on, and .stride to the next 8 rows. Both have "
        "WgmmaSwizzle::bytes128. In load: mbarrier_arrive_expect_tx for SHARED bytes, one tma_load for A at {k0, row0}, BN / "
        "BOX for B at {col0 + j, k0}; then mbarrier_wait with a parity that changes in every round. In multiply: "
        "wgmma_fence(acc), the products, wgmma_commit(), wgmma_wait<0>(acc). wgmma() adds to acc if its last argument is true, "
        "which it is but for k0 = 0 and k = 0.",
        "nearly the code, in the gaps' order:\n"
        "  const auto a_at = [&](int row, int k) { return gemm::ptx::encode({.start = as + row * SPAN + 2 * k, .stride = 8 * "
        "SPAN, .swizzle = WgmmaSwizzle::bytes128}); };\n"
        "  b_at likewise: .start = bs + k * SPAN, .leading = BK * SPAN, .stride = 8 * SPAN;\n"
        "  if (t == 0) { arrive_expect_tx(full, SHARED); tma_load(shared, map_a, {k0, row0}, full); and for j = 0, BOX, …: "
        "tma_load(shared + BS + j * BK * 2, map_b, {col0 + j, k0}, full); }\n"
        "  mbarrier_wait(full, parity); parity ^= 1;\n"
        "  wgmma_fence(acc); for k = 0, WGMMA_K, … and i = 0, 1: wgmma<T, WGMMA_N, Major::k, Major::row>(acc[i], a_at(i * "
        "WGMMA_M, k), b_at(k), k0 > 0 || k > 0); wgmma_commit(); wgmma_wait<0>(acc);",
    ),
    starter_fails="with_one_tile",
    goals=(
        Goal(
            "Each block loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "A tile of A is one box, and a tile of B is two, of 64 columns each. Does each go to a place of its own?",
        ),
        Goal(
            "Threads store C two elements at a time",
            _stores,
            lambda counts: counts.shape[0] * counts.shape[1] / 64,
            "stores of a warp",
            "A thread holds two neighbors of a row: gemm::store2() writes them at once where every row of C allows it.",
        ),
        Goal(
            "A thread meets one barrier",
            barriers,
            lambda counts: 1,
            "barriers",
            "The one after mbarrier_init. In the loop, the mbarrier says that the tiles have arrived, and wgmma_wait that "
            "all four warps have used them.",
            reached="{value}",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the order of events in "
    "which it is wrong, then the line, and fix it.",
    bug={
        "        gemm::ptx::wgmma_wait<0>(acc);  // all four warps' products: they are one batch of the warpgroup": (
            "        gemm::ptx::wgmma_wait<1>();  // all four warps' products: they are one batch of the warpgroup"
        ),
        "    // A thread's sums are neighbors by twos, which one store takes where every row of C allows it.": (
            "    gemm::ptx::wgmma_wait<0>(acc);  // the last batch's sums, too"
        ),
    },
    hints=(
        "Descriptors, bytes and parities are right. Write down, for two rounds of the loop, who reads the tiles in shared "
        "memory, who overwrites them, and what each of the two waits for.",
        "The tensor cores read a round's tiles until its batch is complete. Thread 0 requests the next round's tiles, which "
        "come to the same place. What do we know about the batch at that moment?",
        "wgmma_wait<1> allows one batch to be unfinished: the newest, this round's. Suppose that the tensor cores are late, "
        "or that the copy engine is quick because the tiles are in L2. Then the new tiles arrive while the old ones are "
        "still being multiplied.",
    ),
    check_finds="wgmma_in_flight",
    race=True,
)


# The quiz


def start_of_a_descriptor(q: Quiz) -> Question:
    begin, row, k = 1024 * q.whole(1, 40), q.choose((0, 64)), 16 * q.whole(0, 3)
    start = begin + row * _SPAN + 2 * k
    answer = start // 16
    return Question(
        f"As begins at the shared address {grouped(begin)}, and has rows of 64 elements of two bytes. Which number is in "
        f"bits 0 to 13 of the descriptor for the 64 rows from {row} on and the 16 steps from {k} on?",
        answer,
        "",
        f"Row {row} begins {row}·{_SPAN} = {grouped(row * _SPAN)} bytes further on, step {k} another 2·{k} = {2 * k}: the "
        f"start is {grouped(start)}. The field holds a sixteenth of that: {grouped(start)}/16 = {grouped(answer)}.",
    )


def which_thread_owns_a_sum(q: Quiz) -> Question:
    row, col = q.whole(0, _BM - 1), q.whole(0, _BN - 1)
    in_wgmma = row % 64
    warp, lane = in_wgmma // 16, in_wgmma % 8 * 4 + col % 8 // 2
    answer = warp * WARP + lane
    e = col // 8 * 4 + in_wgmma % 16 // 8 * 2 + col % 2
    return Question(
        f"One warpgroup computes a C tile of {_BM}×{_BN} with wgmma.m64n{_BN}k16. Which thread, 0 to 127, owns the sum in "
        f"row {row} and column {col} of it?",
        answer,
        "",
        f"It is row {in_wgmma} of its 64 rows. Each warp has 16 of them: warp {in_wgmma}/16, rounded down, = {warp}. In the "
        f"warp: 4·(row mod 8) + (column mod 8)/2, rounded down, is lane 4·{row % 8} + {col % 8 // 2} = {lane}. "
        f"{WARP}·{warp} + {lane} = {answer}. It is its acc[{row // 64}][{e}].",
    )


def wavefronts_of_a_wgmma(q: Quiz) -> Question:
    n = 8 * q.whole(1, 32)
    read, cycles = 64 * 16 * _HALF + 16 * n * _HALF, n // 2
    answer = read // 128
    rate = "less than" if answer < cycles else "more than" if answer > cycles else "exactly"
    return Question(
        f"A wgmma.m64n{n}k16 reads A and B from shared memory, elements of two bytes, each element once. How many wavefronts of "
        "128 bytes is that?",
        answer,
        "wavefronts",
        f"A has 64·16·2 = 2048 bytes, B 16·{n}·2 = {grouped(16 * n * _HALF)}: {grouped(read)}/128 = {answer}. The four "
        f"tensor cores take 64·{n}·16/(4·512) = {cycles} cycles for it, so that is {rate} one per cycle.",
    )


def a_field_of_a_descriptor(q: Quiz) -> Question:
    start, leading, stride = 16 * q.whole(64, 4000), 1024 * q.whole(1, 32), 1024 * q.whole(1, 16)
    name, first, answer = q.choose((("leading-dimension", 16, leading), ("stride-dimension", 32, stride)))
    descriptor = start // 16 | leading // 16 << 16 | stride // 16 << 32 | 1 << 62
    return Question(
        f"A matrix descriptor is 0x{descriptor:016X}. How many bytes is its {name} byte offset?",
        answer,
        "bytes",
        f"It is in bits {first} to {first + 13}; a digit has four bits: in 0x{descriptor:016X} these bits are "
        f"0x{answer // 16:X} = {answer // 16}. The field counts units of 16 bytes: 16·{answer // 16} = {grouped(answer)}.",
    )


def from_columns_to_columns(q: Quiz) -> Question:
    BN, BK = 64 * q.whole(2, 4), 8 * q.whole(2, 16)
    answer = BK * _SPAN
    return Question(
        f"A tile of B has BK = {BK} rows of BN = {BN} elements of two bytes. TMA brings it with the 128-byte swizzle, as in "
        "this lesson, one box after another. How many bytes is the leading-dimension byte offset of B's descriptor?",
        answer,
        "bytes",
        f"A box is 128 bytes wide, 64 columns, and has all {BK} rows: {BK}·128 = {grouped(answer)} bytes. The next 64 "
        f"columns are the next box, so they begin that far on. BN = {BN} only says how many boxes there are, {BN // 64}.",
    )


QUIZ = (
    start_of_a_descriptor,
    which_thread_owns_a_sum,
    wavefronts_of_a_wgmma,
    a_field_of_a_descriptor,
    from_columns_to_columns,
)
