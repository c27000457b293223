// Thread level: what becomes of a sum. An epilogue calls it for every element of C.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>

namespace gemm {

/// What an epilogue does with a sum at (row, col) of C, and with the old C where reads_c().
template <class F>
concept ElementwiseOutput = requires(const F output, float value, std::int64_t at) {
    { output.reads_c() } -> std::same_as<bool>;
    { output(value, at, at) } -> std::same_as<float>;         // of the sum
    { output(value, value, at, at) } -> std::same_as<float>;  // of the sum and of C
};

/// alpha·sum + beta·C. BLAS: beta == 0 must not read C.
struct LinearCombination {
    float alpha, beta;

    __device__ __forceinline__ bool reads_c() const { return beta != 0.0f; }
    __device__ __forceinline__ float operator()(float sum, std::int64_t /*row*/, std::int64_t /*col*/) const {
        return alpha * sum;
    }
    __device__ __forceinline__ float operator()(float sum, float c, std::int64_t /*row*/,
                                                std::int64_t /*col*/) const {
        return alpha * sum + beta * c;
    }
};

}  // namespace gemm
