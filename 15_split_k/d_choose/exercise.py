"""What the exercise and the bug hunt of lesson 15d leave out, ask and tell."""

from runner.learn.exercise import Exercise, Gap, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

# As in kernel.cu; test_choose.py compares them.
_WAIT = 1.95  # warps
_LAUNCH, _MEET, _MEET_EACH = 3600, 1300, 46  # ns

EXERCISE = Exercise(
    task="the blocks of a C tile share the work of adding up its slices. Write how they meet, and which part each adds up.",
    gaps={
        "part": Gap(
            "groups of four sums are counted row by row through the rows of the C tile that exist; there are `fours` of them. "
            "All blocks are resident, so all add. This one adds up those from `begin` to before `end`. Each of them belongs to "
            "one of the work.slices blocks, also where they do not divide evenly.",
            "const int begin = fours / work.slices * work.slice, end = begin + fours / work.slices;",
        ),
        "meeting": Gap(
            "this thread speaks for its block, whose sums are stored. `arrived` counts the blocks of the C tile that have come; "
            "`none` is what it holds before the first has. Count this block, so that whoever reads the count may read its sums, "
            "and wait until `all` blocks have been counted. Afterwards this thread may read the sums of all of them.",
            "",
        ),
    },
    hints=(
        "A block that counts itself lets others read its sums, and one that waits reads theirs. Which promise about memory does "
        "each make? And let block s begin where block s - 1 ends: what must the formula of an end give for the last one?",
        "Counting is a release, reading the counter an acquire: common/ptx/flags.hpp has both. fours · s / slices, "
        "rounded down, is 0 for s = 0 and `fours` for s = slices, and grows evenly in between. Multiply before you divide.",
        "nearly the code:\n"
        "  add_release 1 to the counter; while what load_acquire reads of it, minus none, is less than all: nothing\n"
        "  begin = fours * work.slice / work.slices, and end is the same of work.slice + 1.",
    ),
    starter_fails="unordered_blocks",
)

HUNT = Hunt(
    task="this kernel is right wherever C is one C tile wide, or K is in one piece. Find out for whom a block waits.",
    bug={
        "&partials.arrived[work.number]": "&partials.arrived[work.tile.m]",
    },
    hints=(
        "A block may read sums only when all slices of its C tile have been stored. How does it know that they have?",
        "Take two C tiles side by side, in three slices. Write down which counter each of their blocks counts itself in.",
        "The blocks that wait for each other are those of one C tile. So they must share a counter, and no other block may count "
        "in it.",
    ),
    check_finds="unordered_blocks",
    race=True,
)


# The quiz


def products_that_c_needs(q: Quiz) -> Question:
    height, rows = q.choose((16, 32, 64, 128)), q.whole(3, 150)
    tiles = ceil_div(rows, height)
    answer = 100 * rows // (tiles * height)
    return Question(
        f"C has {rows} rows, and C tiles have {height}. How many per cent of a launch's products does C need, rounded down, "
        "if its columns leave nothing over?",
        answer,
        "%",
        f"{rows} rows take {tiles} × {height} = {tiles * height} rows of C tiles. {rows} / {tiles * height}, rounded "
        f"down, is {answer} %.",
    )


def slices_that_are_resident(q: Quiz) -> Question:
    sms, room = q.choose((108, 132, 144)), q.whole(2, 5)
    (bm, bn), cols = q.choose(((16, 128), (16, 256), (64, 64))), q.whole(32, 96)
    n = cols * 64
    tiles = ceil_div(n, bn)
    answer = sms * room // tiles
    return Question(
        f"C is {bm}×{n}, in C tiles of {bm}×{bn}. The GPU has {sms} SMs, and each has room for {room} of these blocks. How many "
        "slices may a C tile have at most, if its blocks are to wait for each other?",
        answer,
        "",
        f"All blocks must be resident, or one may wait for another that never gets a place. There are {tiles} C tiles and "
        f"{sms}·{room} = {sms * room} places, and {sms * room} / {tiles}, rounded down, is {answer}.",
    )


def blocks_that_keep_dram_busy(q: Quiz) -> Question:
    bm, bn = q.choose(((8, 128), (16, 128), (16, 256)))
    stages, kib = q.choose((3, 4)), q.whole(30, 90)
    own = 4 * 16 * (bm + bn) * (stages - 1)
    answer = ceil_div(kib * 1024, own)
    return Question(
        f"An SM is to have {kib} KiB on their way. A block has C tiles of {bm}×{bn}, k-tiles of 16 steps and {stages} stages, "
        "one of which is being multiplied. How many blocks does the SM need, in FP32?",
        answer,
        "",
        f"A k-tile is 16·({bm} + {bn})·4 = {grouped(own // (stages - 1))} bytes, and {stages - 1} are on their way: "
        f"{grouped(own)} bytes for each block. {grouped(kib * 1024)} / {grouped(own)}, rounded up: {answer}.",
    )


def a_part_in_fours(q: Quiz) -> Question:
    bm, bn = q.choose(((16, 128), (16, 256), (64, 64)))
    slices = q.choose((3, 5, 6, 7, 9, 11))
    slice_ = q.whole(1, slices - 1)
    fours = bm * bn // 4
    begin, end = fours * slice_ // slices, fours * (slice_ + 1) // slices
    return Question(
        f"A C tile of {bm}×{bn} has {slices} slices, whose blocks all add, and all of its rows exist. How many groups of four "
        f"floats does the block of slice {slice_} add up? Slices are counted from 0.",
        end - begin,
        "",
        f"There are {fours} groups. It begins at {fours}·{slice_} / {slices} = {begin} and ends before {fours}·{slice_ + 1} / "
        f"{slices} = {end}, both rounded down: {end - begin}.",
    )


def time_by_the_estimate(q: Quiz) -> Question:
    slices, steps, warps = q.choose((4, 5, 8)), 16 * q.whole(20, 60), q.choose((2, 4))
    step, together, reading = q.whole(10, 30), q.choose((2, 3, 4)), q.whole(5, 60)
    products = together * steps * step * (1 + _WAIT / (together * warps)) / 1000
    launch, meet, each = _LAUNCH / 1000, _MEET / 1000, _MEET_EACH / 1000
    adding = meet + each * slices
    answer = round(launch + max(products, reading) + adding)
    return Question(
        f"The busiest SM has {together} blocks of {warps} warps. Each computes {steps} steps of K, with t = {step} ns. The bytes "
        f"take {reading} µs. A C tile has {slices} slices, and all blocks are resident. C is so small that moving sums, and the "
        "beginning and the end of a wave, take no time. What is this lesson's estimate, to the nearest microsecond?",
        answer,
        "µs",
        f"Products take {together}·{steps}·{step}·(1 + {_WAIT} / {together * warps}) = {products:.1f} µs, bytes {reading}, and "
        f"the longer time counts. A launch takes {launch:g} µs more, and slices {meet:g} + {slices}·{each:g} = {adding:.1f}: "
        f"{answer}.",
    )


QUIZ = (
    products_that_c_needs,
    slices_that_are_resident,
    blocks_that_keep_dram_busy,
    a_part_in_fours,
    time_by_the_estimate,
)
