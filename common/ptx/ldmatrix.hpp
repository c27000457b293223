// ldmatrix: 8×8 matrices of 16-bit elements from shared memory into the registers of a warp, as mma.sync
// takes them (PTX ISA, "Warp-level matrix load instruction: ldmatrix", compute capability 7.5 and higher).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/here.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/tensor.hpp"
#endif

namespace gemm::ptx {

namespace detail {

#ifdef __CUDACC__
#define GEMM_LDMATRIX(trans)                                                                          \
    if constexpr (COUNT == 1) {                                                                       \
        asm volatile("ldmatrix.sync.aligned.m8n8.x1" trans ".shared.b16 {%0}, [%1];"                  \
                     : "=r"(registers[0])                                                             \
                     : "r"(address)                                                                   \
                     : "memory");                                                                     \
    } else if constexpr (COUNT == 2) {                                                                \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 {%0, %1}, [%2];"              \
                     : "=r"(registers[0]), "=r"(registers[1])                                         \
                     : "r"(address)                                                                   \
                     : "memory");                                                                     \
    } else {                                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" trans ".shared.b16 {%0, %1, %2, %3}, [%4];"      \
                     : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3]) \
                     : "r"(address)                                                                   \
                     : "memory");                                                                     \
    }
#endif

template <bool TRANS, int COUNT>
__device__ __forceinline__ void ldmatrix(std::uint32_t (&registers)[COUNT], const void* row,
                                         [[maybe_unused]] Here here) {
    static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4, "ldmatrix reads 1, 2 or 4 matrices");
#ifdef __CUDACC__
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    if constexpr (TRANS) {
        GEMM_LDMATRIX(".trans")
    } else {
        GEMM_LDMATRIX("")
    }
#undef GEMM_LDMATRIX
#else
    ::cpu_device::load_matrices(registers, COUNT, TRANS, row,
                                {TRANS ? "ldmatrix.trans" : "ldmatrix", here.file, here.line});
#endif
}

}  // namespace detail

/// Reads COUNT matrices (1, 2 or 4), one register of each lane for each. Lane 8·i + r gives the address of
/// row r of matrix i: 8 elements, 16 bytes at a multiple of 16 in shared memory. Of the other lanes `row` is
/// not followed. Which elements a lane gets: ldmatrix_element() in fragments.hpp.
///
/// All 32 lanes must execute it together. It does not order memory accesses: what other lanes of the warp
/// wrote must be behind a barrier or __syncwarp(). (On 7.5 every lane's address must be valid.)
template <int COUNT>
__device__ __forceinline__ void ldmatrix(std::uint32_t (&registers)[COUNT], const void* row, Here here = {}) {
    detail::ldmatrix<false>(registers, row, here);
}

/// The same, each matrix transposed: ldmatrix_trans_element().
template <int COUNT>
__device__ __forceinline__ void ldmatrix_trans(std::uint32_t (&registers)[COUNT], const void* row,
                                               Here here = {}) {
    detail::ldmatrix<true>(registers, row, here);
}

/// Four matrices, for two fragments of two registers.
__device__ __forceinline__ void ldmatrix_trans(std::uint32_t (&fragments)[2][2], const void* row,
                                               Here here = {}) {
    std::uint32_t registers[4];
    detail::ldmatrix<true>(registers, row, here);
    for (int i = 0; i < 4; ++i) fragments[i / 2][i % 2] = registers[i];
}

}  // namespace gemm::ptx
