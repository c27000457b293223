// A host function around kernels of one warpgroup that multiply other numbers than BF16 and FP16 with sums of
// FP32 (wgmma.hpp has those). sm_90a alone, and the CPU device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/for_lesson_17/wgmma_inputs.hpp"
#include "tests/ptx/wgmma.hpp"

namespace kernels {

constexpr int kWgmmaTypeN[] = {8, 96, 256};

enum class WgmmaSum { f32, f16, s32 };

struct WgmmaTypeCase {
    gemm::ptx::WgmmaInput type_a, type_b;
    WgmmaSum sum;
    int n;                        // one of kWgmmaTypeN
    bool registers;               // A comes from them
    bool minus_a, minus_b;        // with N = 96 and the types that wgmma_can_negate() names alone
    bool saturate;                // sums of s32
    gemm::ptx::WgmmaFields a, b;  // as a WgmmaCase has them
    unsigned step_a, step_b;
    bool add;
    unsigned bytes;
};

__host__ __device__ constexpr bool wgmma_can_negate(gemm::ptx::WgmmaInput a, gemm::ptx::WgmmaInput b,
                                                    WgmmaSum sum) {
    using gemm::ptx::WgmmaInput;
    return sum == WgmmaSum::f32 ? a == WgmmaInput::tf32 || (a == WgmmaInput::e4m3 && b == WgmmaInput::e5m2)
                                : sum == WgmmaSum::f16 && a == WgmmaInput::e5m2 && b == WgmmaInput::e4m3;
}
/// 32-bit words of sums that a thread has.
__host__ __device__ constexpr int wgmma_words(int n, WgmmaSum sum) {
    return n / (sum == WgmmaSum::f16 ? 4 : 2);
}

/// shared and registers as kernels::wgmma() takes them; before and sums [thread · words …]: the bits of what
/// a thread's sums were and are.
void wgmma_types(const WgmmaTypeCase& c, const std::uint32_t* shared, const std::uint32_t* registers,
                 const std::uint32_t* before, std::uint32_t* sums);

}  // namespace kernels
