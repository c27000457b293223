"""What the exercise of lesson 01 leaves out, asks and tells."""

from runner.learn.exercise import Exercise, Gap
from runner.learn.quiz import WARP, Question, Quiz, bytes_once, ceil_div, flop, grouped, sectors

EXERCISE = Exercise(
    task="write the kernel in which one thread computes one element of C.",
    gaps={
        "element": Gap(
            "the element of C that this thread computes. Block blockIdx.x works on one tile of BM×BN; tiles are counted along "
            "a row of tiles, tiles_n of them, then along the next. In its tile threadIdx.x is the row and threadIdx.y the "
            "column. Which row and column of C is that? What if they are outside of C?",
            "const std::int64_t row = 0, col = 0;",
        ),
        "sum": Gap("acc = the sum over k of A[row][k]·B[k][col]. The next row of A is lda floats on, that of B ldb."),
        "store": Gap("write alpha·acc + beta·C to *c. With beta == 0, C must not be read: it may hold NaN."),
    },
    hints=(
        "a question for each TODO.\n"
        "1. With N = 100 there are 4 tiles in a row of tiles. In which row and which column of tiles is block 7, and which "
        "element of C is the first of that tile?\n"
        "2. How many floats after A[0][0] is A[row][k]? How many floats after B[0][0] is B[k][col]?\n"
        "3. 0 · NaN is NaN. How do you write *c without reading it first?",
        "a method for each TODO.\n"
        "1. blockIdx.x divided by tiles_n is the row of tiles, the remainder the column of tiles. A tile is BM rows high and "
        "BN columns wide. To where it begins, add the thread's own place in it. A thread past the last row or column returns "
        "at once.\n"
        "2. An element is at its row times the pitch plus its column. k runs from 0 to K − 1.\n"
        "3. A conditional expression, beta == 0.0f ? … : …, reads *c on one of its sides only.",
        "nearly the code.\n"
        "1. const std::int64_t row = blockIdx.x / tiles_n * BM + threadIdx.x, and col with %, BN and threadIdx.y;\n"
        "   if (row >= M || col >= N) return;\n"
        "2. for (std::int64_t k = 0; k < K; ++k) acc += A[row * lda + k] * B[k * ldb + col];\n"
        "3. *c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;",
    ),
    starter_fails="never_written",
)


# The quiz

_BM, _BN = 32, 32  # kernel.cu's


def element_of_a_thread(q: Quiz) -> Question:
    tiles_n, tile_row = q.whole(3, 9), q.whole(1, 6)
    tile_col = q.whole(0, tiles_n - 2)  # no tile that N cuts
    N = _BN * tiles_n - q.whole(1, _BN - 1)
    ldc = N + q.whole(0, 40)
    x = q.whole(0, 31)
    y = (x + q.whole(1, 31)) % 32
    block = tile_row * tiles_n + tile_col
    row, col = tile_row * _BM + x, tile_col * _BN + y
    return Question(
        f"C has N = {N} columns, a pitch of ldc = {ldc}, and more rows than are needed here. Which element C[i] does the thread "
        f"with threadIdx.x = {x} and threadIdx.y = {y} of block {block} compute? Give i.",
        row * ldc + col,
        "",
        f"A row of tiles has ⌈{N}/{_BN}⌉ = {tiles_n} tiles. Block {block} is in tile row {block}/{tiles_n} = {tile_row} "
        f"(rounded down) and tile column {block} mod {tiles_n} = {tile_col}. threadIdx.x counts rows in this lesson: row = "
        f"{tile_row}·{_BM} + {x} = {row}, column = {tile_col}·{_BN} + {y} = {col}, i = row·ldc + column = {row}·{ldc} + {col} = "
        f"{grouped(row * ldc + col)}.",
    )


def idle_threads(q: Quiz) -> Question:
    M, N = _BM * q.whole(1, 3) + q.whole(1, 31), _BN * q.whole(1, 3) + q.whole(1, 31)
    counts = q.trace(M, N, 1)
    launched, busy = counts.blocks * counts.threads_per_block, counts.sum("threads", array="C", op="store")
    return Question(
        f"C has M = {M} rows and N = {N} columns. How many of the threads that are launched compute no element of C?",
        launched - busy,
        "threads",
        f"⌈{M}/{_BM}⌉·⌈{N}/{_BN}⌉ = {ceil_div(M, _BM)}·{ceil_div(N, _BN)} = {counts.blocks} blocks are launched, "
        f"{counts.blocks}·{counts.threads_per_block} = {grouped(launched)} threads. C has {M}·{N} = {grouped(busy)} "
        f"elements, one per thread. The other {grouped(launched - busy)} threads leave at the guard.",
    )


