// A warpgroup's way from wgmma's sums to C by the copy engine, as lesson 13c has it: boxes of results in
// shared memory, which TMA writes to C, and which it fills with the old C where beta asks for it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/parts/pairs.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/stmatrix.hpp"
#include "common/ptx/tma.hpp"

namespace gemm {

constexpr int kOutRows = 16, kOutColumns = 64;                 // of a box: what a warp has of a product
constexpr int kOutBox = kOutRows * kOutColumns * 2;            // bytes of a box
constexpr int kOutBoxes = 2, kOutBytes = kOutBoxes * kOutBox;  // of a warp

/// C = alpha·sums + beta·C for what a warp has of PIECES products one below the other, each 64 rows and
/// 2·SUMS columns. row0, col0: of the warp's first sum in C; map_c: C, swizzled by 128 bytes, in boxes of
/// kOutRows×kOutColumns. What would lie outside of C is neither read nor written, but N is a multiple of 8.
///
/// out: kOutBytes of shared memory for this warp alone, at a multiple of 1024. loaded: an mbarrier with one
/// arrival, for this warp alone; its next phase has parity 0, before and behind the call. Lane 0 waits with
/// bulk_wait_read<0>() before the block ends.
template <class T, int PIECES, int SUMS>
__device__ __forceinline__ void store_boxes(char* out, ptx::Mbarrier& loaded,
                                            const float (&sums)[PIECES][SUMS], int row0, int col0,
                                            float alpha, float beta, const CUtensorMap& map_c) {
    constexpr int ACROSS = 2 * SUMS / kOutColumns;
    static_assert(2 * SUMS % kOutColumns == 0, "whole boxes");
    static_assert(PIECES * ACROSS % 2 == 0, "the mbarrier begins every call with the same parity");
    const int lane = threadIdx.x % 32;
    // Of four matrices of 8×8, two by two, a lane gives one row's address.
    const int row = lane % kOutRows, right = lane / kOutRows;
#pragma unroll
    for (int box = 0; box < PIECES * ACROSS; ++box) {
        char* const to = out + box % kOutBoxes * kOutBox;
        const int in_row = box % ACROSS, at[2] = {col0 + in_row * kOutColumns, row0 + box / ACROSS * 64};
        if (lane == 0) ptx::bulk_wait_read<kOutBoxes - 1>();  // the box before last has been read
        __syncwarp();
        if (beta != 0.0f) {  // BLAS: beta == 0 must not read C
            if (lane == 0) {
                ptx::mbarrier_arrive_expect_tx(loaded, kOutBox);
                ptx::tma_load(to, map_c, at, loaded);
            }
            ptx::mbarrier_wait(loaded, box % 2);
        }
#pragma unroll
        for (int chunk = 0; chunk < kOutColumns / 8; chunk += 2) {  // of 16 bytes
            char* const place = to + row * kOutColumns * 2 + ((chunk + right) ^ row % 8) * 16;
            const float* const first = &sums[box / ACROSS][(in_row * kOutColumns + chunk * 8) / 2];
            std::uint32_t words[4];
            if (beta != 0.0f) ptx::ldmatrix(words, place);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float2 two{alpha * first[2 * i], alpha * first[2 * i + 1]};
                if (beta != 0.0f) {
                    const float2 old = unpack2<T>(words[i]);
                    two.x += beta * old.x;
                    two.y += beta * old.y;
                }
                words[i] = pack2<T>(two.x, two.y);
            }
            ptx::stmatrix(place, words);
        }
        ptx::fence_proxy_async();  // each lane, for what it has written
        __syncwarp();
        if (lane == 0) {
            ptx::tma_store(map_c, at, to);
            ptx::bulk_commit();
        }
    }
}

}  // namespace gemm
