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
    task="write the two operations that make all layouts of this kernel: composition and complement. The compiler computes "
    "them, and every access of the kernel follows from them.",
    gaps={
        "composition": Gap(
            "append to `out` the leaves of A(b(i)), b = extent:step. The index i·step has a digit for each leaf of A, the "
            "left-most the fastest: digit j counts to a.shape.value[j], and each of its steps is a.stride.value[j] long. Which "
            "digits does b leave at 0, because its step passes them? How many values of the next digit does it use, and how much "
            "of its extent is left for the digits after that? leaf(extent, stride) is one leaf. (The line below is right where A "
            "is an identity, such as (4,8):(1,4).)",
            "append(out, leaf(extent, step));",
        ),
        "complement": Gap(
            "append to `rest` the leaves by which copies of b fill 0 … limit - 1. b's leaf i has b.shape.value[i] places, "
            "b.stride.value[i] apart. The first `covered` places are full. Where the next leaf's step is longer than that, "
            "copies of what is covered fill what is between: how many, and how far apart? What is covered after the leaf? And "
            "which copies fill the places from the end of the last leaf to the limit? (The line below is right where b is one "
            "leaf with stride 1.)",
            "append(rest, leaf(limit / size(b), covered * size(b)));",
        ),
    },
    hints=(
        "Take paper and A = (4,8):(8,1). An index has two digits, index mod 4 and index / 4. Write down A(b(i)) for b = 4:1, "
        "4:4, 8:2 and 2:8. Which of A's strides do you see, and times what? For the complement, draw the places 0 … 23 and mark "
        "those of b = 4:2. Which copies of them fill the rest?",
        "composition: for each digit of A, one of two things happens. Where the step is at least the digit's extent, the digit "
        "stays 0, and the step in the next digit is step / extent. Otherwise b takes extent / step values of the digit, but no "
        "more than it has left, with stride step·stride, and goes on in the next digit with step 1. complement: before each of "
        "b's leaves comes a leaf of stride/covered copies, `covered` apart, and then extent·stride places are covered. At the "
        "end come limit/covered copies.",
        "nearly the code, in the gaps' order:\n"
        "  for each i: digit = a.shape.value[i]; if (step >= digit) step /= digit; else if (extent > 1)\n"
        "    { used = min(digit / step, extent); append(out, leaf(used, step * a.stride.value[i])); extent /= used; step = 1; }\n"
        "  for each i: append(rest, leaf(b.stride.value[i] / covered, covered));\n"
        "    covered = b.shape.value[i] * b.stride.value[i];\n"
        "  after the loop: append(rest, leaf(limit / covered, covered));",
    ),
    starter_fails="kernel_threw",
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
            "InAs and InBs swizzle each offset. Which offsets do the layouts under them give?",
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
    task="every result of this kernel is right, but its loads from A touch twice the sectors that they should. One line is "
    "wrong: find it and fix it.",
    bug={"A_EIGHTS(tuple(THREADS, A_TIMES), tuple(8, 8 * THREADS))": "A_EIGHTS(tuple(THREADS, A_TIMES), tuple(8 * A_TIMES, 8))"},
    hints=(
        "./gemm check 20 --hunt names the line that loads. Its addresses come from A_ROW and A_STEP, and these from A_COPY. "
        "Which rows and steps do threads 0, 1, 2 and 3 have?",
        "A_COPY composes the k-tile, counted along its rows, with A_EIGHTS: (thread, i) to the element where the eight neighbors "
        "begin. How far apart are those of threads 0 and 1, and how far should they be, so that a warp reads whole sectors?",
        "Threads that follow each other must take eights that follow each other: a step of 8 from thread to thread, and of "
        "8 * THREADS from one of a thread's turns to the next.",
    ),
    check_finds="goal 1",
)


