"""What the exercise and the bug hunt of lesson 08b leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import SMS, Question, Quiz, blocks_by_limit, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its C tiles on.
_M, _N, _K, _WARPS, _A_READS, _B_READS = 64, 64, 16, 4, 1, 2
_GROUP = 8


EXERCISE = Exercise(
    task="read the fragments of the next step before the sums of this one, across the end of a k-tile, too. The ring of stages "
    "is there, as in lesson 08a.",
    gaps={
        "first": Gap(
            "the first k-tiles are on their way. Before the loop begins, the fragments of step 0 must be in a_frag[0] and "
            "b_frag[0]. What must have happened before anyone reads them? There may be no k-tile at all."
        ),
        "arrived": Gap(
            "the fragments of the next step come from the next k-tile. Make sure that it is there, for all threads, and go on to "
            "its stage: LAST is where the last stage begins, STAGE the size of one. What else does the barrier here allow?"
        ),
        "next": Gap(
            "read the fragments of the next step into the set that this step's sums do not use. Which step of which k-tile is "
            "next when k is BK - 1? After the last k-tile there is no next one, and `copying` and `tiles` tell you so."
        ),
    },
    hints=(
        "Write down for BK = 8 what a round reads when k is 0, 1, 6 and 7, from which k-tile, and into which of the two sets. "
        "The sums of step k use set k % 2. When does the next k-tile have to be there, and where did lesson 08a wait for it?",
        "Step k reads step (k + 1) % BK into set (k + 1) % 2. BK is even, so step 0 of every k-tile finds its fragments in set "
        "0. In the last step, what is read belongs to the next k-tile. So the wait, the barrier and the move to the next stage "
        "come before the last step's read. After this barrier no thread reads the old k-tile: its fragments are in registers. "
        "Before the loop, do the same for the first k-tile: wait, barrier, read step 0 into set 0, if there is a k-tile.",
        "nearly the code:\n"
        "  before the loop: wait; a barrier; if (tiles > 0) read<T>(a_frag[0], b_frag[0], a_read, b_read, 0);\n"
        "  where k == BK - 1: the same wait, a barrier, stage = stage == LAST ? 0 : stage + STAGE;\n"
        "  if (copying.value || k < BK - 1 || tiles > 1) read<T>(both of set (k + 1) % 2, both addresses + stage, (k + 1) % BK);",
    ),
    starter_fails="copy_in_flight",
    goals=(
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait says both: the next k-tile is there, and no thread reads the stage to be filled next.",
        ),
        Goal(
            "Each step's fragments are read once",
            shared_reads,
            lambda counts: tiles(counts, _M, _N) * _WARPS * _K * ceil_div(counts.shape[2], _K) * (_A_READS + _B_READS),
            "requests",
            "A step that was read ahead is not read again when its sums begin, and after the last step there is none to read.",
        ),
        Goal(
            "The blocks copy each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "Each k-tile is copied by one call of copy(…): the first STAGES - 1 before the loop, the others in it.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the results are right for 4096×4096×4096 and many other sizes. Find the "
    "line, and fix it.",
    bug={
        "group_m = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;": "group_m = tiles_m < GROUP ? tiles_m : "
        "GROUP;"
    },
    hints=(
        "The ring, the waits and the sums are right. Which sizes does the check name, and how many rows of C tiles do they have? "
        "4096 has 32 of Large's.",
        "Blocks are counted down the columns of a group of GROUP rows of C tiles. Take 9 rows: which blocks make up the second "
        "group, and which C tiles should they get? Work it out by the formulas, for the first two of them.",
        "A group has GROUP rows, except for the last one, which may have fewer: as many as are left. The line that says how many "
        "rows a group has asks only whether all of C has fewer than GROUP.",
    ),
    check_finds="unchanged",
)


# The quiz


def place(block: int, tiles_m: int, tiles_n: int) -> tuple[int, int]:
    """Row and column, in C tiles, of a block: kernel.cu's grouped order."""
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
        f"There are {tiles_m} rows of C tiles with {tiles_n} in each. GROUP = {_GROUP}, as here. In which row of C tiles, "
        f"counted from 0, is block {block}?",
        row,
        "",
        f"A group of {_GROUP} rows has {_GROUP}·{tiles_n} = {_GROUP * tiles_n} blocks: block {block} is number {inside} of group "
        f"{group}, which has {rows} row{'s' if rows > 1 else ''} of C tiles. {inside} mod {rows} = {inside % rows}, so it is row "
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
        f"There are {tiles_m} rows of C tiles with {tiles_n} in each, GROUP = {_GROUP}. The first {at_once} blocks run at the "
        "same time, all at the same place along K. How many different tiles of A and of B do they copy, together?",
        answer,
        "tiles",
        f"They are in {rows} rows and {cols} column{'s' if cols > 1 else ''} of C tiles, and copy a tile of A for each row and "
        f"one of B for each column: {rows} + {cols} = {answer}. Counted along the rows, it would be {lines[0]} + {lines[1]} = "
        f"{sum(lines)}.",
    )


def values_in_registers(q: Quiz) -> Question:
    TM, TN = q.choose(((8, 8), (8, 16), (4, 8), (8, 12), (16, 16)))
    answer = TM * TN + 2 * (TM + TN)
    return Question(
        f"A thread computes {TM}×{TN} elements of C and reads its fragments one step ahead. How many registers do its sums and "
        "the fragments of two steps take?",
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
        f"M = N = {size}, C tiles of {BM}×{BN}, {threads} threads with {registers} registers each (given out in eights), a "
        f"GPU with {count} SMs of compute capability {sm.capability}: {grouped(sm.registers)} registers, {sm.threads} "
        f"threads and {sm.blocks} blocks an SM. All blocks take equally long, and a wave is as many as fit at once. What share "
        "of the places for blocks is taken, over all waves?",
        answer,
        "%",
        f"⌈{size}/{BM}⌉·⌈{size}/{BN}⌉ = {grouped(blocks)} blocks. {count} SMs with {together // count} each run {together} at a "
        f"time: {waves} wave{'s' if waves > 1 else ''}, {grouped(blocks)}/({waves}·{together}) = {answer:.1f} %.",
        tolerance=0.01,
    )


def cycles_between_read_and_use(q: Quiz) -> Question:
    BK, warps = q.choose((8, 16)), q.choose((2, 4))
    TM, TN = q.choose(((8, 8), (8, 16), (4, 8)))
    answer = TM * TN * warps
    return Question(
        f"A thread computes {TM}×{TN} elements, a k-tile has BK = {BK} steps, and a scheduler has {warps} warps, which take "
        "turns. The fragments of step k + 1 are read right before the sums of step k. For how many cycles, at least, are FFMAs "
        "issued between a warp's reads and the first sum that needs them, if all warps keep pace?",
        answer,
        "cycles",
        f"Between them come the sums of step k: {TM}·{TN} = {TM * TN} FFMAs of each warp, one instruction per cycle, and {warps} "
        f"warps take turns: {warps}·{TM * TN} = {answer} cycles. A read of shared memory takes a few dozen.",
    )


QUIZ = (which_tile, tiles_that_meet_in_l2, values_in_registers, waves_of_blocks, cycles_between_read_and_use)
