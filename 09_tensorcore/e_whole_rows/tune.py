"""The constants of lesson 09e that ./gemm autotune tries, and what rows put together in shared memory are worth."""

from runner.measure.tuning import Compared, Tuning

# Pairs go from fragments to C; nothing is left to store by rows.
_STRAIGHT_TO_C = {
    """                *reinterpret_cast<std::uint32_t*>(out + in.row * OUT_PITCH + 2 * (j * MMA_N + in.col)) =
                    *reinterpret_cast<const std::uint32_t*>(pair);
""": """                if (row >= M) continue;
                if (ALIGNED && col < N) {
                    *reinterpret_cast<std::uint32_t*>(&C[row * ldc + col]) = *reinterpret_cast<const std::uint32_t*>(pair);
                } else if (!ALIGNED) {
                    for (int h = 0; h < 2; ++h) {
                        if (col + h < N) C[row * ldc + col + h] = pair[h];
                    }
                }
""",
    "for (int c = lane; c < MMA_M * WN / 8; c += 32) {": "for (int c = lane; c < 0; c += 32) {",
}

TUNE = Tuning(
    lines=("constexpr int OUT_PITCH = 2 * WN + {PAD};",),
    sweep=tuple({"PAD": pad} for pad in (0, 16, 32)),
    compare={
        "results straight to C": Compared(edits=_STRAIGHT_TO_C),
        "rows without padding": Compared({"PAD": 0}),
    },
)
