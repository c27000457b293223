// The sizes of an FP32 composition, which its loader, atom and epilogue share.
#pragma once

namespace gemm::fma {

template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int STAGES_>
struct Shape {
    static constexpr int BM = BM_, BN = BN_, BK = BK_;  // C tile: rows and columns; steps of a k-tile
    static constexpr int WM = WM_, WN = WN_;            // warp tile: rows and columns of C
    static constexpr int TM = TM_, TN = TN_;            // thread tile: rows and columns of C
    static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
    static constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
    static constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
    static constexpr int A_PITCH = BM + 4;  // of As: a warp stores to columns, which unpadded share banks
    static constexpr int BS = 4 * BK * A_PITCH, STAGE = BS + 4 * BK * BN;  // bytes: where Bs begins, a stage
    static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0, "warps and lanes tile the block");
    static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "reads of four floats, copies of eight steps");
    static_assert(BM * BK % THREADS == 0 && BK * BN % (4 * THREADS) == 0 && THREADS % BN == 0,
                  "every thread copies equally many");
};

}  // namespace gemm::fma
