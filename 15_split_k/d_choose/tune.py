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
        "constexpr double SUMS = {SUMS}, SUMS_BESIDE = {SUMS_BESIDE}, SUMS_ALONE = {SUMS_ALONE};",
    ),
    sweep=(
        {},
        *({"FLIGHT": kib} for kib in (20, 70)),
        *({"MEET": ns} for ns in (500, 1600)),
        *({"FILL": ns} for ns in (100, 600)),
        *({"SUMS": bytes_} for bytes_ in (2000, 8000)),
        *({"SUMS_BESIDE": bytes_} for bytes_ in (2600, 11000)),
        *({"MOST_SLICES": slices} for slices in (32, 64)),
    ),
    compare={
        "one slice": Compared({"MOST_SLICES": 1}),
        "16 slices at most": Compared({"MOST_SLICES": 16}),
        "slices of resident blocks alone": Compared(
            edits={
                "time >= 0.99 * best)": "(time >= 0.99 * best || (slices > 1 && !are_resident(c, slices, sms))))",
            }
        ),
        "eight loads at once": Compared(edits={"S::TM * S::TN >= 64 ? 16 : 8": "8"}),
        "a lane stores its own floats": Compared(
            edits={
                "if constexpr (P::ALIGNED) {": "if constexpr (true) {",
                "if constexpr (!P::ALIGNED) {": "if constexpr (false) {",
            }
        ),
        "one block adds": Compared(
            edits={
                "const int begin = fours * work.slice / work.slices": "const int begin = 0",
                "end = fours * (work.slice + 1) / work.slices": "end = work.slice == 0 ? fours : 0",
            }
        ),
        "no term for warps that wait": Compared(edits={"(1.0 + WAIT / number(some * c.warps))": "1.0"}),
        "few rows alone": Compared(edits=_only(0, 3)),
        "few columns alone": Compared(edits=_only(4, 5)),
        "a small C alone": Compared(edits=_only(6, 10)),
        "a large C alone": Compared(edits=_only(11, 12)),
    },
    sizes="1x4096x4096,16x4096x14336,48x4096x4096,9840x32x16096,4099x33x4097,256x256x16384,333x777x100,512,1024,1001x1003x1005,1536,4096",
    by_shape=(
        "one slice",
        "slices of resident blocks alone",
        "few rows alone",
        "few columns alone",
        "a small C alone",
        "a large C alone",
    ),
)