def warp_of_another_block(q: Quiz) -> Question:
    bx = q.choose((2, 4, 8, 16))
    kind, width = q.choose((("float", 4), ("double", 8), ("half", 2)))
    by, pitch = 1024 // bx, 4096
    cols = WARP // bx  # of a warp, side by side
    of_a = sectors([t % bx * pitch * width for t in range(WARP)], width)
    of_b = sectors([t // bx * width for t in range(WARP)], width)
    return Question(
        f"Suppose the kernel computed with {kind} ({width} bytes an element) and its block were dim3({bx}, {by}), on a tile of "
        f"{bx}×{by} elements of C. threadIdx.x is still the row in the tile and threadIdx.y the column; every row of a matrix "
        "begins at a multiple of 128 bytes and is longer than 128 bytes. How many sectors does a warp request at one step k, "
        "from A and B together?",
        of_a + of_b,
        "sectors",
        f"Threads are numbered with x fastest, so a warp is {bx} values of x by {WARP}/{bx} = {cols} of y. From A it needs one "
        f"element of each of {bx} rows: {of_a} sectors. From B it needs {cols} neighbors in row k, {cols}·{width} = "
        f"{cols * width} bytes from a multiple of {cols * width} on: {of_b} sector{'s' if of_b > 1 else ''}. Together "
        f"{of_a + of_b}.",
    )


def bytes_of_all_sectors(q: Quiz) -> Question:
    M, N, K = 32 * q.whole(2, 4), 32 * q.whole(2, 4), 8 * q.whole(4, 8)
    beta = q.choose((0, 0.5))
    counts = q.trace(M, N, K, beta=beta)
    warps = M * N // WARP
    of_c = "stored" if beta == 0 else "loaded and stored (beta is not 0)"
    sectors_of_c = 32 if beta == 0 else 64
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, beta = {beta:g}, and the pitches are as small as they can be (lda = K, ldb = "
        "ldc = N). How many bytes do loads and stores request from global memory in all, in whole sectors?",
        counts.global_bytes,
        "bytes",
        f"There are {M}·{N}/{WARP} = {warps} warps. At each of {K} steps a warp requests 32 sectors of A and 1 of B: 33·{K} "
        f"= {33 * K}. In the end 32 elements of C are {of_c}, each in a row of its own, and so in a sector of its own: "
        f"{sectors_of_c} sectors. {warps}·({33 * K} + {sectors_of_c})·32 bytes = {grouped(counts.global_bytes)} bytes.",
    )


def flop_per_byte_at_best(q: Quiz) -> Question:
    M, N, K = (256 * q.whole(1, 16) for _ in range(3))
    beta = q.choose((0, 0.5))
    moved = bytes_once(M, N, K, reads_c=beta != 0)
    of_c = "written once" if beta == 0 else "read once and written once (beta is not 0)"
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, beta = {beta:g}. Suppose a kernel moved each element of A, B and C to and from "
        "global memory exactly once, C twice if beta ≠ 0. How many FLOP per byte would it do? Count the FLOP of A·B alone.",
        flop(M, N, K) / moved,
        "FLOP/B",
        f"2·{M}·{N}·{K} = {grouped(flop(M, N, K))} FLOP. A and B are read once and C is {of_c}: 4·({M}·{K} + {K}·{N} + "
        f"{'' if beta == 0 else '2·'}{M}·{N}) = {grouped(moved)} bytes. That makes {flop(M, N, K) / moved:.4g} FLOP/B; this "
        f"lesson's kernel does about 64/1056 = {64 / 1056:.2g} FLOP per byte that it requests.",
        tolerance=0.01,
    )


QUIZ = (element_of_a_thread, idle_threads, warp_of_another_block, bytes_of_all_sectors, flop_per_byte_at_best)
