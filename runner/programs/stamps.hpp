// The stamps of ./gemm timeline. The runner puts them into a copy of a lesson's kernel.cu: it writes
// gemm::timeline::At<SITE>:: in place of gemm::ptx:: where a kernel waits, asks, arrives or multiplies, and a
// Block at the beginning of the kernel. No lesson includes this, and what is timed has never seen it.
//
// Lane 0 of each warp of block 0 writes what it sees. A stamp costs it two reads of the clock, an access to
// shared memory and a store to global memory that nobody waits for: 100 clock cycles or more on an H200, so
// that the kernel takes longer with them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "common/error.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "runner/programs/timeline.hpp"

namespace gemm::timeline {

constexpr int WARPS = 32;       // of a block, at most
constexpr int CAPACITY = 4096;  // stamps of a warp

__device__ Stamp stamps[WARPS][CAPACITY];
__device__ unsigned counts[WARPS];

/// Of each warp, in shared memory: a register for it would be a register of every function.
struct State {
    unsigned count;   // stamps so far
    unsigned opened;  // when the batch of wgmma that is being issued was opened
};

__device__ __forceinline__ State& state() {
    __shared__ State states[WARPS];
    return states[threadIdx.x / 32];
}

__device__ __forceinline__ bool writes() {
    return threadIdx.x % 32 == 0 && blockIdx.x == 0;
}

/// volatile, and a barrier for the compiler: what is timed stays between two of them.
__device__ __forceinline__ unsigned now() {
    unsigned clock;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(clock)::"memory");
    return clock;
}

__device__ __forceinline__ unsigned nanoseconds() {
    unsigned time;
    asm volatile("mov.u32 %0, %%globaltimer_lo;" : "=r"(time)::"memory");
    return time;
}

__device__ __forceinline__ void write(unsigned site, unsigned begin, unsigned end, unsigned detail) {
    State& mine = state();
    const unsigned at = mine.count++;
    if (at >= CAPACITY) return;
    *reinterpret_cast<uint4*>(&stamps[threadIdx.x / 32][at]) = make_uint4(site, begin, end, detail);
}

__device__ __forceinline__ unsigned address_of(const ptx::Mbarrier& barrier) {
    return ptx::shared_address(&barrier);
}

/// In the kernel: a warp's first stamp and its last, wherever its lane 0 returns.
struct Block {
    __device__ __forceinline__ Block() {
        if (!writes()) return;
        state() = {};
        const unsigned clock = now();
        write(kBegins, clock, clock, nanoseconds());
    }
    __device__ __forceinline__ ~Block() {
        if (!writes()) return;
        const unsigned clock = now();
        write(kReturns, clock, clock, nanoseconds());
        counts[threadIdx.x / 32] = state().count;
    }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
};

/// The wrappers of common/ptx that are stamped, as one place in the kernel calls them.
template <unsigned SITE>
struct At {
    template <class Body>
    static __device__ __forceinline__ void timed(unsigned detail, const Body& body) {
        const unsigned begin = now();
        body();
        const unsigned end = now();
        if (writes()) write(SITE, begin, end, detail);
    }

    static __device__ __forceinline__ void mbarrier_wait(ptx::Mbarrier& barrier, unsigned parity) {
        timed(address_of(barrier), [&] { ptx::mbarrier_wait(barrier, parity); });
    }
    static __device__ __forceinline__ void mbarrier_wait_cluster(ptx::Mbarrier& barrier, unsigned parity) {
        timed(address_of(barrier), [&] { ptx::mbarrier_wait_cluster(barrier, parity); });
    }
    static __device__ __forceinline__ void mbarrier_arrive_expect_tx(ptx::Mbarrier& barrier, unsigned bytes) {
        timed(address_of(barrier), [&] { ptx::mbarrier_arrive_expect_tx(barrier, bytes); });
    }
    static __device__ __forceinline__ void mbarrier_arrive(ptx::Mbarrier& barrier, unsigned count = 1) {
        timed(address_of(barrier), [&] { ptx::mbarrier_arrive(barrier, count); });
    }
    static __device__ __forceinline__ void mbarrier_arrive_at(ptx::Mbarrier& barrier, unsigned rank,
                                                              unsigned count = 1) {
        timed(address_of(barrier), [&] { ptx::mbarrier_arrive_at(barrier, rank, count); });
    }
    static __device__ __forceinline__ void mbarrier_arrive_relaxed_at(ptx::Mbarrier& barrier, unsigned rank,
                                                                      unsigned count = 1) {
        timed(address_of(barrier), [&] { ptx::mbarrier_arrive_relaxed_at(barrier, rank, count); });
    }

    /// A batch of products is stamped once, when it is committed: from its fence on.
    template <class... Sums>
    static __device__ __forceinline__ void wgmma_fence(Sums&... sums) {
        if (writes()) state().opened = now();
        ptx::wgmma_fence(sums...);
    }
    static __device__ __forceinline__ void wgmma_commit() {
        ptx::wgmma_commit();
        if (writes()) write(SITE, state().opened, now(), 0);
    }
    template <int PENDING, class... Sums>
    static __device__ __forceinline__ void wgmma_wait(Sums&... sums) {
        timed(PENDING, [&] { ptx::wgmma_wait<PENDING>(sums...); });
    }

    static __device__ __forceinline__ void bulk_commit() {
        timed(0, [&] { ptx::bulk_commit(); });
    }
    template <int PENDING>
    static __device__ __forceinline__ void bulk_wait() {
        timed(PENDING, [&] { ptx::bulk_wait<PENDING>(); });
    }
    template <int PENDING>
    static __device__ __forceinline__ void bulk_wait_read() {
        timed(PENDING, [&] { ptx::bulk_wait_read<PENDING>(); });
    }

    static __device__ __forceinline__ void syncthreads() {
        timed(0, [&] { __syncthreads(); });
    }
    static __device__ __forceinline__ void cluster_sync() {
        timed(0, [&] { ptx::cluster_sync(); });
    }
    static __device__ __forceinline__ void cluster_sync_relaxed() {
        timed(0, [&] { ptx::cluster_sync_relaxed(); });
    }
};

std::vector<Warp> read_stamps() {
    static Stamp all[WARPS][CAPACITY];
    unsigned wanted[WARPS];
    CUDA_CHECK(cudaMemcpyFromSymbol(all, stamps, sizeof all));
    CUDA_CHECK(cudaMemcpyFromSymbol(wanted, counts, sizeof wanted));
    std::vector<Warp> warps;
    for (int warp = 0; warp < WARPS && wanted[warp] > 0; ++warp) {
        const unsigned kept = wanted[warp] < CAPACITY ? wanted[warp] : CAPACITY;
        warps.push_back({{all[warp], all[warp] + kept}, wanted[warp]});
    }
    return warps;
}

}  // namespace gemm::timeline
