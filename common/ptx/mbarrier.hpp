// mbarrier: a barrier in shared memory that threads arrive at without waiting, and that bytes arrive at, too:
// those that the copy engine brings (PTX ISA, "Parallel Synchronization and Communication Instructions:
// mbarrier", compute capability 9.0 and higher).
//
// An mbarrier goes from phase to phase. A phase is complete when as many threads have arrived as
// mbarrier_init() said and no bytes are still expected; then the next one begins, with the same number of
// arrivals. Phases have a parity: 0, 1, 0, … A wait for parity p returns when a phase of parity p has been
// the last to complete, so at once where the phase now open has the other parity. That is why a wait for
// parity 1 at a fresh mbarrier does not wait.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/here.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/async.hpp"
#endif

// Lessons that use it say what they need, and are skipped elsewhere: there they only have to compile.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GEMM_TOO_OLD
#endif

namespace gemm::ptx {

/// In shared memory. What it holds is the hardware's.
struct Mbarrier {
    std::uint64_t opaque;
};

/// Begins its life, with `arrivals` arrivals a phase (1 … 2^20 - 1). By one thread; others may use it after a
/// barrier, and the copy engine after fence_mbarrier_init() and the barrier.
__device__ __forceinline__ void mbarrier_init([[maybe_unused]] Mbarrier& barrier,
                                              [[maybe_unused]] unsigned arrivals,
                                              [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
                 "r"(arrivals)
                 : "memory");
#else
    ::cpu_device::mbarrier_init(&barrier, arrivals, {"mbarrier.init", here.file, here.line});
#endif
}

/// Makes mbarriers that the thread has begun visible to the copy engine.
__device__ __forceinline__ void fence_mbarrier_init() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
    ::cpu_device::fence_mbarrier_init();
#endif
}

/// Ends its life: the memory may be used for something else.
__device__ __forceinline__ void mbarrier_inval([[maybe_unused]] Mbarrier& barrier,
                                               [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(&barrier)))
                 : "memory");
#else
    ::cpu_device::mbarrier_inval(&barrier, {"mbarrier.inval", here.file, here.line});
#endif
}

/// The phase now open shall not complete before so many bytes more have come.
__device__ __forceinline__ void mbarrier_expect_tx([[maybe_unused]] Mbarrier& barrier,
                                                   [[maybe_unused]] unsigned bytes,
                                                   [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
                 "r"(bytes)
                 : "memory");
#else
    ::cpu_device::mbarrier_expect_tx(&barrier, bytes, {"mbarrier.expect_tx", here.file, here.line});
#endif
}

/// `count` arrivals. What the thread has done to memory before is visible to whoever has waited for the
/// phase.
__device__ __forceinline__ void mbarrier_arrive([[maybe_unused]] Mbarrier& barrier,
                                                [[maybe_unused]] unsigned count = 1,
                                                [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
                 "r"(count)
                 : "memory");
#else
    ::cpu_device::mbarrier_arrive(&barrier, count, {"mbarrier.arrive", here.file, here.line});
#endif
}

/// mbarrier_expect_tx() and one arrival, in one.
__device__ __forceinline__ void mbarrier_arrive_expect_tx([[maybe_unused]] Mbarrier& barrier,
                                                          [[maybe_unused]] unsigned bytes,
                                                          [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
                 "r"(bytes)
                 : "memory");
#else
    ::cpu_device::mbarrier_arrive_expect_tx(&barrier, bytes,
                                            {"mbarrier.arrive.expect_tx", here.file, here.line});
#endif
}

namespace detail {
template <bool MAY_SLEEP>
__device__ __forceinline__ bool mbarrier_is_complete([[maybe_unused]] Mbarrier& barrier,
                                                     [[maybe_unused]] unsigned parity,
                                                     [[maybe_unused]] Here here) {
#ifdef GEMM_TOO_OLD
    __trap();
    return true;
#elif defined(__CUDACC__)
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    unsigned complete;
    if constexpr (MAY_SLEEP) {
        asm volatile(
            "{\n.reg .pred complete;\nmbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
            "selp.u32 %0, 1, 0, complete;\n}"
            : "=r"(complete)
            : "r"(address), "r"(parity)
            : "memory");
    } else {
        asm volatile(
            "{\n.reg .pred complete;\nmbarrier.test_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
            "selp.u32 %0, 1, 0, complete;\n}"
            : "=r"(complete)
            : "r"(address), "r"(parity)
            : "memory");
    }
    return complete != 0;
#else
    return ::cpu_device::mbarrier_is_complete(
        &barrier, parity, {MAY_SLEEP ? "mbarrier.try_wait" : "mbarrier.test_wait", here.file, here.line});
#endif
}
}  // namespace detail

/// Whether the last phase to complete has this parity, without waiting. True: what was done before the
/// arrivals, and the bytes, are visible to the thread.
__device__ __forceinline__ bool mbarrier_test_wait(Mbarrier& barrier, unsigned parity, Here here = {}) {
    return detail::mbarrier_is_complete<false>(barrier, parity, here);
}

/// The same, and the thread may sleep until it is so, for as long as the hardware likes: false is no answer
/// yet.
__device__ __forceinline__ bool mbarrier_try_wait(Mbarrier& barrier, unsigned parity, Here here = {}) {
    return detail::mbarrier_is_complete<true>(barrier, parity, here);
}

/// Waits until it is so.
__device__ __forceinline__ void mbarrier_wait(Mbarrier& barrier, unsigned parity, Here here = {}) {
#ifdef __CUDACC__
    while (!mbarrier_try_wait(barrier, parity, here)) {
    }
#else
    ::cpu_device::mbarrier_wait(&barrier, parity, {"mbarrier.try_wait", here.file, here.line});
#endif
}

}  // namespace gemm::ptx

#undef GEMM_TOO_OLD
