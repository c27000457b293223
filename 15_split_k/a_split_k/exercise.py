"""What the exercise and the bug hunt of lesson 15a leave out, ask and tell."""

from runner.learn.exercise import Exercise, Gap, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_PASS_STEPS = 16

EXERCISE = Exercise(
    task="several blocks multiply a slice of K each, for the same C tile. Let the one that finishes last add up what all of them "
    "have left in the workspace.",
    gaps={
        "last": Gap(
            "find out whether this block is the last one of its C tile, and return false from every other. All of the block's "
            "sums must be in the workspace before another block can know that it has been here. arrive(work) counts the slice, "
            "and says whether all have come. One thread asks; all threads of the block need the answer.",
            "if (work.slice > 0) return false;",
        ),
        "add": Gap(
            "sums = the sums of all slices of this C tile, slice 0 first. place_of(work, slice) is where the thread's first sum "
            "of a slice is, and the next one is S::THREADS further. Sums are in registers, so loops over them must be unrolled, "
            "and the loop over slices must not be, or its loads take too many registers. AT_ONCE loads before the first addition "
            "are enough.",
            "static_cast<void>(sums), static_cast<void>(work);",
        ),
    },
    hints=(
        "Thread 0 calls arrive(). What has to be true of the other 127 or 255 threads before it does? And how do they learn what "
        "it returned?",
        "A barrier before, because what a thread has stored before a barrier goes with the release of another thread after it. "
        "And __syncthreads_or(x) is a barrier that returns, to every thread, whether x was true in any of them. For the sums, "
        "let the outer loop go over groups of AT_ONCE sums, and the loop over slices inside it add to AT_ONCE totals.",
        "nearly the code:\n"
        "  __syncthreads(); const bool last = threadIdx.x == 0 && arrive(work);\n"
        "  if (!__syncthreads_or(last)) return false;\n"
        "and in add(), for first = 0, AT_ONCE, 2·AT_ONCE …, unrolled: float total[AT_ONCE] = {};\n"
        "  for each slice, not unrolled: from = place_of(work, slice) + first * S::THREADS;\n"
        "    for each i, unrolled: total[i] += from[i * S::THREADS];\n"
        "  then total[i] goes to sum number first + i, that is sums[(first + i) / S::TN][(first + i) % S::TN].",
    ),
    starter_fails="with_k_beyond_512",
)

HUNT = Hunt(
    task="this kernel is right wherever C is a single C tile, or K is in one piece. Find out where two slices collide.",
    bug={
        "std::int64_t{slice} * tiles + work.number": "std::int64_t{slice} + work.number",
    },
    hints=(
        "The kernel is wrong only where there are several slices and several C tiles. What do blocks of different C tiles share?",
        "They share the workspace. Each slice of each C tile needs a place of its own in it. Write down the places for three C "
        "tiles in two slices.",
        "A slice of all C tiles takes as many places as there are C tiles. So slice 1 begins after `tiles` places, not after "
        "one.",
    ),
    check_finds="unordered_blocks",
    race=True,
)


# The quiz


def _first_k(k_tiles: int, slices: int, slice_: int) -> int:
    return slice_ * (k_tiles // slices) + min(slice_, k_tiles % slices)


def where_a_slice_begins(q: Quiz) -> Question:
    slices, k_tiles = q.whole(3, 9), q.whole(30, 90)
    slice_ = q.whole(2, slices - 1)
    answer = _first_k(k_tiles, slices, slice_)
    longer = k_tiles % slices
    return Question(
        f"A C tile has {k_tiles} k-tiles and {slices} slices, and the first slices have one k-tile more where they are not "
        f"equally long. With which k-tile does slice {slice_} begin? Both are counted from 0.",
        answer,
        "",
        f"{k_tiles} / {slices} = {k_tiles // slices}, rounded down, and {longer} are left: "
        f"{slice_}·{k_tiles // slices} + {min(slice_, longer)} = {answer}.",
    )


def rounds_of_blocks(q: Quiz) -> Question:
    sms, tiles, slices = q.choose((82, 108, 132, 144)), q.whole(20, 300), q.whole(2, 8)
    answer = ceil_div(tiles * slices, sms)
    return Question(
        f"C has {tiles} C tiles in {slices} slices each, and the GPU has {sms} SMs. How many blocks does the busiest SM get?",
        answer,
        "",
        f"{tiles}·{slices} / {sms} = {tiles * slices} / {sms}, rounded up: {answer}.",
    )


def time_of_slices(q: Quiz) -> Question:
    sms, tiles, slices = q.choose((108, 132)), q.whole(20, 200), q.whole(2, 8)
    k_tiles, depth = slices * q.whole(10, 60), q.choose((8, 16))
    blocks, steps = ceil_div(tiles * slices, sms), k_tiles // slices * depth
    most = max(blocks, slices)
    answer = blocks * (steps + _PASS_STEPS) + most * _PASS_STEPS
    return Question(
        f"{tiles} C tiles, {k_tiles} k-tiles of {depth} steps, {slices} slices, {sms} SMs. Writing the sums of a C tile "
        f"costs {_PASS_STEPS} steps of K, and so does reading them. How many steps does the launch take by this "
        "lesson's formula?",
        answer,
        "steps",
        f"{blocks} blocks on an SM, of {k_tiles} / {slices}·{depth} + {_PASS_STEPS} = {steps + _PASS_STEPS} steps each, and "
        f"{most} times {_PASS_STEPS} to read: {grouped(answer)}.",
    )


def bytes_of_a_workspace(q: Quiz) -> Question:
    bm, bn = q.choose(((128, 256), (64, 64), (128, 128)))
    tiles, slices = q.whole(4, 90), q.whole(2, 12)
    answer = 4 * bm * bn * tiles * slices
    return Question(
        f"How many bytes do the sums of {tiles} C tiles of {bm}×{bn} take in {slices} slices, in FP32?",
        answer,
        "bytes",
        f"{tiles}·{slices}·{bm}·{bn}·4 = {grouped(answer)}.",
    )


def a_slice_in_steps(q: Quiz) -> Question:
    products, bandwidth = q.choose((64, 128)), q.choose((8, 16, 32))
    answer = 2 * 4 * products // bandwidth
    return Question(
        f"An SM adds {products} products a cycle, and its share of the memory's bandwidth is {bandwidth} bytes a cycle. A slice "
        "writes each of its sums, 4 bytes, once, and it is read once. How many steps of K take as long as that?",
        answer,
        "steps",
        f"8 / {bandwidth} cycles for a sum, and 1 / {products} for a product: 8·{products} / {bandwidth} = {answer}.",
    )


QUIZ = (where_a_slice_begins, rounds_of_blocks, time_of_slices, bytes_of_a_workspace, a_slice_in_steps)
