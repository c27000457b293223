"""The constants of lesson 04 that ./gemm autotune tries, and what a thread's column is worth without the larger C tile."""

from runner.measure.tuning import Compared, Tuning


def _fits(BM: int, BN: int, BK: int, TM: int) -> bool:
    """What kernel.cu's static_asserts ask, and 64 to 512 threads."""
    threads = BM // TM * BN
    return 64 <= threads <= 512 and threads % BK == 0 and BM * BK % threads == 0 and BK * BN % threads == 0


TUNE = Tuning(
    lines=("constexpr int BM = {BM};", "constexpr int BN = {BN};", "constexpr int BK = {BK};", "constexpr int TM = {TM};"),
    sweep=tuple(
        {"BM": BM, "BN": BN, "BK": BK, "TM": TM}
        for BM, BN in ((32, 32), (64, 32), (64, 64), (64, 128), (128, 64), (128, 128))
        for TM in (8, 16, 32)
        for BK in (8, 16)
        if _fits(BM, BN, BK, TM)
    ),
    compare={"16×1 elements a thread, lesson 03's C tile": Compared({"BM": 32, "BN": 32})},
)
