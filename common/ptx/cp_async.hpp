// cp.async: 4, 8 or 16 bytes from global to shared memory without passing through registers, while the thread
// goes on (PTX ISA, "Data Movement and Conversion Instructions: cp.async", compute capability 8.0 and
// higher).
//
// A thread's copies since its last commit form a group. Waiting for groups makes the thread's own copies
// visible to the thread; other threads see them after a barrier that follows the wait.
#pragma once

#include <cuda_runtime.h>

// Lessons that copy so say what they need, and are skipped elsewhere: there they only have to compile.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define GEMM_TOO_OLD
#endif

namespace gemm::ptx {

/// Starts copying BYTES from `global` to `shared`; both must be multiples of BYTES. Only the first `valid`
/// bytes are read (0 … BYTES), the rest of the destination becomes zero: what a guard at the edge of a matrix
/// needs. With valid == 0 `global` is not followed, but must still be a pointer that could be.
template <int BYTES>
__device__ __forceinline__ void cp_async([[maybe_unused]] void* shared, [[maybe_unused]] const void* global,
                                         [[maybe_unused]] int valid = BYTES) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (BYTES == 16) {  // .cg: past L1, which only 16-byte copies may
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global), "r"(valid)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(global), "n"(BYTES),
                     "r"(valid)
                     : "memory");
    }
#else
    ::cpu_device::async_copy(shared, global, BYTES, valid);
#endif
}

/// The same, whole or not at all: where `there` is false `global` is not followed and BYTES zeros are stored.
/// (The form with a predicate, which takes fewer instructions than one with a count of bytes.)
template <int BYTES>
__device__ __forceinline__ void cp_async_or_zero([[maybe_unused]] void* shared,
                                                 [[maybe_unused]] const void* global,
                                                 [[maybe_unused]] bool there) {
    static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    if constexpr (BYTES == 16) {
        asm volatile(
            "{\n.reg .pred ignore;\nsetp.eq.u32 ignore, %2, 0;\n"
            "cp.async.cg.shared.global [%0], [%1], 16, ignore;\n}" ::"r"(address),
            "l"(global), "r"(static_cast<unsigned>(there))
            : "memory");
    } else {
        asm volatile(
            "{\n.reg .pred ignore;\nsetp.eq.u32 ignore, %2, 0;\n"
            "cp.async.ca.shared.global [%0], [%1], %3, ignore;\n}" ::"r"(address),
            "l"(global), "r"(static_cast<unsigned>(there)), "n"(BYTES)
            : "memory");
    }
#else
    ::cpu_device::async_copy(shared, global, BYTES, there ? BYTES : 0);
#endif
}

/// Closes the group of the copies that the thread has started since the last commit. An empty group counts
/// too.
__device__ __forceinline__ void cp_async_commit() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    ::cpu_device::async_commit();
#endif
}

/// Waits until at most PENDING of the thread's newest groups are still under way.
template <int PENDING>
__device__ __forceinline__ void cp_async_wait() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#else
    ::cpu_device::async_wait(PENDING);
#endif
}

}  // namespace gemm::ptx

#undef GEMM_TOO_OLD
