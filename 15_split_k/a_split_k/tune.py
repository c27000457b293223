"""The constants of lesson 15a that ./gemm autotune tries, and what its slices and their fixed order are worth."""

from runner.measure.tuning import Compared, Tuning

# Slices add to one place in the workspace, which the last one reads and leaves as zeros: the bits depend on the order in
# which blocks finish.
_ATOMIC = {
    "plan.sums = gemm::Workspace(bytes)": "plan.sums = gemm::Workspace::of_zeros(bytes)",
    "place_of(work, work.slice)": "place_of(work, 0)",
    "to[i * S::THREADS] = sums[i / S::TN][i % S::TN];": "atomicAdd(&to[i * S::THREADS], sums[i / S::TN][i % S::TN]);",
    "slice < work.slices; ++slice": "slice < 1; ++slice",
    "const float* const from": "float* const from",
    "total[i] += from[i * S::THREADS];": "total[i] += from[i * S::THREADS], from[i * S::THREADS] = 0.0f;",
}


def _busy(threads: int) -> dict[str, str]:
    """Estimates as if an SM with fewer threads took as long as with so many."""
    blocks = "gemm::ceil_div(tiles_of<S>(p) * slices, sms)"
    return {f"blocks = {blocks};": f"blocks = std::max<std::int64_t>({threads} / S::THREADS, {blocks});"}


# Small C tiles of other shapes.
_SQUARE = {"S_BN": 64, "S_WN": 32, "S_TM": 4, "AT_ONCE": 32, "SMALL_TIME": 29}
_TWO_WARPS = {"S_BN": 64, "S_WM": 64, "S_WN": 32, "SMALL_TIME": 25, "MOST_SLICES": 32}

TUNE = Tuning(
    lines=(
        "using Large = gemm::fma::Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "using Small = gemm::fma::Shape<{S_BM}, {S_BN}, {S_BK}, {S_WM}, {S_WN}, {S_TM}, {S_TN}, {S_STAGES}>;",
        "S::BM == Large::BM ? 160 : {SMALL_TIME};",
        "constexpr int MOST_SLICES = {MOST_SLICES};",
        "constexpr int PASS_STEPS = {PASS_STEPS};",
        "static constexpr int AT_ONCE = {AT_ONCE};",
    ),
    sweep=(
        *({"PASS_STEPS": steps, "SMALL_TIME": time} for steps in (8, 12, 16, 32) for time in (40, 50, 60)),
        *({"AT_ONCE": at_once} for at_once in (16, 32)),
        {"S_BK": 8},
        {"S_BM": 128, "S_BN": 64, "S_WM": 64, "S_WN": 32},
        _SQUARE,
    ),
    compare={
        "one slice": Compared({"MOST_SLICES": 1}),
        "two slices at most": Compared({"MOST_SLICES": 2}),
        "slices added by atomicAdd": Compared(edits=_ATOMIC),
        "two small blocks an SM": Compared({"MOST_SLICES": 32}, _busy(256)),
        "two warps a block, two small blocks an SM": Compared(_TWO_WARPS, _busy(128)),
        "two warps a block, four small blocks an SM": Compared(_TWO_WARPS, _busy(256)),
    },
    sizes="256,512,768,1024,1536,3072,4096,256x256x16384",
    by_shape=("one slice", "slices added by atomicAdd"),
)
