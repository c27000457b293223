"""What the exercise and the bug hunt of lesson 13c leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_SMALL = (64, 128)  # C tile of kernel.cu's policy that is chosen for the size of the goals
_HALF = 2  # bytes of an element
_BOX, _SPAN = 64, 128  # columns of a box, bytes of its rows


def _stored_by_threads(counts: Counts) -> Measured:
    """Bytes of C that threads store by themselves, and the line with most of them; any store's where there is none."""
    stores = sorted(counts.lines("global", "store"), key=lambda line: line["bytes"] if line["width"] else 0, reverse=True)
    return float(sum(line["bytes"] for line in stores if line["width"])), next(iter(stores), None)


EXERCISE = Exercise(
    task="let the two consumers of a block take turns: while one has the tensor cores, the other writes its results to C, by "
    "way of shared memory. The ring, the products and the place of each sum in a box are given.",
    gaps={
        "reuse": Gap(
            "the warp is about to write to a box of shared memory that it has used before, OUT_BOXES boxes ago. Who may "
            "still be reading there, which lane can wait for that, and how do the others learn that it is over?",
            "static_cast<void>(lane);",
        ),
        "store": Gap(
            "the warp's box is written. Have the copy engine write it to C: 16 rows from row0 + piece * WGMMA_M + t / 32 * "
            "WARP_ROWS on, 64 columns from col0 + column on. Then close the group of copies. Who has to do what before one "
            "lane may start the copy?",
            "static_cast<void>(map_c), static_cast<void>(row0), static_cast<void>(col0);",
        ),
        "pass": Gap(
            "P::TURNS: this warp has started all its products of the C tile. One of its threads tells the other consumer "
            "that it is that one's turn."
        ),
        "turn": Gap(
            "P::TURNS: wait until it is this consumer's turn. j is the number of its C tile in the block; consumer 0 begins "
            "without being told. Which phase of the turn mbarrier is that, and which parity?"
        ),
    },
    hints=(
        "There are two questions here, and you have answered both before. In turn and pass: each consumer has an mbarrier, as "
        "in lesson 12. It waits at its own, and its four warps arrive at the other's. In reuse and store: threads write to "
        "shared memory, and the copy engine reads there, through another proxy.",
        "In turn: consumer 0's first turn needs no arrival, so it waits for the phase before phase 0, which has parity 1. "
        "Consumer 1's first is phase 0. Each later turn is one phase further. In pass: thread 0 of each warp arrives at "
        "turn[1 - consumer]. In reuse: lane 0 has committed a group for each box, and waits until at most OUT_BOXES - 1 of "
        "them are still being read. In store: each lane orders its own writes with fence_proxy_async(), then the warp "
        "synchronizes, then lane 0 starts the copy.",
        "nearly the code, in the gaps' order:\n"
        "  if (lane == 0) bulk_wait_read<OUT_BOXES - 1>(); __syncwarp();\n"
        "  fence_proxy_async(); __syncwarp();\n"
        "  if (lane == 0) { tma_store(map_c, {col0 + column, row0 + …}, to); bulk_commit(); }\n"
        "  if (P::TURNS && threadIdx.x % 32 == 0) mbarrier_arrive(barriers.turn[1 - threadIdx.x / WARPGROUP]);\n"
        "  if (P::TURNS) mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Each C tile loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, *_SMALL, _HALF),
            "bytes",
            "produce() requests each k-tile once, whichever consumer reads it.",
        ),
        Goal(
            "Where TMA may write C, no thread stores to it",
            _stored_by_threads,
            lambda counts: 0,
            "bytes",
            "store_boxes() leaves C to the copy engine: one lane of a warp stores a box of 16 rows and 64 columns with it.",
        ),
    ),
)

