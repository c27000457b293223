// The sizes of a composition on mma.sync, which its loader, atom and epilogue share, and where a k-tile's
// elements are in shared memory.
#pragma once

#include <cuda_runtime.h>

#include "common/parts/swizzle.hpp"

namespace gemm::mma {

template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_>
struct Shape {
    static constexpr int BM = BM_, BN = BN_, BK = BK_;       // C tile: rows and columns; steps of a k-tile
    static constexpr int WM = WM_, WN = WN_;                 // warp tile: rows and columns of C
    static constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one instruction multiplies
    static constexpr int STAGES = STAGES_;                   // k-tiles of A and of B in shared memory
    static constexpr int WARPS_N = BN / WN, THREADS = 32 * (BM / WM) * WARPS_N;
    static constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;  // of mma.sync in the warp tile
    static constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
    static constexpr int OUT_PITCH = 2 * WN + 16;  // bytes: 16 rows of a warp's results, in different banks
    static constexpr int OUT = STAGES * STAGE, SHARED = OUT + THREADS / 32 * MMA_M * OUT_PITCH;
    static_assert(BK == 32 || BK == 64, "a row of As is a swizzle's span, or half of one");
    static_assert(BM % WM == 0 && BN % WN == 0 && WM % 16 == 0 && WN % 16 == 0, "whole fragments");

    // Where an element of a k-tile goes, in bytes: eight neighbors stay together, and which of the row's
    // first eight places they take depends on the row. So eight rows of a fragment are in different banks.
    __device__ __forceinline__ static int a_at(int row, int k) {
        constexpr int BITS = BK == 64 ? 3 : 2;  // a row of As has 2^BITS chunks
        return Swizzle<BITS, 4, 3>::apply(2 * (row * BK + k));
    }
    __device__ __forceinline__ static int b_at(int k, int col) {
        return Swizzle<3, 4, 4>::apply(2 * (k * BN + col));
    }
};

}  // namespace gemm::mma
