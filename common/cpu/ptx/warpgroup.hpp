// What common/ptx/wgmma.hpp calls on the CPU device. The instructions are described there.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/wgmma_descriptor.hpp"

namespace cpu_device {

/// What one thread says of a wgmma.mma_async.
struct WgmmaCall {
    float* sums;
    int count;                                 // of them: N / 2
    const std::uint32_t* registers = nullptr;  // the 4 with A; null where it is in shared memory
    std::uint64_t a = 0, b = 0;                // descriptors
    gemm::ptx::Major major_a = gemm::ptx::Major::k, major_b = gemm::ptx::Major::k;
    bool minus_a, minus_b, add, half;
};

/// What descriptors call an address in shared memory: as on a GPU a number below 2^18, whose lower bits are
/// the address's.
unsigned shared_address(const void* shared);

void wgmma_fence(Site site);
void wgmma(const WgmmaCall& call, Site site);
void wgmma_commit(Site site);
void wgmma_wait(int pending_batches, Site site);
/// setmaxnreg: more, or fewer.
void set_registers(int count, bool more, Site site);

}  // namespace cpu_device
