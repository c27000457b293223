"""What the exercise and the bug hunt of lesson 07 leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import SMS, WARP, Question, Quiz, blocks_by_limit, ceil_div, grouped

_BM, _BN, _BK = 128, 256, 8  # kernel.cu's
_TM, _TN, _THREADS = 8, 16, 256


EXERCISE = Exercise(
    task="while a k-tile is used, load the next one, and store it to the other of two stages, with one barrier per k-tile.",
    gaps={
        "first": Gap(
            "the first k-tile has been loaded, into registers. Put it where the first iteration of the loop reads it. When may "
            "that begin?"
        ),
        "next": Gap(
            "load the next k-tile, so that it is on its way while this one is used. How many steps does it have in the last "
            "iteration?"
        ),
        "over": Gap(
            "store the next k-tile in shared memory, where no thread is reading, and let the next iteration read there. Who must "
            "have done what before it begins? One barrier is enough."
        ),
    },
    hints=(
        "load(…) loads a k-tile into registers, a_next and b_next, and store(…) copies them to a stage of As and Bs. Before "
        "the loop one k-tile is loaded, but not yet stored. An iteration uses the k-tile in `stage`: which stage is free "
        "during that time, and what must have happened before the next iteration reads from it?",
        "Before the loop: store into stage 0, then a barrier, since a thread reads what others have stored. At the beginning of "
        "an iteration: load BK steps, or 0 in the last one, where `left` is 1. At its end: store into the stage that is not "
        "read, then a barrier, then make that stage the current one; `stage ^ 1` is 1 for 0 and 0 for 1. After this barrier all "
        "have written the new k-tile, and all have read the old one, so that the next iteration may overwrite it.",
        "nearly the code, in this order:\n"
        "  before the loop: store(0); and __syncthreads();\n"
        "  load(left > 1 ? BK : 0); before the sums\n"
        "  after them store(…) into the other stage,\n"
        "  __syncthreads();\n"
        "  stage ^= 1;",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _BK) + 1,
            "barriers",
            "One at the end of an iteration is enough, if it stores to the stage that it does not read. Shorter k-tiles need "
            "more barriers, too.",
        ),
        Goal(
            "A warp reads shared memory 6 times per step, 16 bytes per thread",
            shared_reads,
            lambda counts: tiles(counts, *counts.tile[:2]) * (_THREADS // WARP) * counts.shape[2] * (_TM + _TN) // 4,
            "requests",
            "8 values of As and 16 of Bs, four to an access, serve the 128 multiply-adds of a thread. Neither scalars nor a "
            "smaller thread tile will do.",
        ),
        Goal(
            "The blocks load each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, *counts.tile[:2]),
            "bytes",
            "load(…) is called once before the loop and once in it, and the last iteration has nothing left to load.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right. Find the line, and fix it.",
    bug={
        "__syncthreads();  // the first tiles are complete before anyone reads them": "__syncwarp();  // the first tiles are "
        "complete before anyone reads them"
    },
    hints=(
        "The formulas are right: every index, every guard, every size. For each thing that a thread reads, ask: who wrote "
        "it, and how does the reader know that it has been written?",
        "The iterations of the loop hand over to each other properly. Who hands over to the first one? A warp stores the rows of "
        "As that its threads have loaded, and later reads 64 rows of it: which of them did other warps store?",
        "Compare the two barriers, the one before the loop and the one at its end. A warp that waits for its own 32 threads does "
        "not wait for the block's seven other warps.",
    ),
    check_finds="race",
    race=True,
)


# The quiz


def barriers_of_a_thread(q: Quiz) -> Question:
    M, N, K = q.whole(20, 90), 4 * q.whole(5, 20), q.whole(9, 120)
    answer = round(q.trace(M, N, K).barriers_per_thread)
    tiles = ceil_div(K, _BK)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1. How many times does a thread of this lesson's kernel (BK = {_BK}) arrive at a "
        "__syncthreads()?",
        answer,
        "barriers",
        f"One before the loop, one at the end of each of its ⌈{K}/{_BK}⌉ = {tiles} iterations: {answer}. The last one is not "
        f"needed, since no iteration follows. With two barriers per k-tile it would be {2 * tiles}. "
        "M and N don't matter: all threads meet all barriers.",
    )


def bytes_stored_into_the_stages(q: Quiz) -> Question:
    M, N, K = q.whole(20, 200), 4 * q.whole(5, 70), q.whole(9, 30)
    counts = q.trace(M, N, K)
    answer, blocks = counts.sum("bytes", space="shared", op="store"), counts.blocks
    a_block = (ceil_div(K, _BK) + 1) * 4 * _BK * (_BM + _BN)
    return Question(
        f"M = {M}, N = {N}, K = {K}, alpha = 1. How many bytes do all threads of this lesson's kernel store into As and Bs, "
        "zeros included?",
        answer,
        "bytes",
        f"A store fills a stage, 4·{_BK}·({_BM} + {_BN}) = {grouped(4 * _BK * (_BM + _BN))} bytes, wherever the "
        f"edges are. A block stores once before the loop and once in each of ⌈{K}/{_BK}⌉ = {ceil_div(K, _BK)} iterations, in the "
        f"last one zeros that are never read: {grouped(a_block)} bytes per block. ⌈{M}/{_BM}⌉·⌈{N}/{_BN}⌉ = {blocks} "
        f"block{'s' if blocks > 1 else ''}: {grouped(answer)}.",
    )


def multiply_adds_a_read(q: Quiz) -> Question:
    TM, TN = q.choose([(m, n) for m in (4, 8, 12, 16) for n in (4, 8, 12, 16, 20) if (m, n) != (_TM, _TN)])
    reads = (TM + TN) // 4
    answer = TM * TN / reads
    return Question(
        f"A thread computes {TM}×{TN} elements of C, and reads its values of As and Bs four at a time, as here. How many "
        "multiply-adds does one read of 16 bytes serve?",
        answer,
        "multiply-adds",
        f"Per step: {TM} values of As and {TN} of Bs, ({TM} + {TN})/4 = {reads} reads, for {TM}·{TN} = {TM * TN} "
        f"multiply-adds: {TM * TN}/{reads} = {answer:.4g}. With 8×8 it is 16, with 8×16 21.3.",
        tolerance=0.01,
    )


def blocks_with_two_stages(q: Quiz) -> Question:
    sm, threads = q.choose(SMS), q.choose((128, 256))
    BM, BN, BK = q.choose((64, 128)), q.choose((64, 128, 256)), q.choose((8, 16))
    registers = q.whole(96, 250)
    shared = 2 * 4 * BK * (BM + BN)
    limits = blocks_by_limit(sm, threads, registers, shared)
    blocks = min(limits.values())
    decides = " and ".join(key for key, value in limits.items() if value == blocks)
    warps = blocks * threads // WARP
    return Question(
        f"A block of {threads} threads with {registers} registers each (allocated in eights) keeps two stages, BM = {BM}, BN "
        f"= {BN}, BK = {BK}, without padding. An SM of compute capability {sm.capability} has room for {sm.threads} threads "
        f"and {sm.blocks} blocks, {grouped(sm.registers)} registers and {sm.shared // 1024} KiB of shared memory, of which a "
        "block takes 1 KiB more than it requests. How many warps does each of the SM's four parts have to choose from?",
        warps / 4,
        "warps",
        f"Blocks by registers: {grouped(sm.registers)}/({threads}·{8 * ceil_div(registers, 8)}), {limits['registers']}. By "
        f"shared memory: two stages are 2·4·{BK}·({BM} + {BN}) = {grouped(shared)} bytes, {limits['shared memory']}. By threads: "
        f"{limits['threads']}. The smallest decides ({decides}): {blocks} block{'s' if blocks > 1 else ''}, {warps} warps, "
        f"{warps / 4:g} for each part.",
    )


def cycles_that_the_sums_cover(q: Quiz) -> Question:
    TM, TN = q.choose(((8, 8), (8, 16), (4, 8), (8, 12), (16, 16)))
    BK, warps = q.choose((8, 16)), q.choose((2, 3, 4))
    done = q.whole(1, 9) * TM * TN * BK // 10
    left = TM * TN * BK - done
    return Question(
        f"A thread computes {TM}×{TN} elements of C, and a k-tile has BK = {BK} steps. In the machine code of an iteration, the "
        f"loads of the next k-tile come after {done} of the FFMAs, and its stores after all of them. A scheduler has {warps} "
        "warps, which take turns, and issues at most one FFMA per cycle. How many cycles, at least, does it spend on FFMAs "
        "between a warp's loads and its stores, if all warps advance at the same pace?",
        left * warps,
        "cycles",
        f"An iteration has {TM}·{TN}·{BK} = {grouped(TM * TN * BK)} FFMAs of a warp, {grouped(TM * TN * BK)} − {done} = "
        f"{grouped(left)} of them between its loads and its stores. {warps} warps: {warps}·{grouped(left)} = "
        f"{grouped(left * warps)} cycles. A load that takes no longer than that makes no warp wait.",
    )


QUIZ = (
    barriers_of_a_thread,
    bytes_stored_into_the_stages,
    multiply_adds_a_read,
    blocks_with_two_stages,
    cycles_that_the_sums_cover,
)
