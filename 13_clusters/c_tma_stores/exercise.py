"""What the exercise and the bug hunt of lesson 13c leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, grouped

_BM, _BN, _CLUSTER = 128, 256, 2  # kernel.cu's C tile, and the blocks of a cluster
_HALF = 2  # bytes of an element
_ROWS, _BOX, _SPAN = 16, 64, 128  # rows and columns of a box of results, bytes of its rows


def _stored_by_threads(counts: Counts) -> Measured:
    """Bytes of C that threads store by themselves, and the line with most of them; any store's where there is none."""
    stores = sorted(counts.lines("global", "store"), key=lambda line: line["bytes"] if line["width"] else 0, reverse=True)
    return float(sum(line["bytes"] for line in stores if line["width"])), next(iter(stores), None)


EXERCISE = Exercise(
    task="let each warp write its results to C through shared memory and the copy engine, and have the engine bring the old "
    "C where beta is not 0. The ring, the products and the place of each sum in a box are given.",
    gaps={
        "reuse": Gap(
            "the warp is about to put something into a box of shared memory that it has used before, OUT_BOXES boxes ago. Who "
            "may still be reading there, which lane can wait for that, and how do the others learn that it is over?",
        ),
        "load": Gap(
            "where beta is not 0, have the copy engine bring the old C to the box: 16 rows from row0 on, 64 columns from col0 + "
            "box * BOX on. OUT_BOX bytes count at the mbarrier `loaded`, which expects one arrival a phase, and each box of "
            "this loop is a phase of it. Who starts the copy, and who waits, for which parity?",
            "static_cast<void>(loaded);",
        ),
        "store": Gap(
            "the warp's box is written. Have the copy engine write it to C, to the place from which the old C came. Then close "
            "the group of copies. What does each lane have to do before one of them may start the copy?",
            "static_cast<void>(map_c), static_cast<void>(row0), static_cast<void>(col0);",
        ),
    },
    hints=(
        "Two kinds of users share a box: the warp's lanes, and the copy engine, which reads and writes shared memory through "
        "another proxy. Whenever a box passes from one to the other, something has to be waited for or fenced. Find the three "
        "places where it does.",
        "In reuse: lane 0 has committed a group for each box, and waits until at most OUT_BOXES - 1 of them are still being "
        "read; the warp synchronizes after that. In load: lane 0 expects the bytes and starts the copy, and all lanes wait; a C "
        "tile has an even number of boxes, so box number `box` waits for parity box % 2. In store: each lane orders its own "
        "writes with fence_proxy_async(), then the warp synchronizes, then lane 0 starts the copy.",
        "nearly the code, in the gaps' order:\n"
        "  if (lane == 0) bulk_wait_read<OUT_BOXES - 1>(); __syncwarp();\n"
        "  if (beta != 0.0f):\n"
        "    if (lane == 0) { mbarrier_arrive_expect_tx(loaded, OUT_BOX); tma_load(to, map_c, {col0 + …, row0}, loaded); }\n"
        "    mbarrier_wait(loaded, box % 2);\n"
        "  fence_proxy_async(); __syncwarp();\n"
        "  if (lane == 0): tma_store(map_c, {col0 + …, row0}, to); bulk_commit();",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Each cluster loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _CLUSTER * _BM, _BN, _HALF),
            "bytes",
            "Each block requests only its half of B's boxes, with a mask for both blocks, and no box of C where beta is 0.",
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
    "right on a GPU. Find the line: what may be overwritten, and by what?",
    bug={
        "        if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES - 1>();  // the box before last has been read\n": (
            "        if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES>();  // the box before last has been read\n"
        ),
    },
    hints=(
        "The ring, its parities and the end of the cluster are right, and so are all products. What may happen to them on "
        "their way to C?",
        "Follow the boxes of one warp: which of its OUT_BOXES places does each one use, and what must have happened before "
        "the warp writes to a place again?",
        "The warp is about to write box number 2. Copies of boxes 0 and 1 have been started, and box 2 goes to the place of "
        "box 0. How many of the two may the copy engine still be reading, and which number in the wait says that?",
    ),
    check_finds="store_in_flight",
    race=True,
)


# The quiz


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


def boxes_of_a_tile(q: Quiz) -> Question:
    rows, cols = 64 * q.whole(1, 4), 64 * q.whole(1, 4)
    answer = rows // _ROWS * (cols // _BOX)
    return Question(
        f"A block's C tile has {rows}×{cols} elements. Its warps store boxes of {_ROWS} rows and {_BOX} columns by TMA. How many "
        "copies are started for the tile?",
        answer,
        "copies",
        f"{rows}/{_ROWS} rows of boxes, {cols}/{_BOX} in each: {answer}.",
    )


def bytes_of_boxes(q: Quiz) -> Question:
    consumers, boxes = q.whole(1, 3), q.whole(2, 4)
    answer = consumers * 4 * boxes * _ROWS * _SPAN
    return Question(
        f"A block has {consumers} consumer warpgroup{'s' if consumers > 1 else ''}, and each of their warps has places for "
        f"{boxes} boxes of {_ROWS} rows of {_SPAN} bytes. How many bytes of shared memory do the places take?",
        answer,
        "bytes",
        f"{consumers}·4 warps, {boxes} places each, {_ROWS}·{_SPAN} bytes a place: {grouped(answer)}.",
    )


def parity_of_a_load(q: Quiz) -> Question:
    boxes, tiles = q.whole(2, 5), q.whole(3, 20)
    box = q.whole(0, boxes - 1)
    answer = (tiles * boxes + box) % 2
    return Question(
        f"A warp has {boxes} boxes of each C tile, and one mbarrier for the old C; each box it loads is a phase of it. It has "
        f"had {tiles} C tiles, and now waits for box {box}, counted from 0. For which parity?",
        answer,
        "",
        f"{tiles}·{boxes} + {box} = {tiles * boxes + box} phases came before, and phase 0 has parity 0: {answer}.",
    )


def wavefronts_without_swizzle(q: Quiz) -> Question:
    pitch, matrices = q.choose((32, 64, 128)), q.choose((1, 2, 4))
    answer = matrices * pitch // 16
    return Question(
        f"stmatrix writes {matrices} matri{'ces' if matrices > 1 else 'x'} of 8 rows of 16 bytes to rows {pitch} bytes apart, "
        "and nothing is swizzled. How many wavefronts does that take, if each serves 32 different banks of 4 bytes once?",
        answer,
        "wavefronts",
        f"Rows that are a multiple of 128 bytes apart meet in the same 4 banks, as {8 * pitch // 128} of the 8 rows do. "
        f"{matrices}·{pitch // 16} = {answer}.",
    )


QUIZ = (
    place_in_a_box,
    boxes_of_a_tile,
    bytes_of_boxes,
    parity_of_a_load,
    wavefronts_without_swizzle,
)
