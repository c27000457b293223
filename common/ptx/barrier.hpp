// Barriers for a part of a block (PTX ISA, "Parallel synchronization and communication instructions: bar").
#pragma once

#include <cuda_runtime.h>

#include "common/ptx/here.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/barrier.hpp"
#endif

namespace gemm::ptx {

/// Waits at the block's barrier `id` (1 to 15; 0 is that of __syncthreads()) until `threads` threads have
/// come to it, whole warps: what each of them has written is there for the others. Then the barrier is as
/// before.
__device__ __forceinline__ void barrier_sync(unsigned id, unsigned threads, [[maybe_unused]] Here here = {}) {
#ifdef __CUDACC__
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#else
    ::cpu_device::named_barrier(id, threads, {"bar.sync", here.file, here.line});
#endif
}

}  // namespace gemm::ptx
