"""The constants of lesson 15b that ./gemm autotune tries, and what shares and the limit on registers are worth."""

from runner.measure.tuning import Compared, Tuning

_REGISTERS = "__maxnreg__(S::BM == Large::BM ? 214 : 184)"

TUNE = Tuning(
    lines=(
        "using Large = gemm::fma::Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "using Small = gemm::fma::Shape<{S_BM}, {S_BN}, {S_BK}, {S_WM}, {S_WN}, {S_TM}, {S_TN}, {S_STAGES}>;",
        "S::BM == Large::BM ? 160 : {SMALL_TIME};",
        "constexpr int PASS_STEPS = {PASS_STEPS};",
        "static constexpr int AT_ONCE = {LOADS} / COUNT;",
    ),
    sweep=(
        *({"PASS_STEPS": steps, "SMALL_TIME": time} for steps in (8, 12, 16, 32) for time in (40, 50, 60)),
        *({"LOADS": loads} for loads in (512, 1024)),
        {"S_BK": 8},
        {"S_BN": 64, "S_WN": 32, "S_TM": 4, "SMALL_TIME": 29, "LOADS": 1024},  # 14a's small C tiles
    ),
    compare={
        "whole C tiles": Compared(edits={"if (size.k_tiles == 0) return best;": "return best;"}),
        "registers as ptxas likes": Compared(edits={_REGISTERS: "__launch_bounds__(S::THREADS, 1)"}),
    },
    sizes="256,512,768,1024,1536,2048,3072,4096,256x256x16384",
    by_shape=("whole C tiles", "registers as ptxas likes"),
)
