// TMA, the copy engine: one thread asks for a box of a tensor, and the engine moves it between global and
// shared memory while the threads go on (PTX ISA, "Data Movement and Conversion Instructions:
// cp.async.bulk.tensor", compute capability 9.0 and higher). A tensor map (common/tma/tensor_map.hpp) says
// where the tensor lies and how large the box is.
//
// Loads say that they are done at an mbarrier, in bytes. Stores form groups, as cp.async does, that the
// thread that started them waits for.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include "common/ptx/mbarrier.hpp"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GEMM_TOO_OLD
#endif

namespace gemm::ptx {

/// What the thread has written to shared memory becomes visible to the copy engine (and to wgmma), which
/// reaches memory by a way of its own, the async proxy: by each thread that has written, before the barrier
/// behind which one of them starts the copy.
__device__ __forceinline__ void fence_proxy_async() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
    ::cpu_device::fence_proxy_async();
#endif
}

/// Fetches the map itself into a cache, so that the first copy need not.
__device__ __forceinline__ void prefetch_tensor_map([[maybe_unused]] const CUtensorMap& map) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
#endif
}

/// Starts to load the box whose first element has the coordinates `at`, innermost first, to `shared`, a
/// multiple of 128. In its row that element begins at a multiple of 16 bytes. Elements outside of the tensor
/// become zero (or NaN, if the map says so), also where coordinates are negative. All bytes of the box count
/// at the mbarrier, which is in the same block's shared memory. Where the map swizzles, a row of the box that
/// is shorter than the span takes a whole span all the same, and what is left of it stays as it was.
template <int RANK>
__device__ __forceinline__ void tma_load([[maybe_unused]] void* shared,
                                         [[maybe_unused]] const CUtensorMap& map,
                                         [[maybe_unused]] const int (&at)[RANK],
                                         [[maybe_unused]] Mbarrier& barrier,
                                         [[maybe_unused]] Here here = {}) {
    static_assert(RANK >= 1 && RANK <= 5, "a tensor has 1 to 5 dimensions");
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const auto done = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
#define GEMM_TMA_LOAD(rank, coordinates, ...)                                                    \
    asm volatile("cp.async.bulk.tensor." rank                                                    \
                 ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" coordinates \
                 "}], [%2];" ::"r"(to),                                                          \
                 "l"(&map), "r"(done), __VA_ARGS__                                               \
                 : "memory")
    if constexpr (RANK == 1) {
        GEMM_TMA_LOAD("1d", "%3", "r"(at[0]));
    } else if constexpr (RANK == 2) {
        GEMM_TMA_LOAD("2d", "%3, %4", "r"(at[0]), "r"(at[1]));
    } else if constexpr (RANK == 3) {
        GEMM_TMA_LOAD("3d", "%3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]));
    } else if constexpr (RANK == 4) {
        GEMM_TMA_LOAD("4d", "%3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
    } else {
        GEMM_TMA_LOAD("5d", "%3, %4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]));
    }
#undef GEMM_TMA_LOAD
#else
    ::cpu_device::tensor_load(shared, map, at, RANK, &barrier,
                              {"cp.async.bulk.tensor", here.file, here.line});
#endif
}

/// Starts to store the box from `shared`, a multiple of 128, to the tensor; what would lie outside of it is
/// left out, but in units of 16 bytes: where a row of the tensor ends within such a unit, the rest is written
/// too, to whatever lies behind the row. No coordinate is negative. fence_proxy_async() and a
/// barrier come before.
template <int RANK>
__device__ __forceinline__ void tma_store([[maybe_unused]] const CUtensorMap& map,
                                          [[maybe_unused]] const int (&at)[RANK],
                                          [[maybe_unused]] const void* shared,
                                          [[maybe_unused]] Here here = {}) {
    static_assert(RANK >= 1 && RANK <= 5, "a tensor has 1 to 5 dimensions");
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto from = static_cast<unsigned>(__cvta_generic_to_shared(shared));
#define GEMM_TMA_STORE(rank, coordinates, ...)                                                    \
    asm volatile("cp.async.bulk.tensor." rank ".global.shared::cta.bulk_group [%0, {" coordinates \
                 "}], [%1];" ::"l"(&map),                                                         \
                 "r"(from), __VA_ARGS__                                                           \
                 : "memory")
    if constexpr (RANK == 1) {
        GEMM_TMA_STORE("1d", "%2", "r"(at[0]));
    } else if constexpr (RANK == 2) {
        GEMM_TMA_STORE("2d", "%2, %3", "r"(at[0]), "r"(at[1]));
    } else if constexpr (RANK == 3) {
        GEMM_TMA_STORE("3d", "%2, %3, %4", "r"(at[0]), "r"(at[1]), "r"(at[2]));
    } else if constexpr (RANK == 4) {
        GEMM_TMA_STORE("4d", "%2, %3, %4, %5", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
    } else {
        GEMM_TMA_STORE("5d", "%2, %3, %4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                       "r"(at[4]));
    }
#undef GEMM_TMA_STORE
#else
    ::cpu_device::tensor_store(map, at, RANK, shared, {"cp.async.bulk.tensor", here.file, here.line});
#endif
}

/// The same without a tensor map, for bytes that lie side by side: addresses and `bytes` are multiples of 16.
__device__ __forceinline__ void bulk_load([[maybe_unused]] void* shared, [[maybe_unused]] const void* global,
                                          [[maybe_unused]] unsigned bytes, [[maybe_unused]] Mbarrier& barrier,
                                          [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(shared))),
        "l"(global), "r"(bytes), "r"(static_cast<unsigned>(__cvta_generic_to_shared(&barrier)))
        : "memory");
#else
    ::cpu_device::bulk_load(shared, global, bytes, &barrier, {"cp.async.bulk", here.file, here.line});
#endif
}
__device__ __forceinline__ void bulk_store([[maybe_unused]] void* global, [[maybe_unused]] const void* shared,
                                           [[maybe_unused]] unsigned bytes, [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(global),
                 "r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))), "r"(bytes)
                 : "memory");
#else
    ::cpu_device::bulk_store(global, shared, bytes, {"cp.async.bulk", here.file, here.line});
#endif
}

/// Closes the group of the stores that the thread has started since the last commit. An empty group counts
/// too.
__device__ __forceinline__ void bulk_commit() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
    ::cpu_device::bulk_commit();
#endif
}

/// Waits until at most PENDING of the thread's newest groups have yet to write to global memory.
template <int PENDING>
__device__ __forceinline__ void bulk_wait() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(PENDING) : "memory");
#else
    ::cpu_device::bulk_wait(PENDING, false);
#endif
}

/// Waits until at most PENDING of the thread's newest groups have yet to read shared memory, which may then
/// be written again. A block must not end before.
template <int PENDING>
__device__ __forceinline__ void bulk_wait_read() {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
#else
    ::cpu_device::bulk_wait(PENDING, true);
#endif
}

}  // namespace gemm::ptx

#undef GEMM_TOO_OLD
