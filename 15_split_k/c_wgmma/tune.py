"""The constants of lesson 15c that ./gemm autotune tries where there are few rows, and what slices are worth."""

from runner.measure.tuning import Compared, Tuning

_CHOICE = "    return static_cast<int>(std::max<std::int64_t>(1, slices));\n"


def _always(number: int) -> dict[str, str]:
    """The edit with which a C tile has so many slices."""
    return {_CHOICE: f"    return std::max(1, static_cast<int>(std::min(k_tiles + 0 * slices, std::int64_t{{{number}}})));\n"}


TUNE = Tuning(
    lines=(
        "constexpr int BLOCKS = {BLOCKS};",
        "constexpr int MOST_SLICES = {MOST_SLICES};",
        "constexpr int IN_FLIGHT = {IN_FLIGHT};",
    ),
    sweep=(
        {"BLOCKS": 2, "IN_FLIGHT": 75},
        {"BLOCKS": 2, "IN_FLIGHT": 55},
        {"BLOCKS": 2, "IN_FLIGHT": 100},
        {"BLOCKS": 1, "IN_FLIGHT": 100},
    ),
    compare={
        "one slice": Compared(
            {"MOST_SLICES": 1}, {"Policies::with(policy_for(p), slices) > 1": "Policies::with(policy_for(p), slices) > 0"}
        ),
        "two slices": Compared({"MOST_SLICES": 4}, _always(2)),
        "three slices": Compared({"MOST_SLICES": 4}, _always(3)),
        "four slices": Compared({"MOST_SLICES": 4}, _always(4)),
        "six slices": Compared(edits=_always(6)),
        "eight slices": Compared(edits=_always(8)),
    },
    sizes=(
        "1x4096x4096,16x4096x4096,64x4096x4096,1x4096x14336,16x4096x14336,64x4096x14336,1x28672x4096,16x28672x4096,64x28672x4096"
    ),
    by_shape=("one slice", "two slices", "three slices", "four slices", "six slices", "eight slices"),
)
