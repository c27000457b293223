"""The constants of lesson 07 that ./gemm autotune tries, and what two stages are worth with lesson 06's."""

from runner.measure.tuning import Compared, Tuning


def _threads(BM: int, BN: int, WM: int, WN: int) -> int:
    return 32 * (BM // WM) * (BN // WN)


def _fits(BM: int, BN: int, BK: int, WM: int, WN: int, TM: int, TN: int) -> bool:
    """What kernel.cu's static_asserts ask, 128 to 256 threads, the 48 KiB of static shared memory that a block may have, and
    small thread tiles in small blocks alone."""
    threads = _threads(BM, BN, WM, WN)
    whole = BM % WM == 0 and BN % WN == 0 and BM % (4 * threads // BK) == 0 and BK % (4 * threads // BN) == 0
    small = 2 * 4 * BK * (BM + 4 + BN) <= 48 * 1024 and 128 <= threads <= 256
    return whole and small and (TM * TN >= 64 or BM * BN <= 64 * 64)


def _blocks(BM: int, BN: int, BK: int, WM: int, WN: int, TM: int, TN: int) -> int:
    """Blocks that share an SM's 65536 registers; 0, nothing stated, for one. A thread takes its sums, its part of the next
    tiles, and 48."""
    threads = _threads(BM, BN, WM, WN)
    blocks = 65536 // (threads * (TM * TN + (BM + BN) * BK // threads + 48))
    return blocks if blocks > 1 else 0


_OF_06 = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 32, "TM": 8, "TN": 8, "BLOCKS": 2}
_READ_AS_FIRST = {
    """#pragma unroll
    for (int j = 0; j < TN; j += 4) {
        *reinterpret_cast<float4*>(&b_frag[j]) = *reinterpret_cast<const float4*>(&Bs[k][x + j * LANES_N]);
    }
#pragma unroll
    for (int i = 0; i < TM; i += 4) {
        *reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<const float4*>(&As[k][y + i * LANES_M]);
    }
""": """#pragma unroll
    for (int i = 0; i < TM; i += 4) {
        *reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<const float4*>(&As[k][y + i * LANES_M]);
    }
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
        *reinterpret_cast<float4*>(&b_frag[j]) = *reinterpret_cast<const float4*>(&Bs[k][x + j * LANES_N]);
    }
"""
}
# Row after row of a thread's sums, as lesson 06 has them.
_SUMS_IN_ROWS = {
    """    for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int e = 0; e < TM; ++e) {
            const int i = j % 2 == 0 ? e : TM - 1 - e;
""": """    for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int j = 0; j < TN; ++j) {
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
        {"BM": BM, "BN": BN, "BK": BK, "WM": WM, "WN": WN, "TM": TM, "TN": TN, "BLOCKS": _blocks(BM, BN, BK, WM, WN, TM, TN)}
        for BM, BN in ((64, 64), (64, 128), (128, 64), (128, 128), (128, 256), (256, 128))
        for WM, WN, TM, TN in ((32, 32, 4, 8), (32, 64, 8, 8), (64, 32, 8, 8), (64, 64, 8, 16), (64, 64, 16, 8))
        for BK in (8, 16)
        if _fits(BM, BN, BK, WM, WN, TM, TN)
    ),
    compare={
        "two stages alone: lesson 06's tiles, its order of reads and sums": Compared(_OF_06, _READ_AS_FIRST | _SUMS_IN_ROWS),
        "and the order of reads": Compared(_OF_06, _SUMS_IN_ROWS),
        "and the order of sums": Compared(_OF_06),
    },
)
