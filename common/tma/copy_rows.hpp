// A kernel that copies a matrix to rows of another pitch, for those that the copy engine refuses. For
// kernel.cu alone, which nvcc compiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace gemm {

/// Blocks of copy_rows(), and the threads of each.
inline unsigned copy_blocks(std::int64_t rows) {
    return static_cast<unsigned>(std::min<std::int64_t>(rows, 1 << 20));
}
constexpr int kCopyThreads = 256;

/// Copies rows×cols elements to rows `to_pitch` apart: a block a row, then the row gridDim.x further down.
template <class T>
__global__ void __launch_bounds__(kCopyThreads)
    copy_rows(std::int64_t rows, std::int64_t cols, const T* __restrict__ from, std::int64_t from_pitch,
              T* __restrict__ to, std::int64_t to_pitch) {
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
#pragma unroll 8
        for (std::int64_t col = threadIdx.x; col < cols; col += kCopyThreads) {
            to[row * to_pitch + col] = from[row * from_pitch + col];
        }
    }
}

}  // namespace gemm
