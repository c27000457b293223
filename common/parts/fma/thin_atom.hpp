// Warp and thread level, FP32: as atom.hpp, also where As keeps A's rows.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "common/parts/fma/atom.hpp"

namespace gemm::fma {

/// S: a ThinShape with ROWS. A k-step is two steps of K, which lie together in a row of As.
template <class S>
struct RowsAtom {
    static constexpr int DEPTH = 2, STEPS = S::BK / DEPTH;
    struct Fragments {
        float a[S::TM][DEPTH], b[DEPTH][S::TN];
    };
    using Sums = float[S::TM][S::TN];

    const char *as, *bs;  // where the lane reads in stage 0

    /// Where a lane's elements are in the C tile: rows y + i·LANES_M, and columns as place_of_thread() says.
    /// Rows are next to each other in neighboring lanes, whose reads then differ in their banks.
    static __device__ __forceinline__ Place place() {
        const Place at = place_of_thread<S>();
        const int above = static_cast<int>(threadIdx.x) / 32 / S::WARPS_N * S::WM;
        return {above + (at.y - above) / 4, at.x};
    }

    __device__ __forceinline__ explicit RowsAtom(const char* shared) {
        const Place at = place();
        as = shared + 4 * at.y * S::A_PITCH;
        bs = shared + S::BS + 4 * at.x;
    }

    __device__ __forceinline__ void read(Fragments& to, int stage, int step) const {
#pragma unroll
        for (int i = 0; i < S::TM; ++i) {
            const float2 two = *reinterpret_cast<const float2*>(
                as + stage + 4 * (i * S::LANES_M * S::A_PITCH + DEPTH * step));
            to.a[i][0] = two.x, to.a[i][1] = two.y;
        }
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
#pragma unroll
            for (int j = 0; j < S::TN; j += 4) {
                *reinterpret_cast<float4*>(&to.b[k][j]) = *reinterpret_cast<const float4*>(
                    bs + stage + 4 * ((DEPTH * step + k) * S::BN + j * S::LANES_N));
            }
        }
    }

    /// In the order of Atom, once for each of the steps of K.
    __device__ __forceinline__ void multiply(Sums& sums, const Fragments& with, int /*step*/) const {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
#pragma unroll
            for (int j = 0; j < S::TN; ++j) {
#pragma unroll
                for (int e = 0; e < S::TM; ++e) {
                    const int i = (j + k) % 2 == 0 ? e : S::TM - 1 - e;
                    sums[i][j] += with.a[i][k] * with.b[k][j];
                }
            }
        }
    }
};

/// S: a ThinShape.
template <class S>
using ThinAtom = std::conditional_t<S::ROWS, RowsAtom<S>, Atom<S>>;

/// Where a thread's first element is in the C tile. S: a ThinShape.
template <class S>
__device__ __forceinline__ Place place_of_thin() {
    if constexpr (S::ROWS) {
        return RowsAtom<S>::place();
    } else {
        return place_of_thread<S>();
    }
}

/// Where the warp tile begins in the C tile.
template <class S>
__device__ __forceinline__ Place first_of_warp() {
    const int warp = threadIdx.x / 32;
    return {warp / S::WARPS_N * S::WM, warp % S::WARPS_N * S::WN};
}

/// From a thread's first row to its row i.
template <class S>
__device__ __forceinline__ constexpr int row_in_thread(int i) {
    return S::ROWS ? i * S::LANES_M : i / 4 * 4 * S::LANES_M + i % 4;
}

/// Calls f(four neighboring sums, row, column) for all sums of a thread; row and column in the C tile.
template <class S, class F>
__device__ __forceinline__ void for_each_four(const float (&sums)[S::TM][S::TN], const F& f) {
    const Place at = place_of_thin<S>();
#pragma unroll  // sums are in registers, which take no index at run time
    for (int i = 0; i < S::TM; ++i) {
#pragma unroll
        for (int j = 0; j < S::TN; j += 4) f(&sums[i][j], at.y + row_in_thread<S>(i), at.x + j * S::LANES_N);
    }
}

/// The thread that has (row, col) of the C tile, for owner(). S: a ThinShape.
template <class S>
int thread_of_thin(int row, int col) {
    // As thread_of() has it, where four rows of the lane lie together.
    const int y = S::ROWS ? row / S::WM * S::WM + row % S::LANES_M * 4 : row;
    return thread_of<S>(y, col);
}

}  // namespace gemm::fma
