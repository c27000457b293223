// The sizes of a composition on wgmma, which its loader, atom and epilogue share.
#pragma once

#include "common/tma/operands.hpp"

namespace gemm::wgmma {

/// C tiles of ROWS×BN. A consumer's results leave in PIECES boxes.
template <int ROWS, int PIECES>
struct Shape {
    static constexpr int BM = ROWS, BN = 128, BK = 64;  // C tile: rows and columns; steps of a k-tile
    // What one instruction multiplies, and it is BM wide: columns of C, because a consumer computes a piece
    // of Cᵀ = Bᵀ·Aᵀ, and steps along K.
    static constexpr int WGMMA_M = 64, WGMMA_K = 16;
    static constexpr int WARPGROUP = 128, CONSUMERS = BN / WGMMA_M, THREADS = (CONSUMERS + 1) * WARPGROUP;
    static constexpr int AT_LAUNCH = 168, PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of a thread
    static constexpr int SPAN = 128, BOX = kTmaBox;              // what the swizzle permutes: bytes, elements
    static constexpr int BOXES = PIECES, BOX_ROWS = BM / BOXES;  // of results: BOX_ROWS×BOX each
    static constexpr int BS = BM * SPAN, STAGE = BS + BN * SPAN;    // bytes: where Bs begins, a stage
    static constexpr int OUT_BOXES = 2, OUT_BOX = BOX_ROWS * SPAN;  // that a consumer has; bytes of one
    static constexpr int SHARED = 226 * 1024;  // bytes: the stages, and the boxes of results after them
    static constexpr int STAGES = (SHARED - CONSUMERS * OUT_BOXES * OUT_BOX) / STAGE;
    static constexpr int OUT = STAGES * STAGE;  // bytes: where the boxes begin
    static_assert(BK == BOX && WGMMA_M == BOX,
                  "a row of As, of a consumer's Bs and of its results is a span");
    static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS == (CONSUMERS + 1) * AT_LAUNCH,
                  "nobody gets registers that nobody gives");
    static_assert(BM % 8 == 0 && BOX_ROWS % 8 == 0, "whole patterns of the swizzle");
    static_assert(BOX_ROWS <= BK && BOXES <= STAGES, "a stage's Bs has room for a box of the last C tile");
};

}  // namespace gemm::wgmma
