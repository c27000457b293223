"""The constants of lesson 06b that ./gemm autotune tries, and what each idea of the two steps is worth."""

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


# A warp's lanes are placed row by row in its warp tile: with 16×128 as threads are in lessons 05 and 06a.
_LANES_IN_ROWS = {
    "lane % 2 + lane / 4 % (LANES_M / 2) * 2": "lane / LANES_N",
    "lane / 2 % 2 + lane / (2 * LANES_M) * 2": "lane % LANES_N",
    "lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * LANES_M": "lane_m * LANES_N + lane_n",
}

# As lesson 07 reads them.
_READ_BS_FIRST = {
    """for (int i = 0; i < TM; i += 4) {
                *reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<float4*>(&As[k][y + i * LANES_M]);
            }
            for (int j = 0; j < TN; j += 4) {
                *reinterpret_cast<float4*>(&b_frag[j]) = *reinterpret_cast<float4*>(&Bs[k][x + j * LANES_N]);
            }
""": """for (int j = 0; j < TN; j += 4) {
                *reinterpret_cast<float4*>(&b_frag[j]) = *reinterpret_cast<float4*>(&Bs[k][x + j * LANES_N]);
            }
            for (int i = 0; i < TM; i += 4) {
                *reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<float4*>(&As[k][y + i * LANES_M]);
            }
"""
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
        "four floats per access alone: lesson 06a with BK = 8": Compared({"WM": 16, "WN": 128, "BK": 8}, _LANES_IN_ROWS),
        "lanes in rows of strips of 16×128, nearly lesson 06a": Compared({"WM": 16, "WN": 128}, _LANES_IN_ROWS),
        "the lanes in pairs alone, in strips of 16×128": Compared({"WM": 16, "WN": 128}),
        "the warp tile alone, its lanes in rows": Compared({}, _LANES_IN_ROWS),
        "this lesson, but Bs is read before As": Compared({}, _READ_BS_FIRST),
    },
)
