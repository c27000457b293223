"""What the exercise and the bug hunt of lesson 06a leave out, ask and tell."""

from runner.inspect.counts import Counts, narrow_requests, shared_load_wavefronts, shared_store_wavefronts
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, grouped, wavefronts

_BM, _BN, _BK, _THREADS = 128, 128, 16, 256  # kernel.cu's
_WARPS = _THREADS // WARP


def _read_wavefronts(counts: Counts) -> float:
    """A warp, per step along K: 2 requests to As of 2 wavefronts each, 2 to Bs of 4."""
    M, N, K = counts.shape
    return 12 * _WARPS * M * N * K / (_BM * _BN)


def _store_wavefronts(counts: Counts) -> float:
    """A warp's share of a k-tile: 8 requests to As of 2 wavefronts, 2 to Bs of 4."""
    M, N, K = counts.shape
    return 24 * _WARPS * M * N * K / (_BM * _BN * _BK)


EXERCISE = Exercise(
    task="load, store and read four floats at a time, with As transposed and padded.",
    gaps={
        "load4": Gap(
            "the line below is right everywhere, and takes four accesses. Where ALIGNED, all four floats exist or none does: one "
            "access of 16 bytes, or none at all."
        ),
        "tiles": Gap(
            "fill As and Bs. The thread loads four floats along K of each row a_row + i of A, i = 0, A_ROWS, …, and stores them "
            "transposed; and four columns of each row b_k + i of B, i = 0, B_ROWS, …, stored as they are. `steps` of the "
            "k-tile's BK steps exist: how many floats are left for load4?"
        ),
        "multiply": Gap(
            "add the products of this k-tile's BK steps to acc: in each step TM values of As and TN of Bs, read four at a "
            "time, from where the comment at x and y says."
        ),
    },
    hints=(
        "A float4 is read through a pointer: *reinterpret_cast<const float4*>(p), where p is a multiple of 16 bytes; it is "
        "written likewise. As[k][m] holds row m of A's k-tile at step k. So of the four floats that a thread loads along K, "
        "which index into As differs from one to the next? And what does load4 need to know so that a row past M, or a step "
        "past `steps`, becomes zeros?",
        "In load4: where ALIGNED, compare `left` with 0, and read one float4 or make one of zeros. In tiles: load4<ALIGNED>(a + "
        "i * lda, left), where left is steps - a_k in a row that exists and 0 in any other; v.x, v.y, v.z, v.w go to "
        "As[a_k][a_row + i], As[a_k + 1][a_row + i], … For Bs, left is N - (col0 + b_col) in a step that exists. In multiply: "
        "rows y + i * THREADS_M, columns x + j * THREADS_N, i and j multiples of 4.",
        "nearly the code, in the gaps' order:\n"
        "  if (ALIGNED) return left > 0 ? *reinterpret_cast<const float4*>(p) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);\n"
        "  const float4 v = load4<ALIGNED>(a + i * lda, row0 + a_row + i < M ? steps - a_k : 0);\n"
        "  As[a_k][a_row + i] = v.x; … As[a_k + 3][a_row + i] = v.w;\n"
        "  *reinterpret_cast<float4*>(&Bs[b_k + i][b_col]) =\n"
        "      load4<ALIGNED>(b + i * ldb, b_k + i < steps ? N - (col0 + b_col) : 0);\n"
        "  for each k: a_frag[i … i + 3] from As[k][y + i * THREADS_M] as a float4, b_frag[j … j + 3] from\n"
        "  Bs[k][x + j * THREADS_N], then acc[i][j] += a_frag[i] * b_frag[j].",
    ),
    starter_fails="sum_is_zero",
    goals=(
        Goal(
            "Every access to A, B and C is 16 bytes wide",
            narrow_requests,
            lambda counts: 0,
            "requests of fewer bytes per thread",
            "On this shape every row begins at a multiple of 16 bytes, so ALIGNED is true: load4<ALIGNED> reads one float4.",
        ),
        Goal(
            "A warp reads shared memory in 12 wavefronts per step",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "Four reads of 16 bytes per thread and step: 2 of As, of 2 wavefronts each, and 2 of Bs, of 4. One float at a "
            "time takes more.",
        ),
        Goal(
            "A warp fills its part of the k-tiles in 24 wavefronts",
            shared_store_wavefronts,
            _store_wavefronts,
            "wavefronts",
            "A warp stores 8 rows of A's k-tile at 4 steps at once. How far apart in banks do rows of As begin that are 4 "
            "steps apart? PAD must be a multiple of 4, too. Bs takes one access of 16 bytes.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is right for many sizes. Find the line, and fix it.",
    bug={"a += steps;": "a += BK;"},
    hints=(
        "Every K that is a multiple of 16 comes out right, and every K below 16. Take K = 20, and write down the iterations of "
        "the loop: which columns of A and which rows of B does each load?",
        "The first iteration takes the 4 steps of the partial k-tile, the second the other 16. Where must a and b point after "
        "the first?",
        "Look at the two lines that move a and b on: one of them moves by what the iteration has taken, the other one by "
        "something else.",
    ),
    check_finds="past_the_edge",
)


# The quiz


def wavefronts_of_a_transposed_store(q: Quiz) -> Question:
    steps, pad = q.choose((8, 16, 32, 64)), q.whole(0, 12)
    across, pitch = steps // 4, _BM + pad
    words = [t % across * 4 * pitch + t // across for t in range(WARP)]
    answer = wavefronts(words)
    begins = ", ".join(str(4 * pitch * i % 32) for i in range(min(across, 6))) + (", …" if across > 6 else "")
    rows = WARP // across
    return Question(
        f"As is declared as float As[{steps}][{_BM} + {pad}]; its first element is in bank 0. Thread t = 0 … 31 of a warp "
        f"stores one float to As[t % {across} * 4][t / {across}] (in whole numbers). How many wavefronts does the request take?",
        answer,
        "wavefronts",
        f"The warp stores {rows} neighbors in {across} rows of As, 4·{pitch} = {4 * pitch} words apart. They begin in banks "
        f"{begins}, and each takes {rows} bank{'s' if rows > 1 else ''} from there on. "
        f"{'No bank is needed twice' if answer == 1 else f'The fullest bank is needed {answer} times'}: {answer} "
        f"wavefront{'s' if answer > 1 else ''}.",
    )


def requests_of_a_shape(q: Quiz) -> Question:
    M, N = q.choose(((128, 128), (256, 128), (128, 256)))
    tiles, rest = q.whole(1, 2), q.whole(1, 15)
    K = _BK * tiles + rest
    counts = q.trace(M, N, K)
    answer = counts.sum("requests", space="global", op="load")
    blocks = M * N // (_BM * _BN)
    aligned = K % 4 == 0
    whole, of_a, of_b = (32, 2 * _WARPS, rest) if aligned else (128, 2 * _WARPS * min(rest, 4), 4 * rest)
    width = (
        "K, N and the pitches are multiples of 4: a load is one request of 16 bytes a lane"
        if aligned
        else f"K = {K} is no multiple of 4, nor is lda: each load of four floats becomes four requests, made where a lane of the "
        "warp has that float"
    )
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, beta = 0, lda = K, ldb = ldc = N, all matrices from multiples of 256 bytes on. "
        "How many load requests do all warps make to global memory? A warp in which no lane has anything to load makes none.",
        answer,
        "requests",
        f"{width}. A whole k-tile takes 4 such loads in each of {_WARPS} warps, {whole} requests, and there are {tiles} along K. "
        f"The partial one of {rest} steps comes first. A: 2 loads in {_WARPS} warps, {of_a} requests. B: a warp loads a row, "
        f"and {rest} rows exist: {of_b} requests. {blocks}·({tiles}·{whole} + {of_a} + {of_b}) = {grouped(answer)}.",
    )


def zeros_of_the_first_round(q: Quiz) -> Question:
    M, K = q.whole(1, 3 * _BM - 1), q.whole(1, 90)
    block = q.whole(0, (M - 1) // _BM)
    rows, steps = min(M - _BM * block, _BM), K % _BK or _BK
    answer = _BM * _BK - rows * steps
    return Question(
        f"M = {M}, N = {_BN}, K = {K}, alpha = 1. How many zeros does block {block} store to As in its first iteration because A "
        "has nothing there?",
        answer,
        "zeros",
        f"The first iteration takes {K} mod {_BK} = {K % _BK} steps{'' if K % _BK else f', that is, all {_BK}'}. "
        f"{rows} of the block's {_BM} rows exist. Of {_BM}·{_BK} elements {rows}·{steps} are A's, and the others are zeros: "
        f"{_BM * _BK} - {rows * steps} = {grouped(answer)}.",
    )


def registers_by_launch_bounds(q: Quiz) -> Question:
    threads = q.choose((128, 192, 256, 320, 384, 512))
    blocks = q.whole(max(1, 320 // threads), min(8, 2048 // threads))
    each = 65536 / (threads * blocks)
    answer = min(int(each) // 8 * 8, 255)
    rounded = "more than the 255 that a thread can have" if each > 255 else f"rounded down to a multiple of 8, {answer}"
    return Question(
        f"A kernel is declared with __launch_bounds__({threads}, {blocks}). An SM has 65 536 registers, which are allocated "
        "in eights. A thread can have 255 at most. How many registers per thread may nvcc use at most?",
        answer,
        "registers",
        f"{blocks} block{'s' if blocks > 1 else ''} of {threads} threads must fit: 65 536/({blocks}·{threads}) = {each:.5g}, "
        f"{rounded}: {answer}. Whatever does not fit spills to local memory.",
    )


def bank_of_a_swizzled_element(q: Quiz) -> Question:
    row, step = q.whole(0, _BM - 1), q.whole(4, _BK - 1)
    mask = step // 4 * 8
    answer = (row ^ mask) % 32
    return Question(
        f"Instead of padding: As is declared as float As[{_BK}][{_BM}], and the element of row m and step k is at As[k][m ^ "
        f"(k / 4 * 8)], where ^ is the bitwise exclusive or. As[0][0] is in bank 0. In which bank is the element of row m = "
        f"{row}, k = {step}?",
        answer,
        "",
        f"{step} / 4 · 8 = {mask} in whole numbers, and {row} ^ {mask} = {row ^ mask}. A row of As is {_BM} words, a "
        f"multiple of 32, so k does not move the bank further: {row ^ mask} mod 32 = {answer}.",
    )


QUIZ = (
    wavefronts_of_a_transposed_store,
    requests_of_a_shape,
    zeros_of_the_first_round,
    registers_by_launch_bounds,
    bank_of_a_swizzled_element,
)
