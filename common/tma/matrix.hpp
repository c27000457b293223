// A matrix for the copy engine. TMA takes one whose address and whose pitch are multiples of 16 bytes; of any
// other, a lesson's launch() makes a copy with such rows first, in scratch memory that its plan owns.
// Included by kernel.cu; the kernel that copies is in copy_rows.hpp.
#pragma once

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

}  // namespace gemm
