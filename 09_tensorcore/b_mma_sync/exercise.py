"""What the exercise and the bug hunt of lesson 09b leave out, ask and tell."""

from runner.inspect.counts import Counts, bank_conflicts, barriers, shared_reads
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped, wavefronts

_BM, _BN, _BK = 128, 128, 32  # kernel.cu's
_WM, _WN = 64, 64
_MMA_M, _MMA_N, _MMA_K = 16, 8, 16


def _tiles(counts: Counts) -> tuple[int, int]:
    """C tiles, k-tiles."""
    M, N, K = counts.shape
    return ceil_div(M, _BM) * ceil_div(N, _BN), ceil_div(K, _BK)


def _ldmatrix(counts: Counts) -> float:
    """Per k-step of a warp, a 16×16 tile each time: WM/16 of A and WN/16 of B."""
    blocks, along_k = _tiles(counts)
    return blocks * (_BM // _WM) * (_BN // _WN) * along_k * (_BK // _MMA_K) * (_WM // 16 + _WN // 16)


EXERCISE = Exercise(
    task="read the fragments of mma.sync from swizzled k-tiles with ldmatrix, multiply them, and write C from the registers. The "
    "code that brings k-tiles to shared memory, in lesson 07's two stages, is given.",
    gaps={
        "a_at": Gap(
            "where row `row`, step `k` of As is, in elements from its start. The line below is right, but the eight rows of a "
            "matrix share two places in the banks. gemm::Swizzle<bits, from, shift>::apply moves chunks of 2^from elements: it "
            "XORs `bits` bits, from bit from + shift on, into those from bit `from` on. Which bits of this offset are the "
            "chunk's place in 128 bytes, and which tell the rows apart?",
            "return row * BK + k;",
        ),
        "b_at": Gap(
            "the same for step `k`, column `col` of Bs, whose rows have 2^7 elements, 256 bytes.",
            "return k * BN + col;",
        ),
        "fragments": Gap(
            "a_frag[i] is the 16×16 tile of A with row y + i * MMA_M and step k, for TILES_M i; b_frag[j] are the two 16×8 tiles "
            "of B with step k and columns x + j * 16 and x + j * 16 + 8, for TILES_N / 2 j. They are in As[stage] and Bs[stage]. "
            "`at` is the element of a 16×16 tile whose address this lane gives. Which of gemm::ptx::ldmatrix and ldmatrix_trans "
            "for A, which for B?",
        ),
        "multiply": Gap(
            "add the product of each a_frag[i] and b_frag[j / 2][j % 2], the fragment of 8 columns, to acc[i][j]: "
            "gemm::ptx::mma_m16n8k16<T>."
        ),
        "store": Gap(
            "write acc[i][j][e] and acc[i][j][e + 1] to C, as C = alpha·A·B + beta·C says. The place of the first in the 16×8 "
            "tile is gemm::ptx::fragment_c(lane, e), the second is its neighbor in the row: store2<ALIGNED> writes both.",
        ),
    },
    hints=(
        "Begin with fragments, multiply and store. a_at and b_at are right as they are; only the second goal asks for more. "
        "A lane of mma.sync holds pairs of neighbors along K, both of A and of B. In As these are side by side in a row, in Bs "
        "they are in different rows: for one of the two, ldmatrix must transpose. For the swizzles, write down the offset of "
        "(row, k) in bits: bits 0 to 2 are inside a chunk of 16 bytes, bits 3 to 5 are the chunk's place in 128 bytes.",
        "A: ldmatrix(a_frag[i], address), the address being &As[stage][a_at(row of the tile + at.row, k + at.col)]. B: "
        "ldmatrix_trans fills b_frag[j], both fragments, from &Bs[stage][b_at(k + at.row, column of the tile + at.col)], and the "
        "tiles of neighboring j are 16 columns apart. C: the row is row0 + y + i * MMA_M + in.row; "
        "rows past M are left out, and store2 needs to know how many columns are left up to N. Swizzles: chunks have 2^3 "
        "elements, so `from` is 3. A row of As is 2^5 elements, half of 128 bytes: the row's bits 1 and 2 are bits 6 and 7 of "
        "the offset, and go to bits 3 and 4. A row of Bs is 2^7: the row's bits 0 to 2 are bits 7 to 9.",
        "nearly the code, in the gaps' order:\n"
        "  gemm::Swizzle<2, 3, 3>::apply(row * BK + k); gemm::Swizzle<3, 3, 4>::apply(k * BN + col);\n"
        "  gemm::ptx::ldmatrix(a_frag[i], &As[stage][a_at(y + i * MMA_M + at.row, k + at.col)]);\n"
        "  gemm::ptx::ldmatrix_trans(b_frag[j], &Bs[stage][b_at(k + at.row, x + j * 16 + at.col)]);\n"
        "  gemm::ptx::mma_m16n8k16<T>(acc[i][j], a_frag[i], b_frag[j / 2][j % 2]);\n"
        "  row = row0 + y + i * MMA_M + in.row, col = col0 + x + j * MMA_N + in.col; where row < M:\n"
        "  store2<ALIGNED>(&C[row * ldc + col], N - col, alpha * acc[i][j][e], alpha * acc[i][j][e + 1], beta);",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "A warp reads the fragments of a k-step with 8 ldmatrix",
            shared_reads,
            _ldmatrix,
            "reads of shared memory",
            "Four for the 64 rows of A, four for the 64 columns of B: an ldmatrix brings a 16×16 tile, two fragments of B.",
        ),
        Goal(
            "Shared memory takes no more wavefronts than the bytes need",
            bank_conflicts,
            lambda counts: 0,
            "wavefronts beyond the ideal",
            "The eight rows of 16 bytes that one matrix of an ldmatrix reads must be in different banks, and so must the eight "
            "chunks that a quarter of a warp stores. Which bits of the offset tell the rows of As apart, and which three bits "
            "choose the banks?",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: _tiles(counts)[1] + 1,
            "barriers",
            "mma.sync and ldmatrix work within a warp and need no barrier. An iteration stores into the stage that it does not "
            "read, so the barrier at its end is enough.",
        ),
    ),
)

