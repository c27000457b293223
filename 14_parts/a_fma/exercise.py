"""What the exercise and the bug hunt of lesson 14a leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

# The composition of small C tiles, which runs at every size that is checked or traced.
_M, _N, _K = 64, 64, 16
_GROUP = 8

EXERCISE = Exercise(
    task="put the kernel together. Its parts are there: a scheduler, a mainloop, an epilogue. Write the loop that runs them.",
    gaps={
        "loop": Gap(
            "the scheduler's first() says what the block computes first, and next(work) goes on to what comes after it, or "
            "returns false. mainloop.fill(work) starts the copies of the first k-tiles, and mainloop.multiply(sums, work) uses "
            "them up and adds to sums, of type P::Mainloop::Sums. epilogue.store(sums, work) writes C. Write it so that it is "
            "right for a scheduler whose blocks get several C tiles, too.",
            "static_cast<void>(scheduler), static_cast<void>(mainloop), static_cast<void>(epilogue);",
        ),
    },
    hints=(
        "Write it for one piece of work first: fill, multiply, store. Where do the sums begin, and with which value?",
        "Around it comes an endless loop. Each round has sums of its own that begin at 0. Before you call next(), keep a copy of "
        "the work, because the epilogue needs to know where these sums belong. If there is more, start its copies before you "
        "store; they arrive while you do.",
        "nearly the code:\n"
        "  gemm::Work work = scheduler.first(); mainloop.fill(work);\n"
        "  forever: typename P::Mainloop::Sums sums = {}; mainloop.multiply(sums, work);\n"
        "  const gemm::Work done = work; const bool more = scheduler.next(work);\n"
        "  if (more) mainloop.fill(work); epilogue.store(sums, done); if (!more) return;",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The mainloop has all the barriers that are needed. The loop around it adds none.",
        ),
        Goal(
            "The blocks copy each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "Call fill() once for each piece of work.",
        ),
    ),
)

HUNT = Hunt(
    task="this composition is right for 4096×4096×4096, and wrong for many other sizes. No part is at fault. Find the line that "
    "puts them together wrongly.",
    bug={
        "static_cast<int>((arguments.K - 1) % S::BK) + 1}": "static_cast<int>(arguments.K % S::BK)}",
    },
    hints=(
        "Which sizes does the check name, and which of M, N and K do they have in common?",
        "The mainloop is told how many steps of K its first k-tile has. How many should that be if K is a multiple of BK?",
        "If K is a multiple of BK, all k-tiles are whole, and so is the first. K mod BK is 0 there, and the first k-tile has BK "
        "steps. A number between 1 and BK is wanted.",
    ),
    check_finds="with_one_tile",
)


# The quiz


def columns_first(q: Quiz) -> Question:
    tiles_m, tiles_n = q.whole(9, 30), q.whole(5, 20)
    number = q.whole(tiles_m, tiles_m * tiles_n - 1)
    answer = number // tiles_m
    return Question(
        f"An order counts C tiles column by column: all of the first column from top to bottom, then the next. C has {tiles_m} "
        f"rows of C tiles with {tiles_n} in each. In which column, counted from 0, is C tile number {number}?",
        answer,
        "",
        f"A column has {tiles_m} C tiles: {number} / {tiles_m}, rounded down, is {answer}.",
    )


def tiles_of_two_orders(q: Quiz) -> Question:
    tiles_m, tiles_n, columns = q.whole(20, 60), q.whole(20, 60), q.whole(6, 16)
    at_once = _GROUP * columns
    cells = [divmod(number, tiles_m) for number in range(at_once)]
    rows, cols = len({row for _, row in cells}), len({col for col, _ in cells})
    answer = rows + cols
    return Question(
        f"There are {tiles_m} rows of C tiles with {tiles_n} in each. The first {at_once} are computed at the same time, counted "
        "column by column. At one place along K, how many different tiles of A and of B do their blocks need together?",
        answer,
        "tiles",
        f"They are in {rows} rows and {cols} columns of C tiles: {rows} + {cols} = {answer}. In groups of {_GROUP} rows it would "
        f"be {_GROUP} + {columns} = {_GROUP + columns}.",
    )


def where_a_slice_begins(q: Quiz) -> Question:
    depth, first = q.choose((8, 16, 32)), q.whole(1, 12)
    size = depth * q.whole(20, 60) + q.whole(1, depth - 1)
    partial = size % depth
    answer = partial + (first - 1) * depth
    return Question(
        f"K = {size} and BK = {depth}, and k-tile 0 is the partial one. A piece of work begins with k-tile {first}. With which "
        "step of K, counted from 0?",
        answer,
        "",
        f"K-tile 0 has {size} mod {depth} = {partial} steps, and {first - 1} whole k-tiles follow before it: {partial} + "
        f"{first - 1}·{depth} = {answer}.",
    )


def bytes_of_a_slice(q: Quiz) -> Question:
    bm, bn = q.choose(((128, 256), (64, 64), (128, 128)))
    depth, count = q.choose((8, 16)), q.whole(3, 40)
    answer = 4 * depth * count * (bm + bn)
    return Question(
        f"A piece of work has {count} whole k-tiles of {depth} steps, for a C tile of {bm}×{bn}, in FP32. How many "
        "bytes of A and "
        "B does its block load?",
        answer,
        "bytes",
        f"{count}·{depth}·({bm} + {bn})·4 = {grouped(answer)}.",
    )


def stages_of_a_mainloop(q: Quiz) -> Question:
    bm, bn = q.choose(((128, 256), (64, 64), (128, 128), (64, 128)))
    depth, stages = q.choose((8, 16)), q.whole(3, 6)
    answer = stages * 4 * depth * (bm + 4 + bn)
    return Question(
        f"A loader's stage has float As[{depth}][{bm} + 4] and float Bs[{depth}][{bn}]. How many bytes of shared memory does a "
        f"mainloop with {stages} stages take?",
        answer,
        "bytes",
        f"{stages}·4·{depth}·({bm} + 4 + {bn}) = {grouped(answer)}.",
    )


QUIZ = (columns_first, tiles_of_two_orders, where_a_slice_begins, bytes_of_a_slice, stages_of_a_mainloop)
