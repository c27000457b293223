// Block level, FP32: k-tiles come by cp.async, A's transposed on the way.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/parts/arguments.hpp"
#include "common/parts/scheduler.hpp"
#include "common/ptx/cp_async.hpp"

namespace gemm::fma {

/// To a stage: float As[BK][A_PITCH], transposed, then Bs[BK][BN]. ALIGNED: B's rows come four floats at a
/// time. S: a Shape.
template <class S, bool ALIGNED>
struct Loader {
    static constexpr int BK = S::BK, STAGE = S::STAGE;
    // What the thread copies: of A single floats, (a_row + i, a_k), a warp 8 steps of 4 rows, which an H200
    // stores a row at a time; of B (b_k + i, b_col), one float or four.
    static constexpr int WIDTH = ALIGNED ? 4 : 1, A_ROWS = S::THREADS / BK,
                         B_ROWS = S::THREADS * WIDTH / S::BN;

    const Arguments<float>& in;
    int a_k, a_row, b_k, b_col;
    char *a_write, *b_write;  // in stage 0
    const float *a, *b;       // in the k-tile that is copied next
    std::int64_t row, col;    // of C: the thread's first row of A, and its column of B

    __device__ __forceinline__ Loader(const Arguments<float>& arguments, char* shared) : in(arguments) {
        const int t = threadIdx.x, warp = t / 32, lane = t % 32;
        a_k = t % 8 + warp % (BK / 8) * 8, a_row = lane / 8 + warp / (BK / 8) * 4;
        b_k = t * WIDTH / S::BN, b_col = t * WIDTH % S::BN;
        a_write = shared + 4 * (a_k * S::A_PITCH + a_row);
        b_write = shared + S::BS + 4 * (b_k * S::BN + b_col);
    }

    __device__ __forceinline__ void start(const Work& work) {
        // Steps of K before the first k-tile: k-tile 0 is the partial one.
        const std::int64_t k0 =
            work.first_k == 0 ? 0 : (in.K - 1) % BK + 1 + std::int64_t{work.first_k - 1} * BK;
        row = std::int64_t{work.tile.m} * S::BM + a_row;
        col = std::int64_t{work.tile.n} * S::BN + b_col;
        a = in.A + row * in.lda + k0 + a_k;
        b = in.B + (k0 + b_k) * in.ldb + col;
    }

    __device__ __forceinline__ void copy(int stage, int steps) {
#pragma unroll
        for (int i = 0; i < S::BM; i += A_ROWS) {
            ptx::cp_async_or_zero<4>(a_write + stage + 4 * i, a + i * in.lda, a_k < steps && row + i < in.M);
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_ROWS) {
            ptx::cp_async_or_zero<4 * WIDTH>(b_write + stage + 4 * i * S::BN, b + i * in.ldb,
                                             b_k + i < steps && col < in.N);
        }
        a += steps;
        b += steps * in.ldb;
    }
};

}  // namespace gemm::fma
