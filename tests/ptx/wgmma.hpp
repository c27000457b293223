// A host function around kernels of one warpgroup that multiply by wgmma. sm_90a alone, and the CPU device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/for_lesson_17/wgmma_inputs.hpp"
#include "common/ptx/wgmma_descriptor.hpp"

namespace kernels {

constexpr unsigned kWgmmaShared = 120 * 1024;  // bytes at most that a case uses
constexpr int kWgmmaThreads = 128;
constexpr int kWgmmaSteps = 2;  // of 32 bytes along K, in one batch
constexpr int kWgmmaN[] = {8, 64, 128, 192, 256}, kWgmmaTypeN[] = {8, 96, 256};

enum class WgmmaSum { f32, f16, s32 };

/// What lessons multiply: BF16 and FP16 with sums of FP32. They alone may lie along the rows.
__host__ __device__ constexpr bool wgmma_is_plain(gemm::ptx::WgmmaInput a, WgmmaSum sum) {
    using gemm::ptx::WgmmaInput;
    return sum == WgmmaSum::f32 && (a == WgmmaInput::bf16 || a == WgmmaInput::f16);
}
/// Whether kernels that negate A and B are there, which are for A and B along k alone.
__host__ __device__ constexpr bool wgmma_can_negate(gemm::ptx::WgmmaInput a, gemm::ptx::WgmmaInput b,
                                                    WgmmaSum sum, int n) {
    using gemm::ptx::WgmmaInput;
    if (wgmma_is_plain(a, sum)) return n == 64;
    const bool of_type = sum == WgmmaSum::f32
                             ? a == WgmmaInput::tf32 || (a == WgmmaInput::e4m3 && b == WgmmaInput::e5m2)
                             : sum == WgmmaSum::f16 && a == WgmmaInput::e5m2 && b == WgmmaInput::e4m3;
    return n == 96 && of_type;
}
/// 32-bit words of sums that a thread has.
__host__ __device__ constexpr int wgmma_words(int n, WgmmaSum sum) {
    return n / (sum == WgmmaSum::f16 ? 4 : 2);
}

struct WgmmaCase {
    gemm::ptx::WgmmaInput type_a, type_b;
    WgmmaSum sum;
    int n;  // one of kWgmmaN, or of kWgmmaTypeN where it is not plain
    gemm::ptx::Major major_a, major_b;
    bool registers;               // A comes from them
    bool minus_a, minus_b;        // where wgmma_can_negate()
    bool saturate;                // sums of s32
    gemm::ptx::WgmmaFields a, b;  // start: an offset in shared memory
    unsigned step_a, step_b;      // bytes from one step's start to the next one's
    bool add;                     // to the sums before, also the first step
    unsigned bytes;               // of shared memory
};

/// shared: what shared memory holds. registers[(step · 128 + thread) · 4 …]: A, where it comes from there.
/// before and sums [thread · wgmma_words() …]: the bits of what a thread's sums were and are.
void wgmma(const WgmmaCase& c, const std::uint32_t* shared, const std::uint32_t* registers,
           const std::uint32_t* before, std::uint32_t* sums);

}  // namespace kernels
