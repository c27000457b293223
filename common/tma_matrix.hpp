// A matrix for the copy engine. TMA takes one whose address and whose pitch are multiples of 16 bytes; of any
// other, a lesson's launch() makes a copy with such rows first, in scratch memory that its plan owns.
// Included by kernel.cu, which nvcc and g++ compile.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace gemm {

/// A matrix in global memory as a tensor map can name it.
struct TmaMatrix {
    const void* address = nullptr;
    std::int64_t rows = 0, cols = 0, pitch = 0;  // elements
    std::shared_ptr<void> copy;  // owns what lies at `address`, for launch() to fill; null where the matrix
                                 // itself lies there
};

/// rows×cols elements of `size` bytes, neither of them 0. Allocates where there has to be a copy. Throws
/// Error where a coordinate may not fit the 32 bits that TMA has for it, and CudaError where memory cannot be
/// had.
TmaMatrix tma_matrix(const void* matrix, std::int64_t rows, std::int64_t cols, std::int64_t pitch, int size);

/// Blocks of copy_rows(), and the threads of each.
inline unsigned copy_blocks(std::int64_t rows) {
    return static_cast<unsigned>(std::min<std::int64_t>(rows, 1 << 20));
}
constexpr int kCopyThreads = 256;

/// Copies rows×cols elements to rows `to_pitch` apart: a block a row, then the row gridDim.x further down.
template <class T>
__global__ void __launch_bounds__(kCopyThreads)
    copy_rows(std::int64_t rows, std::int64_t cols, const T* from, std::int64_t from_pitch, T* to,
              std::int64_t to_pitch) {
    for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
#pragma unroll 4
        for (std::int64_t col = threadIdx.x; col < cols; col += kCopyThreads) {
            to[row * to_pitch + col] = from[row * from_pitch + col];
        }
    }
}

}  // namespace gemm
