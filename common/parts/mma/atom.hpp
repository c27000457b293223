// Warp and thread level, 16 bits: a k-step is a warp tile's products by mma.sync, from fragments that
// ldmatrix reads.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"

namespace gemm::mma {

/// S: a Shape. A k-step is MMA_K steps of K.
template <class T, class S>
struct Atom {
    static constexpr int STEPS = S::BK / S::MMA_K;
    struct Fragments {
        std::uint32_t a[S::TILES_M][4], b[S::TILES_N / 2][2][2];
    };
    using Sums = float[S::TILES_M][S::TILES_N][4];

    // The addresses that a lane gives to ldmatrix, in stage 0: one for each place in a row at which its
    // fragments begin. Every other address is at a constant distance from one of these.
    const char *a[STEPS], *b[S::TILES_N / 2];

    __device__ __forceinline__ explicit Atom(const char* shared) {
        const int warp = threadIdx.x / 32, y = warp / S::WARPS_N * S::WM, x = warp % S::WARPS_N * S::WN;
        const ptx::Position at = ptx::ldmatrix_row(threadIdx.x % 32);
#pragma unroll
        for (int k = 0; k < S::BK; k += S::MMA_K) a[k / S::MMA_K] = shared + S::a_at(y + at.row, k + at.col);
#pragma unroll
        for (int j = 0; j < S::TILES_N / 2; ++j) {
            b[j] = shared + (S::BS + S::b_at(at.row, x + j * 16 + at.col));
        }
    }

    __device__ __forceinline__ void read(Fragments& to, int stage, int step) const {
#pragma unroll
        for (int i = 0; i < S::TILES_M; ++i) {
            ptx::ldmatrix(to.a[i], a[step] + stage + 2 * i * S::MMA_M * S::BK);
        }
#pragma unroll
        for (int j = 0; j < S::TILES_N / 2; ++j) {
            ptx::ldmatrix_trans(to.b[j], b[j] + stage + 2 * step * S::MMA_K * S::BN);
        }
    }

    /// Down one column and up the next: two neighbors share a fragment.
    __device__ __forceinline__ void multiply(Sums& sums, const Fragments& with, int /*step*/) const {
#pragma unroll
        for (int j = 0; j < S::TILES_N; ++j) {
#pragma unroll
            for (int e = 0; e < S::TILES_M; ++e) {
                const int i = j % 2 == 0 ? e : S::TILES_M - 1 - e;
                ptx::mma_m16n8k16<T>(sums[i][j], with.a[i], with.b[j / 2][j % 2]);
            }
        }
    }
};

}  // namespace gemm::mma
