"""What the exercise and the bug hunt of lesson 13e leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_SMALL = (64, 128)  # a C tile, of the policy that is chosen for the size of the goals
_HALF = 2  # bytes of an element
_BN, _BOX, _SPAN = 128, 64, 128  # columns of a C tile and of a box, bytes of a box's rows
_BLOCKS = 132  # that an H200 runs at the same time


def _stored_by_threads(counts: Counts) -> Measured:
    """Bytes of C that threads store by themselves, and the line with most of them; any store's where there is none."""
    stores = sorted(counts.lines("global", "store"), key=lambda line: line["bytes"] if line["width"] else 0, reverse=True)
    return float(sum(line["bytes"] for line in stores if line["width"])), next(iter(stores), None)


EXERCISE = Exercise(
    task="let the results of a C tile leave while the tensor cores multiply the next one. Pack them, store one box during each "
    "of the next C tile's first k-tiles, and after the last C tile store what is left. The ring, the products and each result's "
    "place in a box are given.",
    gaps={
        "store": Gap(
            "each thread has written its part of the box, at `to`. Have one thread start the copy to C, where the consumer's "
            "results begin at `at`, and close the group. Who must do what before that? If `again`, the next box takes the place "
            "of the box before this one: make sure that every thread of the consumer may write there as soon as it leaves this "
            "function.",
            "static_cast<void>(map_c), static_cast<void>(at), static_cast<void>(again);",
        ),
        "leave": Gap(
            "if there is a k-tile number `box`, its products are under way. If there is a C tile before this one, let its box "
            "number `box` leave by the slot whose turn it is; slot number s begins at out + s * P::OUT_BOX. Whatever K is, "
            "all its boxes have to be gone at the end of this loop. Why? at: where that C tile's results begin.",
            "static_cast<void>(out), static_cast<void>(slot), static_cast<void>(at), static_cast<void>(packed);",
        ),
        "pack": Gap(
            "the sums are complete, and multiplied by alpha. Round them and pack two into each register: acc[2 * j] and "
            "acc[2 * j + 1] into packed[j]. Remember where they belong, and that there are some."
        ),
        "rest": Gap(
            "no C tile follows. The last one's results are still in registers: let them leave. Nothing is loaded any more, so "
            "each box can take the place of the consumer's Bs in a stage of its own, and none waits for another: box 0 in stage "
            "0, and so on. At the end, wait until the copy engine has read them from shared memory, which ends with the block.",
            "static_cast<void>(bs_at);",
        ),
    },
    hints=(
        "Follow one C tile. Its sums are in acc, and the next C tile needs acc at once. So they must move before its first "
        "product starts. And they must have left from there before that C tile's own sums are packed. Count the registers.",
        "In pack, pack2<T>() rounds two sums; then at = here, pending = true. In leave, call store_box() if pending, even where "
        "K has no more k-tiles, because packed is written again at the end of the C tile. The two slots take turns. In store, "
        "each thread orders what it has written with fence_proxy_async(). Then the consumer's 128 threads meet at a barrier of "
        "their own, and one of them starts the copy. If `again`, that thread comes to the barrier only when the copy before has "
        "read its slot.",
        "nearly the code, in the gaps' order:\n"
        "  fence_proxy_async(); if (again && t == 0) bulk_wait_read<0>(); barrier_sync(1 + threadIdx.x / WARPGROUP, WARPGROUP);\n"
        "  if (t == 0) { tma_store(map_c, {at.col, at.row + box * P::BOX_ROWS}, to); bulk_commit(); }\n"
        "  if (pending) { store_box<P>(out + slot * P::OUT_BOX, true, map_c, packed, box, at); slot ^= 1; }\n"
        "  for each j < P::BM / 4: packed[j] = pack2<T>(acc[2 * j], acc[2 * j + 1]);  at = here; pending = true;\n"
        "  for each box: if (pending) store_box<P>(bs_at + box * P::STAGE, false, map_c, packed, box, at);\n"
        "  if (threadIdx.x % WARPGROUP == 0) bulk_wait_read<0>();",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Each C tile loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, *_SMALL, _HALF),
            "bytes",
            "The producer requests a box of A and two of B for each k-tile.",
        ),
        Goal(
            "Where TMA may write C, no thread stores to it",
            _stored_by_threads,
            lambda counts: 0,
            "bytes",
            "In store_box(), one thread of a consumer starts a copy, and the copy engine writes C.",
        ),
    ),
)

