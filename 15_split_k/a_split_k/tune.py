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


TUNE = Tuning(
    lines=(
        "using Large = gemm::fma::Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "using Medium = gemm::fma::Shape<{M_BM}, {M_BN}, {M_BK}, {M_WM}, {M_WN}, {M_TM}, {M_TN}, {M_STAGES}>;",
        "using Small = gemm::fma::Shape<64, 64, {S_BK}, 32, 32, 4, 8, {S_STAGES}>;",
        "constexpr int STEP_TIME<Medium> = {MEDIUM_TIME};",
        "constexpr int STEP_TIME<Small> = {SMALL_TIME};",
        "constexpr int MOST_SLICES = {MOST_SLICES};",
        "constexpr int PASS_STEPS = {PASS_STEPS};",
        "static constexpr int AT_ONCE = std::min({AT_ONCE}, COUNT);",
    ),
    sweep=(
        *({"PASS_STEPS": steps, "MEDIUM_TIME": time} for steps in (8, 12, 16, 32) for time in (40, 45, 50)),
        *({"AT_ONCE": at_once} for at_once in (16, 32)),
        {"M_BK": 16},
        {"S_BK": 8},
        {"SMALL_TIME": 25},
        {"SMALL_TIME": 100},  # no small C tiles
    ),
    compare={
        "one slice": Compared({"MOST_SLICES": 1}),
        "two slices at most": Compared({"MOST_SLICES": 2}),
        "slices added by atomicAdd": Compared(edits=_ATOMIC),
        "loads of two slices at once": Compared(edits={"#pragma unroll 1": "#pragma unroll 2"}),
        "two medium blocks an SM": Compared({"MOST_SLICES": 32}, _busy(256)),
    },
    sizes="256,512,768,1024,1536,3072,4096,256x256x16384",
    by_shape=("one slice", "slices added by atomicAdd"),
)
