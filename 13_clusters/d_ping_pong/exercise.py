"""What the exercise and the bug hunt of lesson 13d leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_SMALL = (64, 128)  # C tile of kernel.cu's policy that is chosen for the size of the goals
_HALF = 2  # bytes of an element


def _stored_by_threads(counts: Counts) -> Measured:
    """Bytes of C that threads store by themselves, and the line with most of them; any store's where there is none."""
    stores = sorted(counts.lines("global", "store"), key=lambda line: line["bytes"] if line["width"] else 0, reverse=True)
    return float(sum(line["bytes"] for line in stores if line["width"])), next(iter(stores), None)


EXERCISE = Exercise(
    task="let the two consumers of a block take turns: while one has the tensor cores, the other writes its results to C. The "
    "ring, the products and the way results take to C are given.",
    gaps={
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
        "Each consumer has an mbarrier for its turn, as stages have theirs since lesson 12. It waits at its own, and its four "
        "warps arrive at the other's.",
        "In turn: consumer 0's first turn needs no arrival, so it waits for the phase before phase 0, which has parity 1. "
        "Consumer 1's first is phase 0. Each later turn is one phase further. In pass: thread 0 of each warp arrives at "
        "turn[1 - consumer].",
        "nearly the code, in the gaps' order:\n"
        "  if (P::TURNS && threadIdx.x % 32 == 0) mbarrier_arrive(barriers.turn[1 - threadIdx.x / WARPGROUP]);\n"
        "  if (P::TURNS) mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);",
    ),
    starter_fails="load_in_flight",
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
    task="someone has found that a consumer need not wait for its turn at its first C tile: nobody has results to write yet. On "
    "a GPU the result is right for many shapes. Find the line: what does a turn protect besides the tensor cores?",
    bug={
        "        if (P::TURNS) gemm::ptx::mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);\n": (
            "        if (P::TURNS && j > 1) gemm::ptx::mbarrier_wait(barriers.turn[consumer], "
            "(j / CONSUMERS + consumer + 1) % 2);\n"
        ),
    },
    hints=(
        "All counts of arrivals are right, and nobody waits forever. The two consumers take their k-tiles from one ring.",
        "A consumer knows its first stage, and the parity to wait for there, by counting: j * steps k-tiles came before. When is "
        "the phase with that parity the one that it means?",
        "Suppose a ring of 8 stages, and C tiles of 50 k-tiles. Consumer 1 begins at k-tile 50, in stage 2, with parity 0. Which "
        "k-tile was in stage 2 with parity 0 long before, and whose is it?",
    ),
    check_finds="load_in_flight",
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


def stages_of_a_ring(q: Quiz) -> Question:
    rows, cols = 64 * q.whole(1, 2), 64 * q.whole(1, 4)
    stage = (rows + cols) * 64 * _HALF
    answer = 192 * 1024 // stage
    return Question(
        f"A block has 192 KiB for its stages. Each holds a k-tile of A, {rows}×64 elements, and one of B, 64×{cols}, in BF16. "
        "How many stages is that?",
        answer,
        "stages",
        f"A stage has ({rows} + {cols})·64·2 = {grouped(stage)} bytes: {grouped(192 * 1024)} / {grouped(stage)}, "
        f"rounded down, is {answer}.",
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
    stages_of_a_ring,
    work_of_a_block,
)
