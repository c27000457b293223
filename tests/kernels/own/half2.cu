// FP16 sums, two columns a thread; grid variables of the host are called as the device's are.
#include <cuda_fp16.h>

__global__ void half2_sums(int M, int N, int K, const half* A, const half* B, half* C) {
    const int row = blockIdx.y, col = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    extern __shared__ half tile[][64];
    half2 sum = __float2half2_rn(0.0f);
    for (int k = 0; k < K; ++k) {
        tile[0][2 * threadIdx.x] = B[k * N + col];
        tile[0][2 * threadIdx.x + 1] = B[k * N + col + 1];
        const half2 b = __halves2half2(tile[0][2 * threadIdx.x], tile[0][2 * threadIdx.x + 1]);
        sum = __hfma2(__half2half2(A[row * K + k]), b, sum);
    }
    *reinterpret_cast<half2*>(&C[row * N + col]) = sum;
}

void run(int M, int N, int K, half* A, half* B, half* C) {
    dim3 gridDim(N / 64, M);
    dim3 blockDim(32);
    half2_sums<<<gridDim, blockDim, 64 * sizeof(half)>>>(M, N, K, A, B, C);
}