HUNT = Hunt(
    task="someone noticed that the thread that stores boxes keeps the others waiting at the barrier, and made it wait after the "
    "barrier instead. On a GPU the result is nearly always right. Find the lines: what may now be overwritten, and by whom?",
    bug={
        "    if (again && t == 0) gemm::ptx::bulk_wait_read<0>();  // the box before has been read\n"
        "    gemm::ptx::barrier_sync(1 + threadIdx.x / WARPGROUP, WARPGROUP);\n": (
            "    gemm::ptx::barrier_sync(1 + threadIdx.x / WARPGROUP, WARPGROUP);\n"
            "    if (again && t == 0) gemm::ptx::bulk_wait_read<0>();  // the box before has been read\n"
        ),
    },
    hints=(
        "The products, the ring and the places of all results are right. Who reads a consumer's two slots, and who writes them?",
        "There is one barrier for each box. Count a consumer's boxes on from C tile to C tile, and take two in a row, 4 and 5. "
        "Which slot does box 5 take, and which box had it before? How does a thread that doesn't store know that it may write?",
        "Box 5 takes the slot of box 3. Threads write there as soon as they have passed the barrier of box 4. At that time the "
        "storing thread may still be waiting for the copy of box 3.",
    ),
    check_finds="store_in_flight",
    race=True,
)


# The quiz


def registers_of_a_tile(q: Quiz) -> Question:
    rows = 16 * q.whole(5, 16)
    answer = rows // 2 + rows // 4
    return Question(
        f"Two consumers, a warpgroup each, share a C tile of {rows}×{_BN}. How many registers of a thread do its sums and the "
        "packed BF16 results of the C tile before take together?",
        answer,
        "registers",
        f"A consumer has {rows}·64 sums, {rows}·64/128 = {rows // 2} a thread, and half as many registers for the results: "
        f"{rows // 2} + {rows // 4} = {answer}.",
    )


def rounds_of_a_height(q: Quiz) -> Question:
    size, rows = 256 * q.whole(4, 16), q.choose((112, 144, 192, 224, 256))
    tiles = ceil_div(size, rows) * ceil_div(size, _BN)
    answer = ceil_div(tiles, _BLOCKS)
    return Question(
        f"C has {size}×{size} elements, in C tiles of {rows}×{_BN}, and a GPU has {_BLOCKS} SMs, with one block each. How many "
        "rounds do the tiles take?",
        answer,
        "rounds",
        f"{ceil_div(size, rows)}·{ceil_div(size, _BN)} = {tiles} tiles, and {tiles} / {_BLOCKS}, rounded up, is {answer}.",
    )


def steps_that_hide(q: Quiz) -> Question:
    boxes, slots = q.choose((2, 3, 4)), q.whole(1, 3)
    answer = boxes * 64
    return Question(
        f"A C tile's results leave in {boxes} boxes, one during each of the next C tile's first k-tiles of 64 steps, by way of "
        f"{slots} slot{'s' if slots > 1 else ''} in shared memory. How large must K be, a multiple of 64, so that each box has "
        "a k-tile of its own?",
        answer,
        "",
        f"One k-tile for each box, no matter how many slots there are: {boxes}·64 = {answer}.",
    )


def bytes_of_a_block(q: Quiz) -> Question:
    rows = 16 * q.whole(4, 16)
    answer = (rows + _BN) * 64 * _HALF
    return Question(
        f"How many bytes does a block with C tiles of {rows}×{_BN} request for a k-tile of 64 steps, in BF16?",
        answer,
        "bytes",
        f"A k-tile of A and one of B: ({rows} + {_BN})·64·2 = {grouped(answer)}.",
    )


def place_in_a_box(q: Quiz) -> Question:
    row, column = q.whole(1, 63), q.whole(8, 63)
    unit = column // 8 ^ row % 8
    answer = row * _SPAN + unit * 16 + column % 8 * _HALF
    return Question(
        f"A box of results has 64 rows of {_BOX} elements of 2 bytes, with the 128-byte swizzle. At which byte of the box is the "
        f"element of row {row}, column {column}, both counted from 0?",
        answer,
        "",
        f"Unit {column // 8} of the row goes to {column // 8} xor {row % 8} = {unit}: {row}·128 + {unit}·16 + "
        f"{column % 8}·2 = {grouped(answer)}.",
    )


QUIZ = (
    registers_of_a_tile,
    rounds_of_a_height,
    steps_that_hide,
    bytes_of_a_block,
    place_in_a_box,
)
