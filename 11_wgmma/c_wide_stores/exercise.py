"""What the exercise and the bug hunt of lesson 11c leave out, ask and tell."""

from runner.inspect.counts import Counts, Measured, barriers, bytes_loaded, bytes_of_tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, ceil_div, grouped

_BM, _BN, _K = 128, 256, 64  # kernel.cu's C tile and k-tile
_HALF = 2  # bytes of an element


def _stores(counts: Counts) -> Measured:
    """Requests of all warps that store to C, and the line with most of them."""
    lines = counts.lines(space="global", op="store", array="C")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


EXERCISE = Exercise(
    task="store 16 bytes of C at once: pack a thread's sums into words, let four lanes exchange them, and store what each lane "
    "holds then. The loads, the products and the choice between the two ways to store are given.",
    gaps={
        "exchange": Gap(
            "one step of transposing a 4×4 matrix whose row r is in `words` of the lane with lane % 4 == r. The lane's partner "
            "is the one whose number differs in bit `step`. The lane with the smaller number (`upper` is false) keeps words[i] "
            "and needs the partner's words[i] in place of its own words[i + step]. The other lane needs the reverse. What does "
            "each of them pass, and where does it put what it gets?"
        ),
        "pack": Gap(
            "words[i]: the lane's two sums in columns 2·e + 8·i to 2·e + 8·i + 7 of its row number y / 8, times alpha, as 32 "
            "bits. gemm::ptx::wgmma_sum() says which sums these are: four belong to each 8 columns, two in each of the lane's "
            "two rows. gemm::pack2<T>() rounds and packs them."
        ),
        "store": Gap(
            "the lane holds 8 neighbors of row `row` + y now, from column `col` of these 32 on. Store them at once, as a uint4, "
            "if they exist: rows from `rows` on don't, nor do columns from `right` on."
        ),
    },
    hints=(
        "Draw the 4×4 matrix for one group of 32 columns: four lanes, and four words in each. Word i of lane l belongs to "
        "columns 8·i + 2·l and 8·i + 2·l + 1. Afterwards word j of lane l should belong to columns 8·l + 2·j and 8·l + 2·j + "
        "1. That is the transposed matrix. It takes two steps: within the 2×2 squares, then whole squares.",
        "In exchange: both lanes of a pair execute the same __shfl_xor_sync. The one with the smaller number passes "
        "words[i + step] and puts there what it gets; the other one passes words[i] and puts there what it gets. In pack: the "
        "sums of 8 columns are acc[e + 4·i] to acc[e + 4·i + 3]; the first two are in the lane's first row, the others in the "
        "row 8 further down. In store: 2·e is the first of the 32 columns, and lane l of the four has the 8 from 2·e + 8·l on; "
        "col is 8·l.",
        "nearly the code, in the gaps' order:\n"
        "  mine = upper ? words[i] : words[i + step]; other = __shfl_xor_sync(0xffffffffu, mine, step);\n"
        "  words[upper ? i : i + step] = other, with if and else, so that the array stays in registers;\n"
        "  sums = &acc[e + 4 * i + y / 4]; words[i] = gemm::pack2<T>(alpha * sums[0], alpha * sums[1]);\n"
        "  if (row + y < rows && col + 2 * e < right): the uint4 at c + (row + y) * ldc + col + 2 * e = make_uint4(…);",
    ),
    starter_fails="never_written",
    goals=(
        Goal(
            "Each block loads its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "load(n) is given. Have you changed it?",
        ),
        Goal(
            "Threads store C eight elements at a time",
            _stores,
            lambda counts: counts.shape[0] * counts.shape[1] / (8 * WARP),
            "stores of a warp",
            "A lane stores 16 bytes, as one uint4: 8 elements of a row. Four lanes have 32 columns of it.",
        ),
        Goal(
            "A thread meets one barrier per k-tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The lanes of a warp exchange their words by shuffles, which need no barrier of the block.",
        ),
    ),
)

