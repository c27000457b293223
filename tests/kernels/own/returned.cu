// Threads outside of C return in front of the barrier: CUDA's guide counts only those that have not exited.
#include "returned_tile.cuh"

__global__ void returned(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float Bs[T];
    const int col = threadIdx.x, row = blockIdx.x * ROWS + threadIdx.y;
    if (row >= M) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        if (threadIdx.y == 0) Bs[col] = B[k * N + col];
        __syncthreads();
        sum += A[row * K + k] * Bs[col];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

// Half of the warps wait at another line than the other half.
__global__ void apart(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float Bs[T];
    const int col = threadIdx.x, row = blockIdx.x * ROWS + threadIdx.y;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        if (threadIdx.y == 0) {
            Bs[col] = B[k * N + col];
            __syncthreads();
        } else {
            __syncthreads();
        }
        sum += A[row * K + k] * Bs[col];
        __syncthreads();
    }
    C[row * N + col] = sum;
}

void both(int M, int N, int K, const float* A, const float* B, float* C) {
    apart<<<M / 2 / ROWS, dim3(T, ROWS)>>>(M, N, K, A, B, C);
    const int half = M / 2 / ROWS * ROWS;
    returned<<<(M - half + ROWS - 1) / ROWS, dim3(T, ROWS)>>>(M - half, N, K, A + half * K, B, C + half * N);
}
