// mma.sync: a warp multiplies small matrices on the tensor cores, operands and sums in its registers (PTX
// ISA, "Multiply-and-Accumulate Instruction: mma").
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/ptx/here.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/tensor.hpp"
#endif

namespace gemm::ptx {

/// acc += A·B with A 16×16, B 16×8 and acc 16×8, A and B of T (__half or __nv_bfloat16), acc of float:
/// mma.sync.aligned.m16n8k16.row.col. Which elements a lane holds: fragment_a(), fragment_b() and
/// fragment_c() in fragments.hpp. All 32 lanes must execute it together. Compute capability 8.0 and higher;
/// with __half also 7.5, as two m16n8k8, whose fragments are the registers of m16n8k16 for k < 8 and the
/// others.
///
/// Products are exact. Of their sum the PTX ISA promises "at least single precision" and no order or
/// rounding: tensor cores shift the addends to the largest one's exponent and truncate (Fasi, Higham,
/// Mikaitis, Pranesh: "Numerical Behavior of NVIDIA Tensor Cores", 2021), so that the last bits may differ
/// from those of FP32 additions, and from one generation to the next. The CPU device adds in double and
/// rounds once.
template <class T>
__device__ __forceinline__ void mma_m16n8k16(float (&acc)[4], const std::uint32_t (&a)[4],
                                             const std::uint32_t (&b)[2], [[maybe_unused]] Here here = {}) {
    static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, "inputs of 16 bits");
#ifdef __CUDACC__
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    if constexpr (std::is_same_v<T, __half>) {
        for (int k = 0; k < 2; ++k) {
            asm volatile(
                "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                "{%0, %1, %2, %3};"
                : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                : "r"(a[2 * k]), "r"(a[2 * k + 1]), "r"(b[k]));
        }
    } else {
        __trap();  // 7.5 has no such instruction; what needs it says so, and only has to compile there
    }
#else
    if constexpr (std::is_same_v<T, __half>) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }
#endif
#else
    ::cpu_device::multiply_fragments(
        acc, a, b, std::is_same_v<T, __half> ? ::cpu_device::Input::half : ::cpu_device::Input::bfloat16,
        {"mma.sync", here.file, here.line});
#endif
}

}  // namespace gemm::ptx
