"""What the exercise and the bug hunt of lesson 10b leave out, ask and tell."""

from runner.inspect.counts import Counts, bank_conflicts, barriers, bytes_loaded, bytes_of_tiles, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its block tiles on.
_M, _N, _K, _INNER, _WARPS, _A_READS, _B_READS = 64, 64, 32, 8, 4, 1, 2


def _reads(counts: Counts) -> float:
    """A warp reads three times a step, those of one step more, and once for each round's part; of one tile more before it."""
    along_k = ceil_div(counts.shape[2], _K)
    return tiles(counts, _M, _N) * _WARPS * ((_A_READS + _B_READS) * (along_k * _K + 1) + (along_k + 1) * _K // _INNER)


EXERCISE = Exercise(
    task="transpose the next tile of A while this one is multiplied: read it where the swizzle has put it, write it to At, and "
    "go on to the next tiles when all threads may. TMA is asked as in lesson 10a, and the sums are lesson 08b's.",
    gaps={
        "part": Gap(
            "read into part[0] to part[3] the thread's four steps of one row of As, 16 bytes. k is a multiple of 8: the first "
            "step of the round. `from` is where the thread's 16 bytes of the first round lie in shared memory, in bytes: the "
            "swizzle has put number c of a row to place c ^ row % 8, and row % 8 is in the bits of the place already."
        ),
        "column": Gap(
            "write part[k] to At, whose rows are steps along K and have T::BM floats each. `to` is where part[0] goes. Which "
            "banks do the 32 lanes of a warp meet, whose rows of A are neighbours?"
        ),
        "next": Gap(
            "the tile's last values are in registers, and what is read now is step 0 of the next tiles. When may one read the "
            "other At, and when may TMA fill this stage again, with tile + STAGES, if there is one? Then `stage` becomes the "
            "next tiles' stage, and `next` that of the tiles after them, if there are such (tile + 2 < tiles), which must have "
            "arrived: their A is transposed from now on."
        ),
    },
    hints=(
        "In part: 16 bytes hold four steps, so step k is in number k / 4 of a row. In column: four single floats, each in "
        "another row of At. In next: two things are over when everyone has come so far: this tile has been read, and the next "
        "one lies in At whole. Draw for six tiles which stage is read, which is transposed from, and which is on its way.",
        "In part: an XOR takes 16 · (k / 4) = 4·k into the place, and one float4 is read. In column: a row of At is 4·T::BM "
        "bytes. In next: a barrier of the block; then one thread asks; then stage = next, and next goes around the ring. When "
        "it comes to 0 the parity changes. Wait at full[next] behind that, every thread for itself: the barrier is over, and "
        "tells nobody what one thread has waited for.",
        "nearly the code, in the gaps' order:\n"
        "  the float4 at part = the const float4 at shared + (from ^ 4 * k);\n"
        "  the float at to + 4 * k * T::BM = part[k];\n"
        "  __syncthreads(); if (t == 0 && tile + STAGES < tiles) ask(stage, tile + STAGES); stage = next;\n"
        "  if tile + 2 < tiles: next = (next + 1) % STAGES; if (next == 0) parity ^= 1; mbarrier_wait(full[next], parity);",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "The blocks bring each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "Each tile is asked for by one call of ask(…), by one thread: the first STAGES before the loop, the others in it.",
        ),
        Goal(
            "A thread meets one barrier a tile, and two before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 2,
            "barriers",
            "One barrier says both: everyone has read this tile, and everyone has written the next one to At.",
        ),
        Goal(
            "Shared memory is read and written without bank conflicts",
            bank_conflicts,
            lambda _: 0.0,
            "wavefronts",
            "Eight neighbours read the same steps of eight rows, which lie in eight different places. A warp writes one step of "
            "32 rows that are neighbours. Does either depend on another order of rows?",
        ),
        Goal(
            "A step's values are read four at a time, and A's tile is read once to transpose it",
            shared_reads,
            _reads,
            "requests",
            "A thread takes 16 bytes of a row in each round of 8 steps: one read for four steps, and none that is repeated.",
        ),
    ),
)

