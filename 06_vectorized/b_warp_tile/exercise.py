"""What the exercise and the bug hunt of lesson 06b leave out, ask and tell."""

from collections.abc import Sequence

from runner.inspect.counts import Counts, narrow_requests, shared_load_wavefronts
from runner.learn.exercise import Exercise, Gap, Goal, Hunt
from runner.learn.quiz import WARP, Question, Quiz, grouped, wavefronts

_BM, _BN, _WM, _WN, _TM, _TN = 128, 128, 64, 32, 8, 8  # kernel.cu's
_LANES_M, _LANES_N, _WARPS_N = _WM // _TM, _WN // _TN, _BN // _WN


def _read_wavefronts(counts: Counts) -> float:
    """A warp, per step along K: 2 requests to As and 2 to Bs, of 2 wavefronts each."""
    M, N, K = counts.shape
    return 8 * M * N * K / (_WM * _WN)


EXERCISE = Exercise(
    task="give each warp a tile of C, and its lanes places in it at which they share what they read.",
    gaps={
        "lanes": Gap(
            "lane_m from 0 to LANES_M - 1 and lane_n from 0 to LANES_N - 1 say where a lane is in its warp's tile. This order "
            "is right. Which lanes read the same 16 bytes of As, and which the same of Bs? See the goal for reads.",
            "const int lane_m = lane / LANES_N, lane_n = lane % LANES_N;",
        ),
        "place": Gap(
            "y and x are the row and the column of the C tile at which the thread's first group of 4×4 begins. A row of the C "
            "tile has WARPS_N warp tiles; these lines are right for warp 0.",
            "const int y = lane_m * 4, x = lane_n * 4;",
        ),
        "multiply": Gap(
            "add the products of this k-tile's BK steps to acc: in each step TM values of As and TN of Bs, read four at a "
            "time, from where the comment at y and x says."
        ),
    },
    hints=(
        "Warps first, then lanes. Warp 5 has the tile at row 1 and column 1 of a grid of tiles with WARPS_N = 4 columns. In it, "
        "neighboring lanes are 4 elements apart. How far apart are a lane's own groups? And which lanes must read the same "
        "address so that half a warp is served at once?",
        "warp / WARPS_N and warp % WARPS_N are the tile's place, WM and WN its size. A lane's second group comes after the "
        "first groups of all lanes: 4 * LANES_M rows, 4 * LANES_N columns further. For the lanes: all that differ in bit 0 "
        "alone, or all that differ in bit 1 alone, must read the same. So one of lane_m and lane_n must not depend on bit 0, "
        "and the other not on bit 1.",
        "nearly the code, in the gaps' order:\n"
        "  lane_m = lane % 2 + lane / 4 % (LANES_M / 2) * 2, lane_n = lane / 2 % 2 + lane / (2 * LANES_M) * 2;\n"
        "  y = warp / WARPS_N * WM + lane_m * 4, x = warp % WARPS_N * WN + lane_n * 4;\n"
        "  for each k: a_frag[i … i + 3] from As[k][y + i * LANES_M] as a float4, b_frag[j … j + 3] from\n"
        "  Bs[k][x + j * LANES_N], then acc[i][j] += a_frag[i] * b_frag[j].",
    ),
    starter_fails="with_one_tile",
    goals=(
        Goal(
            "Every access to A, B and C is 16 bytes wide",
            narrow_requests,
            lambda counts: 0,
            "requests of fewer bytes per thread",
            "On this shape every row begins at a multiple of 16 bytes, so ALIGNED is true. Is load4 still lesson 06a's?",
        ),
        Goal(
            "A warp reads shared memory in 8 wavefronts per step",
            shared_load_wavefronts,
            _read_wavefronts,
            "wavefronts",
            "Four reads of 16 bytes per thread and step, 2 wavefronts each. A read takes 4 where half a warp has no pairs: all "
            "lanes that differ in bit 0 alone, or all that differ in bit 1 alone, must read the same 16 bytes.",
        ),
    ),
)

HUNT = Hunt(
    task="one line of this kernel is wrong, and yet the result is right for many sizes, N = 128 and N = 1001 among them. "
    "Find the line, and fix it.",
    bug={"if (col >= N) continue;": "if (col >= N) return;"},
    hints=(
        "Everything up to the last sum is right. Take N = 16 and look at lane 0 of warp 0: which of its elements of C exist, and "
        "in which order does it store them?",
        "A lane stores two groups of a row, which are 4 * LANES_N = 16 columns apart. At N = 16 the second one is not there. "
        "What about the rows that follow?",
        "Rows are stored from top to bottom: past the last row of C nothing is left to do. Columns start over in each row. "
        "Compare what the kernel does at either edge.",
    ),
    check_finds="never_written",
)


