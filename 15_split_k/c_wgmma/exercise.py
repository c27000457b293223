"""What the exercise and the bug hunt of lesson 14c leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_SMALL = (64, 128)  # a C tile, of the sizes that are chosen for the shape of the goals
_HALF = 2  # bytes of an element
_WIDE, _DEPTH = 128, 64  # columns of a C tile, steps of a k-tile


def _stored_by_threads(counts: Counts) -> Measured:
    """Bytes of C that threads store by themselves, and the line with most of them; any store's where there is none."""
    stores = sorted(counts.lines("global", "store"), key=lambda line: line["bytes"] if line["width"] else 0, reverse=True)
    return float(sum(line["bytes"] for line in stores if line["width"])), next(iter(stores), None)


EXERCISE = Exercise(
    task="put the two roles of the block together: what the producer's thread does with the scheduler and the mainloop, and what "
    "the consumers do with these and the epilogue.",
    gaps={
        "produce": Gap(
            "for each piece of work of this block, load its k-tiles: mainloop.load(work). scheduler.next(work) goes on to the "
            "next piece, or returns false.",
            "static_cast<void>(scheduler), static_cast<void>(mainloop);",
        ),
        "consume": Gap(
            "for each piece of work, multiply, and hand the sums to the epilogue, which keeps them, rounded: take(sums, work). "
            "They leave during the next piece's first k-tiles. multiply<S::BOXES>(sums, work, between) calls between(box) there, "
            "and epilogue.leave(box) stores a box. What is left after the last piece of work is the epilogue's finish(). `sums` "
            "has the type P::Mainloop::Sums.",
            "static_cast<void>(scheduler), static_cast<void>(mainloop), static_cast<void>(epilogue);",
        ),
    },
    hints=(
        "Both roles go through the same pieces of work in the same order, each with a scheduler of its own. Every block has one "
        "piece at least.",
        "Each role is a do … while loop: one piece of work, and while (scheduler.next(work)). In a consumer's round, first "
        "multiply, then take. The consumers end with finish(); the producer has nothing to do after its last load.",
        "nearly the code:\n"
        "  do { mainloop.load(work); } while (scheduler.next(work));\n"
        "  typename P::Mainloop::Sums sums;\n"
        "  do { mainloop.template multiply<S::BOXES>(sums, work, [&](int box) { epilogue.leave(box); }); "
        "epilogue.take(sums, work); }\n"
        "  while (scheduler.next(work)); epilogue.finish();",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Each C tile loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, *_SMALL, _HALF),
            "bytes",
            "Call load() once for each piece of work.",
        ),
        Goal(
            "Where TMA may write C, no thread stores to it",
            _stored_by_threads,
            lambda counts: 0,
            "bytes",
            "The epilogue stores boxes by TMA, in leave() and in finish().",
        ),
    ),
)

HUNT = Hunt(
    task="the launch chooses between two kernels: one whose threads can reach C, and one that stores by TMA alone. One line "
    "chooses wrongly, and for C = A·B nobody would notice. Find it.",
    bug={"p.beta != 0.0f || !operands.boxes": "p.alpha != 1.0f || !operands.boxes"},
    hints=(
        "Which of the check's cases fail, and what are alpha and beta there?",
        "A TMA store overwrites C. For which scalars does a result depend on what C held before?",
        "If beta isn't 0, the old C has to be read before it is overwritten, and only the direct kernel does so. Alpha "
        "has nothing "
        "to do with C.",
    ),
    check_finds="beta_c_missing",
)


# The quiz


def stages_that_fit(q: Quiz) -> Question:
    rows, boxes = q.choose(((256, 4), (224, 4), (192, 4), (144, 3), (112, 2), (64, 1), (128, 2), (96, 2), (240, 5), (80, 2)))
    kib = q.choose((226, 160, 196))
    stage, out = (rows + _WIDE) * 128, 2 * 2 * (rows // boxes) * 128
    answer = (kib * 1024 - out) // stage
    return Question(
        f"A shape has C tiles of {rows}×{_WIDE} and k-tiles of {_DEPTH} steps, in BF16, and two consumers with two boxes of "
        f"{rows // boxes}×64 results each. How many stages fit into {kib} KiB with these boxes?",
        answer,
        "stages",
        f"A stage has ({rows} + {_WIDE})·{_DEPTH}·2 = {grouped(stage)} bytes, the boxes take {grouped(out)}. "
        f"({grouped(kib * 1024)} "
        f"− {grouped(out)}) / {grouped(stage)}, rounded down, is {answer}.",
    )


def blocks_of_a_launch(q: Quiz) -> Question:
    tiles, most = q.whole(140, 1800), q.choose((78, 100, 114, 132, 144))
    rounds = ceil_div(tiles, most)
    answer = ceil_div(tiles, rounds)
    return Question(
        f"There are {grouped(tiles)} C tiles, and a GPU with {most} SMs runs a block on each at the same time. A scheduler "
        "launches as few blocks as need no more rounds. How many are that?",
        answer,
        "blocks",
        f"⌈{grouped(tiles)}/{most}⌉ = {rounds} rounds, and ⌈{grouped(tiles)}/{rounds}⌉ = {answer}.",
    )


def place_in_the_ring(q: Quiz) -> Question:
    stages, steps, pieces = q.whole(3, 8), q.whole(5, 80), q.whole(1, 9)
    answer = steps * pieces % stages
    return Question(
        f"A ring has {stages} stages, and each piece of work {steps} k-tiles. A block begins with stage 0. In which stage is the "
        f"first k-tile of its piece of work number {pieces}, counted from 0?",
        answer,
        "",
        f"The ring goes on from one piece to the next: {pieces}·{steps} = {grouped(steps * pieces)}, mod {stages} is {answer}.",
    )


def arrivals_for_empty(q: Quiz) -> Question:
    consumers, stages, steps = q.whole(1, 4), q.whole(3, 8), q.whole(5, 80)
    answer = consumers * steps
    return Question(
        f"A block has consumers: {consumers}, and {stages} stages. A stage is empty when each consumer has given it back. How "
        f"many arrivals do the empty mbarriers of the block count for a C tile of {steps} k-tiles?",
        answer,
        "arrivals",
        f"Each consumer gives back a stage for each k-tile, however many stages there are: {consumers}·{steps} = {answer}.",
    )


def boxes_without_a_k_tile(q: Quiz) -> Question:
    boxes, k = q.whole(2, 5), q.whole(1, 320)
    steps = ceil_div(k, _DEPTH)
    answer = max(boxes - steps, 0)
    return Question(
        f"K = {k}, k-tiles have {_DEPTH} steps, and the results of a C tile leave in {boxes} boxes, one during each of "
        "the next C "
        "tile's first k-tiles. How many boxes find no k-tile to hide behind?",
        answer,
        "",
        f"There are ⌈{k}/{_DEPTH}⌉ = {steps} k-tiles, so {answer} of {boxes} boxes are left.",
    )


QUIZ = (stages_that_fit, blocks_of_a_launch, place_in_the_ring, arrivals_for_empty, boxes_without_a_k_tile)
