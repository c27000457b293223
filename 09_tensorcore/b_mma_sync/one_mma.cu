// 09b one_mma — one warp and one instruction: mma.sync multiplies a 16×16 tile of A by a 16×8 tile of B. The
// program prints C and which lane holds which element, and checks the product on the host.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#ifndef __CUDACC__  // without nvcc: this course's CPU device
#include "common/ptx/mma.hpp"
#endif

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using bf16 = __nv_bfloat16;
constexpr int M = 16, N = 8, K = 16;  // what one instruction multiplies

// Two elements in one register of 32 bits, the first in its lower half.
__device__ std::uint32_t two(bf16 first, bf16 second) {
    return __bfloat16_as_ushort(first) | static_cast<std::uint32_t>(__bfloat16_as_ushort(second)) << 16;
}

// c += a·b, by 32 lanes together.
__device__ void mma(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
#ifdef __CUDACC__
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, "  // D, 16×8: 4 floats a lane
        "{%4, %5, %6, %7}, "  // A, 16×16: 4 registers of two elements
        "{%8, %9}, "          // B, 16×8: 2 registers of two elements
        "{%0, %1, %2, %3};"   // C, which D replaces
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    gemm::ptx::mma_m16n8k16<bf16>(c, a, b);  // a CPU has no such instruction: this computes the same
#endif
}

// A: M×K.  B: K×N.  C and held_by: M×N.  All row-major. One warp.
__global__ void one_mma(const bf16* A, const bf16* B, float* C, int* held_by) {
    const int lane = threadIdx.x, pair = lane % 4 * 2;
    std::uint32_t a[4], b[2];
    float c[4] = {};
    for (int r = 0; r < 4; ++r) {  // two neighbors along K, in a row of A
        const int row = lane / 4 + r % 2 * 8, k = pair + r / 2 * 8;
        a[r] = two(A[row * K + k], A[row * K + k + 1]);
    }
    for (int r = 0; r < 2; ++r) {  // two neighbors along K, in a column of B
        const int col = lane / 4, k = pair + r * 8;
        b[r] = two(B[k * N + col], B[(k + 1) * N + col]);
    }
    mma(c, a, b);
    for (int e = 0; e < 4; ++e) {
        const int row = lane / 4 + e / 2 * 8, col = pair + e % 2;
        C[row * N + col] = c[e];
        held_by[row * N + col] = 4 * lane + e;
    }
}

// Ends the program where a call of CUDA failed, in CUDA's own words.
void check(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
}

// Memory of the device, with what `host` holds.
template <class T>
T* on_device(const std::vector<T>& host) {
    T* device = nullptr;
    check(cudaMalloc(&device, host.size() * sizeof(T)), "cudaMalloc");
    check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice), "copy there");
    return device;
}

template <class T>
void copy_back(std::vector<T>& host, T* device) {
    check(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy back");
    check(cudaFree(device), "cudaFree");
}

int main() {
    std::vector<bf16> A(M * K), B(K * N);
    for (int i = 0; i < M * K; ++i) A[i] = __float2bfloat16(static_cast<float>(i % 17 - 8));  // small whole
    for (int i = 0; i < K * N; ++i) B[i] = __float2bfloat16(static_cast<float>(i % 9 - 4));  // numbers: exact
    std::vector<float> C(M * N);
    std::vector<int> held_by(M * N);

    bf16 *device_A = on_device(A), *device_B = on_device(B);
    float* device_C = on_device(C);
    int* device_held_by = on_device(held_by);
    one_mma<<<1, 32>>>(device_A, device_B, device_C, device_held_by);  // one block of one warp
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "while it runs");
    copy_back(A, device_A);
    copy_back(B, device_B);
    copy_back(C, device_C);
    copy_back(held_by, device_held_by);

    std::printf("row  C                                       lane:register that holds it\n");
    for (int row = 0; row < M; ++row) {
        std::printf("%3d", row);
        for (int col = 0; col < N; ++col) std::printf("%5g", C[row * N + col]);
        std::printf("  ");
        for (int col = 0; col < N; ++col) {
            const int held = held_by[row * N + col];
            std::printf("%4d:%d", held / 4, held % 4);
        }
        std::printf("\n");
    }
    for (int row = 0; row < M; ++row) {
        for (int col = 0; col < N; ++col) {
            float expected = 0.0f;
            for (int k = 0; k < K; ++k)
                expected += __bfloat162float(A[row * K + k]) * __bfloat162float(B[k * N + col]);
            if (C[row * N + col] == expected) continue;
            std::printf("wrong: C[%d][%d] is %g, not %g\n", row, col, C[row * N + col], expected);
            return 1;
        }
    }
    std::printf("right: all %d elements of C are the host's\n", M * N);
}
