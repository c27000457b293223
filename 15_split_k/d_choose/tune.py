"""The constants of lesson 15d that ./gemm autotune tries, and what its choice is worth."""

from runner.measure.tuning import Compared, Tuning

_SHAPES = "for (int shape = 0; shape < SHAPES; ++shape) {"


def _only(first: int, last: int) -> dict[str, str]:
    """The edit with which the choice is among the shapes of these indices."""
    return {_SHAPES: f"for (int shape = {first}; shape <= {last}; ++shape) {{"}


TUNE = Tuning(
    lines=(
        "using Large = Shape<{BM}, {BN}, {BK}, {WM}, {WN}, {TM}, {TN}, {STAGES}, 1>;",
        "constexpr int MOST_SLICES = {MOST_SLICES};",
        "constexpr double FLIGHT = {FLIGHT} * 1024;",
        "constexpr double FILL = {FILL};",
        "constexpr double MEET = {MEET};",
        "constexpr double SUMS = {SUMS};",
        "static constexpr int AT_ONCE = {AT_ONCE};",
    ),
    sweep=(
        *({"FLIGHT": kib, "MEET": ns} for kib in (20, 40, 70) for ns in (1000, 1500, 2500)),
        *({"AT_ONCE": slices} for slices in (4, 16)),
        *({"FILL": ns} for ns in (300, 1000)),
        *({"SUMS": bytes_} for bytes_ in (1000, 4000)),
        *({"MOST_SLICES": slices} for slices in (32, 64)),
    ),
    compare={
        "one slice": Compared({"MOST_SLICES": 1}),
        "16 slices at most": Compared({"MOST_SLICES": 16}),
        "no term for warps that wait": Compared(edits={"(1.0 + c.wait / number(together * c.warps))": "1.0"}),
        "few rows alone": Compared(edits=_only(0, 3)),
        "few columns alone": Compared(edits=_only(4, 6)),
        "a small C alone": Compared(edits=_only(7, 10)),
        "a large C alone": Compared(edits=_only(11, 12)),
    },
    sizes="1x4096x4096,16x4096x14336,48x4096x4096,9840x32x16096,4099x33x4097,256x256x16384,512,1024,1001x1003x1005,4096",
    by_shape=("one slice", "few rows alone", "few columns alone", "a small C alone", "a large C alone"),
)
