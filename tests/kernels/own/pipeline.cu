// Tiles that come by copies of libcu++ and of cooperative groups, each in its own way.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;
constexpr int T = 16, STAGES = 2;

__device__ float product(const float (*a)[T], const float (*b)[T]) {
    float sum = 0.0f;
    for (int k = 0; k < T; ++k) sum += a[threadIdx.y][k] * b[k][threadIdx.x];
    return sum;
}

// A pipeline that the block shares.
__global__ void shared_pipeline(int N, int K, const float* A, const float* B, float* C) {
    __shared__ alignas(16) float a[STAGES][T][T], b[STAGES][T][T];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    const int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    const auto copy = [&](int k) {
        pipe.producer_acquire();
        if (k < K) {
            cuda::memcpy_async(&a[k / T % STAGES][y][x], &A[row * K + k + x], sizeof(float), pipe);
            cuda::memcpy_async(&b[k / T % STAGES][y][x], &B[(k + y) * N + col], sizeof(float), pipe);
        }
        pipe.producer_commit();
    };
    float sum = 0.0f;
    copy(0);
    for (int k = 0; k < K; k += T) {
        copy(k + T);
        pipe.consumer_wait();
        sum += product(a[k / T % STAGES], b[k / T % STAGES]);
        pipe.consumer_release();
    }
    C[row * N + col] = sum;
}

// A pipeline of each thread, and barriers of the block.
__global__ void own_pipeline(int N, int K, const float* A, const float* B, float* C) {
    __shared__ alignas(16) float a[STAGES][T][T], b[STAGES][T][T];
    auto pipe = cuda::make_pipeline();
    const int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    const auto copy = [&](int k) {
        pipe.producer_acquire();
        if (k < K) {
            cuda::memcpy_async(&a[k / T % STAGES][y][x], &A[row * K + k + x], sizeof(float), pipe);
            cuda::memcpy_async(&b[k / T % STAGES][y][x], &B[(k + y) * N + col], sizeof(float), pipe);
        }
        pipe.producer_commit();
    };
    float sum = 0.0f;
    copy(0);
    for (int k = 0; k < K; k += T) {
        copy(k + T);
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        __syncthreads();
        sum += product(a[k / T % STAGES], b[k / T % STAGES]);
        __syncthreads();
    }
    C[row * N + col] = sum;
}

// A by rows that the block's threads share, at a barrier; B by the pipeline's primitives.
__global__ void mixed(int N, int K, const float* A, const float* B, float* C) {
    __shared__ alignas(16) float a[T][T], b[T][T];
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    const auto block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    const int y = threadIdx.y, x = threadIdx.x, row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0.0f;
    for (int k = 0; k < K; k += T) {
        for (int r = 0; r < T; ++r)
            cuda::memcpy_async(block, a[r], &A[(blockIdx.y * T + r) * K + k], sizeof a[r], bar);
        __pipeline_memcpy_async(&b[y][x], &B[(k + y) * N + col], sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(0);
        bar.arrive_and_wait();
        sum += product(a, b);
        block.sync();
    }
    C[row * N + col] = sum;
}

// Both tiles by the group's own copies.
__global__ void group_copies(int N, int K, const float* A, const float* B, float* C) {
    __shared__ alignas(16) float a[T][T], b[T][T];
    const auto block = cg::this_thread_block();
    const int row = blockIdx.y * T, col = blockIdx.x * T;
    float sum = 0.0f;
    for (int k = 0; k < K; k += T) {
        for (int r = 0; r < T; ++r) {
            cg::memcpy_async(block, a[r], &A[(row + r) * K + k], sizeof a[r]);
            cg::memcpy_async(block, b[r], &B[(k + r) * N + col], sizeof b[r]);
        }
        cg::wait(block);
        sum += product(a, b);
        block.sync();
    }
    C[(row + threadIdx.y) * N + col + threadIdx.x] = sum;
}

// Each on 16 of C's rows.
void all(int N, int K, const float* A, const float* B, float* C) {
    void (*const kernels[])(int, int, const float*, const float*, float*) = {shared_pipeline, own_pipeline,
                                                                             mixed, group_copies};
    for (int i = 0; i < 4; ++i) {
        kernels[i]<<<N / T, dim3(T, T)>>>(N, K, A + i * T * K, B, C + i * T * N);
    }
}
