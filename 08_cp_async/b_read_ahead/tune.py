"""The constants of lesson 08b that ./gemm autotune tries, and what stages and groups of blocks are worth."""

from runner.measure.tuning import Compared, Tuning


def _fits(BM: int, BN: int, BK: int, WM: int, WN: int, TM: int, TN: int) -> bool:
    """What kernel.cu's static_asserts ask, 128 to 256 threads, and small thread tiles in small blocks alone."""
    threads = 32 * (BM // WM) * (BN // WN)
    tiled = BM % WM == 0 and BN % WN == 0 and 128 <= threads <= 256 and (TM * TN >= 64 or BM * BN <= 64 * 64)
    return tiled and BM * BK % threads == 0 and BK * BN % (4 * threads) == 0 and threads % BN == 0


# kernel.cu's ring takes two stages at least, the k-tile in use and the one that is copied. With one, a k-tile is copied when
# everyone has read the one before, and everyone waits for it.
_ONE_STAGE = {
    """    for (int s = 1; s < STAGES - 1; ++s) {
        if (s < tiles) copy(s * STAGE, BK);
        gemm::ptx::cp_async_commit();  // one group per tile, be it empty
    }
""": "",
    """    gemm::ptx::cp_async_wait<STAGES - 2>();
    __syncthreads();  // the first tiles""": """    gemm::ptx::cp_async_wait<0>();
    __syncthreads();  // the first tiles""",
    """                gemm::ptx::cp_async_wait<STAGES - 2>();
                __syncthreads();  // the next tiles are complete, and everyone has read these
""": """                __syncthreads();  // everyone has read the tiles
                if (tiles > 1) copy(0, BK);
                gemm::ptx::cp_async_commit();
                gemm::ptx::cp_async_wait<0>();
                __syncthreads();  // the next ones are complete
""",
    """                if (copying.value) copy(ahead, BK);
                gemm::ptx::cp_async_commit();
""": "",
}

# Each step reads its own values, as in lesson 08a: after the barrier nothing can be added before they arrive.
_IN_THEIR_STEP = {
    "    if (tiles > 0) read<T>(a_frag[0], b_frag[0], a_read, b_read, 0);\n": "",
    """            if (k == BK - 1) {
                // gap: arrived
                gemm::ptx::cp_async_wait<STAGES - 2>();
                __syncthreads();  // the next tiles are complete, and everyone has read these
                stage = stage == LAST ? 0 : stage + STAGE;
                // end gap
            }
            // gap: next
            if (copying.value || k < BK - 1 || tiles > 1) {
                read<T>(a_frag[(k + 1) % 2], b_frag[(k + 1) % 2], a_read + stage, b_read + stage,
                        (k + 1) % BK);
            }
            // end gap
""": "            read<T>(a_frag[0], b_frag[0], a_read + stage, b_read + stage, k);\n",
    """            add_products(acc, a_frag[k % 2], b_frag[k % 2], k);
""": """            add_products(acc, a_frag[0], b_frag[0], k);
            if (k == BK - 1) {
                gemm::ptx::cp_async_wait<STAGES - 2>();
                __syncthreads();  // the next tiles are complete, and everyone has read these
                stage = stage == LAST ? 0 : stage + STAGE;
            }
""",
}

TUNE = Tuning(
    lines=(
        "using Large = Tiles<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "constexpr int GROUP = {GROUP};",
    ),
    sweep=tuple(
        {"BM": BM, "BN": BN, "BK": BK, "WM": WM, "WN": WN, "TM": TM, "TN": TN, "STAGES": STAGES}
        for BM, BN in ((64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
        for WM, WN, TM, TN in ((32, 32, 4, 8), (32, 64, 8, 8), (64, 32, 8, 8), (64, 64, 8, 16), (64, 64, 16, 8))
        for BK, STAGES in ((8, 4), (16, 3))
        if _fits(BM, BN, BK, WM, WN, TM, TN)
    ),
    # The constants are lesson 07's, but for STAGES.
    compare={
        "values read in their own step": Compared(edits=_IN_THEIR_STEP),
        "one stage: copy, wait, use": Compared({"STAGES": 1}, edits=_ONE_STAGE),
        "two stages, blocks row by row": Compared({"STAGES": 2, "GROUP": 1}),
        "two stages": Compared({"STAGES": 2}),
        "three stages": Compared({"STAGES": 3}),
        "four stages": Compared({"STAGES": 4}),
        "five stages": Compared({"STAGES": 5}),
        "four stages, blocks row by row": Compared({"GROUP": 1}),
    },
    sizes="4096,8192",
    by_shape=("four stages, blocks row by row",),
    edits={">= 100;": ">= 0;"},  # Large at every size
)