HUNT = Hunt(
    task="every result of this kernel is right, but it takes more time than it should. One line is wrong: find it and fix it.",
    bug={"gemm::Swizzle<2, 3, 3>": "gemm::Swizzle<2, 3, 2>"},
    hints=(
        "Shared memory serves 32 banks of 4 bytes, 128 bytes, in one wavefront. ./gemm check 09b --hunt names the line whose "
        "accesses take twice that. Which eight rows does it read at once, and where does each of them begin?",
        "A row of As is 64 bytes: rows 0 and 1 fill the banks. Take k = 0, and work out a_at for rows 0 to 7, divided by 8 and "
        "mod 8: that is the place in 128 bytes. Which rows share one?",
        "Rows r and r + 4 share a place: the swizzle takes bits 0 and 1 of the row. Bit 0 already chooses the half of the 128 "
        "bytes, so the swizzle needs the bits that are one higher.",
    ),
    check_finds="goal 2",
)


# The quiz


def swizzle(bits: int, base: int, shift: int, offset: int) -> int:
    """common/parts/swizzle.hpp's Swizzle<B, M, S>::apply."""
    return offset ^ (offset >> shift & ((1 << bits) - 1) << base)


def lane_of_an_element_of_a(q: Quiz) -> Question:
    row, k = q.whole(0, _MMA_M - 1), q.whole(0, _MMA_K - 1)
    answer = row % 8 * 4 + k % 8 // 2
    register = row // 8 + k // 8 * 2
    return Question(
        f"In mma.sync.m16n8k16, which lane holds the element of A's fragment with row {row} and step k = {k}?",
        answer,
        "",
        f"In each 8×8 quarter, a lane holds two neighbors of a row: lane = 4·(row mod 8) + (k mod 8)/2, rounded down: "
        f"4·{row % 8} + {k % 8 // 2} = {answer}. The quarter decides the register: a{register}, in its "
        f"{'upper' if k % 2 else 'lower'} half.",
    )


