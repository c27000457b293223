// Block level: how the warps of a block that load and those that multiply share a ring of stages. Each stage
// has two mbarriers, and everyone goes through the stages in the same order.
#pragma once

#include <cuda_runtime.h>

#include "common/ptx/tma.hpp"

namespace gemm {

/// In shared memory, one of each block. full: a k-tile has arrived. empty: all consumers have read it.
template <int STAGES>
struct RingBarriers {
    ptx::Mbarrier full[STAGES], empty[STAGES];

    /// By one thread; the block meets before anyone uses them.
    __device__ __forceinline__ void init(unsigned consumers) {
        for (ptx::Mbarrier& barrier : full) ptx::mbarrier_init(barrier, 1);
        for (ptx::Mbarrier& barrier : empty) ptx::mbarrier_init(barrier, consumers);
        ptx::fence_mbarrier_init();
    }
};

/// Where in the ring someone is.
template <int STAGES>
struct RingPlace {
    unsigned stage = 0, parity = 0, before = 0;  // before: the stage before

    __device__ __forceinline__ void next() {
        before = stage;
        if (++stage == STAGES) stage = 0, parity ^= 1;
    }
};

}  // namespace gemm
