"""What the exercise and the bug hunt of lesson 09c leave out, ask and tell."""

from runner.inspect.counts import Counts, barriers, bytes_loaded, bytes_of_tiles, shared_load_wavefronts, shared_reads, tiles
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import Question, Quiz, ceil_div, grouped

_BM, _BN, _K, _WARPS = 256, 128, 32, 8  # kernel.cu's block tile, and the warps of a block
_WM, _WN = 64, 64
_STAGES, _MMA_K = 4, 16
_HALF = 2  # bytes of an element


def _ldmatrix(counts: Counts) -> float:
    """8 in each step of a warp: 16 rows of A, or 16 columns of B, each."""
    steps = ceil_div(counts.shape[2], _K) * _K // _MMA_K
    return tiles(counts, _BM, _BN) * _WARPS * steps * (_WM + _WN) // 16


EXERCISE = Exercise(
    task="keep STAGES tiles of A and of B in shared memory, copied ahead by cp.async as in lesson 08, and read the fragments of "
    "B a step ahead of the products. The copies themselves and the fragments of A are there.",
    gaps={
        "read_b": Gap(
            "fill to.b, 16 columns at a time, from the stage's rows step * MMA_K, … of Bs. b[j] is where this lane's row begins "
            "for step 0 in stage 0. Zeros are no fragments.",
            "for (auto& two : to.b) two[0][0] = two[0][1] = two[1][0] = two[1][1] = 0;",
        ),
        "first": Gap(
            "start copying the tiles after the first one, so that STAGES - 1 of them are on their way. Of which may some be "
            "missing? How many groups may be under way when the first tile is used, and who else has copied parts of it?"
        ),
        "arrived": Gap(
            "the fragments of the next step come from the next tile. Make sure that it is there, for all threads, and go on to "
            "its stage: LAST is the last one, STAGE the distance of two. What else does the barrier here allow?"
        ),
        "ahead": Gap(
            "copy the tiles for the stage `ahead`, if there are any (copying.value), and close their group. What would the wait "
            "above count if some rounds had no group?"
        ),
    },
    hints=(
        "The ring is lesson 08's, and its picture shows it: tile number n lies in stage n % STAGES, and its copies are group "
        "number n of each thread. Of the groups that a thread has committed, which one must be complete when a tile is used? For "
        "the fragments: how many rows of Bs is a step further down, and how many bytes has a row?",
        "In read_b: TILES_N / 2 times ldmatrix_trans; a step is MMA_K rows of BN elements of two bytes further down, and j has "
        "its own address. In first: tiles 1 … STAGES - 2, tile s to offset s * STAGE, only if s < tiles, and a commit after each "
        "in any case; then a wait for all but the newest STAGES - 2 groups, and a barrier. In arrived: the same wait, the same "
        "barrier, and the next stage, which is 0 behind LAST. In ahead: the commit stands outside of the `if`.",
        "nearly the code, in the gaps' order:\n"
        "  ldmatrix_trans(to.b[j], b[j] + stage + 2 * step * MMA_K * BN);\n"
        "  for (int s = 1; s < STAGES - 1; ++s) { if (s < tiles) copy(s * STAGE, BK); and a commit }\n"
        "  cp_async_wait<STAGES - 2>(); and a barrier, here and in the last step;\n"
        "  stage = stage == LAST ? 0 : stage + STAGE;\n"
        "  if (copying.value) copy(ahead, BK); and a commit.",
    ),
    starter_fails="A cp.async copy is used before anyone has waited for it.",
    goals=(
        Goal(
            "Each block copies its elements of A and B once from global memory",
            bytes_loaded,
            lambda counts: bytes_of_tiles(counts, _BM, _BN, _HALF),
            "bytes",
            "Each tile is copied by one call of copy(…): the first STAGES - 1 before the loop, the others in it.",
        ),
        Goal(
            "A warp's step of 16 along K reads its fragments in 8 ldmatrix",
            shared_reads,
            _ldmatrix,
            "reads of shared memory",
            "Four for the 64 rows of A, four for the 64 columns of B. Each step's fragments are read once, a step ahead.",
        ),
        Goal(
            "Fragments are read from shared memory without bank conflicts",
            shared_load_wavefronts,
            lambda counts: 4 * _ldmatrix(counts),
            "wavefronts",
            "Lanes 8·i … 8·i + 7 of an ldmatrix name eight rows, whose swizzled places lie in different banks.",
        ),
        Goal(
            "A thread meets one barrier a tile, and one before the first",
            barriers,
            lambda counts: ceil_div(counts.shape[2], _K) + 1,
            "barriers",
            "The barrier after the wait does both: the next tile is there, and the stage that is filled next is no longer read.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is nearly always right on a GPU. Find the line, and mend it.",
    bug={
        "    for (; tiles > STAGES - 1; --tiles) use_tiles(std::true_type());": (
            "    for (; tiles > STAGES - 2; --tiles) use_tiles(std::true_type());"
        ),
    },
    hints=(
        "Waits, barriers and the swizzle are right, and every sum is. Something is done that no sum needs: count what is copied, "
        "tile by tile, with 6 tiles and STAGES = 4.",
        "Before the loop STAGES - 1 tiles are on their way, and each round copies the tile that lies STAGES - 1 ahead. Which "
        "rounds have no such tile, and where would it lie?",
        "With `tiles` still to be used, this one among them, the tile that lies STAGES - 1 ahead exists if tiles is above STAGES "
        "- 1. Look at the two loops that call use_tiles.",
    ),
    check_says="behind the last one along K",
)


# The quiz


def wavefronts_a_multiplication(q: Quiz) -> Question:
    WM, WN = q.choose((16, 32, 48, 64, 96, 128)), q.choose((16, 32, 64, 80, 96, 128))
    loads, mmas = WM // 16 + WN // 16, WM // 16 * (WN // 8)
    return Question(
        f"A warp tile of {WM}×{WN}, fragments by ldmatrix.x4 (16×16 elements of two bytes, without bank conflicts), mma.sync of "
        "m16n8k16. How many wavefronts of shared memory does a warp need for each mma.sync?",
        4 * loads / mmas,
        "wavefronts",
        f"An ldmatrix.x4 brings 512 bytes, 4 wavefronts of 128. A step along K takes {WM}/16 + {WN}/16 = {loads} of them, and "
        f"{WM}/16·{WN}/8 = {mmas} mma.sync: 4·{loads}/{mmas} = {4 * loads / mmas:.4g}. With 64×64 it is 32/32 = 1.",
        tolerance=0.005,
    )


def flop_a_byte(q: Quiz) -> Question:
    BM, BN = q.choose((64, 96, 128, 192, 256)), q.choose((64, 96, 128, 192, 256))
    answer = BM * BN / (BM + BN)
    return Question(
        f"A block tile of {BM}×{BN}, elements of two bytes. How many FLOP does a block do for each byte of A and B that it "
        "copies?",
        answer,
        "FLOP/B",
        f"A step along K is {BM}·{BN} multiply-adds, 2·{BM}·{BN} FLOP, and takes {BM} elements of A and {BN} of B, "
        f"2·({BM} + {BN}) bytes: {BM}·{BN}/({BM} + {BN}) = {answer:.4g}.",
        tolerance=0.005,
    )


def stages_that_fit(q: Quiz) -> Question:
    BM, BN = q.choose((64, 128, 256)), q.choose((64, 128, 256))
    BK = q.choose((32, 64))
    name, kib = q.choose((("8.0", 163), ("8.6", 99), ("9.0", 227)))
    stage = _HALF * BK * (BM + BN)
    answer = 1024 * kib // stage
    return Question(
        f"BM = {BM}, BN = {BN}, BK = {BK}, elements of two bytes. On compute capability {name} a block may have {kib} KiB of "
        "shared memory. How many stages of As and Bs fit?",
        answer,
        "",
        f"A stage: 2·{BK}·({BM} + {BN}) = {grouped(stage)} bytes. {kib} KiB are {grouped(1024 * kib)}, and "
        f"{grouped(1024 * kib)}/{grouped(stage)} = {1024 * kib / stage:.4g}, rounded down.",
    )


def where_an_eight_lies(q: Quiz) -> Question:
    row, k = q.whole(2, _BM - 1), 8 * q.whole(0, 3)
    plain = _HALF * (row * _K + k)
    moved = row // 2 % 4
    answer = plain ^ moved << 4
    return Question(
        "As has rows of BK = 32 elements of two bytes, and a_at is Swizzle<2, 4, 3>: bits 7 and 8 of the offset are XORed into "
        f"its bits 4 and 5. At how many bytes from the beginning of As does element (row {row}, k = {k}) lie?",
        answer,
        "bytes",
        f"Without the swizzle: 2·({row}·32 + {k}) = {grouped(plain)}. A row is 64 bytes, so bits 7 and 8 are row/2 mod 4 = "
        f"{moved}. Bits 4 and 5 are number {k}/8 = {k // 8} of the eights of the row: {k // 8} ^ {moved} = {k // 8 ^ moved}. So "
        f"it is {row}·64 + {k // 8 ^ moved}·16 = {grouped(answer)}.",
    )


def clocks_a_copy_has(q: Quiz) -> Question:
    stages, BK, clocks = q.whole(3, 6), q.choose((16, 32, 64)), q.choose((4, 6))
    multiply = BK // _MMA_K * (_WM // 16) * (_WN // 8)
    tile = 2 * multiply * clocks
    answer = (stages - 1) * tile
    return Question(
        f"Two warps share a scheduler, each with a warp tile of 64×64, and an mma.sync keeps the tensor core busy for {clocks} "
        f"clocks. BK = {BK}, STAGES = {stages}, and nothing else takes time. How many clocks pass from the copy of a tile to its "
        "first use?",
        answer,
        "clocks",
        f"A warp multiplies a tile by {BK}/16·4·8 = {multiply} mma.sync, two warps by {2 * multiply}: {2 * multiply}·{clocks} = "
        f"{grouped(tile)} clocks. A tile is copied STAGES - 1 = {stages - 1} tiles ahead: {stages - 1}·{grouped(tile)} = "
        f"{grouped(answer)}.",
    )


QUIZ = (flop_a_byte, wavefronts_a_multiplication, stages_that_fit, where_an_eight_lies, clocks_a_copy_has)
