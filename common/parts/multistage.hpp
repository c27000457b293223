// Block level: the mainloop of a ring of k-tiles in shared memory, which cp.async fills. The fragments of the
// next k-step are read during the products of this one.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <type_traits>

#include "common/parts/scheduler.hpp"
#include "common/ptx/cp_async.hpp"

namespace gemm {

/// A thread's part of bringing k-tiles to shared memory. Stages are offsets in bytes.
template <class L>
concept KTileLoader = requires(L loader, Work work, int number) {
    loader.start(work);           // the k-tiles of this work come next, in order
    loader.copy(number, number);  // the next one, to this stage; so many steps of K exist of it
    { L::BK } -> std::convertible_to<int>;
    { L::STAGE } -> std::convertible_to<int>;  // bytes of a stage
};

/// What a warp does with a k-tile in shared memory, in STEPS k-steps.
template <class W>
concept WarpAtom = requires(const W atom, typename W::Fragments& fragments, typename W::Sums& sums,
                            int number) {
    atom.read(fragments, number, number);    // of this stage, of this k-step
    atom.multiply(sums, fragments, number);  // sums += the products of this k-step
    { W::STEPS } -> std::convertible_to<int>;
};

/// sums = A·B over the k-tiles of a piece of work. STAGES: k-tiles in shared memory.
template <class Loader, class Atom, int STAGES>
struct Multistage {
    static_assert(KTileLoader<Loader> && WarpAtom<Atom>);
    static_assert(STAGES >= 2, "one k-tile is used while another is on its way");
    static_assert(Atom::STEPS % 2 == 0, "two sets of fragments, by turns: a k-tile ends as it began");
    using Sums = typename Atom::Sums;
    static constexpr int SHARED = STAGES * Loader::STAGE, LAST = SHARED - Loader::STAGE;  // bytes

    Loader loader;
    Atom atom;
    int first_steps;  // of K, in k-tile 0

    /// Requests the first k-tiles. The block has taken its last barrier of the work before, if there was any.
    __device__ __forceinline__ void fill(const Work& work) {
        loader.start(work);
        if (work.k_tiles > 0) loader.copy(0, work.first_k == 0 ? first_steps : Loader::BK);
        ptx::cp_async_commit();
        for (int s = 1; s < STAGES - 1; ++s) {
            if (s < work.k_tiles) loader.copy(s * Loader::STAGE, Loader::BK);
            ptx::cp_async_commit();  // one group per k-tile, be it empty
        }
    }

    /// After fill().
    __device__ __forceinline__ void multiply(Sums& sums, const Work& work) {
        int tiles = work.k_tiles;
        typename Atom::Fragments fragments[2];  // of this k-step and of the next
        ptx::cp_async_wait<STAGES - 2>();
        __syncthreads();  // the first k-tiles are complete before anyone reads them
        if (tiles > 0) atom.read(fragments[0], 0, 0);
        int stage = 0, ahead = LAST;  // the k-tile in use, and where one is copied to
        const auto use_tile = [&](auto copying) {
#pragma unroll
            for (int step = 0; step < Atom::STEPS; ++step) {
                if (step == Atom::STEPS - 1) {
                    ptx::cp_async_wait<STAGES - 2>();
                    __syncthreads();  // the next k-tile is complete, and everyone has read this one
                    stage = stage == LAST ? 0 : stage + Loader::STAGE;
                }
                if (copying.value || step < Atom::STEPS - 1 || tiles > 1) {
                    atom.read(fragments[(step + 1) % 2], stage, (step + 1) % Atom::STEPS);
                }
                if (step == 0) {
                    if (copying.value) loader.copy(ahead, Loader::BK);
                    ptx::cp_async_commit();
                    ahead = ahead == LAST ? 0 : ahead + Loader::STAGE;
                }
                atom.multiply(sums, fragments[step % 2], step);
            }
        };
        for (; tiles > STAGES - 1; --tiles) use_tile(std::true_type());
        for (; tiles > 0; --tiles) use_tile(std::false_type());  // everything is copied
    }
};

}  // namespace gemm
