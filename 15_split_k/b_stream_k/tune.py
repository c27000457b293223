"""The constants of lesson 15b that ./gemm autotune tries, and what shares and the limit on registers are worth."""

from runner.measure.tuning import Compared, Tuning

_REGISTERS = "__maxnreg__(MOST_REGISTERS<S>)"

TUNE = Tuning(
    lines=(
        "using Large = gemm::fma::Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "using Medium = gemm::fma::Shape<{M_BM}, {M_BN}, {M_BK}, {M_WM}, {M_WN}, {M_TM}, {M_TN}, {M_STAGES}>;",
        "using Small = gemm::fma::Shape<64, 64, {S_BK}, 32, 32, 4, 8, {S_STAGES}>;",
        "constexpr int STEP_TIME<Medium> = {MEDIUM_TIME};",
        "constexpr int STEP_TIME<Small> = {SMALL_TIME};",
        "constexpr int PASS_STEPS = {PASS_STEPS};",
        "static constexpr int AT_ONCE = std::min({LOADS} / COUNT, COUNT);",
    ),
    sweep=(
        *({"PASS_STEPS": steps, "MEDIUM_TIME": time} for steps in (8, 12, 16, 32) for time in (40, 45, 50)),
        *({"LOADS": loads} for loads in (512, 1024)),
        {"M_BK": 8},
        {"S_BK": 8},
        {"SMALL_TIME": 25},
        {"SMALL_TIME": 100},  # no small C tiles
    ),
    compare={
        "whole C tiles": Compared(edits={"if (size.k_tiles == 0) return best;": "return best;"}),
        "registers as ptxas likes": Compared(edits={_REGISTERS: "__launch_bounds__(S::THREADS, 1)"}),
    },
    sizes="256,512,768,1024,1536,2048,3072,4096,256x256x16384",
    by_shape=("whole C tiles", "registers as ptxas likes"),
)
