// Block level: the mainloop of a block whose warps have roles. One thread, the producer, loads k-tiles for as
// long as stages come back; warpgroups, the consumers, multiply them and give their stages back.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>

#include "common/parts/ring.hpp"
#include "common/parts/scheduler.hpp"
#include "common/ptx/wgmma.hpp"

namespace gemm {

/// The producer's part: requests k-tiles. Stages are offsets in bytes.
template <class L>
concept KTileRequest = requires(L loader, Work work, unsigned stage, int number, ptx::Mbarrier& full) {
    loader.start(work);                        // k-tiles of this work come next
    loader.copy(stage, number, full);          // this one, to this stage; `full` counts its bytes
    { L::STAGE } -> std::convertible_to<int>;  // bytes of a stage
};

/// A consumer's part: what its warpgroup does with a k-tile in shared memory.
template <class W>
concept WarpgroupAtom = requires(const W atom, typename W::Sums& sums, unsigned stage, bool first) {
    atom.multiply(sums, stage,
                  first);  // starts sums += the products of this stage, or sums =, the first time
};

/// sums = A·B over the k-tiles of a piece of work, one at least.
template <class Loader, class Atom, int STAGES>
struct WarpSpecialized {
    static_assert(KTileRequest<Loader> && WarpgroupAtom<Atom>);
    static_assert(STAGES >= 2, "one k-tile is multiplied while another is on its way");
    using Sums = typename Atom::Sums;
    using Barriers = RingBarriers<STAGES>;

    Loader loader;
    Atom atom;
    Barriers& barriers;
    RingPlace<STAGES> ring = {};

    /// The producer's thread. Its next k-tiles, into the stages that come next.
    __device__ __forceinline__ void load(const Work& work) {
        loader.start(work);
        for (int i = 0; i < work.k_tiles; ++i, ring.next()) {
            ptx::Mbarrier& full = barriers.full[ring.stage];
            ptx::mbarrier_wait(barriers.empty[ring.stage], ring.parity ^ 1);
            ptx::mbarrier_arrive_expect_tx(full, Loader::STAGE);
            loader.copy(ring.stage * Loader::STAGE, work.first_k + i, full);
        }
    }

    /// A consumer, all of its threads. between(i), i = 0 … TIMES − 1, comes after the products of k-tile i
    /// have been started, and comes though there are fewer k-tiles.
    template <int TIMES, class Between>
    __device__ __forceinline__ void multiply(Sums& sums, const Work& work, const Between& between) {
        ptx::wgmma_fence(sums);
#pragma unroll
        for (int i = 0; i < TIMES; ++i) {
            if (i == 0 || i < work.k_tiles) use_tile(sums, i == 0);
            between(i);
        }
#pragma unroll 1
        for (int i = TIMES; i < work.k_tiles; ++i) use_tile(sums, false);
        ptx::wgmma_wait<0>(sums);
        give_back(ring.before);
    }

  private:
    /// Starts the products of a k-tile, and gives back the stage of the one before.
    __device__ __forceinline__ void use_tile(Sums& sums, bool first) {
        ptx::mbarrier_wait(barriers.full[ring.stage], ring.parity);
        ptx::wgmma_fence();
        atom.multiply(sums, ring.stage * Loader::STAGE, first);
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();  // the batch before has read its stage
        if (!first) give_back(ring.before);
        ring.next();
    }

    /// A stage back to the producer, by one thread of a consumer.
    __device__ __forceinline__ void give_back(unsigned stage) const {
        if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(barriers.empty[stage]);
    }
};

}  // namespace gemm