# The quiz. tests/python/test_layout.py holds its answers against layout.hpp.


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
    answer = offset([rows, cols], [pitch, 1], index)
    return Question(
        f"A = {written([rows, cols], [pitch, 1])}. Which offset is A({index})?",
        answer,
        "",
        f"The left-most mode counts fastest: {index} = {row} + {rows}·{col}, which is row {row}, column {col}. "
        f"{row}·{pitch} + {col}·1 = {grouped(answer)}.",
    )


def offset_of_a_composition(q: Quiz) -> Question:
    rows, cols = q.choose([4, 8]), q.choose([16, 32])
    step, extent = rows // 2, q.choose([8, 16])
    index = q.whole(3, extent - 1)
    row, col = step * index % rows, step * index // rows
    answer = offset([rows, cols], [cols, 1], step * index)
    return Question(
        f"A = {written([rows, cols], [cols, 1])}, B = {extent}:{step}, and R is the composition of A and B. Which offset is "
        f"R({index})?",
        answer,
        "",
        f"R({index}) = A(B({index})) = A({step * index}), and {step * index} is row {row}, column {col}: {row}·{cols} + {col} = "
        f"{grouped(answer)}. As a layout, R = {written([2, extent // 2], [step * cols, 1])}: B uses two of the {rows} rows and "
        "goes on in the next column.",
    )


def largest_offset_of_a_complement(q: Quiz) -> Question:
    extent, step, copies = q.choose([2, 4, 8]), q.choose([2, 4, 8]), q.whole(2, 9)
    end = extent * step
    answer = step - 1 + (copies - 1) * end
    return Question(
        f"B = {extent}:{step}. Which is the largest offset of the complement of B in {end * copies}?",
        answer,
        "",
        f"B's {extent} places are {step} apart, so {step} copies, 1 apart, fill {end} places. {end * copies} has {copies} times "
        f"as many. The complement is {written([step, copies], [1, end])}, and its largest offset is {step - 1}·1 + {copies - 1}·"
        f"{end} = {grouped(answer)}.",
    )


def stride_between_tiles(q: Quiz) -> Question:
    tall, wide = q.choose([2, 4, 8]), q.choose([2, 4, 8])
    rows, cols = tall * q.whole(2, 6), wide * q.whole(2, 6)
    pitch = cols + q.choose([0, 8])
    answer = tall * pitch
    return Question(
        f"A = {written([rows, cols], [pitch, 1])} is divided into tiles: zipped_divide with the tiler ({tall},{wide}). How many "
        "elements after a tile does the tile below it begin?",
        answer,
        "elements",
        f"The rows, {rows}:{pitch}, become {tall}:{pitch} in a tile and {rows // tall}:{answer} from tile to tile: {tall} rows "
        f"of {pitch} elements, {grouped(answer)}.",
    )


def place_of_a_swizzled_byte(q: Quiz) -> Question:
    bits = q.whole(1, 3)
    line, byte = q.whole(1, 7), q.whole(0, 127)
    place = 128 * line + byte
    answer = swizzle(bits, 4, 3, place)
    source, chunk = line & (1 << bits) - 1, byte // 16
    lowest = "The lowest bit" if bits == 1 else f"The lowest {bits} bits"
    return Question(
        f"Shared memory is swizzled in the mode of {16 << bits} bytes, Swizzle<{bits},4,3> of offsets in bytes. To which offset "
        f"does offset {place} go?",
        answer,
        "",
        f"{place} = 128·{line} + {byte}, which is line {line}, chunk {chunk} of 16 bytes. {lowest} of the line, {source}, "
        f"{'is' if bits == 1 else 'are'} XORed into the chunk: {chunk} ^ {source} = {chunk ^ source}. 128·{line} + "
        f"16·{chunk ^ source} + {byte % 16} = {grouped(answer)}.",
    )


QUIZ = (
    offset_of_an_index,
    offset_of_a_composition,
    largest_offset_of_a_complement,
    stride_between_tiles,
    place_of_a_swizzled_byte,
)
