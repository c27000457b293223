// Results of 16 bits, four neighbors of a row at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/element.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/pairs.hpp"

namespace gemm {

/// C's elements in this row, from this column on: as many of the four as exist. T: __half or __nv_bfloat16.
template <class T>
__device__ __forceinline__ void store_four(const Arguments<T>& out, const LinearCombination& output,
                                           std::int64_t row, std::int64_t col, float4 four) {
    T* const c = &out.C[row * out.ldc + col];
    const float sums[4] = {four.x, four.y, four.z, four.w};
    const auto result = [&](int i) {
        return output.reads_c() ? output(sums[i], to_float(c[i]), row, col + i)
                                : output(sums[i], row, col + i);
    };
    if (col + 4 <= out.N && reinterpret_cast<std::uintptr_t>(c) % 8 == 0) {
        const std::uint64_t left = pack2<T>(result(0), result(1)), right = pack2<T>(result(2), result(3));
        *reinterpret_cast<std::uint64_t*>(c) = left | right << 32;
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        if (col + i < out.N) c[i] = from_float<T>(result(i));
    }
}

}  // namespace gemm
