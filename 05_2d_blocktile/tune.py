"""The constants of lesson 05 that ./gemm autotune tries."""

from runner.measure.tuning import Compared, Tuning


def _threads(BM: int, BN: int, TM: int, TN: int) -> int:
    return BM // TM * (BN // TN)


def _fits(BM: int, BN: int, BK: int, TM: int, TN: int) -> bool:
    """What kernel.cu's static_asserts ask, and 128 to 256 threads."""
    threads = _threads(BM, BN, TM, TN)
    a_rows, b_rows = threads // BK, threads // BN
    return 128 <= threads <= 256 and threads % BN == 0 and BM % a_rows == 0 and BK % b_rows == 0


def _blocks(BM: int, BN: int, TM: int, TN: int) -> int:
    """Blocks that share an SM's 65536 registers, with 48 a thread beside its sums; 0, nothing stated, for one."""
    blocks = 65536 // (_threads(BM, BN, TM, TN) * (TM * TN + 48))
    return blocks if blocks > 1 else 0


TUNE = Tuning(
    lines=(
        "constexpr int BM = {BM};",
        "constexpr int BN = {BN};",
        "constexpr int BK = {BK};",
        "constexpr int TM = {TM};",
        "constexpr int TN = {TN};",
        "__launch_bounds__(THREADS[, {BLOCKS}])",
    ),
    sweep=tuple(
        {"BM": BM, "BN": BN, "BK": BK, "TM": TM, "TN": TN, "BLOCKS": _blocks(BM, BN, TM, TN)}
        for BM, BN in ((64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
        for TM, TN in ((4, 8), (8, 8), (8, 16), (16, 8))
        for BK in (8, 16)
        if _fits(BM, BN, BK, TM, TN)
    ),
    compare={
        # As many threads an SM may have registers as in kernel.cu.
        "8×8 elements a thread, lesson 04's block tile": Compared({"BM": 64, "BN": 64, "BLOCKS": 8}),
    },
)
