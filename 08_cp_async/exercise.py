"""What the exercise and the bug hunt of lesson 08 leave out, ask and tell."""

from collections.abc import Mapping

from runner.inspect.counts import Counts, bank_conflicts, barriers, bytes_loaded, bytes_of_tiles, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its block tiles on.
_M, _N, _K, _WARPS, _A_READS, _B_READS = 64, 64, 16, 4, 1, 2
_STAGES, _GROUP, _PAD = 4, 8, 4


def _requests_for_b(counts: Counts) -> tuple[float, Mapping | None]:
    """That load B, of all warps."""
    lines = counts.lines(space="global", op="load", array="B")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


EXERCISE = Exercise(
    task="keep STAGES tiles of A and of B in shared memory, and copy ahead of the sums with cp.async. The copies of A are there.",
    gaps={
        "tile_b": Gap(
            "copy WIDTH floats of row b_k + i of the tile of B, as it is done for A. Where do zeros belong? The line below puts "
            "a zero everywhere, at once.",
            "*reinterpret_cast<float*>(b_write + stage + 4 * i * BN) = 0.0f;",
        ),
        "first": Gap(
            "start copying the tiles after the first one, so that STAGES - 1 of them are on their way. Of which may some be "
            "missing? How many groups may be under way when the first tile is used, and who else has copied parts of it?"
        ),
        "arrived": Gap(
            "the fragments of the next step come from the next tile. Make sure that it is there, for all threads, and go on to "
            "its stage: LAST is the last one, T::STAGE the distance of two. What else does the barrier here allow?"
        ),
        "ahead": Gap(
            "copy the tiles for the stage `ahead`, if there are any (copying.value), and close their group. What would the wait "
            "above count if some rounds had no group?"
        ),
    },
    hints=(
        "Tile number n lies in stage n % STAGES, and its copies are group number n of each thread: every tile gets a commit, and "
        "so does a tile that does not exist. Write down for STAGES = 4 which groups have been committed when the first tile is "
        "used, which one must be complete, and how many may therefore be under way. What is the same at the end of each tile?",
        "Before the loop: tiles 1 … STAGES - 2, tile s to offset s * T::STAGE, BK steps each, only if s < tiles; a commit after "
        "each in any case. That makes STAGES - 1 groups, and tile 0 is the oldest: wait until at most STAGES - 2 are under way. "
        "The wait is for a thread's own copies, so a barrier follows. In the last step of a tile the same two lines make the "
        "next tile safe to read, then `stage` moves on, from LAST to 0. In the first step, tiles that lie STAGES - 1 ahead are "
        "copied to `ahead`, where everyone has finished reading, and a commit follows outside of the `if`.",
        "nearly the code:\n"
        "  cp_async_or_zero<4 * WIDTH>(to row i of Bs, b + i * ldb, b_k + i < steps and the column is below N);\n"
        "  for (int s = 1; s < STAGES - 1; ++s) { if (s < tiles) copy(s * T::STAGE, BK); and a commit }\n"
        "  cp_async_wait<STAGES - 2>(); and a barrier, here and where k == BK - 1;\n"
        "  stage = stage == LAST ? 0 : stage + T::STAGE;\n"
        "  if (copying.value) copy(ahead, BK); and a commit.",
    ),
    starter_fails="A cp.async copy is used before anyone has waited for it.",
    goals=(
        Goal(
            "The blocks copy each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "Each tile is copied by one call of copy(…): the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "A copy of B moves 16 bytes where alignment allows it",
            _requests_for_b,
            lambda counts: ceil_div(counts.shape[0], _M) * counts.shape[2] * ceil_div(counts.shape[1], 4 * WARP),
            "requests",
            "WIDTH is 4 floats where ALIGNED: cp_async_or_zero<4 * WIDTH>, and one call for a thread's four columns.",
        ),
        Goal(
            "A thread meets one barrier a tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait does both: the next tile is there, and the stage that is filled next is no longer read.",
        ),
        Goal(
            "Shared memory takes no more wavefronts than the lesson's kernel",
            bank_conflicts,
            # A read of 16 bytes takes two for the 128 bytes that a warp uses, see Predict; a copy of A takes four, one for each
            # of the rows, whose 8 steps lie in one line of global memory.
            lambda counts: tiles(counts, _M, _N) * counts.shape[2] * (_WARPS * (_A_READS + _B_READS) + 3 * _M // 32),
            "wavefronts beyond the ideal",
            "Let b_write stay where it is: the threads of a warp copy to neighbouring places of a row of Bs.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and mend it.",
    bug={
        "                gemm::ptx::cp_async_commit();": "                if (copying.value) gemm::ptx::cp_async_commit();",
    },
    hints=(
        "The formulas, guards and barriers are right. A wait says how many groups may be under way, and not which: count the "
        "groups that a thread has committed when it waits, tile by tile, with 6 tiles and STAGES = 4.",
        "While there are tiles to copy all is well. Look at the last STAGES - 1 tiles: nothing is copied any more, and yet some "
        "of what was copied is still to be waited for. Which groups does the same wait leave under way there?",
        "A wait for all but the newest STAGES - 2 groups means the next tile only if each tile has brought a group, be it empty. "
        "Look at the commits: one of them has a condition.",
    ),
    check_says="A cp.async copy is used before anyone has waited for it.",
)


# The quiz


def tiles_under_way(q: Quiz) -> Question:
    stages, tiles = q.whole(3, 8), q.whole(12, 40)
    at = tiles - q.whole(1, stages + 3)
    answer = min(stages - 1, tiles - 1 - at)
    newest = at + stages - 1
    return Question(
        f"Suppose STAGES = {stages}, and K gives {tiles} tiles, numbers 0 to {tiles - 1}. A thread has just executed step k = 0 "
        f"of tile {at}, with its copy(…) and its commit. At most how many tiles may it still be copying?",
        answer,
        "tiles",
        f"The wait before tile {at} left at most STAGES - 2 groups under way: tile {at} is complete. Step k = 0 then committed "
        f"group {newest}, {'the copies of tile ' + str(newest) if newest < tiles else 'which is empty, as there is no such tile'}"
        f". Of the tiles after {at}, up to STAGES - 1 = {stages - 1} are under way, as far as they exist: "
        f"min({stages - 1}, {tiles - 1} - {at}) = {answer}.",
    )


def shared_bytes_of_a_ring(q: Quiz) -> Question:
    BM, BN, BK = q.choose((64, 96, 128, 256)), q.choose((64, 128, 256)), q.choose((8, 16, 32))
    stages = q.whole(2, 5)
    stage = 4 * BK * (BM + _PAD + BN)
    answer = stages * stage
    fit = [name for name, kib in (("8.0", 163), ("8.6", 99), ("9.0", 227)) if answer <= 1024 * kib]
    return Question(
        f"Tiles of BM = {BM} by BN = {BN} with BK = {BK}, As padded to rows of BM + 4 floats, STAGES = {stages}. How many bytes "
        "of shared memory does a block take?",
        answer,
        "bytes",
        f"A stage: 4·BK·(BM + 4 + BN) = 4·{BK}·{BM + 4 + BN} = {grouped(stage)}. {stages} of them: {grouped(answer)}. "
        f"A block may have 163 KiB on 8.0, 99 KiB on 8.6 and 227 KiB on 9.0: it fits on {' and '.join(fit) or 'none of these'}.",
    )


def place(block: int, tiles_m: int, tiles_n: int) -> tuple[int, int]:
    """Row and column, in tiles, of a block: kernel.cu's grouped order."""
    group, inside = divmod(block, _GROUP * tiles_n)
    rows = min(tiles_m - group * _GROUP, _GROUP)
    return group * _GROUP + inside % rows, inside // rows


def which_tile(q: Quiz) -> Question:
    tiles_m, tiles_n = q.whole(9, 30), q.whole(5, 20)
    block = q.whole(_GROUP * tiles_n, tiles_m * tiles_n - 1)
    row, col = place(block, tiles_m, tiles_n)
    group, inside = divmod(block, _GROUP * tiles_n)
    rows = min(tiles_m - group * _GROUP, _GROUP)
    return Question(
        f"C has {tiles_m} rows of block tiles with {tiles_n} in each. GROUP = {_GROUP}, as here. In which row of tiles, counted "
        f"from 0, does block {block} lie?",
        row,
        "",
        f"A group of {_GROUP} rows has {_GROUP}·{tiles_n} = {_GROUP * tiles_n} blocks: block {block} is number {inside} of group "
        f"{group}, which has {rows} row{'s' if rows > 1 else ''} of tiles. {inside} mod {rows} = {inside % rows}, so it is row "
        f"{group}·{_GROUP} + {inside % rows} = {row} (and column {inside} / {rows}, rounded down: {col}).",
    )


def tiles_that_meet_in_l2(q: Quiz) -> Question:
    tiles_m, tiles_n = q.whole(16, 40), q.whole(16, 40)
    at_once = _GROUP * q.whole(6, 16)
    cells = [place(block, tiles_m, tiles_n) for block in range(at_once)]
    rows, cols = len({row for row, _ in cells}), len({col for _, col in cells})
    answer = rows + cols
    plain = [divmod(block, tiles_n) for block in range(at_once)]
    lines = len({row for row, _ in plain}), len({col for _, col in plain})
    return Question(
        f"C has {tiles_m} rows of block tiles with {tiles_n} in each, GROUP = {_GROUP}. The first {at_once} blocks run at once, "
        "all at the same tile along K. How many different tiles of A and of B do they copy, together?",
        answer,
        "tiles",
        f"Their places are those of {rows} rows and {cols} column{'s' if cols > 1 else ''} of tiles, a tile of A for a row and "
        f"one of B for a column: {rows} + {cols} = {answer}. Counted along the rows they would be {lines[0]} + {lines[1]} = "
        f"{sum(lines)}.",
    )


def bytes_of_zeros(q: Quiz) -> Question:
    M, N, K = q.whole(20, 100), 2 * q.whole(10, 50) + 1, 2 * q.whole(10, 40) + 1
    down, across, tiles = ceil_div(M, _M), ceil_div(N, _N), ceil_div(K, _K)
    stored, loaded = 4 * down * across * tiles * _K * (_M + _N), 4 * K * (across * M + down * N)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, so that Small runs: BM = BN = {_M}, BK = {_K}. How many bytes of zeros do all "
        "copies together put into shared memory?",
        stored - loaded,
        "bytes",
        f"{down}·{across} blocks fill {tiles} stages each with 4·{_K}·({_M} + {_N}) = {grouped(4 * _K * (_M + _N))} bytes "
        f"without the padding: {grouped(stored)}. They read 4·(⌈{N}/{_N}⌉·{M}·{K} + ⌈{M}/{_M}⌉·{K}·{N}) = {grouped(loaded)} from "
        f"global memory; the difference, {grouped(stored - loaded)} bytes, are zeros.",
    )


QUIZ = (tiles_under_way, shared_bytes_of_a_ring, which_tile, tiles_that_meet_in_l2, bytes_of_zeros)
