"""What the exercise and the bug hunt of lesson 04 leave out, ask and tell."""

from runner.inspect.counts import Counts, bytes_loaded, bytes_of_tiles, sectors_a_load, shared_bytes_a_flop
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import SMS, WARP, Question, Quiz, blocks_by_limit, ceil_div, grouped, sectors

_BM, _BN, _BK, _TM = 64, 64, 8, 16  # kernel.cu's


def _shared_bytes(counts: Counts) -> float:
    """A FLOP. A multiply-add is two: it reads 1 + 1/TM floats, and 1/BM + 1/BN are stored for it."""
    BM, BN, _ = counts.tile
    return 4 * (1 + 1 / _TM + 1 / BM + 1 / BN) / 2


EXERCISE = Exercise(
    task="load the k-tile, several elements per thread, and let a value of Bs serve TM multiply-adds.",
    gaps={
        "share": Gap(
            "thread t loads element (a_row, a_k) of As and (b_k, x) of Bs first. Neighboring threads should load neighbors "
            "in memory.",
            "const int a_row = 0, a_k = 0, b_k = 0;",
        ),
        "load": Gap(
            "fill As and Bs. There are fewer threads than elements, so each loads several. a and b point to the first that the "
            "thread loads. What belongs where a tile reaches past the edge, and who waits for whom?"
        ),
        "use": Gap(
            "for each step k add TM products to acc: rows y … y + TM - 1 of As, column x of Bs. What does a thread need to read "
            "only once per step? And who must wait before As and Bs are overwritten?"
        ),
    },
    hints=(
        "Count first. As has BM·BK = 512 elements, and so has Bs. The block has 256 threads. How many elements of each does a "
        "thread load? If thread t first loads element t of As, counted row by row, which row and which column is "
        "it, with BK columns in a row? How many rows further is its second element? In the sum, which of the two "
        "factors stays the same for all TM rows of a thread?",
        "a_row and a_k are t / BK and t % BK, b_k is t / BN; the column in Bs is x, which is t % BN. All threads together fill "
        "THREADS / BK rows of As at a time, or THREADS / BN rows of Bs. So the loop adds i = 0, THREADS / BK, … to the row in "
        "As, in the guard, and in A, where a row further is lda elements further: all three. Likewise for Bs with ldb. Then a "
        "barrier. In the loop over k, read the value of Bs into a variable before the loop over the TM rows, which "
        "reads only As.",
        "nearly the code, in this order:\n"
        "  const int a_row = t / BK, a_k = t % BK, b_k = t / BN;\n"
        "  for (int i = 0; i < BM; i += THREADS / BK)\n"
        "      As[a_row + i][a_k] = row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : 0.0f;\n"
        "  Bs[b_k + i][x], likewise, in steps of THREADS / BN below BK, from b[i * ldb], with conditions on k0 + b_k + i and "
        "col0 + x;\n"
        "  __syncthreads();\n"
        "  for each k: const float b_frag = Bs[k][x], then for each i below TM: acc[i] += As[y + i][k] * b_frag;\n"
        "  __syncthreads();",
    ),
    starter_fails="sum_is_zero",
    goals=(
        Goal(
            "The blocks load each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, *counts.tile[:2]),
            "bytes",
            "The sum over k must read only As and Bs, and no element may be loaded twice: all threads together fill "
            "THREADS / BK rows of As at a time, or THREADS / BN rows of Bs. Sectors that are used in part count whole.",
        ),
        Goal(
            "A warp's load takes at most 4 sectors",
            sectors_a_load,
            lambda counts: 4,
            "sectors per request",
            "Neighboring threads must load neighbors of a row: the column is t % BK in As, and t % BN in Bs.",
        ),
        Goal(
            "Shared memory moves no more bytes than the lesson's kernel",
            shared_bytes_a_flop,
            _shared_bytes,
            "bytes per FLOP",
            "Per step k a thread needs TM values of As and a single one of Bs. With the loop over k outside and the one over "
            "the rows inside, read that one into a variable between the two: it stays in a register.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet no element of C is. Find the line, and fix it.",
    bug={"row0 + a_row + i < M": "row0 + a_row < M"},
    hints=(
        "C is right, also where M is no multiple of 64, so look for an access whose result never reaches C. Take M = 45: which "
        "rows of A do the threads load first, and which in the second iteration?",
        "Rows of As past the end of A belong to rows of C that are never stored. Their values don't matter, but reading them "
        "does: past the end of A there may be no memory at all. Compare, for As and for Bs, the row that is loaded with the "
        "row that the guard checks.",
        "Look at the guard of the load into As: an iteration loads row a_row + i of the tile, but the guard checks another.",
    ),
    check_finds="past_the_edge",
)


# The quiz


def element_of_a_thread(q: Quiz) -> Question:
    tiles, block, t, i = q.whole(2, 9), q.whole(0, 40), q.whole(0, 255), q.whole(0, _TM - 1)
    N = _BN * tiles
    ldc = N + 4 * q.whole(0, 8)
    x, y = t % _BN, t // _BN * _TM
    row, col = block // tiles * _BM + y + i, block % tiles * _BN + x
    answer = row * ldc + col
    return Question(
        f"N = {N}, ldc = {ldc}, M is large. Thread {t} of block {block} stores acc[{i}] in C[n]. What is n?",
        answer,
        "",
        f"There are {tiles} C tiles side by side: block {block} begins at row {block} / {tiles} · 64 = {block // tiles * _BM} "
        f"and column {block} % {tiles} · 64 = {block % tiles * _BN}. In it, x = {t} % 64 = {x} and y = {t} / 64 · 16 = {y}. "
        f"So acc[{i}] is row {row}, column {col}: {row} · {ldc} + {col} = {grouped(answer)}.",
    )


def sectors_of_a_load_of_a(q: Quiz) -> Question:
    BK, lda = q.choose((2, 4, 8, 16, 32)), 4096 + q.choose((0, 1, 2, 3, 4, 6, 8, 12))
    rows = WARP // BK
    a_row = [sectors(4 * (r * lda + k) for k in range(BK)) for r in range(rows)]
    answer = sectors(4 * (t // BK * lda + t % BK) for t in range(WARP))
    shown = " + ".join(map(str, a_row[:8])) + (" + …" if rows > 8 else "")
    return Question(
        f"Suppose BK = {BK} and lda = {lda}; A begins at a multiple of 128 bytes. How many sectors does the first load of A "
        "by warp 0 of block 0 touch, with the kernel's a_row and a_k?",
        answer,
        "sectors",
        f"a_row = t / {BK}, a_k = t % {BK}: {rows} row{'s' if rows > 1 else ''}, {BK} neighbors of each, {4 * BK} bytes. Row r "
        f"begins at byte {4 * lda}·r, that is {4 * lda % 32}·r modulo 32 after the beginning of a sector: {shown} = {answer}."
        if rows > 1
        else f"a_row = t / 32 = 0, a_k = t: one row, 128 bytes from the beginning of A, which is aligned: {answer}.",
    )


def elements_loaded(q: Quiz) -> Question:
    M, N, K = q.whole(20, 150), q.whole(20, 150), q.whole(10, 60)
    counts = q.trace(M, N, K)
    answer = sum(counts.sum("threads", space="global", op="load", array=array) for array in ("A", "B"))
    down, across = ceil_div(M, _BM), ceil_div(N, _BN)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1, beta = 0. How many elements of A and B do all threads load from global memory? "
        "Each time that one is loaded counts; zeros past an edge are not loaded.",
        answer,
        "elements",
        f"There are ⌈{M}/64⌉·⌈{N}/64⌉ = {down}·{across} blocks. Each of the {across} block"
        f"{'s' if across > 1 else ''} side by side loads every element of A once, and each of the {down} in a column every one "
        f"of B: {M}·{K}·{across} + {K}·{N}·{down} = {grouped(answer)}. The guards keep out what is past the edges.",
    )


def ceiling_by_loads(q: Quiz) -> Question:
    shapes = [
        (BM, BN, TM)
        for BM in (32, 64, 128)
        for BN in (32, 64, 128)
        for TM in (2, 4, 8, 16, 32)
        if 64 <= BM // TM * BN <= 1024 and (BM, BN, TM) != (_BM, _BN, _TM)
    ]
    BM, BN, TM = q.choose(shapes)
    threads = BM // TM * BN
    fill = (BM + BN) * _BK / threads  # loads from global memory a thread; as many stores to shared memory
    accesses, multiply_adds = _BK * (TM + 1) + 2 * fill, _BK * TM
    share = 100 * multiply_adds / 4 / accesses
    return Question(
        f"Suppose BM = {BM}, BN = {BN}, BK = 8, TM = {TM}, hence {threads} threads. Every load and store that the source names "
        "in the loop over k-tiles is one instruction of 4 bytes per thread. An SM executes one load or store of a warp per "
        "cycle, and four FFMAs. What part of the FP32 peak is possible at most? Give percent.",
        share,
        "%",
        f"Per thread and k-tile: 8·{TM} = {multiply_adds} multiply-adds, {multiply_adds / 4:g} cycles for a warp. Reads of "
        f"shared memory: 8·({TM} + 1) = {_BK * (TM + 1)}. Loads from global memory: ({BM} + {BN})·8/{threads} = {fill:g}, "
        f"and as many stores to shared memory. {multiply_adds / 4:g}/{accesses:g} = {share:.3g} %. Without the last two it would "
        f"be TM/(TM + 1)/4, always below 25 %.",
        tolerance=0.01,
    )


def results_on_an_sm(q: Quiz) -> Question:
    sm, BM, BN, TM = q.choose(SMS), q.choose((64, 128)), q.choose((64, 128)), q.choose((8, 16, 32))
    threads, registers, shared = BM // TM * BN, 32 + TM, (BM + BN) * _BK * 4
    limits = blocks_by_limit(sm, threads, registers, shared)
    blocks = min(limits.values())
    decides = " and ".join(key for key, value in limits.items() if value == blocks)
    answer = blocks * BM * BN
    return Question(
        f"Suppose BM = {BM}, BN = {BN}, BK = 8, TM = {TM}, and {registers} registers per thread: {TM} for acc and 32 others. "
        f"An SM of compute capability {sm.capability} has room for {sm.threads} threads and {sm.blocks} blocks, "
        f"{grouped(sm.registers)} registers and {sm.shared // 1024} KiB of shared memory; the system takes 1 KiB of that for "
        "each block. How many elements of C does an SM work on at once?",
        answer,
        "elements",
        f"A block has {BM}/{TM}·{BN} = {threads} threads and ({BM} + {BN})·8·4 = {shared} bytes of shared memory. By threads "
        f"{limits['threads']} blocks fit, by registers {grouped(sm.registers)}/({threads}·{registers}): "
        f"{limits['registers']}, by shared memory {limits['shared memory']}, by block slots {sm.blocks}. The smallest "
        f"decides ({decides}): {blocks}·{BM}·{BN} = {grouped(answer)}.",
    )


QUIZ = (element_of_a_thread, sectors_of_a_load_of_a, elements_loaded, ceiling_by_loads, results_on_an_sm)
