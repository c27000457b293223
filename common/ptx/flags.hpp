// Flags in global memory by which blocks wait for each other (PTX ISA, "Memory Consistency Model: Release and
// Acquire Patterns"; "ld", "st", "red", "atom").
//
// A block may wait only for blocks that are resident at the same time or have ended: no other gets its turn
// before one of these ends.
#pragma once

#include <cuda_runtime.h>

#include "common/ptx/here.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/flags.hpp"
#endif

namespace gemm::ptx {

/// What the flag holds. What the thread that put it there by a release had done or known before is there for
/// this thread from here on; for the others of its block after a barrier.
__device__ __forceinline__ unsigned load_acquire(const unsigned* flag, [[maybe_unused]] Here here = {}) {
#ifdef __CUDACC__
    unsigned value;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(__cvta_generic_to_global(flag))
                 : "memory");
    return value;
#else
    return ::cpu_device::load_acquire(flag, {"ld.acquire", here.file, here.line});
#endif
}

/// Puts the value there. What the thread has done before, and what it knows others to have done (those of its
/// block before a barrier), is there for whoever acquires it.
__device__ __forceinline__ void store_release(unsigned* flag, unsigned value) {
#ifdef __CUDACC__
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(flag)), "r"(value)
                 : "memory");
#else
    ::cpu_device::store_release(flag, value);
#endif
}

/// The same by adding. Whoever acquires the sum has what all who have added since the last store released.
__device__ __forceinline__ void add_release(unsigned* flag, unsigned value) {
#ifdef __CUDACC__
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(flag)), "r"(value)
                 : "memory");
#else
    (void)::cpu_device::add_release(flag, value, false);
#endif
}

/// The same, and acquires what it was added to, which is returned: who comes last has what all others did.
__device__ __forceinline__ unsigned add_acquire_release(unsigned* flag, unsigned value) {
#ifdef __CUDACC__
    unsigned before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(flag)), "r"(value)
                 : "memory");
    return before;
#else
    return ::cpu_device::add_release(flag, value, true);
#endif
}

}  // namespace gemm::ptx
