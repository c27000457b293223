"""What the exercise and the bug hunt of lesson 15d leave out, ask and tell."""

from runner.learn.exercise import Exercise, Gap, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_WAIT = 1.6  # warps: see kernel.cu

EXERCISE = Exercise(
    task="the blocks of a C tile share the work of adding up its slices, and an estimate decides how many slices there are. "
    "Write both: a block's share, and what slices cost.",
    gaps={
        "share": Gap(
            "groups of four sums are counted row by row through the rows of the C tile that exist; there are `fours` of them. "
            "This block adds up those from `begin` to before `end`. Each of them belongs to one of the work.slices blocks, also "
            "where they do not divide evenly.",
            "const int begin = fours / work.slices * work.slice, end = begin + fours / work.slices;",
        ),
        "slices": Gap(
            "adding = how long it takes, in ns, that there are slices; 0 where there is one. Blocks wait for MEET, and for "
            "MEET_EACH more with each slice. Each slice writes a sum, a float, for each of the m·n elements of C, and each is "
            "read once; SUMS bytes go in a nanosecond.",
            "const double adding = 0.0;",
        ),
    },
    hints=(
        "Let block s begin where block s - 1 ends. What does the formula for the end of the last block have to give? And how "
        "often does a sum cross L2?",
        "fours · s / slices, rounded down, is 0 for s = 0 and `fours` for s = slices, and grows evenly in between. Multiply "
        "before you divide. A sum is written once and read once: 2 · 4 bytes.",
        "nearly the code:\n"
        "  begin = fours * work.slice / work.slices, and end is the same of work.slice + 1\n"
        "  adding = slices == 1 ? 0.0 : MEET + MEET_EACH * slices + (the bytes of all slices, written and read) / SUMS.",
    ),
    starter_fails="never_written",
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
        "slices may a C tile have at most?",
        answer,
        "",
        f"All blocks must be resident. There are {tiles} C tiles and {sms}·{room} = {sms * room} places, and {sms * room} / "
        f"{tiles}, rounded down, is {answer}.",
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


def a_share_in_fours(q: Quiz) -> Question:
    bm, bn = q.choose(((16, 128), (16, 256), (64, 64)))
    slices = q.choose((3, 5, 6, 7, 9, 11))
    slice_ = q.whole(1, slices - 1)
    fours = bm * bn // 4
    begin, end = fours * slice_ // slices, fours * (slice_ + 1) // slices
    return Question(
        f"A C tile of {bm}×{bn} has {slices} slices, and all of its rows exist. How many groups of four floats does the block of "
        f"slice {slice_} add up? Slices are counted from 0.",
        end - begin,
        "",
        f"There are {fours} groups. It begins at {fours}·{slice_} / {slices} = {begin} and ends before {fours}·{slice_ + 1} / "
        f"{slices} = {end}, both rounded down: {end - begin}.",
    )


def time_by_the_estimate(q: Quiz) -> Question:
    slices, steps, warps = q.choose((4, 5, 8)), 16 * q.whole(20, 60), q.choose((2, 4))
    step, together, reading = q.whole(10, 30), q.choose((2, 3, 4)), q.whole(5, 60)
    products = together * steps * step * (1 + _WAIT / (together * warps)) / 1000
    adding = 1.5 + 0.046 * slices
    answer = round(2 + max(products, reading) + adding)
    return Question(
        f"The busiest SM has {together} blocks of {warps} warps. Each computes {steps} steps of K, with t = {step} ns. The bytes "
        f"take {reading} µs. A C tile has {slices} slices. C is so small that moving sums, and the beginning and the end of a "
        "wave, take no time. What is this lesson's estimate, to the nearest microsecond?",
        answer,
        "µs",
        f"Products take {together}·{steps}·{step}·(1 + {_WAIT} / {together * warps}) = {products:.1f} µs, bytes {reading}, and "
        f"the longer time counts. A launch takes 2 µs more, and slices 1.5 + {slices}·0.046 = {adding:.1f}: {answer}.",
    )


QUIZ = (
    products_that_c_needs,
    slices_that_are_resident,
    blocks_that_keep_dram_busy,
    a_share_in_fours,
    time_by_the_estimate,
)
