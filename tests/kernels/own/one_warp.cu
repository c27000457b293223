// Lanes that exchange values through shared memory without __syncwarp(): a block is one warp, which
// computes 32 elements of a row. What is undefined and right on GPUs of today, and what is wrong.
#include <cuda_pipeline.h>

// Each lane reads what another has stored, all of them at the same instructions.
__global__ void stored(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[32];
    const int lane = threadIdx.x, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 32) {
        row[lane] = A[blockIdx.y * K + k + lane];
        for (int i = 0; i < 32; ++i) sum += row[i] * B[(k + i) * N + col];
    }
    C[blockIdx.y * N + col] = sum;
}

// The same with cp.async.
__global__ void copied(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[32];
    const int lane = threadIdx.x, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 32) {
        __pipeline_memcpy_async(&row[lane], &A[blockIdx.y * K + k + lane], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int i = 0; i < 32; ++i) sum += row[i] * B[(k + i) * N + col];
    }
    C[blockIdx.y * N + col] = sum;
}

// Which half of the warp comes first to its branch, nobody says.
__global__ void branched(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[32];
    const int lane = threadIdx.x, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 32) {
        if (lane < 16) {
            row[lane] = A[blockIdx.y * K + k + lane];
            row[lane + 16] = A[blockIdx.y * K + k + lane + 16];
            for (int i = 0; i < 32; ++i) sum += row[i] * B[(k + i) * N + col];
        } else {
            for (int i = 0; i < 32; ++i) sum += row[i] * B[(k + i) * N + col];
        }
        __syncwarp();
    }
    C[blockIdx.y * N + col] = sum;
}

// Two lanes store to one element by one instruction: which of them wins, nobody says, and only one is right.
__global__ void same_place(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[16];
    const int lane = threadIdx.x, col = blockIdx.x * 32 + lane;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 16) {
        row[lane % 16] = lane < 16 ? 0.0f : A[blockIdx.y * K + k + lane % 16];
        for (int i = 0; i < 16; ++i) sum += row[i] * B[(k + i) * N + col];
    }
    C[blockIdx.y * N + col] = sum;
}

// Two warps: lanes of one are in step, those of the other are not.
__global__ void two_warps(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float row[64];
    const int lane = threadIdx.x, col = blockIdx.x * 64 + lane;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 64) {
        row[lane] = A[blockIdx.y * K + k + lane];
        for (int i = 0; i < 64; ++i) sum += row[i] * B[(k + i) * N + col];
    }
    C[blockIdx.y * N + col] = sum;
}
