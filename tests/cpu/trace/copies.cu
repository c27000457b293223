// cp.async, right and wrong.
#include "common/ptx/cp_async.hpp"
#include "common/ptx/tma.hpp"
#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

using gemm::ptx::cp_async;
using gemm::ptx::cp_async_commit;
using gemm::ptx::cp_async_wait;

constexpr int kThreads = 64, kFloats = 4 * kThreads;

__global__ void copying_kernel(Copying kind, const float* in, float* out) {
    __shared__ __align__(16) float tile[kFloats];
    __shared__ __align__(16) float second[kFloats];
    const int t = threadIdx.x;
    const int other = 4 * (63 - t);  // of the other warp
    float seen = 0.0f;
    switch (kind) {
        case Copying::right:
            cp_async<16>(&tile[4 * t], &in[4 * t]);  // LINE right-copy
            cp_async_commit();
            cp_async_wait<0>();
            __syncthreads();
            seen = tile[other];  // LINE right-read
            break;
        case Copying::no_wait:
            cp_async<16>(&tile[4 * t], &in[4 * t]);  // LINE no_wait-copy
            cp_async_commit();
            __syncthreads();
            seen = tile[other];  // LINE no_wait-read
            break;
        case Copying::no_commit:
            cp_async<16>(&tile[4 * t], &in[4 * t]);  // LINE no_commit-copy
            cp_async_wait<0>();
            __syncthreads();
            seen = tile[other];  // LINE no_commit-read
            break;
        case Copying::wait_too_few:
        case Copying::wait_enough:
            cp_async<16>(&tile[4 * t], &in[4 * t]);
            cp_async_commit();
            cp_async<16>(&second[4 * t], &in[4 * t]);  // LINE wait_too_few-copy
            cp_async_commit();
            cp_async_wait<1>();
            __syncthreads();
            if (kind == Copying::wait_enough) {
                seen = tile[other];
            } else {
                seen = second[other];  // LINE wait_too_few-read
            }
            break;
        case Copying::no_barrier:
            cp_async<16>(&tile[4 * t], &in[4 * t]);  // LINE no_barrier-copy
            cp_async_commit();
            cp_async_wait<0>();
            if (t >= 32) seen = tile[other];  // LINE no_barrier-read
            break;
        case Copying::own:
            cp_async<16>(&tile[4 * t], &in[4 * t]);
            cp_async_commit();
            cp_async_wait<0>();
            seen = tile[4 * t];
            break;
        case Copying::overwritten:
            tile[4 * t] = 1.0f;
            __syncthreads();
            if (t < 32) seen = tile[other];                       // LINE overwritten-read
            if (t >= 32) cp_async<16>(&tile[4 * t], &in[4 * t]);  // LINE overwritten-copy
            cp_async_commit();
            cp_async_wait<0>();
            break;
        case Copying::written_over:
            cp_async<16>(&tile[4 * t], &in[4 * t]);  // LINE written_over-copy
            cp_async_commit();
            tile[4 * t] = 1.0f;  // LINE written_over-write
            cp_async_wait<0>();
            __syncthreads();
            seen = tile[other];
            break;
        case Copying::over_the_end:
            cp_async<16>(&tile[4 * (t + 1)], &in[4 * t]);  // LINE over_the_end
            cp_async_commit();
            cp_async_wait<0>();
            break;
        case Copying::source_outside:
            cp_async<16>(&tile[4 * t], &in[4 * (t + 1)]);  // LINE source_outside
            cp_async_commit();
            cp_async_wait<0>();
            break;
    }
    out[t] = seen;
}

__global__ void fill_kernel(int valid, const float* in, float* out) {
    __shared__ __align__(16) float tile[kFloats];
    const int t = threadIdx.x;
    cp_async<16>(&tile[4 * t], &in[4 * t], valid);  // LINE fill
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads();
    for (int i = 0; i < 4; ++i) out[4 * t + i] = tile[4 * t + i];
}

__global__ void ring_kernel(int tiles, const float* in, float* out) {
    constexpr int kStages = 3;
    __shared__ __align__(16) float stages[kStages][kFloats];
    const int t = threadIdx.x;
    const auto start = [&](int tile) {
        if (tile < tiles)
            cp_async<16>(&stages[tile % kStages][4 * t], &in[tile * kFloats + 4 * t]);  // LINE ring
        cp_async_commit();  // also an empty one, so that the count of groups stays
    };
    for (int tile = 0; tile < kStages - 1; ++tile) start(tile);
    float sums[4] = {};
    for (int tile = 0; tile < tiles; ++tile) {
        cp_async_wait<kStages - 2>();
        __syncthreads();  // everyone's part has come, and everyone has left the stage that is filled next
        start(tile + kStages - 1);
        for (int i = 0; i < 4; ++i) sums[i] += stages[tile % kStages][i * kThreads + t];  // LINE ring-read
    }
    for (int i = 0; i < 4; ++i) out[i * kThreads + t] = sums[i];
}

__global__ void bulk_stores_kernel(int again, float* out) {
    __shared__ __align__(16) float tile[2][32];
    const int t = threadIdx.x;
    for (int part = 0; part < 2; ++part) tile[part][t] = static_cast<float>(t);
    gemm::ptx::fence_proxy_async();
    __syncthreads();
    if (t != 0) return;
    for (int part = 0; part < 2; ++part) {
        gemm::ptx::bulk_store(&out[32 * part], tile[part], sizeof tile[part]);  // LINE bulk-store
        gemm::ptx::bulk_commit();
    }
    gemm::ptx::bulk_wait_read<1>();
    tile[again][0] = 0.0f;  // LINE bulk-again
    gemm::ptx::bulk_wait<0>();
}

}  // namespace

void copying(Copying kind, const float* in, float* out) {
    copying_kernel<<<1, kThreads>>>(kind, in, out);
}
void fill(int valid, const float* in, float* out) {
    fill_kernel<<<1, kThreads>>>(valid, in, out);
}
void ring(int tiles, const float* in, float* out) {
    ring_kernel<<<1, kThreads>>>(tiles, in, out);
}

void bulk_stores(int again, float* out) {
    bulk_stores_kernel<<<1, 32>>>(again, out);
}

}  // namespace traced