def row_of_a_sum(q: Quiz) -> Question:
    thread = q.whole(0, 32 * (_BM // _WM) * (_BN // _WN) - 1)
    i, j, e = q.whole(0, _WM // _MMA_M - 1), q.whole(0, _WN // _MMA_N - 1), q.whole(0, 3)
    warp, lane = divmod(thread, WARP)
    y, x = warp // (_BN // _WN) * _WM, warp % (_BN // _WN) * _WN
    row, col = y + i * _MMA_M + lane // 4 + e // 2 * 8, x + j * _MMA_N + lane % 4 * 2 + e % 2
    return Question(
        f"In kernel.cu, BM = BN = {_BM}, WM = WN = {_WM}. Which row of the C tile is acc[{i}][{j}][{e}] of thread {thread} in?",
        row,
        "",
        f"Thread {thread} is lane {lane} of warp {warp}, whose tile begins at row {y} and column {x}. mma.sync's tile {i}, {j} "
        f"begins {i * _MMA_M} rows and {j * _MMA_N} columns further. In it: row {lane}/4, rounded down, = {lane // 4}, plus 8 "
        f"where e is 2 or 3. {y} + {i * _MMA_M} + {lane // 4}{' + 8' if e > 1 else ''} = {row} (and column {col}).",
    )


def place_of_a_swizzled_element(q: Quiz) -> Question:
    row, col = q.whole(1, _BK - 1), q.whole(0, _BN - 1)
    offset = row * _BN + col
    answer = swizzle(3, 3, 4, offset)
    chunk = col // 8
    return Question(
        f"A tile has rows of {_BN} elements of 2 bytes. Swizzle<3, 3, 4> is applied to the offset in elements, {_BN}·row + "
        f"column. At which offset is the element of row {row} and column {col}?",
        answer,
        "",
        f"{_BN}·{row} + {col} = {grouped(offset)}. Bits 7 to 9 are the row mod 8, {row % 8}; they are XORed into bits 3 to 5, "
        f"those of the chunk of 8 elements: chunk {chunk} of the row becomes {chunk} ^ {row % 8} = {chunk ^ row % 8}. "
        f"{_BN}·{row} + 8·{chunk ^ row % 8} + {col % 8} = {grouped(answer)}.",
    )


def wavefronts_of_an_ldmatrix(q: Quiz) -> Question:
    pitch = 16 * q.whole(2, 40)
    each = wavefronts(pitch // 4 * row + word for row in range(8) for word in range(4))
    groups = len({pitch // 16 * row % 8 for row in range(8)})
    return Question(
        f"A tile is in shared memory without a swizzle, with rows {pitch} bytes apart. An ldmatrix with four matrices reads a "
        "16×16 tile of it, of 2-byte elements, each matrix by itself. How many wavefronts does it take?",
        4 * each,
        "wavefronts",
        f"The eight rows of a matrix are 16 bytes each, and 128 bytes, eight groups of four banks, fit in a wavefront. Rows "
        f"{pitch} bytes apart begin {pitch}/16 = {pitch // 16} groups apart, and {pitch // 16} mod 8 is {pitch // 16 % 8}: they "
        f"meet {groups} of the 8 groups, {each} row{'s' if each > 1 else ''} each. Four matrices: 4·{each} = {4 * each}.",
    )


def instructions_of_a_warp_tile(q: Quiz) -> Question:
    WM, WN = 16 * q.whole(1, 8), 16 * q.whole(1, 8)
    K = 32 * q.whole(8, 128)
    answer = K // _MMA_K * (WM // 16 + WN // 16)
    multiply = K // _MMA_K * (WM // _MMA_M) * (WN // _MMA_N)
    return Question(
        f"A warp tile has WM = {WM} rows and WN = {WN} columns, K = {K}. Fragments are read as in this lesson. How many ldmatrix "
        "does the warp execute?",
        answer,
        "",
        f"A k-step, {_MMA_K} along K, takes {WM}/16 for A and {WN}/16 for B, {WM // 16 + WN // 16}, and there are {K // _MMA_K} "
        f"k-steps: {K // _MMA_K}·{WM // 16 + WN // 16} = {grouped(answer)}. They feed {grouped(multiply)} mma.sync, "
        f"{multiply / answer:.4g} for each ldmatrix.",
    )


QUIZ = (
    lane_of_an_element_of_a,
    row_of_a_sum,
    place_of_a_swizzled_element,
    wavefronts_of_an_ldmatrix,
    instructions_of_a_warp_tile,
)
