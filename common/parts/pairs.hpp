// Results of 16 bits, two neighbors of a row at a time: 4 bytes, which a thread holds of wgmma's and
// mma.sync's sums.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/element.hpp"

namespace gemm {

/// Both rounded to T (__half or __nv_bfloat16), as the 32 bits that they are in memory.
template <class T>
__device__ __forceinline__ std::uint32_t pack2(float first, float second) {
    __align__(4) const T both[2] = {from_float<T>(first), from_float<T>(second)};
    return *reinterpret_cast<const std::uint32_t*>(both);
}

/// The two as floats.
template <class T>
__device__ __forceinline__ float2 unpack2(std::uint32_t word) {
    const T(&both)[2] = reinterpret_cast<const T(&)[2]>(word);
    return {to_float(both[0]), to_float(both[1])};
}

/// Whether a pair that begins in an even column of C may be stored at once, whichever row it is in.
template <class T>
__device__ __forceinline__ bool pairs_allowed(const T* C, std::int64_t ldc) {
    return (reinterpret_cast<std::uintptr_t>(C) % 4 | ldc % 2) == 0;
}

/// C = value + beta·C for two neighbors of a row, of which the first `left` exist. pairs: the two may be
/// stored at once.
template <class T>
__device__ __forceinline__ void store2(T* c, std::int64_t left, bool pairs, float first, float second,
                                       float beta) {
    if (beta != 0.0f) {  // BLAS: beta == 0 must not read C
        if (left > 0) first += beta * to_float(c[0]);
        if (left > 1) second += beta * to_float(c[1]);
    }
    __align__(4) const T both[2] = {from_float<T>(first), from_float<T>(second)};
    if (pairs && left > 1) {  // one store for the two
        *reinterpret_cast<std::uint32_t*>(c) = *reinterpret_cast<const std::uint32_t*>(both);
    } else {
        if (left > 0) c[0] = both[0];
        if (left > 1) c[1] = both[1];
    }
}

}  // namespace gemm
