"""What the exercise and the bug hunt of lesson 15c leave out, ask and tell."""

from runner.learn.exercise import Exercise, Gap, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_MOST_SLICES = 8  # blocks of a cluster
_WIDE = 128  # columns of a C tile
_LATENCY = 1740  # cycles from a k-tile's request to its arrival, by the estimate

EXERCISE = Exercise(
    task="the blocks of a cluster have each multiplied a slice of K, and left their sums in their own shared memory. Let them "
    "wait for each other, and read what the others have.",
    gaps={
        "meet": Gap(
            "wait until the sums of all slices are there. With one slice, these are the sums of the block's own consumers, which "
            "are THREADS threads. With several, they are those of all blocks of the cluster.",
            "gemm::ptx::barrier_sync(1, THREADS);",
        ),
        "read": Gap(
            "parts[i][s] = the four sums of slice s in row y + i * step of the C tile, from column x on, where there is such a "
            "row. Slice s is block s of the cluster, and at_rank(tile, s) is where that block has its sums. A row of sums is "
            "S::PITCH floats long. `parts` is in registers, so unroll both loops, and leave the one over slices after the last "
            "slice.",
            "for (int i = 0; i < AT_ONCE; ++i) {\n"
            "    if (y + i * step >= rows) continue;\n"
            "    parts[i][0] = *reinterpret_cast<const float4*>(&tile[(y + i * step) * S::PITCH + x]);\n"
            "}",
        ),
    },
    hints=(
        "barrier_sync() is a barrier of one block. Which barrier do all blocks of a cluster share? And where does a thread find "
        "what another block has in its shared memory?",
        "cluster_sync() waits for all threads of the cluster that have not returned, and what they have written before is there. "
        "at_rank(tile, s) is an address in the shared memory of block s, and a thread loads from it as from its own.",
        "nearly the code:\n"
        "  if (work.slices == 1) barrier_sync(1, THREADS); else cluster_sync();\n"
        "and in add(), for s = 0 … MOST - 1, unrolled: if (s >= work.slices) break;\n"
        "  const float* const from = work.slices == 1 ? tile : gemm::ptx::at_rank(tile, s);\n"
        "  for each i, unrolled: if (y + i * step < rows) parts[i][s] = the float4 at from[(y + i * step) * S::PITCH + x].",
    ),
    starter_fails="with_paths",
)

HUNT = Hunt(
    task="this kernel is right wherever each C tile is in one slice, and on many GPUs wherever it is not. Find out what a block "
    "may not do while others still read.",
    bug={
        "if (work.slices > 1) gemm::ptx::cluster_wait();": "if (work.slices > MOST_SLICES) gemm::ptx::cluster_wait();",
    },
    hints=(
        "Each block reads rows of all others. Which of them is the last to do so, and what may the others have done by then?",
        "A block's shared memory is its own only as long as it runs. When it has ended, another block may get the place.",
        "Every thread says that it has read what it needs: cluster_arrive_relaxed(). Before it returns, it has to wait until all "
        "have said so.",
    ),
    check_finds="block_left",
)


# The quiz


def slices_that_keep_sms_busy(q: Quiz) -> Question:
    sms, cols = q.choose((108, 132, 144)), 1024 * q.whole(2, 6)
    tiles = cols // _WIDE
    room = sms // tiles
    answer = min(room, _MOST_SLICES)
    return Question(
        f"A has 16 rows, and C {cols} columns, in C tiles of {_WIDE} columns. The GPU has {sms} SMs. How many slices may each C "
        "tile have at most, if no SM is to have two blocks?",
        answer,
        "",
        f"{cols} / {_WIDE} = {tiles} C tiles, and {sms} / {tiles}, rounded down, is {room}."
        + (f" But a cluster has {_MOST_SLICES} blocks at most." if room > answer else ""),
    )


def cycles_of_a_slice(q: Quiz) -> Question:
    k_tiles, slices, stages = q.whole(20, 120), q.choose((2, 3, 4)), q.choose((4, 5, 6, 10, 12))
    products, load, latency = q.whole(140, 380), q.whole(150, 380), _LATENCY // stages
    each, longest = ceil_div(k_tiles, slices), max(products, load, latency)
    return Question(
        f"K is {k_tiles} k-tiles, in {slices} slices. An SM has one slice, in {stages} stages. Products of a k-tile take "
        f"{products} cycles, and its bytes {load}; it arrives {grouped(_LATENCY)} cycles after its request. How many cycles does "
        "the longest slice take by this lesson's estimate, before the adding?",
        each * longest,
        "cycles",
        f"The longest slice has {each} k-tiles. With {stages} stages, a k-tile arrives every {grouped(_LATENCY)} / {stages} = "
        f"{latency} cycles at best, and the longest of {products}, {load} and {latency} counts: {each}·{longest} = "
        f"{grouped(each * longest)}.",
    )


def stages_that_fit(q: Quiz) -> Question:
    rows, room = 8 * q.whole(1, 12), 112
    stage = 128 * (rows + _WIDE)
    answer = room * 1024 // stage
    return Question(
        f"A C tile has {rows} rows and {_WIDE} columns, and a k-tile 64 steps of K, in BF16. With two blocks on an SM, each has "
        f"{room} KiB for its stages. How many stages fit?",
        answer,
        "",
        f"A stage has {rows}·64·2 bytes of A and 64·{_WIDE}·2 of B, {grouped(stage)} in all. {grouped(room * 1024)} / "
        f"{grouped(stage)}, rounded down, is {answer}.",
    )


def time_of_b(q: Quiz) -> Question:
    rows, cols, bandwidth = 1024 * q.whole(4, 16), 1024 * q.whole(4, 28), q.choose((2, 3, 4))
    answer = round(2 * rows * cols / bandwidth / 1e6)
    return Question(
        f"B is {rows}×{cols} in BF16, and DRAM delivers {bandwidth} TB/s. How many microseconds does B take at least, to the "
        "nearest one?",
        answer,
        "µs",
        f"2·{rows}·{cols} = {grouped(2 * rows * cols)} bytes, at {bandwidth} million bytes a microsecond: {answer}.",
    )


def bytes_read_from_others(q: Quiz) -> Question:
    rows, slices = q.choose((16, 32, 64)), q.choose((2, 4, 8))
    answer = 4 * rows * _WIDE * (slices - 1) // slices
    return Question(
        f"A C tile of {rows}×{_WIDE} has {slices} slices. How many bytes of sums does each block read from the shared memory of "
        "other blocks?",
        answer,
        "bytes",
        f"It adds up {rows} / {slices} = {rows // slices} rows of {_WIDE} sums, and {slices - 1} of {slices} parts of each are "
        f"elsewhere: {rows // slices}·{_WIDE}·4·{slices - 1} = {grouped(answer)}.",
    )


QUIZ = (slices_that_keep_sms_busy, cycles_of_a_slice, stages_that_fit, time_of_b, bytes_read_from_others)