# The quiz


def wide_wavefronts(addresses: Sequence[int]) -> int:
    """Wavefronts of a warp's read of 16 bytes a lane from shared memory; addresses: in bytes, one a lane.

    A quarter of the warp at a time; both quarters of a half at once where all lanes that differ in bit 0 alone, or all that
    differ in bit 1 alone, read the same address. Found by counting on an H200; it is the tracer's (common/cpu/trace/banks.cpp).
    """
    total = 0
    for half in (range(16), range(16, WARP)):
        pairs = any(all(addresses[lane] == addresses[lane ^ bit] for lane in half) for bit in (1, 2))
        for lanes in (half,) if pairs else (half[:8], half[8:]):
            words = {addresses[lane] // 4 + word for lane in lanes for word in range(4)}
            total += wavefronts(words)
    return total


_PLACES = (  # bits of the lane that make the place: the lanes with the same of these read the same 16 bytes
    ("lane", (0, 1, 2, 3, 4)),
    ("lane / 2", (1, 2, 3, 4)),
    ("lane / 4", (2, 3, 4)),
    ("lane / 8", (3, 4)),
    ("lane % 2", (0,)),
    ("lane % 4", (0, 1)),
    ("lane % 8", (0, 1, 2)),
    ("lane % 16", (0, 1, 2, 3)),
    ("lane % 2 + lane / 4 * 2", (0, 2, 3, 4)),
    ("lane % 2 + lane / 8 * 2", (0, 3, 4)),
    ("lane / 2 % 2 + lane / 8 * 2", (1, 3, 4)),
    ("lane / 2 % 4", (1, 2)),
    ("lane / 2 % 8", (1, 2, 3)),
    ("lane / 4 % 4", (2, 3)),
)


def wavefronts_of_a_wide_read(q: Quiz) -> Question:
    text, bits = q.choose(_PLACES)
    places = [sum((lane >> bit & 1) << i for i, bit in enumerate(bits)) for lane in range(WARP)]
    answer = wide_wavefronts([16 * place for place in places])
    agree = [bit for bit in (0, 1) if bit not in bits]
    distinct = len(set(places[:16]))
    why = (
        f"does not depend on bit {agree[0]} of the lane: the lanes that differ there alone read the same address, and half a "
        f"warp is served at once. It reads {distinct} different address{'es' if distinct > 1 else ''}, at most "
        f"{16 * distinct} bytes: one wavefront per half"
        if agree
        else "depends on bits 0 and 1 of the lane: no pairs, and each quarter of the warp takes a wavefront of its own"
    )
    return Question(
        f"Each lane of a warp reads a float4 from shared memory, at 16 bytes times ({text}), in whole numbers, from an address "
        "that is a multiple of 128. The rule: a quarter of the warp (8 lanes) is served at a time; both quarters of a half at "
        "once where all lanes that differ in bit 0 alone, or all that differ in bit 1 alone, read the same address. How many "
        "wavefronts does the read take?",
        answer,
        "wavefronts",
        f"{text[0].upper()}{text[1:]} {why}. {answer} wavefronts.",
    )


_SUBSETS = [[bit for bit in range(5) if mask >> bit & 1] for mask in range(32)]


def _bits(bits: Sequence[int]) -> str:
    return f"bit {bits[0]}" if len(bits) == 1 else f"bits {', '.join(map(str, bits[:-1]))} and {bits[-1]}"


def wavefronts_of_a_tile(q: Quiz) -> Question:
    depth, rows = q.choose((8, 16, 32)), q.whole(1, 4)  # rows: bits of the lane that make lane_m
    of_m = q.choose([bits for bits in _SUBSETS if len(bits) == rows])
    of_n = [bit for bit in range(5) if bit not in of_m]
    each = [wide_wavefronts([16 * sum((lane >> bit & 1) << i for i, bit in enumerate(bits)) for lane in range(WARP)])
            for bits in (of_m, of_n)]  # fmt: skip
    answer = 2 * depth * sum(each)
    why = [
        f"{name} does not depend on bit {0 if 0 not in bits else 1}: pairs, {count} wavefronts"
        if count == 2
        else f"{name} depends on bits 0 and 1: no pairs, {count} wavefronts"
        for name, bits, count in zip(("lane_m", "lane_n"), (of_m, of_n), each, strict=True)
    ]
    return Question(
        f"Suppose a warp's lanes were {2**rows} by {2 ** (5 - rows)} in its warp tile: lane_m is made of {_bits(of_m)} of the "
        f"lane's number, lane_n of {_bits(of_n)}, the lowest first. In each of BK = {depth} steps of a k-tile the warp makes 2 "
        "reads of As, at 16 bytes times lane_m, and 2 of Bs, at 16 bytes times lane_n, from multiples of 128 on. By the rule for "
        "wide reads, how many wavefronts do they take in all steps together?",
        answer,
        "wavefronts",
        f"A read of As: {why[0]}. A read of Bs: {why[1]}. {depth}·(2·{each[0]} + 2·{each[1]}) = {answer}.",
    )


def element_of_a_thread(q: Quiz) -> Question:
    tiles, block, t = q.whole(2, 9), q.whole(0, 40), q.whole(0, 255)
    i, j = q.whole(0, _TM - 1), q.whole(0, _TN - 1)
    ldc = _BN * tiles + 4 * q.whole(0, 8)
    warp, lane = t // WARP, t % WARP
    lane_m, lane_n = lane % 2 + lane // 4 % 4 * 2, lane // 2 % 2 + lane // 16 * 2
    y, x = warp // _WARPS_N * _WM + lane_m * 4, warp % _WARPS_N * _WN + lane_n * 4
    row = block // tiles * _BM + y + i // 4 * 4 * _LANES_M + i % 4
    col = block % tiles * _BN + x + j // 4 * 4 * _LANES_N + j % 4
    answer = row * ldc + col
    return Question(
        f"N = {_BN * tiles}, ldc = {ldc}, M is large. Thread {t} of block {block} stores acc[{i}][{j}] in C[n]. What is n?",
        answer,
        "",
        f"Block {block} begins at row {block // tiles * _BM} and column {block % tiles * _BN}. Thread {t} is lane {lane} of warp "
        f"{warp}, with lane_m = {lane_m} and lane_n = {lane_n}: y = {warp} / 4 · 64 + {lane_m} · 4 = {y}, x = {warp} % 4 · 32 + "
        f"{lane_n} · 4 = {x}. acc[{i}][{j}] is in group {i // 4} of the rows, which are 32 apart, and group {j // 4} of "
        f"the columns, which are 16 apart: row {row}, column {col}. {row} · {ldc} + {col} = {grouped(answer)}.",
    )


def thread_of_an_element(q: Quiz) -> Question:
    row, col = q.whole(0, _BM - 1), q.whole(0, _BN - 1)
    warp = row // _WM * _WARPS_N + col // _WN
    lane_m, lane_n = row % _WM // 4 % _LANES_M, col % _WN // 4 % _LANES_N
    lane = lane_m % 2 + lane_n % 2 * 2 + lane_m // 2 * 4 + lane_n // 2 * 16
    answer = WARP * warp + lane
    return Question(
        f"Which thread t of a block owns the element in row {row} and column {col} of the C tile?",
        answer,
        "",
        f"Row {row} / 64 = {row // _WM} and column {col} / 32 = {col // _WN} of the warp tiles: warp {row // _WM}·4 + "
        f"{col // _WN} = {warp}. In its tile the element is in row {row % _WM} and column {col % _WN}: lane_m = {row % _WM} / 4 "
        f"% 8 = {lane_m}, lane_n = {col % _WN} / 4 % 4 = {lane_n}. lane_m has bits 0, 2 and 3 of the lane, lane_n bits 1 and 4: "
        f"lane {lane}. {warp}·32 + {lane} = {answer}.",
    )


def values_of_another_warp_tile(q: Quiz) -> Question:
    TM, TN = q.choose([(m, n) for m in (4, 8, 12, 16) for n in (4, 8, 12, 16)])
    lanes_m = q.choose((1, 2, 4, 8, 16, 32))
    WM, WN = lanes_m * TM, WARP // lanes_m * TN
    answer = WM + WN
    return Question(
        f"Suppose a thread computed {TM}×{TN} elements of C, and the lanes of a warp were {lanes_m} by {WARP // lanes_m} in the "
        "warp tile. How many different floats of As and Bs does a warp read per step?",
        answer,
        "floats",
        f"The warp tile is {lanes_m}·{TM} = {WM} rows by {WARP // lanes_m}·{TN} = {WN} columns: a float of As for each row, one "
        f"of Bs for each column, {WM} + {WN} = {answer}. They serve {WM}·{WN} = {grouped(WM * WN)} multiply-adds.",
    )


QUIZ = (
    wavefronts_of_a_wide_read,
    wavefronts_of_a_tile,
    element_of_a_thread,
    thread_of_an_element,
    values_of_another_warp_tile,
)
