"""What the exercise and the bug hunt of lesson 09f leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, narrow_requests, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 256, 128, 64, 8  # kernel.cu's C tile and k-tile, and the warps of a block
_WM, _WN = 64, 64
_GROUP, _MMA_K = 8, 16
_HALF = 2  # bytes of an element


def _read_wavefronts(counts: Counts) -> float:
    """8 ldmatrix of 4 wavefronts in each k-step of a warp, and C once, 128 bytes a wavefront."""
    M, N, K = counts.shape
    steps = ceil_div(K, _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * 8 * 4 + _HALF * M * N / 128


EXERCISE = Exercise(
    task="make the blocks persistent: compute where C tile number c_tile is, and start the copies for the next C tile before "
    "this one is stored. The main loop and the stores are given.",
    gaps={
        "order": Gap(
            "the first row and column of C tile number c_tile. C tiles are counted down the GROUP rows of a group, then along "
            "the group; the last group may have fewer rows. C has tiles_m rows and tiles_n columns of C tiles. The line below "
            "knows only one column.",
            "row0 = std::int64_t{c_tile} * BM, col0 = 0;",
        ),
        "fill": Gap(
            "start the copies of the first STAGES - 1 k-tiles for the C tile at row0 and col0, as 09c does before its loop. The "
            "first k-tile may be partial, the others are whole. What if K has fewer? Commit a group for each k-tile, whether it "
            "exists or not."
        ),
        "next": Gap(
            "the block's next C tile: if gridDim.x blocks share the C tiles, which one is it, and does it exist? If so, start "
            "its first copies now. May they overwrite stages while other warps are still adding products? The line below ends "
            "the block.",
            "const bool more = false;",
        ),
    },
    hints=(
        "In order: lesson 08b numbers its blocks in this way. How many C tiles does a whole group have? In the last group a "
        "column may be shorter. In next: block b begins with C tile b, and gridDim.x C tiles are computed at a time. After the "
        "last barrier, no warp reads a stage any more.",
        "In order: a group has GROUP * tiles_n C tiles, and group_m = tiles_m - group * GROUP rows, but at most GROUP. Of a C "
        "tile's number in its group, the remainder mod group_m gives the row, the quotient by group_m the column. In next: add "
        "gridDim.x to c_tile; there are tiles_m * tiles_n C tiles; locate and fill do the rest. y0 and x0 already hold where "
        "this C tile goes.",
        "nearly the code, in the gaps' order:\n"
        "  group = c_tile / (GROUP * tiles_n), in_group = c_tile % (GROUP * tiles_n);\n"
        "  group_m = tiles_m - group * GROUP, or GROUP where that is less;\n"
        "  row0 = std::int64_t{group * GROUP + in_group % group_m} * BM; col0 = std::int64_t{in_group / group_m} * BN;\n"
        "  if there is a k-tile, copy(0, (k_end - 1) % BK + 1); a commit; then k-tiles 1 … STAGES - 2 as in 09c;\n"
        "  c_tile += gridDim.x; more = c_tile < tiles_m * tiles_n; if there is more, locate(c_tile); and fill();",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "The elements of A and B for each C tile are copied once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "One call of copy(…) copies each k-tile. Does each C tile belong to exactly one block?",
        ),
        Goal(
            "Every access to A, B and C is 16 bytes wide",
            narrow_requests,
            lambda counts: 0,
            "requests of fewer bytes per thread",
            "On this shape ALIGNED is true: copy_run copies 16 bytes at a time, and C is stored by uint4, eight neighbors each.",
        ),
        Goal(
            "Fragments and results are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "8 ldmatrix of 4 wavefronts per k-step, and each 16 bytes of results once. Lanes 8·i … 8·i + 7 of an ldmatrix name "
            "eight rows, which the swizzle puts into different banks.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait does both jobs: the next k-tile has arrived, and no warp still reads the stage that is "
            "filled next. Only the warp itself reads its results in shared memory, so __syncwarp() is enough for them.",
        ),
    ),
)

HUNT = Hunt(
    task="every result of this kernel is right, but it takes more time than it should. One line is wrong: find it, and correct "
    "it.",
    bug={"    constexpr int BITS = BK == 64 ? 3 : 2;": "    constexpr int BITS = 2;"},
    hints=(
        "Shared memory serves 32 banks of 4 bytes, 128 bytes, in one wavefront. ./gemm check 09f --hunt names the line whose "
        "reads take twice as many wavefronts as they need. Which eight rows does a matrix of an ldmatrix read, and in which "
        "banks do they begin?",
        "With BK = 64 a row of As has 128 bytes, enough to fill all 32 banks. Without a swizzle, the same chunk of every row "
        "would be in the same banks. Over how many places does the swizzle of As spread eight rows?",
        "A row of 128 bytes has eight chunks of 16 bytes, and it takes three bits to number them: three bits of the row must be "
        "XORed into these. With BK = 32 a row has four chunks, and two bits are enough.",
    ),
    check_finds="goal 3",
)


# The quiz


def shared_bytes_of_a_block(q: Quiz) -> Question:
    BM, BN, BK = q.choose((128, 192, 256)), q.choose((64, 128, 192, 256)), q.choose((32, 64))
    stages = q.whole(2, 5)
    warps = BM // _WM * (BN // _WN)
    stage, out = _HALF * BK * (BM + BN), warps * 16 * (_HALF * _WN + 16)
    answer = stages * stage + out
    fit = [name for name, kib in (("8.0", 163), ("8.6", 99), ("9.0", 227)) if answer <= 1024 * kib]
    return Question(
        f"BM = {BM}, BN = {BN}, BK = {BK}, STAGES = {stages}, elements of two bytes, warp tiles of 64×64. Each warp has 16 rows "
        "of its own for results, OUT_PITCH = 144 bytes apart. How many bytes of shared memory does a block take?",
        answer,
        "bytes",
        f"A stage: 2·{BK}·({BM} + {BN}) = {grouped(stage)}. There are {stages} stages, and 16·144 = 2304 bytes for each of "
        f"{warps} warps: {grouped(stages * stage)} + {grouped(out)} = {grouped(answer)}. A block may have 163 KiB on compute "
        f"capability 8.0, 99 KiB on 8.6 and 227 KiB on 9.0, so this one fits on {' and '.join(fit) or 'none of them'}.",
    )


def where_a_chunk_lies(q: Quiz) -> Question:
    row, k = q.whole(1, _BM - 1), 8 * q.whole(0, 7)
    plain = _HALF * (row * _K + k)
    answer = plain ^ (row % 8) << 4
    return Question(
        f"As has rows of BK = 64 elements of two bytes, and a_at is Swizzle<3, 4, 3>: bits 7 to 9 of the offset are XORed into "
        f"its bits 4 to 6. How many bytes from the beginning of As is element (row {row}, k = {k})?",
        answer,
        "bytes",
        f"Without the swizzle: 2·({row}·64 + {k}) = {grouped(plain)}. Bits 7 to 9 are row mod 8 = {row % 8}, bits 4 to 6 are "
        f"the number of its chunk in the row, {k}/8 = {k // 8}: {k // 8} ^ {row % 8} = {k // 8 ^ row % 8}. So the element is at "
        f"{row}·128 + {k // 8 ^ row % 8}·16 = {grouped(answer)}.",
    )


def which_block(q: Quiz) -> Question:
    tiles_m, tiles_n = q.whole(9, 30), q.whole(8, 30)
    sms = q.choose((72, 82, 108, 114, 128, 132, 142))
    row, col = q.whole(0, tiles_m - 1), q.whole(0, tiles_n - 1)
    group = row // _GROUP
    rows = min(tiles_m - group * _GROUP, _GROUP)
    c_tile = group * _GROUP * tiles_n + col * rows + row % _GROUP
    blocks = min(sms, tiles_m * tiles_n)
    answer = c_tile % blocks
    return Question(
        f"C has {tiles_m} rows of C tiles with {tiles_n} in each, GROUP = {_GROUP}, and the GPU has {sms} SMs with one block "
        f"each. Which block computes the C tile in row {row}, column {col} (of C tiles, from 0)?",
        answer,
        "",
        f"Row {row} is in group {group}, which begins at number {group}·{_GROUP}·{tiles_n} = {group * _GROUP * tiles_n} and "
        f"has {rows} row{'s' if rows > 1 else ''} of C tiles. Column {col} begins {col}·{rows} = {col * rows} later, and the row "
        f"is number {row % _GROUP} in it. That makes C tile {c_tile}. Of {blocks} blocks, block b computes C tiles b, b + "
        f"{blocks}, …: {c_tile} mod {blocks} = {answer}.",
    )


def share_of_busy_sms(q: Quiz) -> Question:
    M, N = q.whole(1500, 9000), q.whole(1500, 9000)
    sms = q.choose((72, 82, 108, 114, 128, 132, 142))
    down, across = ceil_div(M, _BM), ceil_div(N, _BN)
    tiles = down * across
    rounds = ceil_div(tiles, sms)
    answer = 100 * tiles / (rounds * sms)
    return Question(
        f"M = {M}, N = {N}, C tiles of 256×128, {sms} SMs with one persistent block each. All C tiles take the same time. For "
        "what share of the time, from the launch to the end of the last block, do the SMs have work, in per cent?",
        answer,
        "%",
        f"⌈{M}/256⌉·⌈{N}/128⌉ = {down}·{across} = {tiles} C tiles, and the busiest block computes ⌈{tiles}/{sms}⌉ = "
        f"{rounds}. {tiles}/({rounds}·{sms}) = {answer:.4g} %. Persistent blocks save the wait at the beginning of a C tile, but "
        "they can't fill the last round.",
        tolerance=0.005,
    )


def bytes_of_tiles_at_a_time(q: Quiz) -> Question:
    group, columns = q.choose((2, 4, 8, 16)), q.whole(6, 16)
    at_a_time = group * columns
    height, width = group * _BM, columns * _BN
    answer = _HALF * _K * (height + width)
    in_a_row = _HALF * _K * (_BM + at_a_time * _BN)
    return Question(
        f"{at_a_time} C tiles of 256×128 are computed at the same time: the first {at_a_time} of a C that has more rows and "
        f"columns of C tiles than that, counted with GROUP = {group}. How many bytes of A and B do they need together for a "
        "k-tile of BK = 64, if each byte is loaded once?",
        answer,
        "bytes",
        f"They are {group} rows of C tiles with {at_a_time}/{group} = {columns} in each. That takes {group}·256 = {height} rows "
        f"of A and {columns}·128 = {width} columns of B, with 64 elements of two bytes in each: 2·64·({height} + {width}) = "
        f"{grouped(answer)}. Counted along one row of C tiles it would be 2·64·(256 + {at_a_time}·128) = {grouped(in_a_row)}.",
    )


QUIZ = (shared_bytes_of_a_block, where_a_chunk_lies, which_block, bytes_of_tiles_at_a_time, share_of_busy_sms)
