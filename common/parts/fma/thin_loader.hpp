// Block level, FP32: k-tiles of thin and flat C tiles come by cp.async, A's rows as they are or transposed.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "common/parts/arguments.hpp"
#include "common/parts/scheduler.hpp"
#include "common/ptx/cp_async.hpp"

namespace gemm::fma {

/// To a stage as the ThinShape S says. ALIGNED: B's rows come four floats at a time.
template <class S, bool ALIGNED>
struct ThinLoader {
    static_assert(ALIGNED || !S::ROWS);
    static constexpr int BK = S::BK, STAGE = S::STAGE;
    // What the thread copies: of A, every A_ROWS-th row from a_row on, one float or four from a_k on; of B,
    // every B_ROWS-th step from b_k on and every B_COLS-th column from b_col on, one float or four.
    static constexpr int A_WIDTH = S::ROWS ? 4 : 1, A_ROWS = S::THREADS * A_WIDTH / BK;
    static constexpr int WIDTH = ALIGNED ? 4 : 1, B_COLS = std::min(S::BN, S::THREADS*WIDTH),
                         B_ROWS = std::min(BK, S::THREADS*WIDTH / B_COLS);
    static_assert(S::BM % A_ROWS == 0 && S::BN % B_COLS == 0 && BK % B_ROWS == 0);
    static constexpr bool ALL_COPY_B = B_ROWS * B_COLS == S::THREADS * WIDTH;

    const Arguments<float>& in;
    int a_k, a_row, b_k, b_col;
    char *a_write, *b_write;  // in stage 0
    const float *a, *b;       // in the k-tile that is copied next
    int rows, cols;  // from the thread's first row of A, and column of B, to the last, at most BM, BN

    __device__ __forceinline__ ThinLoader(const Arguments<float>& arguments, char* shared) : in(arguments) {
        const int t = threadIdx.x, warp = t / 32, lane = t % 32;
        if constexpr (S::ROWS) {
            // Where a row has fewer than 128 bytes, eight lanes copy 32 of each of four rows whose banks
            // differ.
            static_assert(BK == 8 || BK == 16 || BK == 32);
            const int four = lane % 8 / 2 * 2 + lane / 8 % 2;
            a_k = BK == 8 ? lane % 2 * 4 : BK == 16 ? lane % 2 * 4 + lane / 16 * 8 : lane % 8 * 4;
            a_row = BK == 8    ? four + lane / 16 * 8 + warp * 16
                    : BK == 16 ? four + warp * 8
                               : lane / 8 + warp * 4;
            a_write = shared + 4 * (a_row * S::A_PITCH + a_k);
        } else {  // a warp copies 8 steps of 4 rows
            a_k = t % 8 + warp % (BK / 8) * 8, a_row = lane / 8 + warp / (BK / 8) * 4;
            a_write = shared + 4 * (a_k * S::A_PITCH + a_row);
        }
        b_k = t * WIDTH / B_COLS, b_col = t * WIDTH % B_COLS;
        b_write = shared + S::BS + 4 * (b_k * S::BN + b_col);
    }

    __device__ __forceinline__ void start(const Work& work) {
        // Steps of K before the first k-tile: k-tile 0 is the partial one.
        const std::int64_t k0 =
            work.first_k == 0 ? 0 : (in.K - 1) % BK + 1 + std::int64_t{work.first_k - 1} * BK;
        const std::int64_t row = std::int64_t{work.tile.m} * S::BM + a_row,
                           col = std::int64_t{work.tile.n} * S::BN + b_col;
        rows = static_cast<int>(in.M - row < S::BM ? in.M - row : S::BM);
        cols = static_cast<int>(in.N - col < S::BN ? in.N - col : S::BN);
        a = in.A + row * in.lda + k0 + a_k;
        b = in.B + (k0 + b_k) * in.ldb + col;
    }

    __device__ __forceinline__ void copy(int stage, int steps) {
        const float* from = a;
        const std::int64_t down = A_ROWS * in.lda;
#pragma unroll
        for (int i = 0; i < S::BM; i += A_ROWS) {
            ptx::cp_async_or_zero<4 * A_WIDTH>(a_write + stage + 4 * i * (S::ROWS ? S::A_PITCH : 1), from,
                                               a_k < steps && i < rows);
            from += down;
        }
        if (ALL_COPY_B || b_k < B_ROWS) {
#pragma unroll
            for (int i = 0; i < BK; i += B_ROWS) {
#pragma unroll
                for (int j = 0; j < S::BN; j += B_COLS) {
                    ptx::cp_async_or_zero<4 * WIDTH>(b_write + stage + 4 * (i * S::BN + j),
                                                     b + i * in.ldb + j, b_k + i < steps && j < cols);
                }
            }
        }
        a += steps;
        b += steps * in.ldb;
    }
};

}  // namespace gemm::fma
