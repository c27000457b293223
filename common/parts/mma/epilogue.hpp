// Warp and thread level, 16 bits: from mma.sync's sums to C, 16 rows of a warp tile at a time through shared
// memory, where fragments become rows.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/element.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/scheduler.hpp"
#include "common/ptx/fragments.hpp"

namespace gemm::mma {

/// ALIGNED: eight neighbors exist together or not at all, and are stored at once. S: a Shape.
template <class T, class S, bool ALIGNED, class Output>
struct Epilogue {
    static_assert(ElementwiseOutput<Output>);

    const Arguments<T>& out;
    const Output& output;
    char* rows;  // 16 rows of results, for the warp alone

    __device__ __forceinline__ Epilogue(const Arguments<T>& arguments, const Output& function, char* shared)
        : out(arguments),
          output(function),
          rows(shared + S::OUT + threadIdx.x / 32 * S::MMA_M * S::OUT_PITCH) {}

    /// C = output(sums) for the work's C tile.
    __device__ __forceinline__ void store(const float (&sums)[S::TILES_M][S::TILES_N][4],
                                          const Work& work) const {
        const int warp = threadIdx.x / 32;
        const std::int64_t y0 = std::int64_t{work.tile.m} * S::BM + warp / S::WARPS_N * S::WM;
        const std::int64_t x0 = std::int64_t{work.tile.n} * S::BN + warp % S::WARPS_N * S::WN;
#pragma unroll
        for (int i = 0; i < S::TILES_M; ++i) {
            __syncwarp();  // every lane has stored the 16 rows before
            round(sums[i], y0 + i * S::MMA_M, x0);
            __syncwarp();  // the rows are complete
            store_rows(y0 + i * S::MMA_M, x0);
        }
    }

    /// 16 rows of the warp tile to shared memory. Their upper left corner is (y0, x0) of C.
    __device__ __forceinline__ void round(const float (&sums)[S::TILES_N][4], std::int64_t y0,
                                          std::int64_t x0) const {
#pragma unroll
        for (int j = 0; j < S::TILES_N; ++j) {
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                const ptx::Position in = ptx::fragment_c(threadIdx.x % 32, e);
                const std::int64_t row = y0 + in.row, col = x0 + j * S::MMA_N + in.col;
                __align__(4) T pair[2];
                for (int h = 0; h < 2; ++h) {
                    const bool reads = output.reads_c() && row < out.M && col + h < out.N;
                    const float sum = sums[j][e + h];
                    pair[h] = from_float<T>(
                        reads ? output(sum, to_float(out.C[row * out.ldc + col + h]), row, col + h)
                              : output(sum, row, col + h));
                }
                *reinterpret_cast<std::uint32_t*>(rows + in.row * S::OUT_PITCH +
                                                  2 * (j * S::MMA_N + in.col)) =
                    *reinterpret_cast<const std::uint32_t*>(pair);
            }
        }
    }

    /// From there to C: each lane takes 16 bytes, neighbors side by side.
    __device__ __forceinline__ void store_rows(std::int64_t y0, std::int64_t x0) const {
#pragma unroll
        for (int c = threadIdx.x % 32; c < S::MMA_M * S::WN / 8; c += 32) {
            const int r = c / (S::WN / 8), at_col = c % (S::WN / 8) * 8;
            const std::int64_t row = y0 + r, col = x0 + at_col;
            if (row >= out.M || col >= out.N) continue;
            const uint4 eight = *reinterpret_cast<const uint4*>(rows + r * S::OUT_PITCH + 2 * at_col);
            if constexpr (ALIGNED) {  // tested at run time, 16 bytes would become four stores
                *reinterpret_cast<uint4*>(&out.C[row * out.ldc + col]) = eight;
            } else {
#pragma unroll  // `eight` is in registers, which take no index at run time
                for (int e = 0; e < 8; ++e) {
                    if (col + e < out.N) {
                        out.C[row * out.ldc + col + e] = reinterpret_cast<const T*>(&eight)[e];
                    }
                }
            }
        }
    }
};

/// The thread that stores (row, col) of the C tile, for owner().
template <class S>
int thread_of(int row, int col) {
    const int warp = row / S::WM * S::WARPS_N + col / S::WN;
    return warp * 32 + (row % S::MMA_M * (S::WN / 8) + col % S::WN / 8) % 32;
}

}  // namespace gemm::mma
