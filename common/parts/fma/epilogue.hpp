// Thread level, FP32: from a thread's sums to C, four neighbors of a row at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/parts/arguments.hpp"
#include "common/parts/fma/atom.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/scheduler.hpp"

namespace gemm::fma {

/// ALIGNED: four neighbors exist together or not at all, and are stored at once. S: a Shape.
template <class S, bool ALIGNED, class Output>
struct Epilogue {
    static_assert(ElementwiseOutput<Output>);

    const Arguments<float>& out;
    const Output& output;

    /// C = output(sums) for the work's C tile.
    __device__ __forceinline__ void store(const float (&sums)[S::TM][S::TN], const Work& work) const {
        const Place at = place_of_thread<S>();
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM + at.y;
        const std::int64_t col0 = std::int64_t{work.tile.n} * S::BN + at.x;
#pragma unroll  // sums are in registers, which take no index at run time
        for (int i = 0; i < S::TM; ++i) {
            const std::int64_t row = row0 + i / 4 * 4 * S::LANES_M + i % 4;
            if (row >= out.M) return;
#pragma unroll
            for (int j = 0; j < S::TN; j += 4) {
                store4(&sums[i][j], row, col0 + j * S::LANES_N);
            }
        }
    }

    /// Four neighbors of a row, from (row, col) on.
    __device__ __forceinline__ void store4(const float* sums, std::int64_t row, std::int64_t col) const {
        float* const c = &out.C[row * out.ldc + col];
        if constexpr (ALIGNED) {
            if (col >= out.N) return;
            float four[4];
            if (output.reads_c()) {
                const float4 old = *reinterpret_cast<const float4*>(c);
                const float olds[4] = {old.x, old.y, old.z, old.w};
#pragma unroll
                for (int e = 0; e < 4; ++e) four[e] = output(sums[e], olds[e], row, col + e);
            } else {
#pragma unroll
                for (int e = 0; e < 4; ++e) four[e] = output(sums[e], row, col + e);
            }
            *reinterpret_cast<float4*>(c) = make_float4(four[0], four[1], four[2], four[3]);
        } else {
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                if (col + e >= out.N) break;
                c[e] = output.reads_c() ? output(sums[e], c[e], row, col + e) : output(sums[e], row, col + e);
            }
        }
    }
};

}  // namespace gemm::fma
