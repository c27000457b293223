"""What the exercise of lesson 02 leaves out, asks and tells."""

from runner.inspect.counts import sectors_a_load, sectors_a_store
from runner.learn.exercise import Exercise, Gap, Goal
from runner.learn.quiz import SMS, WARP, Question, Quiz, blocks_by_limit, ceil_div, grouped, sectors

_ADVICE = (
    "The 32 threads of a warp have neighboring threadIdx.x. What must grow by one from a thread to the next, so that they "
    "read and write neighboring addresses?"
)

EXERCISE = Exercise(
    task="the kernel below is lesson 01's. It is right, but slow. Make its warps read and write neighboring addresses.",
    gaps={
        "mapping": Gap(
            "these two lines are lesson 01's: a warp is a column of 32. Make it a row of 32.",
            "const std::int64_t row = blockIdx.x / tiles_n * BM + threadIdx.x;\n"
            "const std::int64_t col = blockIdx.x % tiles_n * BN + threadIdx.y;",
        ),
    },
    hints=(
        "Thread number t of a block of 32×32 has threadIdx.x = t % 32 and threadIdx.y = t / 32; warp w consists of the threads "
        "32·w … 32·w + 31. Which of the two is the same for all threads of a warp, and which runs from 0 to 31? Which elements "
        "of C do the 32 threads of warp 0 own now?",
        "In a row-major matrix the neighbor in memory of C[row][col] is C[row][col + 1], and that of B[k][col] is B[k][col "
        "+ 1]. So what changes from lane to lane must count columns, and what is the same for a whole warp must count rows.",
        "Swap the two: threadIdx.y is added to the row, threadIdx.x to the column.",
    ),
    starter_fails="goal 1",
    goals=(
        Goal(
            "A warp's load takes at most 4 sectors",
            sectors_a_load,
            lambda counts: 4,
            "sectors per request",
            _ADVICE,
            reached="{value}",
            missed="it takes {value}",
        ),
        Goal(
            "A warp's store takes at most 4 sectors",
            sectors_a_store,
            lambda counts: 4,
            "sectors per request",
            _ADVICE,
            reached="{value}",
            missed="it takes {value}",
        ),
    ),
)


# The quiz

_BM, _BN = 32, 32  # kernel.cu's


def sectors_of_a_strided_load(q: Quiz) -> Question:
    stride, offset = q.whole(1, 7), q.whole(1, 7)
    first, last = 4 * offset, 4 * (offset + 31 * stride)
    answer = sectors(4 * (offset + stride * t) for t in range(WARP))
    return Question(
        f"p is a const float* to an address that is a multiple of 128 bytes. Thread t = 0 … 31 of a warp loads p[{offset} + "
        f"{f'{stride}*t' if stride > 1 else 't'}]. How many sectors does the request touch?",
        answer,
        "sectors",
        f"The elements begin at bytes {first}, {first + 4 * stride}, … {last}: in sectors ⌊{first}/32⌋ = {first // 32} to "
        f"⌊{last}/32⌋ = {last // 32}. {4 * stride} bytes from one to the next are less than a sector, so none of these is left "
        f"out: {answer} sectors. Aligned neighbors would need 4.",
    )


def requests_of_a_shape(q: Quiz) -> Question:
    M, N, K = q.whole(5, 60), 32 * q.whole(1, 2) + q.whole(1, 31), q.whole(5, 40)
    requests = q.trace(M, N, K).sum("requests", space="global", op="load")
    cols = ceil_div(N, WARP)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, beta = 0. How many load requests do all warps make to global memory? A warp in "
        "which at least one thread has an element of C makes a request.",
        requests,
        "requests",
        f"A warp is 32 neighbors in a row of C: each of {M} rows has ⌈{N}/32⌉ = {cols} warps with an element, {M * cols} in "
        f"all (the others leave at the guard). Each makes 2 requests per step, one of A and one of B: {M * cols}·2·{K} = "
        f"{grouped(requests)}. How many sectors each touches does not matter here.",
    )


def share_of_bytes_used(q: Quiz) -> Question:
    r = q.whole(3, 30)
    N = 32 * q.whole(2, 20) + r
    moved = 32 * (1 + sectors(4 * t for t in range(r)))
    used = 4 * (1 + r)
    return Question(
        f"N = {N}, and every row of B begins at a multiple of 32 bytes. At one step k, what percentage of the bytes in the "
        "sectors that a warp of the last column of tiles requests does it use?",
        100 * used / moved,
        "%",
        f"{N} mod 32 = {r}: the warp keeps {r} threads. From A they need one element: 1 sector, 4 bytes of it used. From B {r} "
        f"neighbors, {4 * r} bytes in ⌈{4 * r}/32⌉ = {moved // 32 - 1} sectors. {used} of {moved} bytes = "
        f"{100 * used / moved:.3g} %. A full warp uses 132 of 160, 82.5 %.",
        tolerance=0.01,
    )


def flop_per_requested_byte(q: Quiz) -> Question:
    M, N, K = 32 * q.whole(1, 3), 32 * q.whole(1, 3), q.whole(3, 12)
    beta = q.choose((0, 0.5))
    counts = q.trace(M, N, K, beta=beta)
    of_c, sectors_of_c = ("4 are stored", 4) if beta == 0 else ("4 are loaded, since beta is not 0, and 4 stored", 8)
    moved = 32 * (5 * K + sectors_of_c)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, beta = {beta:g}, lda = K, ldb = ldc = N: K is so small that C matters. How "
        "many FLOP per byte does the kernel do? Count the FLOP of A·B alone, and the bytes of all requests, loads and "
        "stores, in whole sectors.",
        counts.flop_per_byte,
        "FLOP/B",
        f"All warps are alike. {K} steps are {K}·32 multiply-adds, {64 * K} FLOP, and {K}·5 = {5 * K} sectors of A and B. In "
        f"C, {of_c}. ({5 * K} + {sectors_of_c})·32 = {moved} bytes; {64 * K}/{moved} = {64 * K / moved:.3g} FLOP/B. As K "
        "grows it nears 64/160 = 0.4.",
        tolerance=0.01,
    )


def occupancy_by_registers(q: Quiz) -> Question:
    sm, threads = q.choose(SMS), q.choose((256, 512, 1024))
    registers = 8 * q.whole(3, min(24, 8 * 1024 // threads))  # at least one block fits
    limits = blocks_by_limit(sm, threads, registers)
    blocks = min(limits.values())
    occupancy = 100 * blocks * threads / sm.threads
    return Question(
        f"The compiler gives each thread {registers} registers; a block has {threads} threads and no shared memory. An SM of "
        f"compute capability {sm.capability} has {grouped(sm.registers)} registers and room for {sm.threads} threads in at most "
        f"{sm.blocks} blocks. What is the occupancy, the threads that fit divided by those that there is room for? Give percent.",
        occupancy,
        "%",
        f"By threads {sm.threads}/{threads}: {limits['threads']} blocks. By registers "
        f"{grouped(sm.registers)}/({threads}·{registers}): {limits['registers']}. There are {sm.blocks} block slots. So "
        f"{blocks} fit{'s' if blocks == 1 else ''}, {blocks * threads} threads of {sm.threads}: {occupancy:.3g} %.",
        tolerance=0.01,
    )


QUIZ = (sectors_of_a_strided_load, requests_of_a_shape, share_of_bytes_used, flop_per_requested_byte, occupancy_by_registers)
