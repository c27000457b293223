// What common/ptx/for_lesson_17/wgmma_types.hpp calls on the CPU device. The instructions are described
// there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/for_lesson_17/wgmma_inputs.hpp"

namespace cpu_device {

enum class WgmmaSums { f32, f16, s32 };

/// What one thread says of a wgmma.mma_async, of any type.
struct WgmmaMultiply {
    gemm::ptx::WgmmaInput input_a, input_b;
    WgmmaSums kind = WgmmaSums::f32;
    bool saturate = false;  // sums of s32 stop at the ends
    void* sums;
    int count;                                 // 32-bit registers of them
    const std::uint32_t* registers = nullptr;  // the 4 with A; null where it is in shared memory
    std::uint64_t a = 0, b = 0;                // descriptors
    gemm::ptx::Major major_a = gemm::ptx::Major::k, major_b = gemm::ptx::Major::k;
    bool minus_a = false, minus_b = false, add;

    /// N: a register holds two sums of FP16, and a thread a sum of every second column.
    unsigned columns() const { return static_cast<unsigned>(count) * (kind == WgmmaSums::f16 ? 4 : 2); }
};

void wgmma(const WgmmaMultiply& call, Site site);

}  // namespace cpu_device
