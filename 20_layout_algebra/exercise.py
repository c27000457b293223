"""What the exercise and the bug hunt of lesson 20 leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, bank_conflicts, barriers, shared_reads
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _BK = 128, 128, 32  # kernel.cu's
_WM, _WN, _MMA_K = 64, 64, 16


def _tiles(counts: Counts) -> tuple[int, int]:
    """C tiles, k-tiles."""
    M, N, K = counts.shape
    return ceil_div(M, _BM) * ceil_div(N, _BN), ceil_div(K, _BK)


def _ldmatrix(counts: Counts) -> float:
    """Per k-step of a warp, a 16×16 tile each time: WM/16 of A and WN/16 of B."""
    blocks, along_k = _tiles(counts)
    return blocks * (_BM // _WM) * (_BN // _WN) * along_k * (_BK // _MMA_K) * (_WM // 16 + _WN // 16)


def _sectors_of_eights(counts: Counts) -> Measured:
    """Sectors a request of the worst line that loads eight elements, 16 bytes, a thread."""
    lines = [line for line in counts.lines("global", "load") if line["width"] == 16 and line["requests"]]
    return max(((line["sectors"] / line["requests"], line) for line in lines), key=lambda pair: pair[0], default=(0.0, None))


EXERCISE = Exercise(
    task="write the two operations from which all layouts of this kernel are made: composition and complement. Layouts of "
    "constants are computed while the kernel is compiled; every access of the kernel follows from them.",
    gaps={
        "composition": Gap(
            "append to `out` the leaves of A(b(i)), b = extent:step. The index i·step has a digit for each leaf of A, the "
            "left-most the fastest: leaf i counts up to a.shape.value[i], and moves by a.stride.value[i]. Which digits does b "
            "leave at 0 because its step passes them? How many values of the next digit does it use, and what is left of its "
            "extent for the digits after that? leaf(extent, stride) is one leaf. (The line below forgets A.)",
            "append(out, leaf(extent, step));",
        ),
        "complement": Gap(
            "append to `rest` the leaves that b leaves out of 0 … limit - 1. b's leaf i covers b.shape.value[i] places, "
            "b.stride.value[i] apart. Where `covered` places from 0 on are full and the next leaf begins to step further on, "
            "something is free, and copies of what is covered fill it; so they do from the end of the last leaf to the limit. "
            "(The line below fills nothing.)",
            "append(rest, leaf(limit / limit, covered));",
        ),
    },
    hints=(
        "Take paper, and A = (4,8):(8,1): an index has two digits, index mod 4 and index / 4. Write down A(b(i)) for b = 4:1, "
        "4:4, 8:2 and 2:8. Which of A's strides do you see, multiplied by what? For the complement, draw the places 0 … 23, and "
        "mark those of 4:2. Which copies of them fill the rest?",
        "composition: for each digit of A, either the step is at least the digit's extent, and then the step divided by that "
        "extent is the step in the next digit; or b takes extent/step values of it, but no more than it has left, with stride "
        "step·stride, and goes on in the next digit with a step of 1. complement: a leaf stride/covered:covered before each of "
        "b's leaves, after which extent·stride is covered; at the end limit/covered:covered.",
        "nearly the code, in the gaps' order:\n"
        "  for each i: digit = a.shape.value[i]; if (step >= digit) step /= digit; else if (extent > 1)\n"
        "    { used = min(digit / step, extent); append(out, leaf(used, step * a.stride.value[i])); extent /= used; step = 1; }\n"
        "  for each i: append(rest, leaf(b.stride.value[i] / covered, covered)), covered = b.shape.value[i] * b.stride.value[i];\n"
        "  after the loop: append(rest, leaf(limit / covered, covered));",
    ),
    starter_fails="misaligned_access",
    goals=(
        Goal(
            "A warp loads eight elements a lane from at most 16 sectors",
            _sectors_of_eights,
            lambda counts: 16,
            "sectors per request",
            "32 lanes load 512 bytes, 16 sectors, where lanes that follow each other load what follows in a row. Which mode of "
            "A_COPY's left side counts fastest, and does it run along a row?",
            reached="{value}",
            missed="it takes {value}",
        ),
        Goal(
            "A warp reads the fragments of a k-step with 8 ldmatrix",
            shared_reads,
            _ldmatrix,
            "reads of shared memory",
            "Four for the 64 rows of A, four for the 64 columns of B.",
        ),
        Goal(
            "Shared memory takes no more wavefronts than the bytes need",
            bank_conflicts,
            lambda counts: 0,
            "wavefronts beyond the ideal",
            "InAs and InBs swizzle each offset; what do the layouts under them say?",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: _tiles(counts)[1] + 1,
            "barriers",
            "The loop over k-tiles is given, and needs no other barrier.",
        ),
    ),
)

HUNT = Hunt(
    task="every result of this kernel is right, but its loads from A touch twice the sectors that they should. One line is wrong: "
    "find it and fix it.",
    bug={"compose(make_layout(mode(A_EIGHTS, 1), mode(A_EIGHTS, 0))": "compose(make_layout(mode(A_EIGHTS, 0), mode(A_EIGHTS, 1))"},
    hints=(
        "./gemm check 20 --hunt names the line that loads. Its addresses come from A_ROW and A_STEP, and these from A_COPY. What "
        "are the rows and steps of threads 0, 1, 2 and 3?",
        "A_EIGHTS is (rows, eights of a row). A_COPY composes a layout of all eights of the k-tile with (128,4):(1,128): thread t "
        "takes number t, then t + 128 … In which order does the left side count the eights?",
        "The left-most mode is the fastest. It must be the one along the row, mode 1 of A_EIGHTS.",
    ),
    check_finds="goal 1",
)


# The quiz. What these functions say of layouts, tests/python/test_layout.py holds against layout.hpp.


def offset(shape: list[int], stride: list[int], index: int) -> int:
    """Of an index in a flat layout: its digits, the left-most the fastest, times the strides."""
    total = 0
    for place, (extent, step) in enumerate(zip(shape, stride, strict=True)):
        digit = index if place == len(shape) - 1 else index % extent
        total, index = total + digit * step, index // extent
    return total


def swizzle(bits: int, base: int, shift: int, place: int) -> int:
    """Swizzle<bits, base, shift> of an offset."""
    return place ^ (place >> shift & ((1 << bits) - 1) << base)


def written(shape: list[int], stride: list[int]) -> str:
    """(4,8):(8,1)."""
    return f"({','.join(map(str, shape))}):({','.join(map(str, stride))})"


def offset_of_an_index(q: Quiz) -> Question:
    rows, cols = q.choose([4, 8, 16]), q.choose([6, 10, 12, 20])
    pitch, index = cols + q.whole(1, 9), q.whole(rows + 1, rows * cols - 1)
    row, col = index % rows, index // rows
    return Question(
        f"A = {written([rows, cols], [pitch, 1])}. Which offset is A({index})?",
        offset([rows, cols], [pitch, 1], index),
        "",
        f"The left-most mode counts fastest: {index} = {row} + {rows}·{col}, so row {row}, column {col}. "
        f"{row}·{pitch} + {col}·1 = {grouped(row * pitch + col)}.",
    )


def offset_of_a_composition(q: Quiz) -> Question:
    rows, cols = q.choose([4, 8]), q.choose([16, 32])
    step, extent = rows // 2, q.choose([8, 16])
    index = q.whole(3, extent - 1)
    answer = offset([rows, cols], [cols, 1], step * index)
    return Question(
        f"A = {written([rows, cols], [cols, 1])}, B = {extent}:{step}, and R is the composition of A and B. Which offset is R({index})?",
        answer,
        "",
        f"R({index}) = A(B({index})) = A({step * index}). {step * index} is row {step * index % rows}, column {step * index // rows}: "
        f"{step * index % rows}·{cols} + {step * index // rows} = {grouped(answer)}. As a layout, R = "
        f"{written([2, extent // 2], [step * cols, 1])}: B uses two of the {rows} rows, then goes on in the next column.",
    )


def size_of_a_complement(q: Quiz) -> Question:
    extent, step, copies = q.choose([2, 4, 8]), q.choose([2, 4, 8]), q.whole(2, 9)
    limit = extent * step * copies
    answer = step - 1 + (copies - 1) * extent * step
    return Question(
        f"B = {extent}:{step}. Which is the largest offset of the complement of B in {limit}?",
        answer,
        "",
        f"B's {extent} places are {step} apart, so {step} copies, 1 apart, fill {extent * step} places. {limit} has {copies} times as "
        f"many. The complement is ({step},{copies}):(1,{extent * step}), and its largest offset is {step - 1} + {copies - 1}·"
        f"{extent * step} = {grouped(answer)}.",
    )


def stride_between_tiles(q: Quiz) -> Question:
    tall, wide = q.choose([2, 4, 8]), q.choose([2, 4, 8])
    rows, cols = tall * q.whole(2, 6), wide * q.whole(2, 6)
    pitch = cols + q.choose([0, 8])
    return Question(
        f"A = {written([rows, cols], [pitch, 1])} is divided into tiles by zipped_divide with the tiler ({tall},{wide}). How far, in "
        "elements, does a tile begin from the tile above it?",
        tall * pitch,
        "elements",
        f"The rows, {rows}:{pitch}, become {tall}:{pitch} in a tile and {rows // tall}:{tall * pitch} from tile to tile: {tall} rows "
        f"of {pitch} elements, {grouped(tall * pitch)}.",
    )


def place_of_a_swizzled_byte(q: Quiz) -> Question:
    bits = q.whole(1, 3)
    row, byte = q.whole(1, 7), q.whole(0, 127)
    place = 128 * row + byte
    answer = swizzle(bits, 4, 3, place)
    source = row & (1 << bits) - 1
    chunk = byte // 16
    return Question(
        f"Shared memory is swizzled in the mode of {16 << bits} bytes, Swizzle<{bits},4,3> of offsets in bytes. To which offset does "
        f"offset {place} go?",
        answer,
        "",
        f"{place} = 128·{row} + {byte}: line {row}, chunk {chunk} of 16 bytes. The lowest {bits} bit{'s' if bits > 1 else ''} of the "
        f"line, {source}, are XORed into those of the chunk: {chunk} ^ {source} = {chunk ^ source}. 128·{row} + 16·{chunk ^ source} + "
        f"{byte % 16} = {grouped(answer)}.",
    )


QUIZ = (
    offset_of_an_index,
    offset_of_a_composition,
    size_of_a_complement,
    stride_between_tiles,
    place_of_a_swizzled_byte,
)
