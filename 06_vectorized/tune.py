"""The constants of lesson 06 that ./gemm autotune tries, and what its two ideas are worth with lesson 05's."""

from runner.measure.tuning import Compared, Tuning


def _threads(BM: int, BN: int, WM: int, WN: int) -> int:
    return 32 * (BM // WM) * (BN // WN)


def _fits(BM: int, BN: int, BK: int, WM: int, WN: int, TM: int, TN: int) -> bool:
    """What kernel.cu's static_asserts ask, 128 to 256 threads, and small thread tiles in small blocks alone."""
    threads = _threads(BM, BN, WM, WN)
    whole = BM % WM == 0 and BN % WN == 0 and BM % (4 * threads // BK) == 0 and BK % (4 * threads // BN) == 0
    return whole and 128 <= threads <= 256 and (TM * TN >= 64 or BM * BN <= 64 * 64)


def _blocks(BM: int, BN: int, WM: int, WN: int, TM: int, TN: int) -> int:
    """Blocks that share an SM's 65536 registers, with 48 a thread beside its sums; 0, nothing stated, for one."""
    blocks = 65536 // (_threads(BM, BN, WM, WN) * (TM * TN + 48))
    return blocks if blocks > 1 else 0


# A warp's threads lie row by row over its 2 by 16 thread tiles, as they do in lesson 05.
_LANES_IN_ROWS = {
    "lane % 2 + lane / 4 % (LANES_M / 2) * 2": "lane / LANES_N",
    "lane / 2 % 2 + lane / (2 * LANES_M) * 2": "lane % LANES_N",
    "lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * LANES_M": "lane_m * LANES_N + lane_n",
}

TUNE = Tuning(
    lines=(
        "constexpr int BM = {BM}, BN = {BN}, BK = {BK};",
        "constexpr int WM = {WM}, WN = {WN};",
        "constexpr int TM = {TM}, TN = {TN};",
        "__launch_bounds__(THREADS[, {BLOCKS}])",
    ),
    sweep=tuple(
        {"BM": BM, "BN": BN, "BK": BK, "WM": WM, "WN": WN, "TM": TM, "TN": TN, "BLOCKS": _blocks(BM, BN, WM, WN, TM, TN)}
        for BM, BN in ((64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
        for WM, WN, TM, TN in ((32, 32, 4, 8), (32, 64, 8, 8), (64, 32, 8, 8), (64, 64, 8, 16), (64, 64, 16, 8))
        for BK in (8, 16)
        if _fits(BM, BN, BK, WM, WN, TM, TN)
    ),
    compare={
        "four floats per access alone": Compared({"WM": 16, "WN": 128, "BK": 8}, _LANES_IN_ROWS),
        "and the warp tile": Compared({"BK": 8}),
        "four floats per access and BK = 16, no warp tile": Compared({"WM": 16, "WN": 128}, _LANES_IN_ROWS),
    },
)
