// Warps whose lanes go different ways: which of their accesses are one request.
#include "common/ptx/mbarrier.hpp"
#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

__global__ void trip_counts_kernel(int first, int longer, int shorter, const float* in, float* out) {
    const int lane = threadIdx.x % 32;
    const int steps = lane < first ? longer : shorter;
    float sum = 0.0f;
    for (int i = 0; i < steps; ++i) sum += in[32 * i + lane];  // LINE trip
    out[threadIdx.x] = sum;                                    // LINE trip-end
}

__global__ void guarded_kernel(int present, int steps, const float* in, float* out) {
    const int lane = threadIdx.x % 32;
    const bool here = lane < present;
    float sum = in[lane];  // LINE guarded-all
    for (int i = 0; i < steps; ++i) {
        if (here) sum += in[32 * i + lane];  // LINE guarded
        sum *= 0.5f;
    }
    if (here) out[threadIdx.x] = sum;  // LINE guarded-end
}

__global__ void skips_one_kernel(const float* in, float* out) {
    const int lane = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < 4; ++i) {
        if (lane == 3 && i == 1) continue;
        sum += in[32 * i + lane];  // LINE skipped
    }
    out[lane] = sum;  // LINE skipped-end
}

__global__ void skips_own_kernel(const float* in, float* out) {
    const int lane = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < 32; ++i) {
        if (i == lane) continue;
        sum += in[32 * i + lane];  // LINE own-skipped
    }
    out[lane] = sum;
}

__global__ void branches_kernel(const float* in, float* out) {
    const int lane = threadIdx.x;
    float sum = 0.0f;
    for (int i = 0; i < 3; ++i) {
        if (lane % 2 == 0) {
            sum += in[32 * i + lane];  // LINE even
        } else {
            sum += 2.0f * in[32 * i + lane];  // LINE odd
        }
    }
    out[lane] = sum;  // LINE both
}

__global__ void in_turns_kernel(int rounds, float* out) {
    __shared__ gemm::ptx::Mbarrier turn[2];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (gemm::ptx::Mbarrier& barrier : turn) gemm::ptx::mbarrier_init(barrier, 1);
    }
    __syncthreads();
    for (int i = 0; i < rounds; ++i) {
        if (warp == 1) gemm::ptx::mbarrier_wait(turn[0], i % 2);
        if (lane == 0) gemm::ptx::mbarrier_arrive(turn[warp]);  // the other warp waits for it
        out[64 * i + threadIdx.x] = 1.0f;                       // LINE in-turns
        if (warp == 0) gemm::ptx::mbarrier_wait(turn[1], i % 2);
    }
}

}  // namespace

void trip_counts(int threads, int first, int longer, int shorter, const float* in, float* out) {
    trip_counts_kernel<<<1, static_cast<unsigned>(threads)>>>(first, longer, shorter, in, out);
}
void guarded(int threads, int present, int steps, const float* in, float* out) {
    guarded_kernel<<<1, static_cast<unsigned>(threads)>>>(present, steps, in, out);
}
void skips_one(const float* in, float* out) {
    skips_one_kernel<<<1, 32>>>(in, out);
}
void skips_own(const float* in, float* out) {
    skips_own_kernel<<<1, 32>>>(in, out);
}
void branches(const float* in, float* out) {
    branches_kernel<<<1, 32>>>(in, out);
}
void in_turns(int rounds, float* out) {
    in_turns_kernel<<<1, 64>>>(rounds, out);
}

}  // namespace traced
