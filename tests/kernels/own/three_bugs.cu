// A kernel with three planted bugs: a barrier that is missing, a tile read past its end, and an assertion
// that the launch breaks where K is no multiple of 16.
#include <assert.h>

#define T 16
__global__ void tiles(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[T][T], Bs[T][T];
    assert(K % T == 0);
    const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        As[threadIdx.y][threadIdx.x] = A[row * K + k0 + threadIdx.x];
        Bs[threadIdx.y][threadIdx.x] = B[(k0 + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < T; ++k) sum += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    }
    if (threadIdx.y == T - 1) sum += 0.0f * Bs[T][threadIdx.x];
    C[row * N + col] = sum;
}
