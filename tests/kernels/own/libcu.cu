// libcu++: atomic_ref, ceil_div, and the copy engine's copies without a map.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/cmath>
#include <cuda/std/array>

__device__ float parts[8 * 4096];
__device__ int counters[4096];

/// Slices of K, by blocks; the last of a row's to come adds them up.
__global__ void slices(int N, int K, const float* A, const float* B, float* C) {
    __shared__ bool last;
    const int row = blockIdx.x, column = threadIdx.x, count = gridDim.y;
    const int length = cuda::ceil_div(K, count), first = blockIdx.y * length;
    float sum = 0.0f;
    for (int k = first; k < cuda::std::min(first + length, K); ++k) sum += A[row * K + k] * B[k * N + column];
    parts[(blockIdx.y * gridDim.x + row) * N + column] = sum;
    __syncthreads();
    if (column == 0) {
        cuda::atomic_ref<int, cuda::thread_scope_device> done(counters[row]);
        last = done.fetch_add(1, cuda::memory_order_acq_rel) == count - 1;
        if (last) done.store(0, cuda::memory_order_relaxed);
    }
    __syncthreads();
    if (!last) return;
    sum = 0.0f;
    for (int slice = 0; slice < count; ++slice) sum += parts[(slice * gridDim.x + row) * N + column];
    C[row * N + column] = sum;
}

/// Four columns at once by atomic additions to what is zero.
__global__ void zeros(float* C) {
    C[blockIdx.x * blockDim.x + threadIdx.x] = 0.0f;
}
__global__ void fours(int N, int K, const float* A, const float* B, float* C) {
    const int row = blockIdx.x, column = threadIdx.x * 4, k = blockIdx.y;
    const float a = A[row * K + k];
    const float4 b = *reinterpret_cast<const float4*>(&B[k * N + column]);
    if (__match_any_sync(0xffffffffu, column) != 1u << threadIdx.x) return;
    atomicAdd(reinterpret_cast<float4*>(&C[row * N + column]),
              make_float4(a * b.x, a * b.y, a * b.z, a * b.w));
}
void by_fours(int M, int N, int K, const float* A, const float* B, float* C) {
    zeros<<<M, N>>>(C);
    cudaLaunchAttribute attributes[1];
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {dim3(M, K), dim3(N / 4)};
    config.attrs = attributes;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, fours, N, K, A, B, C);
}

/// The copy engine brings a row of A.
__global__ void rows(int N, int K, const float* A, const float* B, float* C) {
    namespace cde = cuda::device::experimental;
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(128) float row[64];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier ready;
    if (threadIdx.x == 0) {
        init(&ready, blockDim.x);
        cde::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cde::cp_async_bulk_global_to_shared(row, A + blockIdx.x * K, 64 * sizeof(float), ready);
        token = cuda::device::barrier_arrive_tx(ready, 1, 64 * sizeof(float));
    } else {
        token = ready.arrive();
    }
    ready.wait(std::move(token));
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += row[k] * B[k * N + threadIdx.x];
    C[blockIdx.x * N + threadIdx.x] = sum;
}
