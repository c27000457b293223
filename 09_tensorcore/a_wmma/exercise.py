"""What the exercise and the bug hunt of step 09a leave out, ask and tell."""

from collections.abc import Mapping

from runner.inspect.counts import Counts, bank_conflicts, barriers, bytes_loaded, bytes_of_tiles, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped, wavefronts

_BM, _BN, _BK, _WM, _WN, _F, _PAD = 128, 128, 64, 64, 64, 16, 8  # kernel.cu's
_WARPS = _BM // _WM * (_BN // _WN)  # of a block
_FRAGMENTS = _WM // _F * (_WN // _F)  # of sums, of a warp
_REQUESTS, _ROUNDS = 4, _F * _F // WARP  # that read a fragment of A or B, and one of sums on its way to C
_BYTES = 2  # of an element


def _narrow_loads(counts: Counts) -> tuple[float, Mapping | None]:
    """Requests that load fewer than 16 bytes a thread from global memory, and the line with most of them."""
    lines = counts.lines(space="global", op="load")
    narrow = [line for line in lines if line["width"] < 16]
    worst = max(narrow or lines, key=lambda line: line["requests"], default=None)
    return float(sum(line["requests"] for line in narrow)), worst


def _reads(counts: Counts) -> float:
    """Requests: each warp reads WM/F + WN/F fragments in F steps, and its sums once on their way to C."""
    each = (_WM + _WN) // _F * _REQUESTS * ceil_div(counts.shape[2], _F) + _FRAGMENTS * _ROUNDS
    return tiles(counts, _BM, _BN) * _WARPS * each


def _conflicts(counts: Counts) -> float:
    """Only out's: rows of 16 floats begin in two banks."""
    return tiles(counts, _BM, _BN) * _WARPS * _FRAGMENTS * _REQUESTS * 2


EXERCISE = Exercise(
    task="multiply tiles of 16-bit elements on the tensor cores with nvcuda::wmma. The fragments of the sums are there.",
    gaps={
        "load8": Gap(
            "the code below is right everywhere, and takes eight accesses. Where ALIGNED, eight elements are there or none: "
            "one access of 16 bytes, or none at all.",
            "for (int i = 0; i < 8; ++i) {\n    if (i < left) reinterpret_cast<T*>(&eight)[i] = p[i];\n}",
        ),
        "tiles": Gap(
            "fill As and Bs, row-major as in global memory: the thread loads eight elements of each row a_row + i of A, i = 0, "
            "A_ROWS, …, and of each row b_k + i of B, i = 0, B_ROWS, … `steps` of the BK steps exist: how many elements "
            "are left for load8?"
        ),
        "multiply": Gap(
            "F steps at a time: load the fragments of A and B that the warp tile at (y, x) needs, each once, and add their "
            "products to acc. How far apart are two rows of As, and of Bs?"
        ),
        "store": Gap(
            "put the sums acc[i][j] into C: store_matrix_sync to the warp's part of `out`, then lane by lane from there, with "
            "alpha and beta. The lanes read what others have written: what must come in between, and what afterwards? C may end "
            "inside the fragment, and beta == 0 must not read it."
        ),
    },
    hints=(
        "A warp does everything in wmma as a whole: its 32 lanes call it together, with the same arguments. A call says "
        "where a 16×16 matrix begins and how far apart its rows are, in elements. Where do the matrices of the warp with "
        "the tile at (y, x) begin in As and in Bs, at step k? And which calls must all lanes reach, also those whose element "
        "is outside of C?",
        "In load8: where ALIGNED, compare `left` with 0 and read one uint4. In tiles: for A, left is steps - a_k in a row that "
        "exists and 0 in any other; for B, N - (col0 + b_col) in a step that exists. In multiply: for k = 0, F, … declare "
        "TILES_M fragments of matrix_a and TILES_N of matrix_b, both row_major and of T; load_matrix_sync each from row y + i "
        "* F, column k of As and row k, column x + j * F of Bs with the padded row as pitch; then mma_sync for all pairs. In "
        "store: 32 lanes, 256 elements: 8 rounds, element e in row e / F and column e % F. A __syncwarp() before the lanes "
        "read, and one before the next fragment overwrites what they read.",
        "nearly the code, in the gaps' order:\n"
        "  if (ALIGNED) { if (left > 0) eight = *reinterpret_cast<const uint4*>(p); } else the loop;\n"
        "  *reinterpret_cast<uint4*>(&As[a_row + i][a_k]) =\n"
        "      load8<ALIGNED>(a + i * lda, row0 + a_row + i < M ? steps - a_k : 0);\n"
        "  *reinterpret_cast<uint4*>(&Bs[b_k + i][b_col]) =\n"
        "      load8<ALIGNED>(b + i * ldb, b_k + i < steps ? N - (col0 + b_col) : 0);\n"
        "  wmma::fragment<wmma::matrix_a, F, F, F, T, wmma::row_major> a_frag[TILES_M]; b_frag likewise;\n"
        "  wmma::load_matrix_sync(a_frag[i], &As[y + i * F][k], BK + PAD); b_frag[j] from &Bs[k][x + j * F], BN + PAD;\n"
        "  wmma::mma_sync(acc[i][j], a_frag[i], b_frag[j], acc[i][j]);\n"
        "  wmma::store_matrix_sync(&out[warp][0][0], acc[i][j], F, wmma::mem_row_major); a __syncwarp();\n"
        "  for e = lane, lane + 32, …: if the element exists, alpha times out[warp][e / F][e % F] and, where beta is not 0,\n"
        "  beta times C, to C by gemm::from_float<T>; after the loop a __syncwarp();",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Every load of A and B is 16 bytes wide",
            _narrow_loads,
            lambda counts: 0,
            "requests of fewer bytes per thread",
            "On this shape every row begins at a multiple of 16 bytes, so ALIGNED is true: load8<ALIGNED> reads one uint4.",
        ),
        Goal(
            "The blocks load each element of their k-tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _BYTES),
            "bytes",
            "A thread loads A in BM / A_ROWS turns and B in BK / B_ROWS; fragments are loaded from As and Bs.",
        ),
        Goal(
            "A warp reads each fragment of A and B once",
            shared_reads,
            _reads,
            "requests that read shared memory",
            "A fragment of A is used with all WN / F fragments of B, one of B with all WM / F of A: load them before the loops "
            "over i and j that multiply.",
        ),
        Goal(
            "Shared memory takes no more wavefronts than the lesson's kernel",
            bank_conflicts,
            _conflicts,
            "wavefronts beyond the ideal",
            "A request of load_matrix_sync reads 16 bytes of each of 8 rows. PAD puts them into different banks: it must be an "
            "odd multiple of 8 elements.",
        ),
        Goal(
            "A thread meets two barriers per k-tile",
            barriers,
            lambda counts: 2 * ceil_div(counts.shape[2], _BK),
            "barriers",
            "One after the k-tiles are filled, one after they are read. In the gap `store` the lanes of one warp are enough: "
            "__syncwarp().",
        ),
    ),
)

