// A host function around kernels of one warpgroup that multiply by wgmma. sm_90a alone, and the CPU device.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/wgmma_descriptor.hpp"

namespace kernels {

constexpr unsigned kWgmmaShared = 120 * 1024;  // bytes at most that a case uses
constexpr int kWgmmaThreads = 128;
constexpr int kWgmmaSteps = 2;  // of 16 along K, in one batch
constexpr int kWgmmaN[] = {8, 64, 128, 192, 256};

struct WgmmaCase {
    int n;  // one of kWgmmaN
    bool half;
    gemm::ptx::Major major_a, major_b;
    bool registers;               // A comes from them
    bool minus_a, minus_b;        // with N = 64, A from registers or along k, and B along k alone
    gemm::ptx::WgmmaFields a, b;  // start: an offset in shared memory
    unsigned step_a, step_b;      // bytes from one step's start to the next one's
    bool add;                     // to the sums before, also the first step
    unsigned bytes;               // of shared memory
};

/// shared: what shared memory holds. registers[(step · 128 + thread) · 4 …]: A, where it comes from there.
/// before and sums [thread · n / 2 …]: what a thread's sums were and are.
void wgmma(const WgmmaCase& c, const std::uint32_t* shared, const std::uint32_t* registers,
           const float* before, float* sums);

}  // namespace kernels
