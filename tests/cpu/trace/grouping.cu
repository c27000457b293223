// Warps whose lanes go different ways: which of their accesses are one request.
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

}  // namespace traced
