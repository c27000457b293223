// The sizes of a composition on wgmma whose C tiles are one to a block: low ones for few rows, where a launch
// takes as long as B's way from DRAM, and others for a C of few tiles.
#pragma once

#include "common/tma/operands.hpp"

namespace gemm::wgmma {

/// C tiles of BM_×BN_. BLOCKS_ fit an SM: with two, one loads while the other begins or ends.
template <int BM_, int BN_, int BLOCKS_>
struct ShortShape {
    static constexpr int BM = BM_, BN = BN_, BK = 64;  // C tile: rows and columns; steps of a k-tile
    static constexpr int WGMMA_M = 64, WGMMA_K = 16;   // as in Shape: columns of C, steps along K
    static constexpr int WARPGROUP = 128, CONSUMERS = BN / WGMMA_M;
    static constexpr int THREADS = CONSUMERS * WARPGROUP + 32;  // the producer is one warp
    static constexpr int BLOCKS = BLOCKS_;                      // on an SM
    static constexpr int SPAN = 128, BOX = kTmaBox;             // what the swizzle permutes: bytes, elements
    static constexpr int BS = BM * SPAN, STAGE = BS + BN * SPAN;  // bytes: where Bs begins, a stage
    // An SM has 228 KiB. Each block takes 1 for itself and, in front of the stages, up to 1 for its barriers.
    static constexpr int STAGES = (228 / BLOCKS - 2) * 1024 / STAGE;
    static constexpr int SHARED = STAGES * STAGE;  // bytes
    static constexpr int PITCH = BN + 4;           // floats from a row of sums to the next
    static_assert(BK == BOX && WGMMA_M == BOX, "a row of As and of a consumer's Bs is a span");
    static_assert(BM % 8 == 0 && BN % BOX == 0, "whole patterns of the swizzle, whole consumers");
    static_assert(4 * BM * PITCH <= SHARED, "the sums find room where the stages were");
};

}  // namespace gemm::wgmma
