"""What the exercise and the bug hunt of lesson 09e leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, narrow_requests, shared_load_wavefronts, shared_store_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped, wavefronts

_BM, _BN, _K, _WARPS = 256, 128, 32, 8  # kernel.cu's C tile, and the warps of a block
_WM, _WN = 64, 64
_MMA_M, _MMA_K = 16, 16
_PITCH = 2 * _WN + 16  # bytes: kernel.cu's OUT_PITCH
_HALF = 2  # bytes of an element


def _read_wavefronts(counts: Counts) -> float:
    """8 ldmatrix of 4 wavefronts in each k-step of a warp, and C once, 128 bytes a wavefront."""
    M, N, K = counts.shape
    steps = ceil_div(K, _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * 8 * 4 + _HALF * M * N / 128


def _stored_wavefronts(counts: Counts) -> float:
    """A request that copies 16 bytes a lane takes 8 for eight rows of A, and 4 for four halves of rows of B; a pair a lane 1."""
    blocks, along_k = tiles(counts, _BM, _BN), ceil_div(counts.shape[2], _K)
    copies = _K * (_BM // 8 * 8 + _BN // 4 * 2) * _HALF // 64
    return blocks * along_k * copies + blocks * _BM * _BN / 2 / WARP


EXERCISE = Exercise(
    task="send the results through shared memory: assemble rows from pairs, and store whole rows of C. The loop over k-tiles is "
    "there; it is 09d's.",
    gaps={
        "pairs": Gap(
            "compute alpha·acc[i][j][e] and its neighbor, add beta·C where beta is not 0, round both, and put them into `out` "
            "as one word. A row of the warp tile has OUT_PITCH bytes there; in.row and in.col are the pair's place in its 16×8 "
            "tile. Which elements of C exist? The code below stores zeros.",
            "*reinterpret_cast<std::uint32_t*>(out + in.row * OUT_PITCH + 2 * (j * MMA_N + in.col)) = 0;",
        ),
        "rows": Gap(
            "`out` now holds MMA_M rows of WN results in C's type, OUT_PITCH bytes apart. Store them to rows y0 + i * MMA_M, … "
            "and columns x0, … of C, eight neighbors per lane: 16 bytes where ALIGNED, single elements elsewhere. Which lanes "
            "wrote what a lane stores?"
        ),
    },
    hints=(
        "A pair is two neighbors of a row, 4 bytes. Rounding comes last, once, so the old C is added in FP32. In rows: how many "
        "lanes does it take to store the 128 bytes of a row?",
        "In pairs: element h of the pair is alpha * acc[i][j][e + h]; where beta is not 0, and row < M and col + h < N, add beta "
        "times C's element; from_float<T> rounds. In rows: there are MMA_M·WN/8 groups of eight, WN/8 of them in a row; lane "
        "l takes groups l, l + 32, …. Guard row < M and col < N.",
        "nearly the code, in the gaps' order:\n"
        "  __align__(4) T pair[2]; pair[h] = gemm::from_float<T>(sum);\n"
        "  the word goes to out + in.row * OUT_PITCH + 2 * (j * MMA_N + in.col);\n"
        "  for (int c = lane; c < MMA_M * WN / 8; c += 32): r = c / (WN / 8), at_col = c % (WN / 8) * 8;\n"
        "  a uint4 from out + r * OUT_PITCH + 2 * at_col goes to &C[row * ldc + col] as a uint4 where ALIGNED,\n"
        "  else element e of it to C[row * ldc + col + e] as long as col + e < N.",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Every access to A, B and C is 16 bytes wide",
            narrow_requests,
            lambda counts: 0,
            "requests of fewer bytes per thread",
            "On this shape ALIGNED is true: C takes a uint4 of eight neighbors.",
        ),
        Goal(
            "Fragments and results are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "8 ldmatrix of 4 wavefronts for a k-step, and each 16 bytes of results once.",
        ),
        Goal(
            "Pairs are stored to shared memory without bank conflicts",
            shared_store_wavefronts,
            _stored_wavefronts,
            "wavefronts",
            "Without the copies, a store of 32 pairs takes one wavefront: its eight rows are OUT_PITCH bytes, 36 words, apart.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "A warp's results concern the warp alone: __syncwarp() is enough.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and mend it.",
    bug={
        "        __syncwarp();  // every lane has stored the rows before": (
            "        if (i == 0) __syncwarp();  // every lane has stored the rows before"
        ),
    },
    hints=(
        "Copies, waits and __syncthreads() are right, and so is every formula. Since Volta the lanes of a warp need not run in "
        "step: where does a lane use what another lane of its warp has put into shared memory?",
        "A warp sends its results through `out` 16 rows at a time. A round writes rows, and reads them in another order: which "
        "two things must be over, for all lanes, before the next round may write?",
        "There are two __syncwarp() in a round, one before the writes and one before the reads. Round i + 1 writes where round "
        "i has read: is it certain in each round that every lane has read?",
    ),
    check_finds="race",
    race=True,
)


# The quiz


def place_of_a_result(q: Quiz) -> Question:
    row, col = q.whole(1, _MMA_M - 1), q.whole(0, _WN - 1)
    answer = _PITCH * row + _HALF * col
    return Question(
        f"A warp's part of `out` has rows of OUT_PITCH = {_PITCH} bytes. At how many bytes from its beginning is the result of "
        f"row {row}, column {col} of the 16×{_WN} rows that it holds, with two bytes an element?",
        answer,
        "bytes",
        f"{_PITCH}·{row} + 2·{col} = {grouped(answer)}.",
    )


def wavefronts_of_a_store_of_pairs(q: Quiz) -> Question:
    pad = 4 * q.whole(0, 16)
    pitch = _HALF * _WN + pad
    answer = wavefronts(pitch // 4 * (lane // 4) + lane % 4 for lane in range(WARP))
    begins = sorted({pitch // 4 * row % 32 for row in range(8)})
    return Question(
        f"With OUT_PITCH = {pitch} bytes, how many wavefronts does a warp's store of pairs to shared memory take? Lane l "
        "writes 4 bytes, to row l/4 and to word l mod 4 from the same column on.",
        answer,
        "wavefronts",
        f"Eight rows, {pitch}/4 = {pitch // 4} words apart, and four neighboring words in each. They begin in "
        f"bank{'s' * (len(begins) > 1)} {', '.join(map(str, begins))}. The busiest bank is needed {answer} "
        f"time{'s' * (answer > 1)}.",
    )


def stores_of_a_warp_tile(q: Quiz) -> Question:
    WM, WN = 16 * q.whole(2, 8), q.choose((64, 128))
    answer = _HALF * WM * WN // (16 * WARP)
    pairs = _HALF * WM * WN // (4 * WARP)
    return Question(
        f"A warp tile of {WM}×{WN} results of two bytes, stored to C from rows, 16 bytes per lane. How many stores does the warp "
        "execute?",
        answer,
        "",
        f"{WM}·{WN}·2 = {grouped(_HALF * WM * WN)} bytes, and a store writes 32·16 = 512: {answer}. In pairs of 4 bytes, it "
        f"would be {grouped(pairs)}.",
    )


def sectors_of_a_store(q: Quiz) -> Question:
    width, rows = q.choose((4, 8, 16)), q.choose((1, 2, 4, 8))
    each = WARP * width // rows
    answer = rows * ceil_div(each, 32)
    return Question(
        f"A warp's store writes {width} bytes per lane to {rows} row{'s' * (rows > 1)} of C, {each} neighboring bytes in each, "
        "all beginning at multiples of 32 bytes. How many sectors does it touch?",
        answer,
        "sectors",
        f"A sector has 32 bytes: ⌈{each}/32⌉ = {ceil_div(each, 32)} in each row, {rows}·{ceil_div(each, 32)} = {answer}. Its "
        f"{WARP * width} bytes would fit in {WARP * width // 32}.",
    )


def who_stores_an_element(q: Quiz) -> Question:
    row, col = q.whole(0, _BM - 1), q.whole(0, _BN - 1)
    warp, lane = row // _WM * (_BN // _WN) + col // _WN, (row % _MMA_M * (_WN // 8) + col % _WN // 8) % WARP
    answer = WARP * warp + lane
    return Question(
        f"In kernel.cu, warp tiles of 64×64 in a C tile of 256×128. Which thread stores the element of row {row} and column "
        f"{col} of the C tile to C?",
        answer,
        "",
        f"Row {row} and column {col} belong to warp {row}/64·2 + {col}/64 = {warp} (rounded down). In its tile the row is number "
        f"{row % _WM % _MMA_M} of 16, and column {col % _WN} is in group {col % _WN // 8} of eight: group {row % _MMA_M}·8 + "
        f"{col % _WN // 8} = {row % _MMA_M * 8 + col % _WN // 8}, mod 32 lane {lane}. 32·{warp} + {lane} = {answer}.",
    )


QUIZ = (sectors_of_a_store, stores_of_a_warp_tile, place_of_a_result, wavefronts_of_a_store_of_pairs, who_stores_an_element)
