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

TUNE = Tuning(
    lines=(
        "using Large = gemm::fma::Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}>;",
        "constexpr int MOST_SLICES = {MOST_SLICES};",
        "constexpr int SLICE_STEPS = {SLICE_STEPS};",
        "static constexpr int AT_ONCE = {AT_ONCE};",
    ),
    sweep=tuple(
        {"SLICE_STEPS": steps, "MOST_SLICES": most, "AT_ONCE": at_once}
        for steps in (16, 32, 64, 128)
        for most in (8, 16)
        for at_once in (8, 16)
    ),
    compare={
        "one slice": Compared({"MOST_SLICES": 1}),
        "two slices at most": Compared({"MOST_SLICES": 2}),
        "slices added by atomicAdd": Compared(edits=_ATOMIC),
    },
    sizes="256,512,768,1024,1536,3072,4096,256x256x16384",
    by_shape=("one slice", "slices added by atomicAdd"),
)
