"""The constants of lesson 09c that ./gemm autotune tries, and what stages, the C tile and reads before copies are worth."""

from runner.measure.tuning import Compared, Tuning

# The copies begin right after the barrier, before the first fragments are read.
_COPIES_FIRST = {
    """            if (k == 0) {
                // gap: ahead
                if (tiles > STAGES - 1) copy(ahead, BK);  // into the stage of the k-tile before this one
                gemm::ptx::cp_async_commit();
                // end gap
            }
""": "",
    """        __syncthreads();
        // end gap
""": """        __syncthreads();
        // end gap
        if (tiles > STAGES - 1) copy(ahead, BK);
        gemm::ptx::cp_async_commit();
""",
}

TUNE = Tuning(
    lines=(
        "constexpr int BM = {BM}, BN = 128, BK = 32;",
        "constexpr int STAGES = {STAGES};",
        "__launch_bounds__(THREADS, {BLOCKS})",
    ),
    sweep=tuple({"STAGES": stages} for stages in (2, 3, 4, 6)),
    compare={
        "block tile 256×128, one block an SM": Compared({"BM": 256, "BLOCKS": 1}),
        "copies first, then reads": Compared(edits=_COPIES_FIRST),
        "two stages": Compared({"STAGES": 2}),
        "three stages": Compared({"STAGES": 3}),
        "four stages": Compared({"STAGES": 4}),
        "six stages": Compared({"STAGES": 6}),
    },
)
