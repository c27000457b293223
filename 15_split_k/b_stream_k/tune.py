"""The constants of lesson 15b that ./gemm autotune tries, and what shares and the limit on registers are worth."""

from runner.measure.tuning import Compared, Tuning

_REGISTERS = "__maxnreg__(S::BM == Large::BM ? 214 : 120)"

TUNE = Tuning(
    lines=(
        "using Large = gemm::fma::Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "constexpr int PASS_STEPS = {PASS_STEPS};",
        "static constexpr int AT_ONCE = {AT_ONCE};",
    ),
    sweep=tuple({"PASS_STEPS": steps, "AT_ONCE": at_once} for steps in (4, 8, 16, 24, 32, 48, 64, 96) for at_once in (8, 16)),
    compare={
        "whole C tiles": Compared(edits={"if (size.k_tiles == 0) return best;": "return best;"}),
        "registers as ptxas likes": Compared(edits={_REGISTERS: "__launch_bounds__(S::THREADS, S::BM == Large::BM ? 1 : 4)"}),
    },
    sizes="256,512,768,1024,1536,2048,3072,4096,256x256x16384",
    by_shape=("whole C tiles", "registers as ptxas likes"),
)
