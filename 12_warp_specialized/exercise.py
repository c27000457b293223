"""What the exercise and the bug hunt of lesson 12 leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, grouped

_BM, _BN = 128, 256  # kernel.cu's C tile
_HALF = 2  # bytes of an element


EXERCISE = Exercise(
    task="let a producer and two consumers hand the stages of a ring to each other: who waits at which mbarrier for what, "
    "and who says that a stage is full or empty? The loads, the products and the registers are given.",
    gaps={
        "empty": Gap(
            "k-tile n goes to stage n % STAGES: wait until the consumers have given that stage back. The first STAGES "
            "k-tiles go to stages that have never been used, so they are never given back. Which parity lets those waits pass?"
        ),
        "counts": Gap(
            "initialize the STAGES full and the STAGES empty mbarriers. How many arrivals complete a phase of a full one, and "
            "how many a phase of an empty one?"
        ),
        "arrived": Gap("a consumer: wait until k-tile n has arrived. Its stage has been filled n / STAGES times before."),
        "release": Gap(
            "a consumer: this round's products have begun. What must you wait for, and which k-tile's stage has been read "
            "after that? One thread of the warpgroup gives it back."
        ),
    },
    hints=(
        "A stage goes back and forth between two owners. The producer waits at its empty mbarrier and requests a k-tile, "
        "whose bytes complete a phase of its full one. The consumers wait at the full one and multiply, and their arrivals "
        "complete a phase of the empty one. Each of the two mbarriers has phases of its own, and completes one every STAGES "
        "k-tiles.",
        "In empty: k-tile n waits for phase n / STAGES - 1 of its stage, and in a fresh mbarrier the phase before phase 0 "
        "counts as complete: n / STAGES % 2 ^ 1. In counts: one arrival at a full one, the producer's; the bytes are counted "
        "separately. CONSUMERS at an empty one: each consumer warpgroup gives the stage back for itself. In release: after "
        "wgmma_wait<1> only this round's batch is under way, so the stage of k-tile n - 1 is given back, if there is one.",
        "nearly the code, in the gaps' order:\n"
        "  mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);\n"
        "  each full: mbarrier_init(…, 1); each empty: mbarrier_init(…, CONSUMERS);\n"
        "  mbarrier_wait(full[n % STAGES], n / STAGES % 2);\n"
        "  wgmma_wait<1>(); if (n > 0 && t % WARPGROUP == 0) mbarrier_arrive(empty[(n - 1) % STAGES]);",
    ),
    starter_fails="uninitialised_read",
    goals=(
        Goal(
            "Each block loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "produce() requests each k-tile once, whichever stage it goes to.",
        ),
        Goal(
            "A thread meets one barrier, before the first k-tile",
            barriers,
            lambda counts: 1,
            "barriers",
            "No barrier is needed in the loop: a full mbarrier tells the consumers that a k-tile has arrived, and an empty "
            "one tells the producer that it has been read.",
        ),
    ),
)

HUNT = Hunt(
    task="someone has saved an arrival: only one of the two consumers gives the stages back. The result is nearly always "
    "right on a GPU. Find the schedule that breaks the kernel: who has to be late, and by how much? Then fix the two lines.",
    bug={
        "        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CONSUMERS);\n": (
            "        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, 1);\n"
        ),
        "        if (n > 0 && t % WARPGROUP == 0) gemm::ptx::mbarrier_arrive(empty[(n - 1) % STAGES]);\n": (
            "        if (n > 0 && t == 0) gemm::ptx::mbarrier_arrive(empty[(n - 1) % STAGES]);\n"
        ),
    },
    hints=(
        "Counts and parities match: no phase is completed too early or too often, and no thread waits forever. Write down "
        "for one stage who fills it, who reads it, and who says that it has been read.",
        "Both consumers read Bs of a stage, and each reads its own half of As. The producer learns that thread 0's warpgroup "
        "has read them. How does it learn the same about the other one?",
        "The two consumers don't wait for each other. Suppose that the second one is late, and is still multiplying k-tile n "
        "- 1 when the first one has finished and gives the stage back. Then k-tile n - 1 + STAGES overwrites it. The second "
        "one only has to be late by the time that a k-tile takes to arrive.",
    ),
    check_finds="wgmma_in_flight",
    race=True,
)


# The quiz


def registers_of_consumers(q: Quiz) -> Question:
    consumers, producer = q.whole(2, 3), 8 * q.whole(3, 10)
    launched = 65536 // (128 * (consumers + 1)) // 8 * 8
    answer = (launched * (consumers + 1) - producer) // consumers // 8 * 8
    return Question(
        f"A block has one producer warpgroup and {consumers} consumer warpgroups, and starts with {launched} registers per "
        f"thread. The producer keeps {producer}. How many can each consumer thread have? setmaxnreg takes multiples of 8.",
        answer,
        "registers",
        f"({consumers + 1}·{launched} - {producer})/{consumers}, rounded down to a multiple of 8, is {answer}.",
    )


def arrivals_of_a_phase(q: Quiz) -> Question:
    consumers, stages, tiles = q.whole(2, 4), q.whole(3, 6), q.whole(20, 90)
    answer = consumers * (tiles - 1)
    return Question(
        f"A ring of {stages} stages, {consumers} consumer warpgroups, {tiles} k-tiles. In each round but the first, one "
        "thread of each consumer warpgroup arrives at an empty mbarrier. How many arrivals are there in all?",
        answer,
        "arrivals",
        f"{tiles} - 1 rounds of {consumers} arrivals: {grouped(answer)}. The number of stages doesn't matter.",
    )


def phase_that_is_waited_for(q: Quiz) -> Question:
    stages, tile = q.whole(2, 6), q.whole(12, 200)
    answer = tile // stages - 1
    return Question(
        f"A ring has {stages} stages. Before the producer requests k-tile {tile}, it waits at the empty mbarrier of stage "
        f"{tile} mod {stages}. Which phase of that mbarrier has to be complete, counted from 0?",
        answer,
        "",
        f"The stage has been filled {tile}/{stages}, rounded down, = {tile // stages} times before, and each time it was given "
        f"back completed one phase: the last of them is phase {answer}, of parity {answer % 2}.",
    )


def how_far_ahead(q: Quiz) -> Question:
    stages, n = q.whole(3, 8), q.whole(20, 300)
    answer = n - 2 + stages
    return Question(
        f"STAGES = {stages}. The slower consumer has given back the stage of k-tile {n - 2} and no later one. What is the "
        "last k-tile that the producer can have requested?",
        answer,
        "",
        f"The stage of k-tile {n - 2} takes k-tile {n - 2} + {stages} = {answer}. The next k-tile needs the stage of k-tile "
        f"{n - 1}, which has not been given back.",
    )


def bytes_on_their_way(q: Quiz) -> Question:
    BM, BN, stages = 64 * q.whole(1, 3), 64 * q.whole(2, 4), q.whole(3, 6)
    stage = _HALF * 64 * (BM + BN)
    answer = stages * stage
    return Question(
        f"A block's C tile is {BM}×{BN}, a k-tile has 64 steps, elements have two bytes, and the ring has {stages} stages. How "
        "many bytes does the producer request before it has to wait for a consumer for the first time?",
        answer,
        "bytes",
        f"At first all stages are empty, so it fills each of them. A stage has 2·64·({BM} + {BN}) = {grouped(stage)} bytes: "
        f"{stages}·{grouped(stage)} = {grouped(answer)}.",
    )


QUIZ = (
    registers_of_consumers,
    arrivals_of_a_phase,
    phase_that_is_waited_for,
    how_far_ahead,
    bytes_on_their_way,
)