HUNT = Hunt(
    task="one word of this kernel is wrong, and yet the result is right wherever M and N are multiples of the C tile. Find "
    "it, and mend it.",
    bug={"if (row >= M || col >= N) continue;": "if (row >= M || col >= N) return;"},
    hints=(
        "The sums are right. Let C have 128 rows and 72 columns, and look at warp 1, whose tile begins at column 64: which of "
        "its elements of C does each lane write?",
        "A fragment of 16 columns begins at 64, the next one at 80. Columns 72 to 79 are missing. What does a lane whose column "
        "is missing do next, and what do the other lanes wait for?",
        "All 32 lanes of a warp must call store_matrix_sync and __syncwarp together. A lane that has nothing to write must "
        "still come to the next call.",
    ),
    # Where M % 16 = 15 half a warp returns after it has read: then the check tells of the barrier that it misses there.
    check_finds="deadlock",
)


# The quiz


def rounded(value: int, bits: int) -> int:
    """A whole number in a format of `bits` significant bits: to nearest, ties to even."""
    unit = 1 << max(value.bit_length() - bits, 0)
    low = value // unit * unit
    rest = value - low
    return low + unit if 2 * rest > unit or (2 * rest == unit and low // unit % 2) else low


_FORMATS = (("BF16", 8), ("FP16", 11))  # significant bits, the one in front of the point included


def an_input_of_16_bits(q: Quiz) -> Question:
    name, bits = q.choose(_FORMATS)
    value = q.whole(2 ** (bits + 1), 2 ** (bits + 3) - 1)
    unit = 1 << (value.bit_length() - bits)
    low, answer = value // unit * unit, rounded(value, bits)
    return Question(
        f"{name} has {bits} significant bits. What does the number {grouped(value)} become when it is rounded to {name}, to the "
        "nearest and, where two are as near, to the one whose last bit is 0?",
        answer,
        "",
        f"{grouped(value)} is between {grouped(1 << (value.bit_length() - 1))} and {grouped(1 << value.bit_length())}, where "
        f"neighbors in {name} are {unit} apart: {grouped(low)} and {grouped(low + unit)}. It is {value - low} above the first, "
        f"and becomes {grouped(answer)}.",
    )


def sums_of_16_bits(q: Quiz) -> Question:
    name, bits = q.choose(_FORMATS)
    addend, times = q.whole(1, 7), q.whole(2000, 6000)
    total, stuck = 0, 0
    for i in range(times):
        following = rounded(total + addend, bits)
        if following == total:
            stuck = i
            break
        total = following
    spacing = 1 << max(total.bit_length() - bits, 0)
    why = (
        f"After {stuck} additions the sum is {grouped(total)}. There neighbors are {spacing} apart, and {addend} is at most "
        f"half of that: every further sum is rounded back to {grouped(total)}. In FP32 it would be {grouped(addend * times)}"
        if stuck
        else f"It still grows at the end, at {grouped(total)}, where neighbors are {spacing} apart. In FP32 it would be "
        f"{grouped(addend * times)}"
    )
    return Question(
        f"A sum begins at 0, and {addend} is added {times} times. After each addition it is rounded to {name}, which has {bits} "
        "significant bits: to the nearest, ties to the neighbor whose last bit is 0. A sum that an "
        "addition leaves as it was stays so. What is it in the end?",
        total,
        "",
        f"{why}: that is why fragments of sums have 32 bits.",
    )


def fragments_that_are_loaded(q: Quiz) -> Question:
    WM, WN, K = 16 * q.whole(1, 6), 16 * q.whole(1, 6), 32 * q.whole(8, 64)
    each, answer = WM // 16 + WN // 16, (WM // 16 + WN // 16) * K // 16
    products = WM // 16 * (WN // 16) * K // 16
    return Question(
        f"Warp tiles of WM = {WM} by WN = {WN}, fragments of 16×16, K = {K}, alpha = 1. How often does a warp call "
        "load_matrix_sync, if it loads each fragment of A and B once?",
        answer,
        "",
        f"In 16 steps {WM}/16 + {WN}/16 = {each} fragments, and K has {K}/16 = {K // 16} times 16 steps: {grouped(answer)}. It "
        f"calls mma_sync {WM // 16}·{WN // 16}·{K // 16} = {grouped(products)} times, {products / answer:.3g} for each load.",
    )


def wavefronts_of_a_fragment(q: Quiz) -> Question:
    BK, pad = q.choose((16, 32, 64, 128)), 8 * q.whole(0, 6)
    pitch = (BK + pad) // 2
    words = [lane // 4 * pitch + lane % 4 for lane in range(WARP)]
    answer = wavefronts(words)
    begins = ", ".join(str(row * pitch % 32) for row in range(8))
    return Question(
        f"As is declared as __nv_bfloat16 As[128][{BK} + {pad}], and its first element is in bank 0. A request of "
        "load_matrix_sync reads 4 bytes a lane: lane i elements 2·(i mod 4) and the next one of row i/4 (a whole number). How "
        "many wavefronts does it take?",
        answer,
        "wavefronts",
        f"A row has {2 * (BK + pad)} bytes, {pitch} words of 4. The 8 rows begin in banks {begins}, and each takes 4 banks from "
        f"there on. The fullest bank is needed {answer} time{'s' if answer > 1 else ''}: {answer} "
        f"wavefront{'s' if answer > 1 else ''}.",
    )


def shared_bytes(q: Quiz) -> Question:
    WM, WN = q.choose((32, 64)), q.choose((32, 64))
    BM, BN, BK = WM * q.choose((1, 2)), WN * q.choose((2, 4)), q.choose((16, 32, 64))
    warps = BM // WM * (BN // WN)
    a, b, out = _BYTES * BM * (BK + _PAD), _BYTES * BK * (BN + _PAD), 4 * warps * _F * _F
    return Question(
        f"The kernel with BM = {BM}, BN = {BN}, BK = {BK}, WM = {WM}, WN = {WN}, and F = 16 and PAD = {_PAD} as here. How many "
        "bytes of shared memory does a block take, out included?",
        a + b + out,
        "bytes",
        f"As: 2·{BM}·({BK} + {_PAD}) = {grouped(a)}. Bs: 2·{BK}·({BN} + {_PAD}) = {grouped(b)}. out: a fragment of 16·16 floats "
        f"for each of {BM}/{WM}·{BN}/{WN} = {warps} warps, {grouped(out)}. Together {grouped(a + b + out)}.",
    )


QUIZ = (an_input_of_16_bits, sums_of_16_bits, fragments_that_are_loaded, wavefronts_of_a_fragment, shared_bytes)
