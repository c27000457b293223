"""What the exercise and the bug hunt of lesson 10b leave out, ask and tell."""

from runner.inspect.counts import Counts, bank_conflicts, barriers, bytes_loaded, bytes_of_tiles, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

# kernel.cu's Small, which runs at every size that is checked or traced: Large takes over from 100 of its C tiles on.
_M, _N, _K, _INNER, _WARPS, _A_READS, _B_READS = 64, 64, 32, 8, 4, 1, 2


def _reads(counts: Counts) -> float:
    """A warp reads three times a step, those of one step more, and once for each round's part; of one tile more before it."""
    along_k = ceil_div(counts.shape[2], _K)
    return tiles(counts, _M, _N) * _WARPS * ((_A_READS + _B_READS) * (along_k * _K + 1) + (along_k + 1) * _K // _INNER)


EXERCISE = Exercise(
    task="transpose A's next k-tile while this one is multiplied: read it where the swizzle has put it, write it to At, and "
    "go on to the next k-tile when all threads may. The requests to TMA are lesson 10a's, and the sums are lesson 08b's.",
    gaps={
        "part": Gap(
            "read into part[0] to part[3] the thread's four steps of one row of As, 16 bytes. k is a multiple of 8: the "
            "first step of the round. `from` is where the thread's 16 bytes of the first round are in shared memory, in "
            "bytes: the swizzle has put chunk c of a row at place c ^ row % 8, and row % 8 is already in the bits of the place."
        ),
        "column": Gap(
            "write part[k] to At, whose rows are steps along K and have T::BM floats each. `to` is where part[0] goes. The "
            "32 lanes of a warp have neighboring rows of A: which banks do they write to?"
        ),
        "next": Gap(
            "the k-tile's last values are in registers, and step 0 of the next k-tile is read now. When may a thread read "
            "the other At, and when may TMA fill this stage again, with k-tile `tile` + STAGES, if there is one? Then "
            "`stage` becomes the next k-tile's stage, and `next` that of the k-tile after it, if there is one (tile + 2 < "
            "tiles). That one must have arrived, because its A is transposed from now on."
        ),
    },
    hints=(
        "In part: 16 bytes hold four steps, so step k is in chunk k / 4 of a row. In column: four single floats, each in "
        "another row of At. In next: when everyone has come this far, two things are done: this k-tile has been read, and "
        "all of the next one is in At. For six k-tiles, draw which stage is read, which one is transposed, and which ones "
        "are on their way.",
        "In part: an XOR puts 16 · (k / 4) = 4·k into the place, and you read one float4. In column: a row of At has T::BM "
        "floats. In next: first a barrier of the block; then one thread makes the request; then stage = next, and next moves "
        "on around the ring. When it comes to 0, the parity changes. After that, every thread waits at full[next] for "
        "itself: the barrier is already over, so it can't tell the others what one thread has waited for.",
        "nearly the code, in the gaps' order:\n"
        "  the float4 at part = the const float4 at shared + (from ^ 4 * k);\n"
        "  to[k * T::BM] = part[k];\n"
        "  __syncthreads(); if (t == 0 && tile + STAGES < tiles) ask(stage, tile + STAGES); stage = next;\n"
        "  if tile + 2 < tiles: next = (next + 1) % STAGES; if (next == 0) parity ^= 1; mbarrier_wait(full[next], parity);",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "The blocks load each element of their tiles once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _M, _N),
            "bytes",
            "One call of ask(…), by one thread, requests each k-tile: the first STAGES before the loop, the others in it.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and two before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 2,
            "barriers",
            "One barrier does both jobs: everyone has read this k-tile, and everyone has written the next one to At.",
        ),
        Goal(
            "Shared memory is read and written without bank conflicts",
            bank_conflicts,
            lambda _: 0.0,
            "wavefronts",
            "Eight neighbors read the same steps of eight rows, which are at eight different places. A warp writes one step "
            "of 32 neighboring rows. Have you changed the order of the rows?",
        ),
        Goal(
            "A step's values are read four at a time, and A's k-tile is read once to transpose it",
            shared_reads,
            _reads,
            "requests",
            "A thread takes 16 bytes of a row in each round of 8 steps: one read for four steps, and no read twice.",
        ),
    ),
)

