#include "common/tma/matrix.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <limits>
#include <string>

#include "common/error.hpp"
#include "common/gemm.hpp"

namespace gemm {

TmaMatrix tma_matrix(const void* matrix, std::int64_t rows, std::int64_t cols, std::int64_t pitch, int size) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 256;  // less a box
    if (rows > kMost || cols > kMost) {
        throw Error("The copy engine's coordinates are numbers of 32 bits: M, N and K may be " +
                    std::to_string(kMost) + " at most, and one is " + std::to_string(std::max(rows, cols)) +
                    "; take a lesson that copies without it.");
    }
    const auto whole = [&](std::int64_t bytes) { return ceil_div(cols * size, bytes) * bytes / size; };
    TmaMatrix m{matrix, rows, cols, rows == 1 ? whole(16) : pitch, nullptr};  // one row has no next one
    if (reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && m.pitch * size % 16 == 0) return m;
    // Where a row of a box begins within a cache line of 128 bytes, it takes one line more. A copy's rows
    // begin with one, but for short ones, of which there may be many.
    m.pitch = whole(cols * size > 128 ? 128 : 16);
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, static_cast<std::size_t>(rows * m.pitch * size)));
    m.copy = std::shared_ptr<void>(memory, [](void* p) { cudaFree(p); });
    m.address = memory;
    return m;
}

}  // namespace gemm