HUNT = Hunt(
    task="255 of 256 threads have been spared a wait, as one may in lesson 10a, and the kernel is right whenever you run it on a "
    "GPU. Here one may not. Find the order of events in which the result is wrong, then the line, and mend it.",
    bug={
        "gemm::ptx::mbarrier_wait(full[next], parity);": "if (t == 0) gemm::ptx::mbarrier_wait(full[next], parity);",
    },
    hints=(
        "The waits before the loop are right. Who reads what TMA brings, and what does each of them know of its arrival?",
        "Let memory be slow once, so that a tile arrives only after its turn has come. Thread 0 waits. What stands between the "
        "other threads and the first read of that tile's A?",
        "In lesson 10a thread 0 could wait for all, because the block's barrier came after its wait. Here the barrier comes "
        "first, and the next one is a tile away: without a wait of their own the others transpose what has not arrived.",
    ),
    check_finds="load_in_flight",
    race=True,
)


# The quiz


def wavefronts_of_a_step(q: Quiz) -> Question:
    TM, TN = 4 * q.whole(1, 4), 4 * q.whole(1, 4)
    answer = 2 * (TM + TN) // 4
    return Question(
        f"A thread computes {TM}×{TN} elements of C. It reads its values of A and of B 16 bytes at a time, and of four "
        "neighbouring lanes two read the same 16 bytes, so that such a request of a warp takes two wavefronts. How many "
        "wavefronts do a warp's reads of one step along K take?",
        answer,
        "wavefronts",
        f"{TM}/4 + {TN}/4 = {(TM + TN) // 4} requests, two wavefronts each: {answer}. With A's {TM} values read one by one, a "
        f"wavefront each, it would be {TM} + 2·{TN}/4 = {TM + TN // 2}.",
    )


def shared_memory_of_a_block(q: Quiz) -> Question:
    BM, BN = q.choose(((64, 64), (64, 128), (128, 128), (128, 256)))
    BK, stages = q.choose((16, 32)), q.whole(2, 4)
    stage, at = 4 * BK * (BM + BN), 4 * BK * BM
    answer = stages * stage + 2 * at
    return Question(
        f"A block's tile of C is {BM}×{BN}, a tile has {BK} steps along K, in FP32. The ring has {stages} stages, and beside it "
        "lie two buffers At. How many bytes of shared memory is that?",
        answer,
        "bytes",
        f"A stage has 4·{BK}·({BM} + {BN}) = {grouped(stage)} bytes, an At 4·{BK}·{BM} = {grouped(at)}: {stages}·"
        f"{grouped(stage)} + 2·{grouped(at)} = {grouped(answer)}.",
    )


def who_is_in_which_stage(q: Quiz) -> Question:
    stages, tile = q.whole(3, 7), q.whole(20, 400)
    answer = (tile + 1) % stages
    return Question(
        f"The ring has {stages} stages, and tile n lies in stage n mod {stages}. While the block multiplies tile {tile}, from "
        "which stage do its threads read what they write to At?",
        answer,
        "",
        f"They transpose the next tile: {tile} + 1 = {tile + 1}, and {tile + 1} mod {stages} = {answer}.",
    )


def floats_a_thread_transposes(q: Quiz) -> Question:
    threads = q.choose((64, 128, 256))
    BM, BK, inner = threads // 2 * q.choose((1, 2)), 32, q.choose((8, 16))
    answer = BM * inner // threads
    return Question(
        f"A block of {threads} threads transposes tiles of {BM}×{BK} elements of A, in each round of {inner} steps along K as "
        "much as the round uses up. How many elements does a thread move in a round?",
        answer,
        "elements",
        f"{BM}·{inner} = {grouped(BM * inner)} elements for {threads} threads: {answer}, which it reads in {answer // 4} "
        f"read{'s' if answer > 4 else ''} of 16 bytes and writes one by one.",
    )


def conflict_of_the_writes(q: Quiz) -> Question:
    rows = q.choose((4, 8, 16, 32))
    steps = 32 // rows
    answer = steps
    return Question(
        f"The 32 lanes of a warp hold single elements of {rows} neighbouring rows of A and of {steps} "
        f"step{'s' if steps > 1 else ''} along K, and each writes its element to At[BK][128], whose rows are steps. How many "
        "wavefronts does that take?",
        answer,
        "wavefronts",
        f"A row of At has 128 floats, four times all banks: an element's bank is its row of A mod 32, whatever its step. The "
        f"lanes meet {rows} banks, each {steps} time{'s' if steps > 1 else ''}: {answer} "
        f"wavefront{'s' if answer > 1 else ''}.",
    )


QUIZ = (
    wavefronts_of_a_step,
    shared_memory_of_a_block,
    who_is_in_which_stage,
    floats_a_thread_transposes,
    conflict_of_the_writes,
)
