// Clusters: blocks that the GPU runs at the same time, near each other, so that their threads can meet, reach
// into each other's shared memory and be sent the same bytes by one copy (PTX ISA, "Cluster of Cooperative
// Thread Arrays", compute capability 9.0 and higher). __cluster_dims__ of a kernel, or its launch, says how
// many blocks make one: 8 at most, or 16 on an H100, an H200 or a B200 where cudaFuncSetAttribute has set the
// kernel's cudaFuncAttributeNonPortableClusterSizeAllowed to 1; 8 is the most that every GPU with clusters
// takes. Without either, every block is a cluster of its own.
//
// A block of a cluster stays until nobody reaches into its shared memory any more, and nobody does so before
// it has begun: cluster_sync() at both ends sees to that.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/mbarrier.hpp"
#ifndef __CUDACC__
#include "common/cpu/ptx/cluster.hpp"
#endif

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define GEMM_TOO_OLD
#endif

namespace gemm::ptx {

// Special registers.
#if defined(__CUDACC__) && !defined(GEMM_TOO_OLD)
#define GEMM_SPECIAL(to, name) asm volatile("mov.u32 %0, %%" name ";" : "=r"(to))
#else
#define GEMM_SPECIAL(to, name) static_cast<void>(to)
#endif

/// The block's number in its cluster, x fastest.
__device__ __forceinline__ unsigned cluster_rank() {
#ifndef __CUDACC__
    return ::cpu_device::cluster_place().rank;
#else
    unsigned rank = 0;
    GEMM_SPECIAL(rank, "cluster_ctarank");
    return rank;
#endif
}

/// Blocks of a cluster.
__device__ __forceinline__ unsigned cluster_size() {
#ifndef __CUDACC__
    return ::cpu_device::cluster_place().size;
#else
    unsigned size = 1;
    GEMM_SPECIAL(size, "cluster_nctarank");
    return size;
#endif
}

/// Where the block is in its cluster, and how many of them there are in each direction.
__device__ __forceinline__ dim3 block_in_cluster() {
#ifndef __CUDACC__
    return ::cpu_device::cluster_place().block;
#else
    dim3 at(0, 0, 0);
    GEMM_SPECIAL(at.x, "cluster_ctaid.x");
    GEMM_SPECIAL(at.y, "cluster_ctaid.y");
    GEMM_SPECIAL(at.z, "cluster_ctaid.z");
    return at;
#endif
}
__device__ __forceinline__ dim3 cluster_dim() {
#ifndef __CUDACC__
    return ::cpu_device::cluster_place().dim;
#else
    dim3 blocks;
    GEMM_SPECIAL(blocks.x, "cluster_nctaid.x");
    GEMM_SPECIAL(blocks.y, "cluster_nctaid.y");
    GEMM_SPECIAL(blocks.z, "cluster_nctaid.z");
    return blocks;
#endif
}

/// Where the cluster is in the grid, and how many of them there are in each direction.
__device__ __forceinline__ dim3 cluster_id() {
#ifndef __CUDACC__
    return ::cpu_device::cluster_place().id;
#else
    dim3 at(0, 0, 0);
    GEMM_SPECIAL(at.x, "clusterid.x");
    GEMM_SPECIAL(at.y, "clusterid.y");
    GEMM_SPECIAL(at.z, "clusterid.z");
    return at;
#endif
}
__device__ __forceinline__ dim3 cluster_count() {
#ifndef __CUDACC__
    return ::cpu_device::cluster_place().count;
#else
    dim3 clusters;
    GEMM_SPECIAL(clusters.x, "nclusterid.x");
    GEMM_SPECIAL(clusters.y, "nclusterid.y");
    GEMM_SPECIAL(clusters.z, "nclusterid.z");
    return clusters;
#endif
}
#undef GEMM_SPECIAL

/// A barrier of all threads of the cluster that have not returned, in two steps: arrives, without waiting.
/// What the thread has done to memory before is visible to all behind their cluster_wait().
__device__ __forceinline__ void cluster_arrive([[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
#else
    ::cpu_device::cluster_arrive(true, {"barrier.cluster.arrive", here.file, here.line});
#endif
}

/// The same, and says nothing of memory: for a barrier behind which nobody reads what others wrote before it.
__device__ __forceinline__ void cluster_arrive_relaxed([[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
#else
    ::cpu_device::cluster_arrive(false, {"barrier.cluster.arrive.relaxed", here.file, here.line});
#endif
}

/// Waits until all have arrived.
__device__ __forceinline__ void cluster_wait([[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
#else
    ::cpu_device::cluster_wait({"barrier.cluster.wait", here.file, here.line});
#endif
}

/// Both.
__device__ __forceinline__ void cluster_sync(Here here = {}) {
    cluster_arrive(here);
    cluster_wait(here);
}

/// The same with a relaxed arrival: who has passed it knows that the others have come, and that the mbarriers
/// are there that they have begun and fenced (fence_mbarrier_init()); of memory it knows nothing.
__device__ __forceinline__ void cluster_sync_relaxed(Here here = {}) {
    cluster_arrive_relaxed(here);
    cluster_wait(here);
}

/// Where block `rank` of the cluster has what this block has at `shared`, for loads and stores.
template <class T>
__device__ __forceinline__ T* at_rank([[maybe_unused]] T* shared, [[maybe_unused]] unsigned rank,
                                      [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
    return nullptr;
#elif defined(__CUDACC__)
    std::uint64_t there;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(shared), "r"(rank));
    return reinterpret_cast<T*>(there);
#else
    return static_cast<T*>(::cpu_device::at_rank(shared, rank, {"mapa", here.file, here.line}));
#endif
}

/// mbarrier_arrive() at the same mbarrier in the shared memory of block `rank` of the cluster. What the
/// thread has done to memory before is visible to whoever has waited for the phase with
/// mbarrier_wait_cluster().
__device__ __forceinline__ void mbarrier_arrive_at([[maybe_unused]] Mbarrier& barrier,
                                                   [[maybe_unused]] unsigned rank,
                                                   [[maybe_unused]] unsigned count = 1,
                                                   [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there], %2;\n}" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
        "r"(rank), "r"(count)
        : "memory");
#else
    ::cpu_device::mbarrier_arrive_at(&barrier, rank, count, true,
                                     {"mbarrier.arrive.shared::cluster", here.file, here.line});
#endif
}

/// The same, and says nothing of what threads have done to memory, which costs a wait for all of the thread's
/// writes (MEMBAR): only that what the copy engine and the tensor cores did for the thread, and it has waited
/// for, is done. Enough where a stage is released that wgmma has read.
__device__ __forceinline__ void mbarrier_arrive_relaxed_at([[maybe_unused]] Mbarrier& barrier,
                                                           [[maybe_unused]] unsigned rank,
                                                           [[maybe_unused]] unsigned count = 1,
                                                           [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [there], %2;\n}" ::"r"(
            static_cast<unsigned>(__cvta_generic_to_shared(&barrier))),
        "r"(rank), "r"(count)
        : "memory");
#else
    ::cpu_device::mbarrier_arrive_at(&barrier, rank, count, false,
                                     {"mbarrier.arrive.relaxed.shared::cluster", here.file, here.line});
#endif
}

/// mbarrier_wait(), behind which the thread also sees what threads of other blocks did before they arrived.
__device__ __forceinline__ void mbarrier_wait_cluster([[maybe_unused]] Mbarrier& barrier,
                                                      [[maybe_unused]] unsigned parity,
                                                      [[maybe_unused]] Here here = {}) {
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto address = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    for (unsigned complete = 0; complete == 0;) {
        asm volatile(
            "{\n.reg .pred complete;\n"
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 complete, [%1], %2;\n"
            "selp.u32 %0, 1, 0, complete;\n}"
            : "=r"(complete)
            : "r"(address), "r"(parity)
            : "memory");
    }
#else
    ::cpu_device::mbarrier_wait_cluster(&barrier, parity,
                                        {"mbarrier.try_wait.acquire.cluster", here.file, here.line});
#endif
}

/// tma_load() to the same place in the shared memory of every block of the cluster that has its bit in
/// `blocks`. In each of them all bytes of the box count at the same mbarrier.
template <int RANK>
__device__ __forceinline__ void tma_load_multicast([[maybe_unused]] void* shared,
                                                   [[maybe_unused]] const CUtensorMap& map,
                                                   [[maybe_unused]] const int (&at)[RANK],
                                                   [[maybe_unused]] Mbarrier& barrier,
                                                   [[maybe_unused]] std::uint16_t blocks,
                                                   [[maybe_unused]] Here here = {}) {
    static_assert(RANK >= 1 && RANK <= 5, "a tensor has 1 to 5 dimensions");
#ifdef GEMM_TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const auto done = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
#define GEMM_TMA_MULTICAST(rank, coordinates, ...)                                                     \
    asm volatile("cp.async.bulk.tensor." rank                                                          \
                 ".shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, " \
                 "{" coordinates "}], [%2], %3;" ::"r"(to),                                            \
                 "l"(&map), "r"(done), "h"(blocks), __VA_ARGS__                                        \
                 : "memory")
    if constexpr (RANK == 1) {
        GEMM_TMA_MULTICAST("1d", "%4", "r"(at[0]));
    } else if constexpr (RANK == 2) {
        GEMM_TMA_MULTICAST("2d", "%4, %5", "r"(at[0]), "r"(at[1]));
    } else if constexpr (RANK == 3) {
        GEMM_TMA_MULTICAST("3d", "%4, %5, %6", "r"(at[0]), "r"(at[1]), "r"(at[2]));
    } else if constexpr (RANK == 4) {
        GEMM_TMA_MULTICAST("4d", "%4, %5, %6, %7", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]));
    } else {
        GEMM_TMA_MULTICAST("5d", "%4, %5, %6, %7, %8", "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]),
                           "r"(at[4]));
    }
#undef GEMM_TMA_MULTICAST
#else
    ::cpu_device::tensor_load_multicast(shared, map, at, RANK, &barrier, blocks,
                                        {"cp.async.bulk.tensor.multicast", here.file, here.line});
#endif
}

}  // namespace gemm::ptx

#undef GEMM_TOO_OLD
