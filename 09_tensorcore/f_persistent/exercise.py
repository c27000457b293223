"""What the exercise and the bug hunt of lesson 09f leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, narrow_requests, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 256, 128, 64, 8  # kernel.cu's block tile, and the warps of a block
_WM, _WN = 64, 64
_GROUP, _MMA_K = 8, 16
_HALF = 2  # bytes of an element


def _read_wavefronts(counts: Counts) -> float:
    """8 ldmatrix of 4 wavefronts in each step of a warp, and C once, 128 bytes a wavefront."""
    M, N, K = counts.shape
    steps = ceil_div(K, _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * 8 * 4 + _HALF * M * N / 128


EXERCISE = Exercise(
    task="let the blocks stay: say which tile of C a number means, and let the next tile begin to load while this one is "
    "stored. The pipeline is there, and so is the way of the results.",
    gaps={
        "order": Gap(
            "the first row and column of tile number c_tile of C. Tiles are counted down a group of GROUP rows of tiles, then "
            "along the group; the last group may have fewer rows. There are tiles_m rows and tiles_n columns of tiles. What "
            "stands below knows one column.",
            "row0 = std::int64_t{c_tile} * BM, col0 = 0;",
        ),
        "fill": Gap(
            "the first tiles of A and B for the tile of C at row0 and col0 begin to load, as in 09c before its loop. The first "
            "tile along K may be partial, the others, STAGES - 1 with it, are whole, and each closes a group. There may be fewer."
        ),
        "next": Gap(
            "the block's next tile of C: where gridDim.x blocks share the tiles, which one is it, and is there one? If so, its "
            "first tiles of A and B begin to load now. May they, while other warps are still at work? What stands below ends "
            "the block.",
            "const bool more = false;",
        ),
    },
    hints=(
        "In order: lesson 08 numbers its blocks so. How many tiles does a "
        "whole group have? Within the last group a column is shorter. In next: block b begins with tile b, and gridDim.x tiles "
        "are under way at a time. Behind the last barrier nobody reads a stage any more.",
        "In order: GROUP * tiles_n tiles are a group; group_m is tiles_m - group * GROUP, at most GROUP; the row is the tile's "
        "number in its group mod group_m, the column that number / group_m. In next: c_tile grows by gridDim.x, there are "
        "tiles_m * tiles_n tiles, and locate and fill do the rest; y0 and x0 already hold where this tile goes.",
        "nearly the code, in the gaps' order:\n"
        "  group = c_tile / (GROUP * tiles_n), in_group = c_tile % (GROUP * tiles_n);\n"
        "  group_m = tiles_m - group * GROUP, or GROUP where that is less;\n"
        "  row0 = std::int64_t{group * GROUP + in_group % group_m} * BM; col0 = std::int64_t{in_group / group_m} * BN;\n"
        "  if there is a tile, copy(0, (k_end - 1) % BK + 1); a commit; then tiles 1 … STAGES - 2 as in 09c;\n"
        "  c_tile += gridDim.x; more = c_tile < tiles_m * tiles_n; where there is more, locate(c_tile); and fill();",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "Each tile of C loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "Each tile of A and B is copied by one call of copy(…). Does each tile of C belong to one block?",
        ),
        Goal(
            "Every access to A, B and C is 16 bytes wide",
            narrow_requests,
            lambda counts: 0,
            "requests of fewer bytes a thread",
            "On this shape ALIGNED is true: copy_run copies 16 bytes at once, and C takes a uint4 of eight neighbours.",
        ),
        Goal(
            "Fragments and results are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "8 ldmatrix of 4 wavefronts for a step, and each 16 bytes of results once. Lanes 8·i … 8·i + 7 of an ldmatrix name "
            "eight rows, whose swizzled places lie in different banks.",
        ),
        Goal(
            "A thread meets one barrier a tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait does both: the next tile is there, and the stage that is filled next is no longer read. "
            "A warp's results concern the warp alone: __syncwarp() is enough.",
        ),
    ),
)

HUNT = Hunt(
    task="every result of this kernel is right, and it takes more time than it should. One line is wrong; find it, and mend it.",
    bug={"    constexpr int BITS = BK == 64 ? 3 : 2;": "    constexpr int BITS = 2;"},
    hints=(
        "Shared memory serves 32 banks of 4 bytes, 128 bytes, in one wavefront. ./gemm check 09f --hunt names the line whose "
        "reads take twice as many wavefronts as they need. Which eight rows does a matrix of an ldmatrix read, and where do they "
        "begin?",
        "With 64 steps along K a row of As is 128 bytes, all 32 banks. Without a swizzle the same chunk of every row would lie "
        "at the same place. Over how many places does the swizzle of As spread eight rows?",
        "A row of 128 bytes has eight chunks of 16, and three bits number them: three bits of the row must be XORed into them. "
        "A row of 32 steps has four chunks, and two bits are enough.",
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
        f"BM = {BM}, BN = {BN}, BK = {BK}, STAGES = {stages}, elements of two bytes, warp tiles of 64×64. For the results each "
        "warp has 16 rows of its own, OUT_PITCH = 144 bytes apart. How many bytes of shared memory does a block take?",
        answer,
        "bytes",
        f"A stage: 2·{BK}·({BM} + {BN}) = {grouped(stage)}. {stages} of them and {warps} warps' 16·144 = 2304: "
        f"{grouped(stages * stage)} + {grouped(out)} = {grouped(answer)}. A block may have 163 KiB on 8.0, 99 KiB on 8.6 and 227 "
        f"KiB on 9.0: it fits on {' and '.join(fit) or 'none of these'}.",
    )


def where_a_chunk_lies(q: Quiz) -> Question:
    row, k = q.whole(1, _BM - 1), 8 * q.whole(0, 7)
    plain = _HALF * (row * _K + k)
    answer = plain ^ (row % 8) << 4
    return Question(
        f"As has rows of BK = 64 elements of two bytes, and a_at is Swizzle<3, 4, 3>: bits 7 to 9 of the offset are XORed into "
        f"its bits 4 to 6. At how many bytes from the beginning of As does element (row {row}, k = {k}) lie?",
        answer,
        "bytes",
        f"Without the swizzle: 2·({row}·64 + {k}) = {grouped(plain)}. Bits 7 to 9 are row mod 8 = {row % 8}, bits 4 to 6 are "
        f"number {k}/8 = {k // 8} of the eights of the row: {k // 8} ^ {row % 8} = {k // 8 ^ row % 8}. So it is {row}·128 + "
        f"{k // 8 ^ row % 8}·16 = {grouped(answer)}.",
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
        f"C has {tiles_m} rows of tiles with {tiles_n} in each, GROUP = {_GROUP}, and the GPU has {sms} SMs with a block each. "
        f"Which block computes the tile in row {row}, column {col} (of tiles, from 0)?",
        answer,
        "",
        f"Row {row} lies in group {group}, which begins at number {group}·{_GROUP}·{tiles_n} = {group * _GROUP * tiles_n} and "
        f"has {rows} row{'s' if rows > 1 else ''} of tiles: column {col} begins {col}·{rows} = {col * rows} later, and the row "
        f"is number {row % _GROUP} there. That makes tile {c_tile}. Of {blocks} blocks, number b takes the tiles b, b + "
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
        f"M = {M}, N = {N}, block tiles of 256×128, {sms} SMs with one block each that takes tile after tile. All tiles take the "
        "same time. What share of the SMs' time until the last one ends is spent on tiles, in per cent?",
        answer,
        "%",
        f"⌈{M}/256⌉·⌈{N}/128⌉ = {down}·{across} = {tiles} tiles; the busiest block has ⌈{tiles}/{sms}⌉ = {rounds}. "
        f"{tiles}/({rounds}·{sms}) = {answer:.4g} %. What a persistent block saves is each tile's beginning, not this rest.",
        tolerance=0.005,
    )


def bytes_of_tiles_at_a_time(q: Quiz) -> Question:
    group, columns = q.choose((2, 4, 8, 16)), q.whole(6, 16)
    at_a_time = group * columns
    height, width = group * _BM, columns * _BN
    answer = _HALF * _K * (height + width)
    in_a_row = _HALF * _K * (_BM + at_a_time * _BN)
    return Question(
        f"{at_a_time} block tiles of 256×128 are computed at the same time: the first {at_a_time} of a C that has more rows and "
        f"columns of tiles than that, counted with GROUP = {group}. How many bytes of A and B do they need together for BK = 64 "
        "steps along K, if each byte comes once?",
        answer,
        "bytes",
        f"They are {group} rows of tiles with {at_a_time}/{group} = {columns} in each: {group}·256 = {height} rows of A and "
        f"{columns}·128 = {width} columns of B, 64 elements of two bytes in each: 2·64·({height} + {width}) = {grouped(answer)}. "
        f"Counted along one row of tiles it would be 2·64·(256 + {at_a_time}·128) = {grouped(in_a_row)}.",
    )


QUIZ = (shared_bytes_of_a_block, where_a_chunk_lies, which_block, bytes_of_tiles_at_a_time, share_of_busy_sms)
