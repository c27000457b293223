// Warp level, FP32: from the sums of a warp to rows of C that have no four floats to store at once.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/parts/arguments.hpp"
#include "common/parts/fma/thin_atom.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/scheduler.hpp"

namespace gemm::fma {

/// A lane that stores its four neighbors one by one writes to a sector of 32 bytes four times, as do all
/// lanes beside it. Here the sums pass through shared memory, and lanes get neighbors of a row: a store of
/// the warp fills up to 128 bytes of it. S: a ThinShape.
template <class S, class Output>
struct RowStore {
    static_assert(ElementwiseOutput<Output>);
    // Of the warp's rows in shared memory, in floats. Padded, so that of eight lanes, which have two fours of
    // each of four rows, or four of each of two, each stores to other banks.
    static constexpr int PITCH = S::WN + (S::LANES_M == 2 ? 16 : 8);
    static constexpr int SHARED = S::THREADS / 32 * S::LANES_M * PITCH * 4;  // bytes

    const Arguments<float>& out;
    const Output& output;
    float* passing;  // [LANES_M][PITCH], the warp's

    __device__ __forceinline__ RowStore(const Arguments<float>& out, const Output& output, char* shared)
        : out(out),
          output(output),
          passing(reinterpret_cast<float*>(shared) + threadIdx.x / 32 * (S::LANES_M * PITCH)) {}

    /// C = output(sums) for the work's C tile. Nobody reads the shared memory any more.
    __device__ __forceinline__ void store(const float (&sums)[S::TM][S::TN], const Work& work) const {
        static_assert(!S::ROWS);
        const int lane = threadIdx.x % 32;
        const Place at = place_of_thin<S>(), first = first_of_warp<S>();
        const int mine = (at.y - first.y) / 4 * PITCH + at.x - first.x;
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM + first.y;
        const std::int64_t col0 = std::int64_t{work.tile.n} * S::BN + first.x;
#pragma unroll  // sums are in registers, which take no index at run time
        for (int i = 0; i < S::TM; ++i) {
            __syncwarp();  // the rows before are read
#pragma unroll
            for (int j = 0; j < S::TN; j += 4) {
                // The addition puts the four into registers in a row, which a store of four wants. Sums that
                // had to be there would share register banks with the factors of their products.
                *reinterpret_cast<float4*>(passing + mine + j * S::LANES_N) = make_float4(
                    sums[i][j] + 0.0f, sums[i][j + 1] + 0.0f, sums[i][j + 2] + 0.0f, sums[i][j + 3] + 0.0f);
            }
            __syncwarp();  // before other lanes read them
#pragma unroll
            for (int n = 0; n < S::LANES_M * S::WN; n += 32) {
                const int y = (n + lane) / S::WN, x = (n + lane) % S::WN;
                store(passing[y * PITCH + x], row0 + 4 * y + row_in_thread<S>(i), col0 + x);
            }
        }
    }

    /// Four sums of each lane, which are neighbors of the next lane's, row after row of the C tile. place: of
    /// the warp's first, in the C tile, of which only those before `end` exist.
    __device__ __forceinline__ void store4(const float (&sums)[4], int place, int end, std::int64_t row0,
                                           std::int64_t col0) const {
        const int lane = threadIdx.x % 32;
        __syncwarp();
        *reinterpret_cast<float4*>(passing + 4 * lane) = make_float4(sums[0], sums[1], sums[2], sums[3]);
        __syncwarp();
#pragma unroll
        for (int n = lane; n < 128; n += 32) {
            if (place + n < end) {
                store(passing[n], row0 + (place + n) / S::BN, col0 + (place + n) % S::BN);
            }
        }
    }

    /// The lane of its warp that stores (row, col) of the C tile in store(), for owner().
    static int lane_of(int row, int col) {
        const int y = row % S::WM / 4 % S::LANES_M;
        return (y * S::WN + col % S::WN) % 32;
    }

  private:
    __device__ __forceinline__ void store(float sum, std::int64_t row, std::int64_t col) const {
        if (row >= out.M || col >= out.N) return;
        float* const c = &out.C[row * out.ldc + col];
        *c = output.reads_c() ? output(sum, *c, row, col) : output(sum, row, col);
    }
};

}  // namespace gemm::fma
