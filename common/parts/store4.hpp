// Results of FP32, four neighbors of a row at a time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gemm {

/// C = sums + beta·C for four neighbors of a row, of which the first `left` exist. ALIGNED: all four exist
/// or none does, and they begin at a multiple of 16 bytes.
template <bool ALIGNED>
__device__ __forceinline__ void store4(float* c, std::int64_t left, float4 sums, float beta) {
    if (ALIGNED) {
        if (left <= 0) return;
        if (beta != 0.0f) {  // BLAS: beta == 0 must not read C
            const float4 old = *reinterpret_cast<const float4*>(c);
            sums = make_float4(sums.x + beta * old.x, sums.y + beta * old.y, sums.z + beta * old.z,
                               sums.w + beta * old.w);
        }
        *reinterpret_cast<float4*>(c) = sums;
    } else {
        const float each[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            if (e < left) c[e] = beta == 0.0f ? each[e] : each[e] + beta * c[e];
        }
    }
}

}  // namespace gemm
