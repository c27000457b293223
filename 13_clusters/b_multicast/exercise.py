"""What the exercise and the bug hunt of lesson 13b leave out, ask and tell."""

from runner.inspect.counts import barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _CLUSTER = 128, 256, 2  # kernel.cu's C tile, and the blocks of a cluster
_HALF = 2  # bytes of an element


EXERCISE = Exercise(
    task="let the two blocks of a cluster share their tiles of B: each requests half of them, for both, and a stage is empty "
    "when no thread of either block still reads it. The order of the tiles, A's loads and the products are given.",
    gaps={
        "share": Gap(
            "the block's share of tile `step` of B, for both blocks: every second one of the BN / BOX boxes, from box `rank` "
            "on. A box arrives at the same place in each block, and its bytes count at the same mbarrier in each. BOTH has a "
            "bit for each block."
        ),
        "give": Gap(
            "this warpgroup has read k-tile `of`. Who needs to know? For each of them, one thread arrives there. The "
            "products have been waited for, and the threads themselves have touched nothing: must an arrival promise "
            "anything about memory?"
        ),
        "counts": Gap("how many arrivals complete a phase of an empty mbarrier now, and where do they come from?"),
    },
    hints=(
        "A box that is requested with BOTH is written to two blocks. So before the request, the stage has to be empty in "
        "both: four consumer warpgroups must have read it. Each producer waits at its own empty mbarrier, so each of the two "
        "has to hear from all four.",
        "In share: j goes from rank * BOX in steps of CLUSTER * BOX, and tma_load_multicast() takes what tma_load() takes, and "
        "the mask. In give: thread 0 of the warpgroup arrives in block 0, thread 1 in block 1, with "
        "mbarrier_arrive_relaxed_at(). In counts: CONSUMERS of each block.",
        "nearly the code, in the gaps' order:\n"
        "  for j = rank * BOX; j < BN; j += CLUSTER * BOX:\n"
        "    tma_load_multicast(to + BS + j * BK * 2, map_b, {col0 + j, step * BK}, arrived, BOTH);\n"
        "  rank = threadIdx.x % WARPGROUP;\n"
        "  if (rank < CLUSTER) mbarrier_arrive_relaxed_at(empty[of % STAGES], rank);\n"
        "  each empty: mbarrier_init(…, CLUSTER * CONSUMERS);",
    ),
    starter_fails="mbarrier_misused",
    goals=(
        Goal(
            "Each cluster loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _CLUSTER * _BM, _BN, _HALF),
            "bytes",
            "Each block requests only its half of B's boxes, with a mask that names both blocks.",
        ),
        Goal(
            "No thread meets a barrier of its block",
            barriers,
            lambda counts: 0,
            "barriers",
            "The cluster's barrier before the first tile is enough.",
        ),
    ),
)

HUNT = Hunt(
    task="someone has saved the arrivals at the other block's mbarriers. All counts match, no thread waits forever, and the "
    "result is nearly always right on a GPU. Find the two lines: whom does a producer no longer hear from, and what does it "
    "destroy?",
    bug={
        "        if (rank < CLUSTER) gemm::ptx::mbarrier_arrive_relaxed_at(empty[of % STAGES], rank);\n": (
            "        if (rank == gemm::ptx::cluster_rank()) gemm::ptx::mbarrier_arrive(empty[of % STAGES]);\n"
        ),
        "        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CLUSTER * CONSUMERS);\n": (
            "        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CONSUMERS);\n"
        ),
    },
    hints=(
        "Write down for one stage who writes to it, who reads it, and who tells whom that it has been read. There are two "
        "blocks, and two producers.",
        "A producer requests half of a tile of B, which goes to both blocks. When the producer has waited at its own empty "
        "mbarrier, which consumers are certain to have read the stage?",
        "Suppose that the other block is late. Its consumers are still multiplying the k-tile in a stage when this block's "
        "have finished with it. This block's producer requests the next k-tile there, and half of B is overwritten in both.",
    ),
    check_finds="loads_overlap",
    race=True,
)


# The quiz


def bytes_of_a_block(q: Quiz) -> Question:
    cluster, rows, cols = q.choose((2, 4)), 64 * q.whole(1, 2), q.choose((128, 256))
    answer = (rows + cols // cluster) * 64 * _HALF
    return Question(
        f"Blocks with C tiles of {rows}×{cols} form clusters of {cluster}, one below the other in C. How many bytes does "
        "each block request for 64 steps along K, in BF16, if they share the tiles of B?",
        answer,
        "bytes",
        f"A tile of A, {rows}·64·2 bytes, and 1/{cluster} of a tile of B, 64·{cols}·2/{cluster} bytes: {grouped(answer)}.",
    )


def bytes_of_a_phase(q: Quiz) -> Question:
    rows, cols = 64 * q.whole(1, 3), 64 * q.whole(2, 4)
    answer = (rows + cols) * 64 * _HALF
    return Question(
        f"A stage holds {rows}×64 elements of A and 64×{cols} of B, in BF16. Each of two blocks requests half of B, for "
        "both. How many bytes does a producer tell its full mbarrier to expect?",
        answer,
        "bytes",
        f"All that come to its own block, whoever has requested them: ({rows} + {cols})·64·2 = {grouped(answer)}.",
    )


def arrivals_at_empty(q: Quiz) -> Question:
    cluster, consumers, steps = q.choose((2, 4)), q.whole(2, 3), q.whole(10, 60)
    answer = cluster * consumers * steps
    return Question(
        f"A cluster of {cluster} blocks, {consumers} consumer warpgroups in each, one C tile, {steps} k-tiles. Every stage "
        "is given back. How many arrivals are there at the empty mbarriers of one block?",
        answer,
        "arrivals",
        f"The stage of each of {steps} k-tiles is given back by {cluster}·{consumers} consumers: {grouped(answer)}.",
    )


def clusters_of_a_launch(q: Quiz) -> Question:
    tiles = q.whole(70, 700)
    rounds = ceil_div(tiles, 66)
    answer = ceil_div(tiles, rounds)
    return Question(
        f"C has {tiles} tiles for clusters, and the GPU has room for 66 clusters. As few clusters as possible are launched, "
        "without needing more rounds. How many is that?",
        answer,
        "clusters",
        f"{tiles} / 66, rounded up, makes {rounds} rounds. {tiles} / {rounds}, rounded up: {answer}.",
    )


def mask_of_blocks(q: Quiz) -> Question:
    blocks = (q.whole(0, 1), q.whole(2, 4), q.whole(5, 7))
    answer = sum(1 << b for b in blocks)
    return Question(
        f"A cluster has 8 blocks, and a box is to go to those of rank {blocks[0]}, {blocks[1]} and {blocks[2]}. Which mask, "
        "as a decimal number?",
        answer,
        "",
        f"2^{blocks[0]} + 2^{blocks[1]} + 2^{blocks[2]} = {answer}.",
    )


QUIZ = (
    bytes_of_a_block,
    bytes_of_a_phase,
    arrivals_at_empty,
    clusters_of_a_launch,
    mask_of_blocks,
)
