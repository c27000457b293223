"""What the exercise and the bug hunt of lesson 08b leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import SMS, Question, Quiz, blocks_by_limit, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its block tiles on.
_M, _N, _K, _WARPS, _A_READS, _B_READS = 64, 64, 16, 4, 1, 2
_GROUP = 8


EXERCISE = Exercise(
    task="read the values of the next step along K before the sums of this one, also across the end of a tile. The ring of "
    "stages is there, as in lesson 08a.",
    gaps={
        "first": Gap(
            "the first tiles are on their way. Before the loop begins, the values of step 0 must lie in a_frag[0] and b_frag[0]. "
            "What must have happened before anyone reads them? There may be no tile at all."
        ),
        "arrived": Gap(
            "the values of the next step come from the next tile. Make sure that it is there, for all threads, and go on to "
            "its stage: LAST is the last one, STAGE the distance of two. What else does the barrier here allow?"
        ),
        "next": Gap(
            "read the values of the next step into the set that this step's sums do not use. Which step of which tile is next "
            "when k is BK - 1? Of the last tile there is no next one, and `copying` or `tiles` knows it."
        ),
    },
    hints=(
        "Write down for BK = 8 what a round reads when k is 0, 1, 6 and 7, from which tile, and into which of the two sets. The "
        "sums of step k use set k % 2. When does the next tile have to be there, and where did lesson 08a wait for it?",
        "Step k reads step (k + 1) % BK into set (k + 1) % 2; BK is even, so step 0 of every tile finds its values in set 0. In "
        "the last step these are values of the next tile. So wait, barrier and the move to the next stage stand in front of the "
        "last step's read. Behind this barrier nobody reads the old tile any more: its last values are in registers. Before the "
        "loop the same is done for the first tile: wait, barrier, read step 0 into set 0, if there is a tile.",
        "nearly the code:\n"
        "  in front of the loop: wait; a barrier; if (tiles > 0) read<T>(a_frag[0], b_frag[0], a_read, b_read, 0);\n"
        "  where k == BK - 1: the same wait, a barrier, stage = stage == LAST ? 0 : stage + STAGE;\n"
        "  if (copying.value || k < BK - 1 || tiles > 1) read<T>(both of set (k + 1) % 2, both addresses + stage, (k + 1) % BK);",
    ),
    starter_fails="copy_in_flight",
    goals=(
        Goal(
            "A thread meets one barrier a tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait does both: the next tile is there, and the stage that is filled next is no longer read.",
        ),
        Goal(
            "Each step's values are read once",
            shared_reads,
            lambda counts: tiles(counts, _M, _N) * _WARPS * _K * ceil_div(counts.shape[2], _K) * (_A_READS + _B_READS),
            "requests",
            "The step that is read ahead is not read again where its sums begin, and behind the last step there is none to read.",
        ),
        Goal(
            "The blocks copy each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "Each tile is copied by one call of copy(…): the first STAGES - 1 before the loop, the others in it.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet it is right for 4096×4096×4096, and for many other sizes. Find the line, and "
    "mend it.",
    bug={
        "group_m = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;": "group_m = tiles_m < GROUP ? tiles_m : "
        "GROUP;"
    },
    hints=(
        "The ring, the waits and the sums are right. Which sizes does the check name, and how many rows of block tiles do they "
        "have? 4096 has 32 of Large's.",
        "Blocks are counted down a group of GROUP rows of tiles. Take 9 rows of tiles: which blocks make up the second group, "
        "and which tiles should they get? Work it out by the formulas, for the first two of them.",
        "A group has GROUP rows, except for the last one, which may have fewer: as many as are left. The line that says how many "
        "rows a group has asks only whether all of C has fewer than GROUP.",
    ),
    check_finds="pitch",
)


# The quiz


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


def values_in_registers(q: Quiz) -> Question:
    TM, TN = q.choose(((8, 8), (8, 16), (4, 8), (8, 12), (16, 16)))
    answer = TM * TN + 2 * (TM + TN)
    return Question(
        f"A thread computes {TM}×{TN} elements of C and reads the values of a step along K one step ahead. How many registers "
        "take its sums and the values of the two steps?",
        answer,
        "registers",
        f"{TM}·{TN} = {TM * TN} sums, and two sets of {TM} + {TN} = {TM + TN} values: {TM * TN} + 2·{TM + TN} = {answer}. "
        "Addresses, counters and guards come on top; a thread has at most 255.",
    )


def waves_of_blocks(q: Quiz) -> Question:
    BM, BN = q.choose(((128, 256), (128, 128), (64, 64)))
    sm, threads, registers = q.choose(SMS), q.choose((128, 256)), q.whole(96, 208)
    count = q.choose((60, 72, 84, 108, 114, 132))
    size = 128 * q.whole(8, 40)
    blocks = ceil_div(size, BM) * ceil_div(size, BN)
    together = count * min(blocks_by_limit(sm, threads, registers, 0).values())
    waves = ceil_div(blocks, together)
    answer = 100 * blocks / (waves * together)
    return Question(
        f"M = N = {size}, block tiles of {BM}×{BN}, {threads} threads with {registers} registers each (given out in eights), a "
        f"GPU with {count} SMs of compute capability {sm.capability}: {grouped(sm.registers)} registers, {sm.threads} "
        f"threads and {sm.blocks} blocks an SM. All blocks take equally long, and a wave is as many as fit at once. What share "
        "of the places for blocks, over all waves, has one?",
        answer,
        "%",
        f"⌈{size}/{BM}⌉·⌈{size}/{BN}⌉ = {grouped(blocks)} blocks. {count} SMs with {together // count} each run {together} at a "
        f"time: {waves} wave{'s' if waves > 1 else ''}, {grouped(blocks)}/({waves}·{together}) = {answer:.1f} %.",
        tolerance=0.01,
    )


def clocks_between_read_and_use(q: Quiz) -> Question:
    BK, warps = q.choose((8, 16)), q.choose((2, 4))
    TM, TN = q.choose(((8, 8), (8, 16), (4, 8)))
    answer = TM * TN * warps
    return Question(
        f"A thread computes {TM}×{TN} elements, a tile has BK = {BK} steps, a scheduler has {warps} warps, which take turns. The "
        "values of step k + 1 are read right before the sums of step k. How many clocks, at least, are FFMAs issued between a "
        "warp's reads and the first sum that needs them, if all warps go abreast?",
        answer,
        "clocks",
        f"Between them lie the sums of step k: {TM}·{TN} = {TM * TN} FFMAs of a warp, an instruction a clock, and {warps} warps "
        f"take turns: {warps}·{TM * TN} = {answer} clocks. A read of shared memory takes a few dozen.",
    )


QUIZ = (which_tile, tiles_that_meet_in_l2, values_in_registers, waves_of_blocks, clocks_between_read_and_use)
