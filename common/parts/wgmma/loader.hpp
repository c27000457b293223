// Block level, wgmma: one thread requests k-tiles from TMA.
#pragma once

#include <cuda_runtime.h>

#include "common/parts/scheduler.hpp"
#include "common/ptx/tma.hpp"

namespace gemm::wgmma {

/// To a stage: T As[BM][BK], then for each consumer T Bs[BK][BOX]. map_a, map_b: A: M×K in boxes of BM×BOX,
/// B: K×N in boxes of BK×BOX, swizzled by 128 bytes. S: a Shape.
template <class S>
struct Loader {
    static constexpr int STAGE = S::STAGE;

    char* shared;
    const CUtensorMap &map_a, &map_b;
    int row = 0, col = 0;  // of C: where the C tile begins

    __device__ __forceinline__ Loader(char* stages, const CUtensorMap& a, const CUtensorMap& b)
        : shared(stages), map_a(a), map_b(b) {}

    __device__ __forceinline__ void start(const Work& work) {
        row = static_cast<int>(work.tile.m) * S::BM;
        col = static_cast<int>(work.tile.n) * S::BN;
    }

    __device__ __forceinline__ void copy(unsigned stage, int k_tile, ptx::Mbarrier& full) const {
        char *const as = shared + stage, *const bs = as + S::BS;
        ptx::tma_load(as, map_a, {k_tile * S::BK, row}, full);
#pragma unroll
        for (int x = 0; x < S::BN; x += S::BOX) {
            ptx::tma_load(bs + x * S::SPAN, map_b, {col + x, k_tile * S::BK}, full);
        }
    }
};

}  // namespace gemm::wgmma
