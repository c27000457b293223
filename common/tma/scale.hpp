// A kernel for what is left of a problem without a product: C = beta·C, where K or alpha is 0. For kernel.cu
// alone, which nvcc compiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/element.hpp"
#include "common/gemm.hpp"

namespace gemm {

/// Blocks of scale(), and the threads of each.
inline unsigned scale_blocks(std::int64_t rows) {
    return static_cast<unsigned>(std::min<std::int64_t>(rows, 1 << 20));
}
constexpr int kScaleThreads = 256;

/// C = beta·C, rows×cols elements with rows `pitch` apart: a block a row, then the row gridDim.x further
/// down. BLAS: beta == 0 does not read C, which may hold NaN.
template <class T>
__global__ void __launch_bounds__(kScaleThreads)
    scale(std::int64_t rows, std::int64_t cols, float beta, T* C, std::int64_t pitch) {
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
        for (std::int64_t col = threadIdx.x; col < cols; col += kScaleThreads) {
            T& c = C[row * pitch + col];
            if constexpr (std::is_same_v<T, float>) {
                c = beta == 0.0f ? 0.0f : beta * c;
            } else {
                c = from_float<T>(beta == 0.0f ? 0.0f : beta * to_float(c));
            }
        }
    }
}

/// C = beta·C: all of a problem whose K or alpha is 0. M and N are not 0.
template <class T>
void launch_scale(const Problem& p, cudaStream_t stream) {
    const cudaLaunchConfig_t config{dim3(scale_blocks(p.M)), dim3(kScaleThreads), 0, stream, nullptr, 0};
    cudaLaunchKernelEx(&config, scale<T>, p.M, p.N, p.beta, static_cast<T*>(p.C), p.ldc);
}

/// A lesson's owner(), `product`, where it launches a product; where launch_scale() comes instead, who
/// scales.
template <Owner (*product)(const Problem&, std::int64_t row, std::int64_t col)>
Owner owner_or_scale(const Problem& p, std::int64_t row, std::int64_t col) {
    if (p.K != 0 && p.alpha != 0.0f) return product(p, row, col);
    return {{static_cast<unsigned>(row % scale_blocks(p.M)), 0, 0},
            {static_cast<unsigned>(col % kScaleThreads), 0, 0}};
}

}  // namespace gemm
