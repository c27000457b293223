// A permutation of the places in a tile of shared memory, so that a column of it meets many banks.
#pragma once

#include <cuda_runtime.h>

namespace gemm {

/// XORs the B bits of an offset that start at bit M + S into the B bits that start at bit M: chunks of 2^M
/// stay whole, and which of 2^B chunks a place of a row moves to depends on the row. A permutation of every
/// aligned range of 2^(M+S+B) offsets, and its own inverse. (CuTe's Swizzle<B, M, S>, CUTLASS, "CuTe Layout
/// Algebra" and include/cute/swizzle.hpp, for S ≥ B.)
///
/// For rows of 128 bytes and chunks of 16: Swizzle<3, 4, 3> of an offset in bytes, Swizzle<3, 3, 3> of one in
/// elements of 2 bytes. The tile starts at a multiple of 2^(M+S+B), or each offset counts from its start.
template <int B, int M, int S>
struct Swizzle {
    static_assert(B >= 0 && M >= 0 && S >= B && M + S + B < 31,
                  "bits that depend on others must not be among them");

    /// Of an offset that is not negative.
    __host__ __device__ static constexpr int apply(int offset) {
        return offset ^ (offset >> S & ((1 << B) - 1) << M);
    }
};

}  // namespace gemm
