"""What the exercise and the bug hunt of lesson 13a leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN = 128, 256  # kernel.cu's C tile
_HALF = 2  # bytes of an element


EXERCISE = Exercise(
    task="let the blocks stay: say which C tile a number means, and let the ring go on from one C tile to the next. The "
    "loops over the C tiles are given; the loads, the products and the stores are lesson 12's.",
    gaps={
        "order": Gap(
            "the row and the column of C tile number i, counted in tiles: `at`. C tiles are numbered down a group of ROWS "
            "rows of tiles, then along the group; the last group may have fewer rows. There are all.m rows and all.n columns "
            "of tiles."
        ),
        "last": Gap(
            "all products of this C tile are done. Lesson 12 ends here, and never gives its last stage back. Who needs it now?"
        ),
        "carry": Gap("n counts the block's k-tiles. The next call of multiply() begins with the k-tile after those of this one."),
    },
    hints=(
        "In order: how many C tiles does a whole group have, and which group is tile i in? In the last group, a column may "
        "be shorter. In last and carry: producer and consumers each count k-tiles from the block's beginning. Both have to "
        "arrive at the same stage and the same parity, even after the first C tile.",
        "In order: a group has ROWS * all.n tiles. Its first row is i / (ROWS * all.n) * ROWS, and all.n tiles of each row "
        "above come before. The column is the number within the group divided by the group's rows, and the row is the "
        "remainder. In last: the stage of k-tile n - 1. In carry: each C tile takes `steps` of them.",
        "nearly the code, in the gaps' order:\n"
        "  first = i / (ROWS * all.n) * ROWS, in_group = i - first * all.n;\n"
        "  rows = all.m - first, or ROWS where that is less;\n"
        "  at = {first + in_group % rows, in_group / rows};\n"
        "  give_back(n - 1);\n"
        "  n += steps;",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Each C tile loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "produce() requests each k-tile once. Does each number mean a different C tile?",
        ),
        Goal(
            "A thread meets one barrier, before the first k-tile",
            barriers,
            lambda counts: 1,
            "barriers",
            "No barrier is needed between two C tiles: the mbarriers of the ring go on.",
        ),
    ),
)

HUNT = Hunt(
    task="two lines of this kernel have changed places. The result is nearly always right on a GPU, and the kernel is even a "
    "little faster. Find them: what may happen too early, and what does it destroy?",
    bug={
        "    gemm::ptx::wgmma_wait<0>(acc);\n": "    give_back(n - 1);  // the next tile of C needs it\n",
        "    give_back(n - 1);  // before the sums are written: the next tile of C needs it\n": (
            "    gemm::ptx::wgmma_wait<0>(acc);\n"
        ),
    },
    hints=(
        "Counts and parities are right, and so is the order of the tiles. Look at each wait: who waits for what, and what "
        "may begin afterwards?",
        "In the loop, a stage is given back after wgmma_wait<1>: the batch that read it is done, and only the newest one is "
        "under way. Which batch is under way after the loop?",
        "To give a stage back is to promise that the k-tile there has been read. After the loop, the newest batch may still "
        "be reading the last one. The producer is fast: in a block's last C tile it requests nothing more, but in any other "
        "it fills the stage at once.",
    ),
    check_finds="wgmma_in_flight",
    race=True,
)


# The quiz


def rounds_of_blocks(q: Quiz) -> Question:
    sms, rows, cols = q.choose((108, 114, 132)), q.whole(10, 60), q.whole(8, 40)
    answer = ceil_div(rows * cols, sms)
    return Question(
        f"C has {rows} rows and {cols} columns of tiles. A GPU has {sms} SMs, and a block of a persistent kernel stays on "
        "each. How many C tiles does the block with the most work compute?",
        answer,
        "tiles",
        f"{rows}·{cols} = {grouped(rows * cols)} tiles over {sms} blocks, rounded up: {answer}.",
    )


def stage_behind_a_tile(q: Quiz) -> Question:
    stages, steps, number, step = q.whole(3, 6), q.whole(5, 40), q.whole(1, 4), q.whole(0, 4)
    answer = (number * steps + step) % stages
    return Question(
        f"A ring of {stages} stages, {steps} k-tiles per C tile. A block has finished {number} C "
        f"tile{'s' if number > 1 else ''}. To which stage does k-tile {step} of its next one go?",
        answer,
        "",
        f"{number}·{steps} + {step} = {number * steps + step} k-tiles came before it: {number * steps + step} mod {stages} = "
        f"{answer}.",
    )


def row_of_a_tile(q: Quiz) -> Question:
    group, cols, of_group, i = q.choose((4, 8, 16)), q.whole(5, 20), q.whole(0, 2), q.whole(3, 60)
    number = of_group * group * cols + i
    answer = number // (group * cols) * group + number % (group * cols) % group
    return Question(
        f"C has {4 * group} rows and {cols} columns of tiles, numbered down groups of {group} rows of tiles. In which row of "
        f"tiles, counted from 0, is tile number {number}?",
        answer,
        "",
        f"A group has {group * cols} tiles. {number} / {group * cols} = {number // (group * cols)}, remainder "
        f"{number % (group * cols)}: {number // (group * cols)}·{group} + {number % (group * cols)} mod {group} = {answer}.",
    )


def arrivals_of_all_tiles(q: Quiz) -> Question:
    consumers, tiles, steps = q.whole(2, 3), q.whole(2, 5), q.whole(8, 64)
    answer = consumers * tiles * steps
    return Question(
        f"A persistent block computes {tiles} C tiles, from {steps} k-tiles each, with {consumers} consumer warpgroups. How "
        "many arrivals are there at its empty mbarriers in all, if every stage is given back?",
        answer,
        "arrivals",
        f"The stage of each of {tiles}·{steps} k-tiles is given back by {consumers} consumers: {grouped(answer)}.",
    )


def rows_and_columns(q: Quiz) -> Question:
    group, cols = q.choose((4, 8, 16)), q.whole(4, 12)
    answer = group * 128 + cols * 256
    return Question(
        f"{group * cols} blocks compute C tiles of 128×256 at the same time: {group} rows of tiles and {cols} columns. How "
        "many rows of A and columns of B do they need together?",
        answer,
        "",
        f"{group}·128 + {cols}·256 = {grouped(answer)}.",
    )


QUIZ = (
    rounds_of_blocks,
    stage_behind_a_tile,
    row_of_a_tile,
    arrivals_of_all_tiles,
    rows_and_columns,
)
