// Cluster, warp and thread level: from wgmma's sums in the blocks of a cluster, each of a slice of K, to C.
// The sums go through shared memory, where all blocks of the cluster read them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/element.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/pairs.hpp"
#include "common/parts/split_k.hpp"
#include "common/ptx/barrier.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/wgmma.hpp"

namespace gemm::wgmma {

/// Each block of the cluster writes every so many-th row of the C tile: to each element it adds up the sums
/// of all slices in their order, so that every launch gives the same bits. By the consumers alone; other
/// threads of the block have returned or will, without a barrier. S: a ShortShape. SLICES: at most.
template <class T, class S, int SLICES, class Output>
struct ClusterEpilogue {
    static_assert(ElementwiseOutput<Output>);
    using Sums = float[S::BM / 2];  // of a thread: a piece of Cᵀ, 64×BM
    static constexpr int THREADS = S::CONSUMERS * S::WARPGROUP, WARPS = THREADS / 32;
    static constexpr int EACH = S::BN / 32;  // columns of a thread
    static_assert(EACH == 4, "a thread reads a float4 of each slice");
    // Rows of a warp whose sums are on their way together: the more, the more registers.
    static constexpr int AT_ONCE = SLICES <= 4 ? 4 : 2;

    const Arguments<T>& out;
    const Output& output;
    float* tile;  // [BM][PITCH] in shared memory, where the stages were: the block's sums

    /// All that the block has loaded has been multiplied, by this thread's warpgroup at least.
    __device__ __forceinline__ void store(const Sums& sums, const Slice& work) const {
        ptx::barrier_sync(1, THREADS);  // the other consumers have read the stages, too
        leave(sums);
        if (work.slices == 1) {
            ptx::barrier_sync(1, THREADS);
        } else {
            ptx::cluster_sync();  // all slices' sums are there
        }
        add(work);
        if (work.slices > 1) ptx::cluster_wait();  // shared memory lives as long as its block
    }

  private:
    /// The pitch has a warp's 32 elements in 32 banks: 4 pairs of rows, 8 columns.
    __device__ __forceinline__ void leave(const Sums& sums) const {
        const unsigned t = threadIdx.x % S::WARPGROUP, first = threadIdx.x / S::WARPGROUP * S::WGMMA_M;
#pragma unroll
        for (int e = 0; e < S::BM / 2; ++e) {
            const ptx::WgmmaPlace at = ptx::wgmma_sum(t, e);  // of Cᵀ
            tile[at.column * S::PITCH + first + at.row] = sums[e];
        }
    }

    /// A warp has a row. All loads of several rows, from all blocks, come before the first addition.
    __device__ __forceinline__ void add(const Slice& work) const {
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM;
        const int rows = out.M - row0 < S::BM ? static_cast<int>(out.M - row0) : S::BM;
        const int x = threadIdx.x % 32 * EACH, step = work.slices * WARPS;
        const int first = static_cast<int>(threadIdx.x / 32) * work.slices + work.slice;
        for (int y = first; y < rows; y += AT_ONCE * step) {
            float4 parts[AT_ONCE][SLICES] = {};  // zeros of slices that there are not
#pragma unroll
            for (int s = 0; s < SLICES; ++s) {
                if (s >= work.slices) break;
                const float* const from = work.slices == 1 ? tile : ptx::at_rank(tile, s);
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    const int row = y + i * step;
                    if (row < rows) {
                        parts[i][s] = *reinterpret_cast<const float4*>(&from[row * S::PITCH + x]);
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                float4 total = parts[i][0];
#pragma unroll
                for (int s = 1; s < SLICES; ++s) {
                    total.x += parts[i][s].x, total.y += parts[i][s].y;
                    total.z += parts[i][s].z, total.w += parts[i][s].w;
                }
                if (y + i * step < rows) {
                    write({total.x, total.y, total.z, total.w}, row0 + y + i * step,
                          std::int64_t{work.tile.n} * S::BN + x);
                }
            }
        }
        if (work.slices > 1) ptx::cluster_arrive_relaxed();  // the thread has what it needed of others
    }

    /// Four elements of C in a row, as many of them as exist.
    __device__ __forceinline__ void write(const float (&sums)[EACH], std::int64_t row,
                                          std::int64_t col) const {
        T* const c = &out.C[row * out.ldc + col];
        const auto result = [&](int i) {
            return output.reads_c() ? output(sums[i], to_float(c[i]), row, col + i)
                                    : output(sums[i], row, col + i);
        };
        if (col + EACH <= out.N && reinterpret_cast<std::uintptr_t>(c) % 8 == 0) {
            const std::uint64_t left = pack2<T>(result(0), result(1)), right = pack2<T>(result(2), result(3));
            *reinterpret_cast<std::uint64_t*>(c) = left | right << 32;
            return;
        }
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            if (col + i < out.N) c[i] = from_float<T>(result(i));
        }
    }
};

/// The block of the cluster, and its thread, that write (row, col) of the C tile, for owner().
template <class S>
uint2 writer_of(unsigned row, unsigned col, unsigned slices) {
    const unsigned warps = S::CONSUMERS * S::WARPGROUP / 32;
    return {row % slices, row / slices % warps * 32 + col / (S::BN / 32)};
}

}  // namespace gemm::wgmma
