// Warpgroup level: a k-tile's products by wgmma, from shared memory. A consumer computes a piece of
// Cᵀ = Bᵀ·Aᵀ, 64 columns of C, so that the rows of a C tile may be any multiple of 8.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/wgmma.hpp"

namespace gemm::wgmma {

/// S: a Shape.
template <class T, class S>
struct Atom {
    using Sums = float[S::BM / 2];  // of Cᵀ, 64×BM: wgmma_sum() says which

    std::uint64_t as, bs;  // descriptors of As and of the consumer's Bs in stage 0

    /// By whole warps. consumer: 0 … CONSUMERS − 1; with another number, nobody multiplies.
    __device__ __forceinline__ Atom(const char* shared, int consumer) {
        // By a shuffle the compiler knows that all lanes of a warp have the same, and computes with it once a
        // warp.
        const unsigned base = __shfl_sync(0xffffffffu, ptx::shared_address(shared), 0);
        as = ptx::encode({.start = base, .stride = 8 * S::SPAN, .swizzle = ptx::WgmmaSwizzle::bytes128});
        bs = ptx::moved(as, S::BS + consumer * S::BK * S::SPAN);
    }

    __device__ __forceinline__ void multiply(Sums& sums, unsigned stage, bool first) const {
        const std::uint64_t a = ptx::moved(as, stage), b = ptx::moved(bs, stage);
        // wgmma's A is Bsᵀ, of which 64 columns of C lie side by side; its B is Asᵀ, of which steps along K
        // do.
#pragma unroll
        for (int k = 0; k < S::BK; k += S::WGMMA_K) {
            ptx::wgmma<T, S::BM, ptx::Major::row, ptx::Major::k>(sums, ptx::moved(b, k * S::SPAN),
                                                                 ptx::moved(a, 2 * k), !first || k > 0);
        }
    }
};

}  // namespace gemm::wgmma
