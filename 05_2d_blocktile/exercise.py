"""What the exercise and the bug hunt of lesson 05 leave out, ask and tell."""

from runner.inspect.counts import (
    Counts,
    bank_conflicts,
    bytes_loaded,
    bytes_of_tiles,
    sectors_a_load,
    sectors_a_store,
    shared_bytes_a_flop,
)
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import SMS, WARP, Question, Quiz, blocks_by_limit, ceil_div, flop, grouped, sectors, wavefronts

_BM, _BN, _BK, _TM, _TN = 128, 128, 8, 8, 8  # kernel.cu's
_THREADS_N = _BN // _TN


def _fragments_once(counts: Counts) -> float:
    """Bytes per FLOP. For a multiply-add, two FLOP, a thread reads 1/TM + 1/TN floats, and 1/BM + 1/BN are stored."""
    BM, BN, _ = counts.tile
    return 4 * (1 / _TM + 1 / _TN + 1 / BM + 1 / BN) / 2


EXERCISE = Exercise(
    task="load the k-tiles in turns, add an outer product per step, and store a thread's TM×TN elements.",
    gaps={
        "load": Gap(
            "fill both k-tiles. In one turn all threads together load A_ROWS rows of As, or B_ROWS rows of Bs; a and b point to "
            "the thread's elements of the first turn. What goes where a k-tile reaches past the edge, and who waits for whom?"
        ),
        "use": Gap(
            "for each step k add an outer product to acc: TM values of column k of As times TN values of row k of Bs. Which "
            "values does a thread need, and how often must it read each of them? And who has to wait before the k-tiles are "
            "overwritten?"
        ),
        "store": Gap(
            "store the thread's TM×TN elements of C, where they exist: C = alpha·A·B + beta·C, and beta == 0 must not read C. "
            "acc[i][j] belongs to row y + i·THREADS_M and column x + j·THREADS_N of the C tile."
        ),
    },
    hints=(
        "Take the gaps one at a time. As and Bs have BM·BK = 1024 elements each, and the block has 256 threads: how many turns "
        "does each k-tile take? In a step k, how many multiply-adds does a thread do, and how few values of As and Bs do "
        "they all come from? With M = 130 and N = 130, which of a thread's elements exist in the last block?",
        "From one turn to the next, i grows by A_ROWS rows: in As, in the guard, and in A, where a row is lda elements long. "
        "Likewise B_ROWS and ldb. Then a barrier. At each step k read a_frag[i] from As for all i and b_frag[j] from Bs for all "
        "j, in loops of their own, and only then multiply each with each. Another barrier follows the last step. In the store, "
        "row i is i * THREADS_M rows down and column j is j * THREADS_N columns to the right, in the address and in the guards.",
        "nearly the code, in this order:\n"
        "  for (int i = 0; i < BM; i += A_ROWS)\n"
        "      As[a_row + i][a_k] = row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : 0.0f;\n"
        "  Bs[b_k + i][b_col], likewise, in steps of B_ROWS below BK, from b[i * ldb];\n"
        "  __syncthreads();\n"
        "  for each k: a_frag[i] = As[y + i * THREADS_M][k], b_frag[j] = Bs[k][x + j * THREADS_N],\n"
        "              then acc[i][j] += a_frag[i] * b_frag[j] for all i and j;\n"
        "  __syncthreads();\n"
        "  at the end, for each i and j with row = row0 + y + i * THREADS_M below M and col = col0 + x + j * THREADS_N below N:\n"
        "  the store of lesson 03, with acc[i][j].",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "The blocks load each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, *counts.tile[:2]),
            "bytes",
            "The outer products must read only As and Bs, and the turns must not overlap: one turn fills A_ROWS rows of As, or "
            "B_ROWS rows of Bs. Sectors that are used in part count whole.",
        ),
        Goal(
            "A warp's load takes at most 4 sectors",
            sectors_a_load,
            lambda counts: 4,
            "sectors per request",
            "Neighboring threads must load neighbors of a row: t first counts columns, a_k and b_col, then rows.",
        ),
        Goal(
            "A warp's store takes at most 4 sectors",
            sectors_a_store,
            lambda counts: 4,
            "sectors per request",
            "All threads store their acc[i][j] at once, for the same i and j. Then neighboring threads must be in neighboring "
            "columns: a thread's own columns are THREADS_N apart.",
        ),
        Goal(
            "Shared memory moves no more bytes than the lesson's kernel",
            shared_bytes_a_flop,
            _fragments_once,
            "bytes per FLOP",
            "At each step k a thread needs TM values of As and TN of Bs. Read each once, into the registers of a_frag and "
            "b_frag, before the loops that multiply.",
        ),
        Goal(
            "Shared memory has no bank conflicts",
            bank_conflicts,
            lambda counts: 0,
            "wavefronts beyond the ideal",
            "At once, 16 threads read 16 columns of a row of Bs, and the two halves of a warp read two rows of As. Neighboring "
            "columns are in different banks, but columns 8 apart share 4 banks. Neighboring rows of As are 8 words apart.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet nearly every result is right, at any size. Find the line and fix it.",
    bug={
        "As[a_row + i][a_k] = row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : 0.0f;": "if (row0 + a_row + i < M && k0 + a_k "
        "< K) As[a_row + i][a_k] = a[i * lda];"
    },
    hints=(
        "Every element that is loaded is the right one, in the right place, and no access leaves a matrix. Take K = 12: what "
        "is in columns 4 to 7 of As while the second k-tile is in use?",
        "There the values of the first k-tile are left over or, if K is below 8, whatever the last kernel on this SM left. "
        "They meet zeros in Bs, so nothing is added, unless one of them is an infinity or a NaN: 0 times that is NaN.",
        "Compare how the two k-tiles are filled: Bs gets a zero where B has no element. As gets nothing there.",
    ),
    check_finds="uninitialised_read",
)


# The quiz


def element_of_a_thread(q: Quiz) -> Question:
    tiles, block, t = q.whole(2, 9), q.whole(0, 40), q.whole(0, 255)
    i, j = q.whole(0, _TM - 1), q.whole(0, _TN - 1)
    ldc = _BN * tiles + 4 * q.whole(0, 8)
    x, y = t % _THREADS_N, t // _THREADS_N
    row, col = block // tiles * _BM + y + 16 * i, block % tiles * _BN + x + 16 * j
    answer = row * ldc + col
    return Question(
        f"N = {_BN * tiles}, ldc = {ldc}, M is large. Thread {t} of block {block} stores acc[{i}][{j}] in C[n]. What is n?",
        answer,
        "",
        f"{tiles} C tiles are side by side: block {block} begins at row {block} / {tiles} · 128 = {block // tiles * _BM} and "
        f"column {block} % {tiles} · 128 = {block % tiles * _BN}. In it, x = {t} % 16 = {x} and y = {t} / 16 = {y}. So "
        f"acc[{i}][{j}] is row {block // tiles * _BM} + {y} + {i}·16 = {row}, column {block % tiles * _BN} + {x} + {j}·16 = "
        f"{col}: {row} · {ldc} + {col} = {grouped(answer)}.",
    )


def reads_of_other_thread_tiles(q: Quiz) -> Question:
    TM, TN = q.choose([(m, n) for m in (1, 2, 4, 8, 12, 16) for n in (1, 2, 4, 8, 12, 16) if (m, n) != (_TM, _TN)])
    M, N, K = (384 * q.whole(1, 8) for _ in range(3))
    answer = M * N * K // (TM * TN) * (TM + TN)
    return Question(
        f"Suppose a thread computed TM = {TM} by TN = {TN} elements, and read each value of As and Bs once per step. M = {M}, N "
        f"= {N}, K = {K}, which the tiles divide; alpha = 1. How many 4-byte values do all threads read from shared memory?",
        answer,
        "values",
        f"There are M·N/(TM·TN) = {grouped(M * N // (TM * TN))} threads. Each reads TM + TN = {TM + TN} values per step, for "
        f"{TM * TN} multiply-adds, in {K} steps: {grouped(answer)}. That is {TM + TN}/{TM * TN} = "
        f"{(TM + TN) / (TM * TN):.3g} per multiply-add, against 0.25 with 8 by 8.",
        tolerance=0.001,
    )


def requests_of_contiguous_threads(q: Quiz) -> Question:
    across, apart, stored = q.choose((4, 8, 16, 32)), q.choose((1, 2, 4, 8, 16)), q.choose((True, False))
    cols, rows = [t % across * apart for t in range(WARP)], [t // across for t in range(WARP)]
    if stored:
        answer = sectors(4 * (4096 * row + col) for row, col in zip(rows, cols, strict=True))
        a_row = sectors(4 * col for col in cols)
        return Question(
            f"Suppose thread t of a warp stores to C[row][{apart} * (t % {across})], row = t / {across} (in whole numbers), "
            "ldc = 4096; C begins at a multiple of 128 bytes. How many sectors does the request take?",
            answer,
            "sectors",
            f"{WARP // across} row{'s' if across < WARP else ''}, in each {across} threads {4 * apart} bytes apart, from the "
            f"beginning of a sector on: they span {4 * (across - 1) * apart + 4} bytes and touch {a_row} sector"
            f"{'s' if a_row > 1 else ''}. {WARP // across}·{a_row} = {answer}.",
        )
    answer = wavefronts(cols)
    words, banks = len(set(cols)), len({col % 32 for col in cols})
    return Question(
        f"Suppose thread t of a warp reads Bs[k][{apart} * (t % {across})], 4 bytes, with the same k for all threads; "
        "Bs[k][0] is in bank 0. How many wavefronts does the request take?",
        answer,
        "wavefronts",
        f"The warp needs {words} different words, {apart} apart; threads that need the same word share it. They are in "
        f"{banks} bank{'s' if banks > 1 else ''}, {words}/{banks} = {answer} of them in each.",
    )


def blocks_by_registers(q: Quiz) -> Question:
    sm = q.choose(SMS)
    TM, TN = q.choose([(4, 4), (4, 8), (8, 8), (8, 12), (8, 16), (12, 12), (4, 16)])
    threads, others = q.choose((128, 256)), q.whole(28, 48)
    registers, shared = TM * TN + TM + TN + others, 1024 * q.choose((4, 8, 12, 16, 24))
    limits = blocks_by_limit(sm, threads, registers, shared)
    warps = min(limits.values()) * threads // WARP
    answer = 100 * warps / (sm.threads // WARP)
    return Question(
        f"A block has {threads} threads and {shared // 1024} KiB of shared memory, to which the system adds 1 KiB. A thread "
        f"needs registers for acc, a_frag and b_frag with TM = {TM} and TN = {TN}, one for each float, and {others} others; "
        f"they are allocated in eights. An SM of compute capability {sm.capability} has room for {sm.threads} threads and "
        f"{sm.blocks} blocks, {grouped(sm.registers)} registers and {sm.shared // 1024} KiB of shared memory. What occupancy "
        "is that? Give percent of the warps an SM has room for.",
        answer,
        "%",
        f"{TM}·{TN} + {TM} + {TN} + {others} = {registers} registers, allocated as {8 * ceil_div(registers, 8)}. Blocks that "
        f"fit: by registers {limits['registers']}, by threads {limits['threads']}, by shared memory "
        f"{limits['shared memory']}, by block slots {sm.blocks}. The smallest is {min(limits.values())}: {warps} of "
        f"{sm.threads // WARP} warps, {answer:.3g} %.",
        tolerance=0.01,
    )


def shared_bytes_per_flop(q: Quiz) -> Question:
    M, N, K = q.whole(60, 128), q.whole(60, 128), 8 * q.whole(4, 12) + q.whole(1, 7)
    moved, tiles = q.trace(M, N, K).shared_bytes, ceil_div(K, _BK)
    answer = moved / flop(M, N, K)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1. How many bytes do the threads load from and store to shared memory for each of "
        "the 2·M·N·K FLOP of A·B? What they do to multiply zeros beyond an edge counts as bytes, not as FLOP.",
        answer,
        "B/FLOP",
        f"One block, ⌈{K}/8⌉ = {tiles} k-tiles. For each, 256 threads store 4 + 4 values and read 8·(8 + 8) = 128: 256·136·4 = "
        f"139 264 bytes, {grouped(moved)} in all, whatever part of the C tile exists. 2·{M}·{N}·{K} = {grouped(flop(M, N, K))} "
        f"FLOP: {answer:.3g} B/FLOP, against 0.531 where all tiles are full.",
        tolerance=0.01,
    )


QUIZ = (
    element_of_a_thread,
    reads_of_other_thread_tiles,
    requests_of_contiguous_threads,
    blocks_by_registers,
    shared_bytes_per_flop,
)
