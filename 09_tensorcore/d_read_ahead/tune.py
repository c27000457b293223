"""The constants of lesson 09d that ./gemm autotune tries, and what fragments read ahead and the products' order are worth."""

from runner.measure.tuning import Compared, Tuning

# Each step reads its own fragments, then multiplies them, as in lesson 09c.
_IN_THEIR_STEP = {
    "    if (tiles > 0) fragments.read(frag[0], stage, 0);\n": "",
    """            if (step == BK / MMA_K - 1) {
                // gap: arrived
                gemm::ptx::cp_async_wait<STAGES - 2>();
                __syncthreads();  // the next tiles are complete, and everyone has read these
                stage = stage == LAST ? 0 : stage + STAGE;
                // end gap
            }
            // gap: next
            if (copying.value || step < BK / MMA_K - 1 || tiles > 1) {
                fragments.read(frag[(step + 1) % 2], stage, (step + 1) % (BK / MMA_K));
            }
            // end gap
""": "            fragments.read(frag[0], stage, step);\n",
    """            multiply<T>(acc, frag[step % 2]);
""": """            multiply<T>(acc, frag[0]);
            if (step == BK / MMA_K - 1) {
                gemm::ptx::cp_async_wait<STAGES - 2>();
                __syncthreads();  // the next tiles are complete, and everyone has read these
                stage = stage == LAST ? 0 : stage + STAGE;
            }
""",
}

# Every column of products from the top: the first of a column shares no fragment with the last of the one before.
_TOP_DOWN = {"const int i = j % 2 == 0 ? e : TILES_M - 1 - e;": "const int i = e;"}

# Lesson 09c's block tile has four warps. Pairs of B are copied from 32 columns of 8 rows at a time, not from 64 of 4, so that
# the swizzle repeats.
_FOUR_WARPS = {
    "    Share<T, ALIGNED, BK, BN, 64> b;\n": (
        "    constexpr int B_RUN = ALIGNED ? 64 : 32;\n    Share<T, ALIGNED, BK, BN, B_RUN> b;\n"
    ),
    "    for (int i = 0; i < BN; i += 64) b.to[i / 64] = shared + (BS + b_at(b.row, b.col)) + 2 * i;\n": (
        "    for (int i = 0; i < BN; i += B_RUN) b.to[i / B_RUN] = shared + (BS + b_at(b.row, b.col + i));\n"
    ),
}

TUNE = Tuning(
    lines=(
        "constexpr int BM = {BM}, BN = 128, BK = 32;",
        "constexpr int STAGES = {STAGES};",
        "__launch_bounds__(THREADS, {BLOCKS})",
    ),
    sweep=tuple({"STAGES": stages} for stages in (2, 3, 4, 6)),
    compare={
        "fragments read in their own step": Compared(edits=_IN_THEIR_STEP),
        "every column of products from the top": Compared(edits=_TOP_DOWN),
        "block tile 128×128, as in 09c": Compared({"BM": 128, "BLOCKS": 2}, edits=_FOUR_WARPS),
        "three stages": Compared({"STAGES": 3}),
        "four stages": Compared({"STAGES": 4}),
        "six stages": Compared({"STAGES": 6}),
    },
)
