"""The constants of lesson 13a that ./gemm autotune tries, and what each of its ideas is worth."""

from runner.measure.tuning import Compared, Tuning

# As many blocks as C has tiles: the device counts as one with more SMs than that.
_BLOCK_A_TILE = {"static_cast<unsigned>(gemm::multiprocessors())": "~0u"}
_ORDER = "using Order = Grouped<16>;"

TUNE = Tuning(
    lines=("constexpr int STAGES = {STAGES};", "using Order = Grouped<{GROUP}>;"),
    sweep=({"GROUP": 4}, {"GROUP": 8}, {"GROUP": 16}, {"GROUP": 32}, {"STAGES": 3}),
    compare={
        "a block for each tile of C": Compared(edits=_BLOCK_A_TILE),
        "tiles of C row by row": Compared(edits={_ORDER: "using Order = RowByRow;"}),
    },
)
