// The sizes of an FP32 composition whose C tile may be thin or flat, which its loader and atom share.
#pragma once

namespace gemm::fma {

/// As Shape, with fewer conditions. ROWS: As keeps A's rows, which come four floats at a time; or else A
/// comes float by float, and As is transposed. MIN_BLOCKS: on an SM, as ptxas is to have it.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int STAGES_, int MIN_BLOCKS_,
          bool ROWS_ = false>
struct ThinShape {
    static constexpr int BM = BM_, BN = BN_, BK = BK_;  // C tile: rows and columns; steps of a k-tile
    static constexpr int WM = WM_, WN = WN_;            // warp tile: rows and columns of C
    static constexpr int TM = TM_, TN = TN_;            // thread tile: rows and columns of C
    static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
    static constexpr int MIN_BLOCKS = MIN_BLOCKS_;
    static constexpr bool ROWS = ROWS_;
    static constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
    static constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
    // A stage: float As[BM][A_PITCH], or As[BK][A_PITCH] where it is transposed; then Bs[BK][BN]. Padded, so
    // that lanes that read, or store, at the same time do so in different banks.
    static constexpr int A_PITCH = (ROWS ? BK : BM) + 4;
    static constexpr int BS = 4 * A_PITCH * (ROWS ? BM : BK), STAGE = BS + 4 * BK * BN;  // bytes

    /// The same for A that comes float by float. It takes more registers.
    using Floats = ThinShape<BM, BN, BK, WM, WN, TM, TN, STAGES, MIN_BLOCKS == 1 ? 1 : MIN_BLOCKS - 1, false>;

    static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0, "warps and lanes tile the block");
    static_assert(LANES_M % 2 == 0 && LANES_N % 2 == 0, "neighbors in pairs");
    static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "reads of four floats, copies of eight steps");
    static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0 && THREADS / 32 % (BK / 8) == 0,
                  "every thread copies as much of A, float by float");
};

}  // namespace gemm::fma
