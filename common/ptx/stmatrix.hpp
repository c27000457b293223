// stmatrix: 8×8 matrices of 16-bit elements from the registers of a warp to shared memory, from where
// mma.sync and wgmma leave them (PTX ISA, "Warp-level matrix store instruction: stmatrix", compute
// capability 9.0 and higher).
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/here.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/tensor.hpp"
#endif

// Lessons that use it say what they need, and are skipped elsewhere: there they only have to compile.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GEMM_TOO_OLD
#endif

namespace gemm::ptx {

namespace detail {

#ifdef __CUDACC__
#define GEMM_STMATRIX(trans)                                                                             \
    if constexpr (COUNT == 1) {                                                                          \
        asm volatile("stmatrix.sync.aligned.m8n8.x1" trans ".shared.b16 [%0], {%1};" ::"r"(address),     \
                     "r"(registers[0])                                                                   \
                     : "memory");                                                                        \
    } else if constexpr (COUNT == 2) {                                                                   \
        asm volatile("stmatrix.sync.aligned.m8n8.x2" trans ".shared.b16 [%0], {%1, %2};" ::"r"(address), \
                     "r"(registers[0]), "r"(registers[1])                                                \
                     : "memory");                                                                        \
    } else {                                                                                             \
        asm volatile("stmatrix.sync.aligned.m8n8.x4" trans                                               \
                     ".shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),                               \
                     "r"(registers[0]), "r"(registers[1]), "r"(registers[2]), "r"(registers[3])          \
                     : "memory");                                                                        \
    }
#endif

template <bool TRANS, int COUNT>
__device__ __forceinline__ void stmatrix([[maybe_unused]] void* row,
                                         [[maybe_unused]] const std::uint32_t (&registers)[COUNT],
                                         [[maybe_unused]] Here here) {
    static_assert(COUNT == 1 || COUNT == 2 || COUNT == 4, "stmatrix writes 1, 2 or 4 matrices");
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    if constexpr (TRANS) {
        GEMM_STMATRIX(".trans")
    } else {
        GEMM_STMATRIX("")
    }
#else
    ::cpu_device::store_matrices(row, registers, COUNT, TRANS,
                                 {TRANS ? "stmatrix.trans" : "stmatrix", here.file, here.line});
#endif
}

}  // namespace detail

/// Writes COUNT matrices (1, 2 or 4), one register of each lane for each. Lane 8·i + r gives the address of
/// row r of matrix i: 8 elements, 16 bytes at a multiple of 16 in shared memory. Of the other lanes `row` is
/// not followed. Which elements a lane has: ldmatrix_element() in fragments.hpp, as of a sum by mma.sync or
/// wgmma.
///
/// All 32 lanes must execute it together. It does not order memory accesses: what was written is there for
/// other lanes of the warp behind a barrier or __syncwarp().
template <int COUNT>
__device__ __forceinline__ void stmatrix(void* row, const std::uint32_t (&registers)[COUNT], Here here = {}) {
    detail::stmatrix<false>(row, registers, here);
}

/// The same, each matrix transposed: ldmatrix_trans_element().
template <int COUNT>
__device__ __forceinline__ void stmatrix_trans(void* row, const std::uint32_t (&registers)[COUNT],
                                               Here here = {}) {
    detail::stmatrix<true>(row, registers, here);
}

}  // namespace gemm::ptx

#undef GEMM_TOO_OLD
#undef GEMM_STMATRIX
