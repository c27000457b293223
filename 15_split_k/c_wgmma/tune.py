"""The constants of lesson 15c that ./gemm autotune tries where C has few C tiles, and what slices are worth."""

from runner.measure.tuning import Compared, Tuning

_BEST = "double best = time_of_persistent(p);"
_FIRST = "for (int slices = 1; slices <="
_SIZES = "for (int policy = 0; policy < Policies::COUNT; ++policy) {"
_UP_TO_80 = 6  # so many sizes of C tiles have up to 80 rows: the first ones

# The estimate chooses the size alone: slices are as many as there may be, and 14c's kernel is for what no size has room for.
_FORCED = {
    _BEST: "double best = std::numeric_limits<double>::infinity();",
    _FIRST: "for (int slices = static_cast<int>(std::min<std::int64_t>(MOST_SLICES, gemm::ceil_div(p.K, Usual::BK)));\n"
    "             slices <=",
}
_SLICES = {"one slice": 1, "two slices": 2, "three slices": 3, "four slices": 4, "six slices": 6, "eight slices": 8}

TUNE = Tuning(
    lines=(
        "constexpr int BLOCKS = {BLOCKS};",
        "constexpr int MOST_SLICES = {MOST_SLICES};",
        "constexpr double MEET = {MEET},",
    ),
    sweep=(
        {"BLOCKS": 2, "MEET": 1000},
        {"BLOCKS": 2, "MEET": 2000},
        {"BLOCKS": 1, "MEET": 1000},
    ),
    compare={
        **{name: Compared({"MOST_SLICES": number}, _FORCED) for name, number in _SLICES.items()},
        "up to 80 rows": Compared(edits={_SIZES: f"for (int policy = 0; policy < {_UP_TO_80}; ++policy) {{"}),
        "14c's kernel": Compared(edits={_BEST: "double best = 0.0;"}),
    },
    sizes=(
        "1x4096x4096,16x4096x4096,64x4096x4096,128x4096x4096,16x4096x14336,64x4096x14336,128x4096x14336,16x28672x4096,"
        "272x1104x12704,9840x32x16096,7712x144x4592,1024"
    ),
    by_shape=tuple(_SLICES),
)
