"""What the exercise and the bug hunt of lesson 03 leave out, ask and tell."""

from runner.inspect.counts import Counts, bank_conflicts, bytes_loaded, sectors_a_load
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import SMS, WARP, Question, Quiz, blocks_by_limit, ceil_div, flop, grouped, sectors, tile_bytes, wavefronts


def _tiles_once(counts: Counts) -> float:
    """Bytes in whole sectors where a block loads each element of its tiles once; with tiles that fit and whose rows are whole
    sectors M·N·K·(1/BM + 1/BN) floats."""
    (M, N, K), (BM, BN, BK) = counts.shape, counts.tile

    def row(length: int, tile: int) -> int:
        """Sectors of a row that is loaded in pieces of a tile."""
        return sum(sectors(4 * i for i in range(at, min(at + tile, length))) for at in range(0, length, tile))

    return 32 * (ceil_div(N, BN) * M * row(K, BK) + ceil_div(M, BM) * K * row(N, BN))


EXERCISE = Exercise(
    task="fill the tiles in shared memory, and use them.",
    gaps={
        "load": Gap(
            "load one element of each tile: row y, column x of As and of Bs. What belongs there where the tile reaches past "
            "the edge of A or B? And when may a thread read an element that another one has loaded?"
        ),
        "use": Gap(
            "add the products of this tile's BK steps to acc, from As and Bs alone. The next iteration overwrites both "
            "tiles: who may still be reading them?"
        ),
    },
    hints=(
        "An iteration has four parts: load a tile of A and one of B, wait, multiply and add, wait. The block has as many "
        "threads as a tile has elements, so each thread loads one element of each tile. With M = 33 and K = 33, which threads "
        "have none in A, and what must they store instead, so that the sum does not change?",
        "As holds this block's rows of A from column k0 on, Bs its columns of B from row k0 on. So As[y][x] comes from this "
        "thread's row of A, x columns to the right of k0, and Bs[y][x] from this thread's column of B, y rows below k0. Each "
        "load compares both indices with the matrix's size, and stores 0 where one is too large. One __syncthreads() follows "
        "the loads and another one the sum. Both are outside of every branch, so that all threads of the block meet there. "
        "In the sum, y and x stay the same, and k runs along a row of As and down a column of Bs.",
        "nearly the code, in this order:\n"
        "  As[y][x] = row < M && k0 + x < K ? A[row * lda + k0 + x] : 0.0f;\n"
        "  Bs[y][x], likewise, from B[(k0 + y) * ldb + col], with a condition on k0 + y and one on col;\n"
        "  __syncthreads();\n"
        "  for (int k = 0; k < BK; ++k) acc += As[y][k] * Bs[k][x];\n"
        "  __syncthreads();",
    ),
    starter_fails="sum_is_zero",
    goals=(
        Goal(
            "A warp's load takes at most 4 sectors",
            sectors_a_load,
            lambda counts: 4,
            "sectors per request",
            "The 32 threads of a warp have neighboring threadIdx.x. So threadIdx.x must count columns of what they load, k0 "
            "+ x in A and col in B, and threadIdx.y must count rows.",
            reached="{value}",
            missed="it takes {value}",
        ),
        Goal(
            "The blocks load each element of their tiles once from global memory",
            bytes_loaded,
            _tiles_once,
            "bytes",
            "The sum over k must read only As and Bs. A block loads each element of its tiles of A and B once.",
        ),
        Goal(
            "Shared memory has no bank conflicts",
            bank_conflicts,
            lambda counts: 0,
            "wavefronts beyond the ideal",
            "The threads of a warp have the same y and x from 0 to 31. Wherever x is an index of As or Bs, make it the last "
            "one. Then 32 threads use 32 banks.",
            missed="{value} {unit}",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is right for many sizes. Find the line, and fix it.",
    bug={"k0 + y < K && col < N ? B[": "col < N ? B["},
    hints=(
        "Sizes that are multiples of 32 come out right, so the idea is right. Take K = 33: which columns of A and which rows of "
        "B does the second iteration load, and which of them exist?",
        "Both tiles must hold zeros where they reach past K. It is not enough that As has them: 0 · NaN is NaN, and past the "
        "end of B there may be anything. Compare the guards of the two loads.",
        "Look at the guard of the load into Bs: it reads row k0 + y and column col of B, and compares only one of the two with "
        "B's size.",
    ),
    check_finds="past_the_edge",
)


# The quiz

_BM, _BN, _BK = 32, 32, 32  # kernel.cu's


def bytes_of_other_tiles(q: Quiz) -> Question:
    BM, BN = q.choose([(m, n) for m in (16, 32, 64, 128) for n in (16, 32, 64, 128) if (m, n) != (_BM, _BN)])
    M, N, K = (1024 * q.whole(1, 6) for _ in range(3))
    answer = tile_bytes(M, N, K, BM, BN)
    return Question(
        f"Suppose a block had tiles of BM = {BM} by BN = {BN}, and still loaded every element of its tiles of A and B once. M = "
        f"{M}, N = {N}, K = {K}, alpha = 1, beta = 0. How many bytes do all blocks load from global memory?",
        answer,
        "bytes",
        f"M·N·K·(1/BM + 1/BN) = {M}·{N}·{K}·(1/{BM} + 1/{BN}) = {grouped(answer // 4)} elements of 4 bytes: {grouped(answer)} "
        f"bytes. With 2·M·N·K FLOP that is BM·BN/(2·(BM + BN)) = {flop(M, N, K) / answer:.3g} FLOP/B, against 8 with 32 by 32.",
        tolerance=0.01,
    )


def wavefronts_of_a_padded_tile(q: Quiz) -> Question:
    pitch, cols = q.choose((16, 20, 24, 32, 33, 34, 36, 40, 48)), q.choose((1, 2, 4))
    words = [t // cols * pitch + t % cols for t in range(WARP)]
    answer = wavefronts(words)
    fullest = max(range(32), key=lambda bank: (sum(word % 32 == bank for word in words), -bank))
    mates = [t for t in range(WARP) if words[t] % 32 == fullest]
    index = "tile[t][0]" if cols == 1 else f"tile[t / {cols}][t % {cols}]"
    step = ", ".join(str(words[t] % 32) for t in range(0, min(WARP, 6 * cols), cols))
    conflict = (
        f"threads {', '.join(map(str, mates[:3]))}{' …' if len(mates) > 3 else ''} need {len(mates)} different words of bank "
        f"{fullest}, and no bank has more"
        if answer > 1
        else "all 32 words are in different banks"
    )
    return Question(
        f"A tile is declared as __shared__ float tile[32][{pitch}]; its first element is in bank 0. Thread t = 0 … 31 of a "
        f"warp reads {index}{' (in whole numbers)' if cols > 1 else ''}. How many wavefronts does the request take?",
        answer,
        "wavefronts",
        f"{index} is word {'t' if cols == 1 else f'(t / {cols})'}·{pitch}{'' if cols == 1 else f' + t % {cols}'}. The rows "
        f"begin in banks {step}, … ({pitch} mod 32 = {pitch % 32} further each time): {conflict}. {answer} "
        f"wavefront{'s' if answer > 1 else ''}.",
    )


def blocks_on_an_sm(q: Quiz) -> Question:
    sm, threads = q.choose(SMS), q.choose((128, 256, 512, 1024))
    registers = 8 * q.whole(3, min(16, 8 * 1024 // threads))  # at least one block fits
    shared = q.choose((6, 8, 12, 16, 24, 32, 48))  # KiB
    limits = blocks_by_limit(sm, threads, registers, 1024 * shared)
    blocks = min(limits.values())
    decides = " and ".join(key for key, value in limits.items() if value == blocks)
    return Question(
        f"A block has {threads} threads with {registers} registers each and {shared} KiB of shared memory, to which the system "
        f"adds 1 KiB. An SM of compute capability {sm.capability} has room for {sm.threads} threads and {sm.blocks} blocks, "
        f"{grouped(sm.registers)} registers and {sm.shared // 1024} KiB of shared memory. How many blocks fit?",
        blocks,
        "blocks",
        f"Threads: {sm.threads}/{threads}, {limits['threads']} blocks. Registers: "
        f"{grouped(sm.registers)}/({threads}·{registers}), {limits['registers']}. Shared memory: "
        f"{sm.shared // 1024}/({shared} + 1), {limits['shared memory']}. Block slots: {sm.blocks}. The smallest decides: "
        f"{blocks} ({decides}).",
    )


def useful_multiply_adds(q: Quiz) -> Question:
    M, N, K = (32 * q.whole(1, 2) + q.whole(1, 31) for _ in range(3))
    counts = q.trace(M, N, K)
    done = counts.sum("threads", array="As", op="load")  # each multiply-add reads one element of As
    tiles = ceil_div(M, _BM), ceil_div(N, _BN), ceil_div(K, _BK)
    share = 100 * M * N * K / done
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1. What part of the multiply-adds that all threads execute is among the M·N·K "
        "of A·B? The others multiply by zeros beyond an edge. Give percent.",
        share,
        "%",
        f"No thread leaves early, and each does 32 multiply-adds per tile. ⌈{M}/32⌉·⌈{N}/32⌉·⌈{K}/32⌉ = "
        f"{tiles[0]}·{tiles[1]}·{tiles[2]} tiles, 32³ multiply-adds each, are {grouped(done)}. {M}·{N}·{K} = "
        f"{grouped(M * N * K)} of them count: {share:.3g} %.",
        tolerance=0.01,
    )


def arrivals_at_barriers(q: Quiz) -> Question:
    M, N, K = q.whole(5, 95), q.whole(5, 95), 32 * q.whole(1, 3) + q.whole(1, 31)
    counts = q.trace(M, N, K)
    warps = counts.threads_per_block // WARP
    answer = round(counts.barriers_per_thread * counts.blocks * warps)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1. How many times do warps arrive at a __syncthreads(), all warps of all blocks "
        "together?",
        answer,
        "arrivals",
        f"⌈{M}/32⌉·⌈{N}/32⌉ = {counts.blocks} block{'s' if counts.blocks > 1 else ''} of {warps} warps; warps without an "
        f"element of C take part too. Each meets two barriers per tile, and there are ⌈{K}/32⌉ = {ceil_div(K, _BK)} tiles along "
        f"K, the last one not full: {counts.blocks}·{warps}·2·{ceil_div(K, _BK)} = {grouped(answer)}.",
    )


QUIZ = (bytes_of_other_tiles, wavefronts_of_a_padded_tile, blocks_on_an_sm, useful_multiply_adds, arrivals_at_barriers)