HUNT = Hunt(
    task="one guard of this kernel is wrong, and yet every element of C is right, on a GPU, too, and for every M. For which M "
    "does the kernel do harm, and to whom? Find the guard, and fix it.",
    bug={
        "            if (row + y < rows && col + 2 * e < right) {\n": "            if (row < rows && col + 2 * e < right) {\n",
    },
    hints=(
        "The exchange is right, and so are the choice between the two ways to store and the columns. With M = 128 nothing goes "
        "wrong. Try M = 121.",
        "A lane has two rows, one 8 further down than the other, and stores to each of them. What does it have to know before it "
        "does so?",
        "With M = 121, row 113 exists and row 121 doesn't. The lane that has both checks only the first one, and then stores to "
        "both. The memory after the last row of C belongs to somebody else.",
    ),
    check_finds="past_the_edge",
)


# The quiz


def sectors_of_stores(q: Quiz) -> Question:
    width, cols = q.choose((4, 8, 16)), 64 * q.whole(1, 4)
    stores = 4 * 2 * cols * _HALF // (4 * width)
    touched = 8 * max(1, 4 * width // 32)
    answer = stores * touched
    return Question(
        f"A warpgroup writes 64×{cols} results of two bytes, each warp 16 rows. A store goes to 8 rows: in each, four lanes "
        f"write {width} bytes each, side by side, from a multiple of {4 * width} bytes on. How many sectors of 32 bytes do "
        "the stores touch, each store counted separately?",
        answer,
        "sectors",
        f"Four lanes write {4 * width} bytes of a row, {touched // 8 if width > 4 else 'half a'} sector"
        f"{'s' if touched > 8 else ''}: a store touches {touched}. There are 4·16·{cols}·2/(32·{width}) = {stores} stores: "
        f"{stores}·{touched} = {grouped(answer)}.",
    )


def stores_of_a_tile(q: Quiz) -> Question:
    BM, BN, width = 64 * q.whole(1, 4), 64 * q.whole(1, 4), q.choose((4, 8, 16))
    answer = BM * BN * _HALF // (WARP * width)
    return Question(
        f"A C tile has {BM}×{BN} elements of two bytes, and a lane stores {width} bytes at once. How many stores of a warp write "
        "the tile?",
        answer,
        "stores",
        f"A store of a warp has 32·{width} = {WARP * width} bytes: 2·{BM}·{BN}/{WARP * width} = {grouped(answer)}.",
    )


def who_stores_an_element(q: Quiz) -> Question:
    row, col = q.whole(0, 63), q.whole(0, _BN - 1)
    answer = row // 16 * WARP + row % 8 * 4 + col // 8 % 4
    return Question(
        f"A warpgroup's 64 rows leave by this lesson's wide stores. Which of its threads, 0 to 127, stores the element in row "
        f"{row} and column {col}?",
        answer,
        "",
        f"Warp {row}/16, rounded down, = {row // 16} has the row. Its four lanes from 4·({row} mod 8) = {row % 8 * 4} on have 8 "
        f"columns each of every 32: {col}/8 = {col // 8}, rounded down, and {col // 8} mod 4 = {col // 8 % 4}. "
        f"{WARP}·{row // 16} + {row % 8 * 4} + {col // 8 % 4} = {answer}.",
    )


def shuffles_of_a_thread(q: Quiz) -> Question:
    cols = 32 * q.whole(1, 8)
    answer = cols // 32 * 2 * 4
    return Question(
        f"A warpgroup's sums have {cols} columns. Transposing four words of four lanes takes two steps, with two shuffles in "
        "each. How many shuffles does a thread execute for all of its sums?",
        answer,
        "shuffles",
        f"There are {cols}/32 = {cols // 32} group{'s' if cols > 32 else ''} of 32 columns, in two rows each, and each takes "
        f"2·2 = 4 shuffles: {cols // 32}·2·4 = {answer}.",
    )


def word_after_the_exchange(q: Quiz) -> Question:
    group, lane, word = q.whole(0, 7), q.whole(0, 3), q.whole(0, 3)
    answer = 32 * group + 8 * lane + 2 * word
    return Question(
        f"The lanes have transposed the words of columns {32 * group} to {32 * group + 31}. Of the four lanes of a row, take "
        f"lane {lane}. Which column does the first element in its words[{word}] belong to?",
        answer,
        "",
        f"Lane {lane} has 8 neighbors, from {32 * group} + 8·{lane} = {32 * group + 8 * lane} on, two in a word: "
        f"{32 * group + 8 * lane} + 2·{word} = {answer}.",
    )


QUIZ = (
    sectors_of_stores,
    stores_of_a_tile,
    who_stores_an_element,
    shuffles_of_a_thread,
    word_after_the_exchange,
)
