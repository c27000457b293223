"""What the exercise and the bug hunt of lesson 14b leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, narrow_requests, shared_load_wavefronts, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_TILE_M, _TILE_N, _DEPTH, _WARPS, _STEP = 256, 128, 64, 8, 16  # the C tile, k-tile, warps and k-step of the composition
_HALF = 2  # bytes of an element


def _read_wavefronts(counts: Counts) -> float:
    """8 ldmatrix of 4 wavefronts in each k-step of a warp, and C once, 128 bytes a wavefront."""
    M, N, K = counts.shape
    steps = ceil_div(K, _DEPTH) * _DEPTH // _STEP
    return tiles(counts, _TILE_M, _TILE_N) * _WARPS * steps * 8 * 4 + _HALF * M * N / 128


EXERCISE = Exercise(
    task="let the blocks of this composition stay: between a C tile's products and its epilogue, go on to the next piece of "
    "work. The rest of the loop is given.",
    gaps={
        "next": Gap(
            "these sums are complete, and `work` says where they belong. Keep that in `done`, which the epilogue uses. Go on to "
            "the next piece of work, if there is `more`, and start its copies. May they overwrite stages already? The lines "
            "below end the block.",
            "const gemm::Work done = work;\nconst bool more = false;",
        ),
    },
    hints=(
        "scheduler.next(work) changes `work` and returns whether there is more. What does the epilogue need that it overwrites?",
        "Make a copy, not a reference. mainloop.fill(work) starts the copies. It may do so here: after the mainloop's last "
        "barrier no warp reads a stage, and the results have a place of their own in shared memory.",
        "nearly the code:\n"
        "  const gemm::Work done = work;\n"
        "  const bool more = scheduler.next(work);\n"
        "  and mainloop.fill(work), if there is more;",
    ),
    starter_fails="whole_tiles",
    goals=(
        Goal(
            "The elements of A and B for each C tile are copied once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _TILE_M, _TILE_N, _HALF),
            "bytes",
            "Call fill() once for each piece of work.",
        ),
        Goal(
            "Every access to A, B and C is 16 bytes wide",
            narrow_requests,
            lambda counts: 0,
            "requests of fewer bytes per thread",
            "On this shape ALIGNED is true, and loader and epilogue take 16 bytes at a time.",
        ),
        Goal(
            "Fragments and results are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "The shape's a_at() and b_at() swizzle As and Bs, so that eight rows of a fragment are in different banks.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _DEPTH) + 1,
            "barriers",
            "The mainloop has all the barriers that are needed. The loop around it adds none.",
        ),
    ),
)

HUNT = Hunt(
    task="someone saved a copy of three numbers. On small matrices the results are still right. Find the line.",
    bug={"        const gemm::Work done = work;\n": "        const gemm::Work& done = work;\n"},
    hints=(
        "Which C tiles does the check find wrong, and which blocks compute more than one?",
        "After its products a block asks the scheduler for more work, and then it stores. Where does it store?",
        "`done` should say where the finished sums belong. As a reference it says whatever `work` says now: the next C tile.",
    ),
    check_finds="with_tiles",
)


# The quiz


def which_slice(q: Quiz) -> Question:
    k_tiles, slices = q.whole(16, 90), q.whole(3, 9)
    slice_ = q.whole(1, slices - 1)
    each = ceil_div(k_tiles, slices)
    first = min(slice_ * each, k_tiles)
    answer = min(each, k_tiles - first)
    return Question(
        f"A scheduler cuts the {k_tiles} k-tiles of each C tile into {slices} pieces of work, each with {each} k-tiles "
        "as long as "
        f"there are as many. How many k-tiles does piece number {slice_} have, counted from 0?",
        answer,
        "k-tiles",
        f"It begins with k-tile {slice_}·{each} = {slice_ * each}"
        + (f", of which there are {k_tiles}" if slice_ * each > k_tiles else "")
        + f": {k_tiles} − {first} = {k_tiles - first} are left, so it has {answer}.",
    )


def busiest_block(q: Quiz) -> Question:
    M, N = q.whole(1500, 9000), q.whole(1500, 9000)
    sms = q.choose((72, 82, 108, 114, 128, 132, 142))
    down, across = ceil_div(M, _TILE_M), ceil_div(N, _TILE_N)
    answer = ceil_div(down * across, sms)
    return Question(
        f"M = {M}, N = {N}, C tiles of {_TILE_M}×{_TILE_N}. A persistent scheduler has {sms} blocks, one for each SM. How many "
        "C tiles does the busiest block compute?",
        answer,
        "C tiles",
        f"⌈{M}/{_TILE_M}⌉·⌈{N}/{_TILE_N}⌉ = {down}·{across} = {down * across} C tiles, and ⌈{down * across}/{sms}⌉ = {answer}.",
    )


def registers_of_fragments(q: Quiz) -> Question:
    wm, wn = 16 * q.whole(1, 6), 16 * q.whole(1, 6)
    answer = 2 * (wm // 16 * 4 + wn // 8 * 2)
    return Question(
        f"A warp tile has {wm}×{wn} elements. For m16n8k16, a thread holds 4 registers of each 16×16 piece of A and 2 "
        "of each 16×8 "
        "piece of B. How many do the mainloop's two sets of fragments take?",
        answer,
        "registers",
        f"{wm}/16·4 = {wm // 16 * 4} for A and {wn}/8·2 = {wn // 8 * 2} for B, twice: {answer}.",
    )


def shared_of_a_shape(q: Quiz) -> Question:
    bm, bn, depth = q.choose((128, 192, 256)), q.choose((64, 128, 192)), q.choose((32, 64))
    stages = q.whole(2, 5)
    warps = bm // 64 * (bn // 64)
    stage, out = _HALF * depth * (bm + bn), warps * 16 * (_HALF * 64 + 16)
    answer = stages * stage + out
    return Question(
        f"A shape has BM = {bm}, BN = {bn}, BK = {depth}, {stages} stages and warp tiles of 64×64, in BF16. After the "
        "stages, each "
        "warp has 16 rows of 144 bytes for its results. How many bytes of shared memory does a block take?",
        answer,
        "bytes",
        f"{stages}·{grouped(stage)} for the stages and {warps}·2304 for the warps: {grouped(answer)}.",
    )


def calls_of_an_atom(q: Quiz) -> Question:
    wm, wn, depth = 16 * q.whole(1, 6), 16 * q.whole(1, 6), q.choose((32, 64, 128))
    answer = wm // 16 * (wn // 8) * (depth // 16)
    return Question(
        f"A warp tile has {wm}×{wn} elements, a k-tile {depth} steps of K. How many mma.sync of 16×8×16 does a warp's atom issue "
        "for a k-tile?",
        answer,
        "",
        f"{wm}/16·{wn}/8 = {wm // 16 * (wn // 8)} in a k-step, and {depth}/16 = {depth // 16} k-steps: {answer}.",
    )


QUIZ = (which_slice, busiest_block, registers_of_fragments, shared_of_a_shape, calls_of_an_atom)
