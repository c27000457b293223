// 01 first — a whole CUDA program, with nothing of this course around it: it multiplies two small matrices on
// the device and checks the product on the host.

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// A: M×K.  B: K×N.  C: M×N.  All row-major. A thread computes one element of C.
__global__ void multiply(int M, int N, int K, const float* A, const float* B, float* C) {
    // x counts rows, y counts columns. That is right but slow: the lesson shows why. Lesson 02 swaps the two.
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int col = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;  // this thread is past the edge of C
    float acc = 0.0f;
    for (int k = 0; k < K; ++k) acc += A[row * K + k] * B[k * N + col];
    C[row * N + col] = acc;
}

// Ends the program where a call of CUDA failed, in CUDA's own words.
void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}

// Memory of the device for as many floats as `host` has.
float* allocate(const std::vector<float>& host) {
    float* device = nullptr;
    check(cudaMalloc(&device, host.size() * sizeof(float)), "cudaMalloc");
    return device;
}

int main() {
    const int M = 100, N = 70, K = 50;
    std::vector<float> A(M * K), B(K * N), C(M * N);
    for (int i = 0; i < M * K; ++i) A[i] = static_cast<float>(i % 7 - 3);  // small whole numbers:
    for (int i = 0; i < K * N; ++i) B[i] = static_cast<float>(i % 5 - 2);  // every sum of them is exact

    // 1. Memory of the device, and the inputs copied into it.
    float *device_A = allocate(A), *device_B = allocate(B), *device_C = allocate(C);
    check(cudaMemcpy(device_A, A.data(), A.size() * sizeof(float), cudaMemcpyHostToDevice), "copy A");
    check(cudaMemcpy(device_B, B.data(), B.size() * sizeof(float), cudaMemcpyHostToDevice), "copy B");

    // 2. As many blocks of 32×32 threads as cover C.
    const dim3 block(32, 32), grid((M + 31) / 32, (N + 31) / 32);
    multiply<<<grid, block>>>(M, N, K, device_A, device_B, device_C);
    check(cudaGetLastError(), "launch");              // was it accepted?
    check(cudaDeviceSynchronize(), "while it runs");  // waits: did it come to its end?

    // 3. The result copied back, and the memory freed.
    check(cudaMemcpy(C.data(), device_C, C.size() * sizeof(float), cudaMemcpyDeviceToHost), "copy C");
    for (float* memory : {device_A, device_B, device_C}) check(cudaFree(memory), "cudaFree");

    // 4. Three loops on the host compute the same.
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; ++col) {
            float expected = 0.0f;
            for (int k = 0; k < K; ++k) expected += A[row * K + k] * B[k * N + col];
            if (C[row * N + col] == expected) continue;
            std::printf("wrong: C[%d][%d] is %g, not %g\n", row, col, C[row * N + col], expected);
            return 1;
        }
    }
    std::printf("right: all %d elements of C are the host's\n", M * N);
}
