"""What the exercise and the bug hunt of lesson 15b leave out, ask and tell."""

from runner.learn.exercise import Exercise, Gap, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_PASS_STEPS = 16

EXERCISE = Exercise(
    task="several blocks have parts of the same C tile. Those without its last k-tile leave their sums in the workspace and "
    "raise a flag; the one that has it waits for their flags, and adds what they have left.",
    gaps={
        "leave": Gap(
            "raise this block's flag: put partials.launch into partials.flags[blockIdx.x]. Whoever reads it there must find all "
            "sums of all threads of this block in the workspace. gemm::ptx::store_release() is the store to use.",
            "if (threadIdx.x == 0) partials.flags[blockIdx.x] = partials.launch;",
        ),
        "fetch": Gap(
            "wait until blocks first … blockIdx.x − 1 have raised their flags for this launch, and put each of these flags back "
            "to 0. After this, every thread reads what those blocks have left.",
            "if (others > 0) return;",
        ),
    },
    hints=(
        "Two promises make a pair: what a thread did before a release is there for a thread that acquires the released value. "
        "Which threads of a block does each speak for, and what brings in the others?",
        "One thread of a block releases, and one acquires. A barrier before the release puts the other threads' stores ahead of "
        "it, and a barrier after the acquire lets the other threads read. A wait is a loop around load_acquire() with an empty "
        "body.",
        "nearly the code. To leave:\n"
        "  __syncthreads();\n"
        "  if (threadIdx.x == 0) gemm::ptx::store_release(&partials.flags[blockIdx.x], partials.launch);\n"
        "and to fetch: if (threadIdx.x == 0), for each block from first to blockIdx.x − 1:\n"
        "  while (gemm::ptx::load_acquire(&partials.flags[block]) != partials.launch) {}\n"
        "  partials.flags[block] = 0;\n"
        "then, for all threads: __syncthreads();",
    ),
    starter_fails="with_k_beyond_512",
)

HUNT = Hunt(
    task="this kernel is right as long as no C tile has more than two parts. Find out what it reads too early.",
    bug={
        "block = first; block < blockIdx.x; ++block) {\n                while": "block = blockIdx.x - 1; block < blockIdx.x; "
        "++block) {\n                while",
    },
    hints=(
        "The kernel is wrong only where a C tile has three parts or more. Who has them, and who waits for whom?",
        "The block with the last k-tile adds what all the others have left. Write down which flags it has read before it does.",
        "It waits for the block just before it. The blocks before that one may still be computing.",
    ),
    check_finds="unordered_blocks",
    race=True,
)


# The quiz


def k_tiles_of_a_share(q: Quiz) -> Question:
    sms, tiles, k_tiles = q.choose((82, 108, 132, 144)), q.whole(20, 300), q.whole(30, 400)
    answer = ceil_div(tiles * k_tiles, sms)
    return Question(
        f"{tiles} C tiles of {k_tiles} k-tiles are cut into equal shares for {sms} SMs. Where they can't be equal, the first "
        "have one k-tile more. How many k-tiles does the first share have?",
        answer,
        "",
        f"{tiles}·{k_tiles} / {sms} = {grouped(tiles * k_tiles)} / {sms}, rounded up: {grouped(answer)}.",
    )


def shared_tiles(q: Quiz) -> Question:
    sms, waves, rest = q.choose((82, 108, 132)), q.whole(2, 7), q.whole(1, 80)
    tiles = waves * sms + rest
    return Question(
        f"C has {tiles} C tiles, and the GPU {sms} SMs. All full waves but one are left as they are. How many C tiles are cut "
        "into shares?",
        sms + rest,
        "",
        f"{tiles} = {waves}·{sms} + {rest}: {waves - 1} waves stay whole, and {sms} + {rest} = {sms + rest} C tiles are cut.",
    )


def where_a_share_ends(q: Quiz) -> Question:
    k_tiles, share = q.whole(20, 90), q.whole(91, 170)
    worker = q.whole(2, 30)
    answer = share * (worker + 1) % k_tiles
    return Question(
        f"Every C tile has {k_tiles} k-tiles, and every share {share}. Blocks are counted from 0. The share of block {worker} "
        "ends in some C tile: how many of that C tile's k-tiles does it have? Say 0 if it ends where the C tile does.",
        answer,
        "",
        f"It ends after {worker + 1}·{share} = {grouped(share * (worker + 1))} k-tiles, and {grouped(share * (worker + 1))} mod "
        f"{k_tiles} = {answer}.",
    )


def bytes_of_the_places(q: Quiz) -> Question:
    bm, bn = q.choose(((128, 256), (64, 64), (128, 128)))
    workers = q.whole(40, 132)
    answer = 4 * bm * bn * (workers - 1)
    return Question(
        f"{workers} blocks share C tiles of {bm}×{bn}. Each but the last has a place for the sums of one C tile, in FP32. How "
        "many bytes do these places take?",
        answer,
        "bytes",
        f"{workers - 1}·{bm}·{bn}·4 = {grouped(answer)}.",
    )


def steps_of_a_launch(q: Quiz) -> Question:
    sms, rest, steps = 132, q.whole(4, 120), q.choose((1024, 2048, 4096))
    waves = q.whole(1, 6)
    share = ceil_div((sms + rest) * (steps // 8), sms) * 8
    answer = share + 2 * _PASS_STEPS + (waves - 1) * steps
    return Question(
        f"{waves * sms + rest} C tiles, {sms} SMs, K = {steps} in k-tiles of 8, and each C tile is in two parts at most. Leaving "
        f"sums and fetching them costs {_PASS_STEPS} steps each. How many steps does the launch take by this lesson's formula, "
        "if it uses shares?",
        answer,
        "steps",
        f"{sms + rest} C tiles are shared: {sms + rest}·{steps // 8} / {sms}, rounded up, are {share // 8} k-tiles, "
        f"{grouped(share)} steps. With 2·{_PASS_STEPS} and {waves - 1} whole C tiles of {grouped(steps)}: {grouped(answer)}.",
    )


QUIZ = (k_tiles_of_a_share, shared_tiles, where_a_share_ends, bytes_of_the_places, steps_of_a_launch)
