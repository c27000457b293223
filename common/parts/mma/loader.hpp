// Block level, 16 bits: k-tiles come by cp.async, to swizzled places.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/parts/arguments.hpp"
#include "common/parts/scheduler.hpp"
#include "common/ptx/cp_async.hpp"

namespace gemm::mma {

/// Copies WIDTH neighbors of a row, of which the first `left` exist, and zeros for the others.
template <bool ALIGNED, class T>
__device__ __forceinline__ void copy_run(char* to, const T* from, int left) {
    if constexpr (ALIGNED) {
        ptx::cp_async_or_zero<16>(to, from, left > 0);
    } else {
        const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
        const std::uint32_t low = left > 0 ? bits[0] : 0, high = left > 1 ? bits[1] : 0;
        *reinterpret_cast<std::uint32_t*>(to) = low | high << 16;
    }
}

/// A thread's part of copying a k-tile of A or of B, ROWS×COLS elements: WIDTH neighbors at a time. The
/// threads of a row copy RUN elements of it together.
template <class T, bool ALIGNED, int THREADS, int ROWS, int COLS, int RUN>
struct Share {
    static constexpr int WIDTH = ALIGNED ? 8 : 2, AT_ONCE = THREADS * WIDTH / RUN;  // rows at a time
    static_assert(ROWS % AT_ONCE == 0 && AT_ONCE % 8 == 0, "swizzles repeat");
    const int t = threadIdx.x, row = t * WIDTH / RUN, col = t * WIDTH % RUN;
    char* to[COLS / RUN];     // in stage 0
    const T* from = nullptr;  // in the k-tile that is copied next

    /// Copies the k-tile, of which the first `rows` rows and `cols` columns exist.
    __device__ __forceinline__ void copy(int stage, std::int64_t pitch, std::int64_t rows,
                                         std::int64_t cols) {
        // How many rows exist from the thread's first one on, and below, how many columns: counted once, so
        // that a row takes one comparison.
        const int there = rows - row < ROWS ? static_cast<int>(rows - row) : ROWS;
#pragma unroll
        for (int i = 0; i < COLS; i += RUN) {
            const int left = cols - col - i < WIDTH ? static_cast<int>(cols - col - i) : WIDTH;
#pragma unroll(ALIGNED ? ROWS : 4)
            for (int r = 0; r < ROWS; r += AT_ONCE) {
                copy_run<ALIGNED>(to[i / RUN] + stage + 2 * r * COLS, from + r * pitch + i,
                                  r < there ? left : 0);
            }
        }
    }
};

/// To a stage: T As[BM][BK], then Bs[BK][BN], both swizzled. ALIGNED: rows come 16 bytes at a time. S: a
/// Shape.
template <class T, class S, bool ALIGNED>
struct Loader {
    static constexpr int BK = S::BK, STAGE = S::STAGE, A_RUN = ALIGNED ? BK / 2 : BK, B_RUN = 64;

    const Arguments<T>& in;
    std::int64_t row0 = 0, col0 = 0;  // of C: where the C tile begins
    Share<T, ALIGNED, S::THREADS, S::BM, BK, A_RUN> a;
    Share<T, ALIGNED, S::THREADS, BK, S::BN, B_RUN> b;

    __device__ __forceinline__ Loader(const Arguments<T>& arguments, char* shared) : in(arguments) {
        for (int i = 0; i < BK; i += A_RUN) a.to[i / A_RUN] = shared + S::a_at(a.row, (a.col + i) % BK);
        for (int i = 0; i < S::BN; i += B_RUN)
            b.to[i / B_RUN] = shared + (S::BS + S::b_at(b.row, b.col)) + 2 * i;
    }

    __device__ __forceinline__ void start(const Work& work) {
        // Steps of K before the first k-tile: k-tile 0 is the partial one.
        const std::int64_t k0 =
            work.first_k == 0 ? 0 : (in.K - 1) % BK + 1 + std::int64_t{work.first_k - 1} * BK;
        row0 = std::int64_t{work.tile.m} * S::BM;
        col0 = std::int64_t{work.tile.n} * S::BN;
        a.from = in.A + (row0 + a.row) * in.lda + k0 + a.col;
        b.from = in.B + (k0 + b.row) * in.ldb + col0 + b.col;
    }

    __device__ __forceinline__ void copy(int stage, int steps) {
        a.copy(stage, in.lda, in.M - row0, steps);
        b.copy(stage, in.ldb, steps, in.N - col0);
        a.from += steps;
        b.from += steps * in.ldb;
    }
};

}  // namespace gemm::mma
