// A warpgroup's way from wgmma's sums to C: 64 rows of results of 16 bits, by the widest stores that C
// allows. All 128 threads call it, with the same arguments but for their sums.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/pairs.hpp"
#include "common/ptx/wgmma_descriptor.hpp"

namespace gemm {

/// C = alpha·sums + beta·C for 64 rows of C from row0 on and all columns of the products (2·SUMS) from col0
/// on, pair by pair. What is outside of C is left out. C: M×N, pitch ldc.
template <class T, int SUMS>
__device__ __forceinline__ void store_sums_by_pairs(const float (&sums)[SUMS], std::int64_t row0,
                                                    std::int64_t col0, std::int64_t M, std::int64_t N,
                                                    float alpha, float beta, T* C, std::int64_t ldc) {
    const bool pairs = pairs_allowed(C, ldc);
#pragma unroll
    for (int e = 0; e < SUMS; e += 2) {
        const ptx::WgmmaPlace in = ptx::wgmma_sum(threadIdx.x % 128, e);
        const std::int64_t row = row0 + in.row, col = col0 + in.column;
        if (row >= M) continue;
        store2(&C[row * ldc + col], N - col, pairs, alpha * sums[e], alpha * sums[e + 1], beta);
    }
}

/// Four neighboring lanes hold a row each of a 4×4 matrix of words; afterwards each holds a column.
__device__ __forceinline__ void transpose4(std::uint32_t (&words)[4]) {
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {
        const bool upper = threadIdx.x & step;
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i & step) continue;
            const std::uint32_t mine = upper ? words[i] : words[i + step];
            const std::uint32_t other = __shfl_xor_sync(0xffffffffu, mine, step);
            if (upper)
                words[i] = other;
            else
                words[i + step] = other;
        }
    }
}

/// C = alpha·sums, 16 bytes a store. Of 32 neighbors in a row a lane has two in each 8; four lanes transpose
/// what they have, so that each gets 8 neighbors. c: C at the warpgroup's first row and column; rows,
/// columns: how many exist from there on. Where wide_allowed().
template <class T, int SUMS>
__device__ __forceinline__ void store_sums_wide(const float (&sums)[SUMS], T* c, std::int64_t ldc,
                                                std::int64_t rows, std::int64_t columns, float alpha) {
    static_assert(SUMS % 16 == 0, "32 columns at a time");
    const int t = threadIdx.x;
    const ptx::WgmmaPlace in = ptx::wgmma_sum(t % 128, 0);
    c += in.row * ldc + t % 4 * 8;  // the lane's 8 neighbors of the first 32
    rows -= in.row;
    const int right = (columns < 2 * SUMS ? static_cast<int>(columns) : 2 * SUMS) - t % 4 * 8;
#pragma unroll
    for (int e = 0; e < SUMS; e += 16) {  // 32 columns
#pragma unroll
        for (int y = 0; y < 16; y += 8) {  // the lane's two rows
            std::uint32_t words[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float* const two = &sums[e + 4 * i + y / 4];
                words[i] = pack2<T>(alpha * two[0], alpha * two[1]);
            }
            transpose4(words);
            if (y < rows && 2 * e < right) {
                *reinterpret_cast<uint4*>(&c[y * ldc + 2 * e]) =
                    make_uint4(words[0], words[1], words[2], words[3]);
            }
        }
    }
}

/// Whether every row of C, of elements of 2 bytes, begins and ends at a multiple of 16 bytes.
__host__ __device__ inline bool wide_allowed(const void* C, std::int64_t ldc, std::int64_t N) {
    return (reinterpret_cast<std::uintptr_t>(C) % 16 | ldc % 8 | N % 8) == 0;
}

/// C = alpha·sums + beta·C as store_sums_by_pairs() has it, 16 bytes a store where C allows them and need not
/// be read.
template <class T, int SUMS>
__device__ __forceinline__ void store_sums(const float (&sums)[SUMS], std::int64_t row0, std::int64_t col0,
                                           std::int64_t M, std::int64_t N, float alpha, float beta, T* C,
                                           std::int64_t ldc) {
    if (beta == 0.0f && wide_allowed(C, ldc, N)) {
        store_sums_wide(sums, &C[row0 * ldc + col0], ldc, M - row0, N - col0, alpha);
    } else {
        store_sums_by_pairs(sums, row0, col0, M, N, alpha, beta, C, ldc);
    }
}

/// The thread of a warpgroup by which store_sums() writes C[row][col], for owner(). The warpgroup's rows
/// begin at a multiple of 64, its columns at one of 32.
inline unsigned store_sums_thread(const Problem& p, std::int64_t row, std::int64_t col) {
    const bool wide = p.beta == 0.0f && wide_allowed(p.C, p.ldc, p.N);
    const std::int64_t lane = row % 8 * 4 + (wide ? col / 8 % 4 : col % 8 / 2);
    return static_cast<unsigned>(row % 64 / 16 * 32 + lane);
}

}  // namespace gemm
