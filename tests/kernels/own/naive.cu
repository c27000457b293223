// A file with its own main(), error checks and a library that is not here.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                     \
    do {                                                \
        cudaError_t status = (call);                    \
        if (status != cudaSuccess) {                    \
            printf("%s\n", cudaGetErrorString(status)); \
            exit(EXIT_FAILURE);                         \
        }                                               \
    } while (0)

__global__ void naive(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                      float* C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = alpha * sum + beta * C[row * N + col];
    }
}

void with_library(cublasHandle_t handle, int M, int N, int K, const float* A, const float* B, float* C) {
    float one = 1.0f, zero = 0.0f;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, M, K, &one, B, N, A, K, &zero, C, N);
}

int main(int argc, char** argv) {
    cublasHandle_t handle;
    cublasCreate(&handle);
    float *A, *B, *C;
    CHECK(cudaMalloc(&A, 4096));
    with_library(handle, 32, 32, 32, A, B, C);
    return argc;
}
