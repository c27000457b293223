// Warp and thread level, FP32: a k-step is the outer product of a column of As and a row of Bs, of which each
// lane has TM×TN.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gemm::fma {

/// Where a lane's elements are in the C tile: groups of four rows from y + i·LANES_M and of four columns from
/// x + j·LANES_N on, i and j multiples of 4.
struct Place {
    int y, x;
};

/// Lanes have their places so that of four neighbors two read the same 16 bytes of As, and two the same of
/// Bs: shared memory serves such a pair at once.
template <class S>
__device__ __forceinline__ Place place_of_thread() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_m = lane % 2 + lane / 4 % (S::LANES_M / 2) * 2,
              lane_n = lane / 2 % 2 + lane / (2 * S::LANES_M) * 2;
    return {warp / S::WARPS_N * S::WM + lane_m * 4, warp % S::WARPS_N * S::WN + lane_n * 4};
}

/// The thread that has (row, col) of the C tile, for owner().
template <class S>
int thread_of(int row, int col) {
    const int lane_m = row % S::WM / 4 % S::LANES_M, lane_n = col % S::WN / 4 % S::LANES_N;
    const int lane = lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * S::LANES_M;
    return (row / S::WM * S::WARPS_N + col / S::WN) * 32 + lane;
}

/// S: a Shape. A k-step is one step of K.
template <class S>
struct Atom {
    static constexpr int STEPS = S::BK;
    struct Fragments {
        float a[S::TM], b[S::TN];
    };
    using Sums = float[S::TM][S::TN];

    const char *as, *bs;  // where the lane reads in stage 0

    __device__ __forceinline__ explicit Atom(const char* shared) {
        const Place at = place_of_thread<S>();
        as = shared + 4 * at.y;
        bs = shared + S::BS + 4 * at.x;
    }

    __device__ __forceinline__ void read(Fragments& to, int stage, int step) const {
#pragma unroll
        for (int i = 0; i < S::TM; i += 4) {
            *reinterpret_cast<float4*>(&to.a[i]) =
                *reinterpret_cast<const float4*>(as + stage + 4 * (step * S::A_PITCH + i * S::LANES_M));
        }
#pragma unroll
        for (int j = 0; j < S::TN; j += 4) {
            *reinterpret_cast<float4*>(&to.b[j]) =
                *reinterpret_cast<const float4*>(bs + stage + 4 * (step * S::BN + j * S::LANES_N));
        }
    }

    /// Down a column and up the next, so that each sum shares a factor with the one before, which stays in
    /// the reuse cache.
    __device__ __forceinline__ void multiply(Sums& sums, const Fragments& with, int step) const {
#pragma unroll
        for (int j = 0; j < S::TN; ++j) {
#pragma unroll
            for (int e = 0; e < S::TM; ++e) {
                const int i = (j + step) % 2 == 0 ? e : S::TM - 1 - e;
                sums[i][j] += with.a[i] * with.b[j];
            }
        }
    }
};

}  // namespace gemm::fma