HUNT = Hunt(
    task="255 of 256 threads no longer wait. In lesson 10a that is allowed, and this kernel, too, is right whenever you run "
    "it on a GPU. But here it isn't allowed. Find the order of events in which the result is wrong, then the line, and fix it.",
    bug={
        "gemm::ptx::mbarrier_wait(full[next], parity);": "if (t == 0) gemm::ptx::mbarrier_wait(full[next], parity);",
    },
    hints=(
        "The waits before the loop are right. Who reads what TMA brings, and how does each of them know that it has arrived?",
        "Suppose that memory is slow once, so that a k-tile arrives only after its turn has come. Thread 0 waits. What keeps "
        "the other threads from reading that k-tile's A too early?",
        "In lesson 10a thread 0 could wait for all, because the block's barrier came after its wait. Here the barrier comes "
        "first, and the next one is a k-tile away. Without a wait of their own, the others transpose what has not arrived.",
    ),
    check_finds="load_in_flight",
    race=True,
)


# The quiz


def wavefronts_of_a_step(q: Quiz) -> Question:
    TM, TN = 4 * q.whole(1, 4), 4 * q.whole(1, 4)
    answer = 2 * (TM + TN) // 4
    return Question(
        f"A thread computes {TM}×{TN} elements of C. It reads its values of A and of B 16 bytes at a time. The lanes pair up "
        "to read the same 16 bytes, so each such request of a warp takes two wavefronts. How many wavefronts do a warp's "
        "reads for one step along K take?",
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
        f"A C tile is {BM}×{BN}, a k-tile has {BK} steps, all in FP32. The ring has {stages} stages, and there are two "
        "buffers At besides. How many bytes of shared memory is that?",
        answer,
        "bytes",
        f"A stage takes 4·{BK}·({BM} + {BN}) = {grouped(stage)} bytes, an At 4·{BK}·{BM} = {grouped(at)}: "
        f"{stages}·{grouped(stage)} + 2·{grouped(at)} = {grouped(answer)}.",
    )


def who_is_in_which_stage(q: Quiz) -> Question:
    stages, tile = q.whole(3, 7), q.whole(20, 400)
    answer = (tile + 1) % stages
    return Question(
        f"The ring has {stages} stages, and k-tile n is in stage n mod {stages}. While the block multiplies k-tile {tile}, "
        "from which stage do its threads read what they write to At?",
        answer,
        "",
        f"They transpose the next k-tile: {tile} + 1 = {tile + 1}, and {tile + 1} mod {stages} = {answer}.",
    )


def floats_a_thread_transposes(q: Quiz) -> Question:
    threads = q.choose((64, 128, 256))
    BM, BK, inner = threads // 2 * q.choose((1, 2)), 32, q.choose((8, 16))
    answer = BM * inner // threads
    return Question(
        f"A block of {threads} threads transposes k-tiles of {BM}×{BK} elements of A. In each round of {inner} steps along "
        "K, it transposes as much as the round uses up. How many elements does a thread move in a round?",
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
        f"The 32 lanes of a warp hold single elements of {rows} neighboring rows of A and of {steps} "
        f"step{'s' if steps > 1 else ''} along K, and each writes its element to At[BK][128], whose rows are steps. How many "
        "wavefronts does that take?",
        answer,
        "wavefronts",
        "A row of At has 128 floats, four times all banks: an element's bank is its row of A mod 32, whatever its step. The "
        f"lanes write to {rows} banks, {steps} time{'s' if steps > 1 else ''} each: {answer} "
        f"wavefront{'s' if answer > 1 else ''}.",
    )


QUIZ = (
    wavefronts_of_a_step,
    shared_memory_of_a_block,
    who_is_in_which_stage,
    floats_a_thread_transposes,
    conflict_of_the_writes,
)