HUNT = Hunt(
    task="someone lets a warp wait a little less before it writes its results to shared memory. The result is nearly always "
    "right on a GPU, and the kernel is even a little faster. Find the line: what may be overwritten, and by what?",
    bug={
        "        if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES - 1>();  // the box before last has been read\n": (
            "        if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES>();  // the box before last has been read\n"
        ),
    },
    hints=(
        "Turns, parities and the ring are right, and so are all products. What may happen to them on their way to C?",
        "Follow the boxes of one warp: which of its OUT_BOXES places does each one use, and what must have happened before "
        "the warp writes to a place again?",
        "The warp is about to write box number 2. Copies of boxes 0 and 1 have been started, and box 2 goes to the place of "
        "box 0. How many of the two may the copy engine still be reading, and which number in the wait says that?",
    ),
    check_finds="store_in_flight",
    race=True,
)


# The quiz


def turns_before(q: Quiz) -> Question:
    consumer, number = q.whole(0, 1), q.whole(3, 20)
    answer = number + consumer
    return Question(
        f"Two consumers take turns, and consumer 0 begins. Consumer {consumer} waits for its turn for its C tile number "
        f"{number}, counted from 0. How many arrivals has its turn mbarrier had when it may go on?",
        answer,
        "arrivals",
        f"Consumer 0's first turn needs no arrival, consumer 1's first turn needs one: {number} + {consumer} = {answer}.",
    )


def bytes_of_products(q: Quiz) -> Question:
    rows, cols, steps = 64 * q.whole(1, 4), q.choose((64, 128, 192, 256)), q.choose((64, 128))
    each, count = (64 * 16 + 16 * cols) * _HALF, rows // 64 * steps // 16
    answer = each * count
    return Question(
        f"Products of {rows} rows of A and {cols} columns of B for {steps} steps along K, in BF16, by wgmma m64n{cols}k16 with "
        "both operands in shared memory. How many bytes do the instructions read there?",
        answer,
        "bytes",
        f"Each reads (64·16 + 16·{cols})·2 = {grouped(each)} bytes, and there are {rows // 64}·{steps // 16} = {count}: "
        f"{grouped(answer)}.",
    )


def units_of_a_descriptor(q: Quiz) -> Question:
    stage, step = q.whole(2, 6), 16 * q.whole(1, 3)
    answer = (stage * 32 * 1024 + step * _HALF) // 16
    return Question(
        f"A stage has 32 KiB. You have the descriptor of A's first rows in stage 0, and need the one for stage {stage}, "
        f"{step} steps further along K, in BF16 with the 128-byte swizzle, K-major. How much do you add to it?",
        answer,
        "",
        f"The address counts in units of 16 bytes: ({stage}·32768 + {step}·2)/16 = {grouped(answer)}.",
    )


def place_in_a_box(q: Quiz) -> Question:
    row, column = q.whole(1, 15), 2 * q.whole(4, 31)
    chunk = column // 8 ^ row % 8
    answer = row * _SPAN + chunk * 16 + column % 8 * _HALF
    return Question(
        f"A box of results has 16 rows of {_BOX} elements of 2 bytes, with the 128-byte swizzle. At which byte of the box is "
        f"the element in row {row}, column {column}, both counted from 0?",
        answer,
        "",
        f"Chunk {column // 8} of the row goes to {column // 8} xor {row % 8} = {chunk}: {row}·128 + {chunk}·16 + "
        f"{column % 8}·2 = {answer}.",
    )


def work_of_a_block(q: Quiz) -> Question:
    rows, cols = 128 * q.whole(6, 40), 128 * q.whole(6, 40)
    rounds = ceil_div(rows // 128 * (cols // 128), 132)
    answer = rounds * 128
    return Question(
        f"C is {grouped(rows)}×{grouped(cols)}, in C tiles of 128×128 over 132 persistent blocks. The block with the most "
        "work has as much to do as for one tile of 128 columns and how many rows?",
        answer,
        "rows",
        f"{rows // 128}·{cols // 128} = {grouped(rows // 128 * (cols // 128))} tiles are {rounds} round"
        f"{'s' if rounds > 1 else ''}, of 128 rows each: {grouped(answer)}.",
    )


QUIZ = (
    turns_before,
    bytes_of_products,
    units_of_a_descriptor,
    place_in_a_box,
    work_of_a_block,
)
