"""What the exercise and the bug hunt of lesson 09c leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, narrow_requests, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 256, 128, 64, 8  # kernel.cu's block tile, and the warps of a block
_WM, _WN = 64, 64
_STAGES, _GROUP, _MMA_K = 3, 8, 16
_HALF = 2  # bytes of an element


def _read_wavefronts(counts: Counts) -> float:
    """8 ldmatrix of 4 wavefronts in each step of a warp, and C once, 128 bytes a wavefront."""
    M, N, K = counts.shape
    steps = ceil_div(K, _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * 8 * 4 + _HALF * M * N / 128


EXERCISE = Exercise(
    task="keep the tensor cores fed: copy tiles of A and of B ahead into swizzled stages, read fragments a step ahead, and "
    "store C in whole rows. What concerns A is there.",
    gaps={
        "tile_b": Gap(
            "copy this thread's share of the tile of B: rows b_k + r, r = 0, B_ROWS, …, and in each the columns b_col and "
            "b_col + 64, WIDTH neighbours each. copy_run wants to know whether the row is there, which column of the tile comes "
            "first, and how many columns there are. What stands below puts zeros in one place.",
            "copy_run(b_write + stage, b, false, 0, 0);",
        ),
        "read_b": Gap(
            "fill b_frag[which], 16 columns at a time, from the stage's rows step * MMA_K, … of Bs. b_read[j] is where this "
            "lane's row begins for step 0 in stage 0. Zeros are no fragments.",
            "for (auto& two : b_frag[which]) two[0][0] = two[0][1] = two[1][0] = two[1][1] = 0;",
        ),
        "arrived": Gap(
            "the fragments of the next step come from the next tile. Make sure that it is there, for all threads, and go on to "
            "its stage: LAST is the last one, D::STAGE the distance of two. What else does the barrier here allow?"
        ),
        "rows": Gap(
            "`out` now holds MMA_M rows of WN results, OUT_PITCH bytes apart, in the elements of C. Store them to rows y0 + i * "
            "MMA_M, … and columns x0, … of C, eight neighbours a lane: 16 bytes where ALIGNED, single elements elsewhere. Who "
            "has written what a lane stores?"
        ),
    },
    hints=(
        "copy of A, read of A and the kernel of lesson 08 show the way. How far apart do two rows of Bs lie in bytes? A "
        "swizzle XORs three bits of the row into the place within the row: which steps in rows leave these bits as they are, "
        "so that adding a constant is enough? Of the groups that a thread has committed, the newest may be under way at the "
        "last step; which one must be complete?",
        "In tile_b: 2·(r·BN + i) bytes behind b_write + stage, from b + r * ldb + i; the row is there if b_k + r is below "
        "steps, the column is b_col + i, and the tile has N - col0. In read_b: TILES_N / 2 times ldmatrix_trans, a step is "
        "MMA_K rows of BN elements of two bytes further down. In arrived: wait until at most STAGES - 2 groups are under way, "
        "a barrier, and the next stage, which is 0 behind LAST. In rows: there are MMA_M·WN/8 eights, WN/8 of them in a row; "
        "lane c takes c, c + 32, …: eight lanes store a row of 128 bytes. Guard row < M and col < N.",
        "nearly the code, in the gaps' order:\n"
        "  copy_run(b_write + stage + 2 * (r * BN + i), b + r * ldb + i, b_k + r < steps, b_col + i, N - col0);\n"
        "  ldmatrix_trans(b_frag[which][j], b_read[j] + stage + 2 * step * MMA_K * BN);\n"
        "  cp_async_wait<STAGES - 2>(); __syncthreads(); stage = stage == LAST ? 0 : stage + D::STAGE;\n"
        "  for (int c = lane; c < MMA_M * WN / 8; c += 32): r = c / (WN / 8), at_col = c % (WN / 8) * 8;\n"
        "  a uint4 from out + r * OUT_PITCH + 2 * at_col goes to &C[row * ldc + col] as a uint4 where ALIGNED,\n"
        "  else element e of it to C[row * ldc + col + e] as long as col + e < N.",
    ),
    starter_fails="A cp.async copy is used before anyone has waited for it.",
    goals=(
        Goal(
            "Each tile of C loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "Each tile is copied by one call of copy(…), and each eight of it by one copy_run: B_ROWS rows, two halves of BN.",
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
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and mend it.",
    bug={
        "            __syncwarp();  // every lane has stored the rows before": (
            "            if (i == 0) __syncwarp();  // every lane has stored the rows before"
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
    check_says="A barrier is missing.",
)


# The quiz


def wavefronts_a_multiplication(q: Quiz) -> Question:
    WM, WN = q.choose((16, 32, 48, 64, 96, 128)), q.choose((16, 32, 64, 80, 96, 128))
    loads, mmas = WM // 16 + WN // 16, WM // 16 * (WN // 8)
    return Question(
        f"A warp tile of {WM}×{WN}, fragments by ldmatrix.x4 (16×16 elements of two bytes, without bank conflicts), mma.sync of "
        "m16n8k16. How many wavefronts of shared memory does a warp need for each mma.sync?",
        4 * loads / mmas,
        "wavefronts",
        f"An ldmatrix.x4 brings 512 bytes, 4 wavefronts of 128. A step along K takes {WM}/16 + {WN}/16 = {loads} of them, and "
        f"{WM}/16·{WN}/8 = {mmas} mma.sync: 4·{loads}/{mmas} = {4 * loads / mmas:.4g}. With 64×64 it is 32/32 = 1.",
        tolerance=0.005,
    )


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


QUIZ = (wavefronts_a_multiplication, shared_bytes_of_a_block, where_a_chunk_lies, which_block, share_of_busy_sms)
