// Tiles of B by TMA, swizzled over 128 bytes, in dynamic shared memory. A tile must lie at a multiple of 128,
// and where the kernel looks for its elements is right only if it lies at one of 1024.
#include <cuda.h>
#include <cstdint>

#ifndef ALIGNMENT
#define ALIGNMENT 16
#endif

constexpr int ROWS = 8, COLUMNS = 32;  // 128 bytes a row

__device__ uint32_t number_of(const void* shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ void wait(uint64_t* barrier, int parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "AGAIN:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra READY;\n"
        "bra AGAIN;\n"
        "READY:\n"
        "}\n" ::"r"(number_of(barrier)),
        "r"(parity)
        : "memory");
}

__global__ void row(const __grid_constant__ CUtensorMap B, const float* A, float* C, int N, int K) {
    extern __shared__ __align__(ALIGNMENT) unsigned char tile[];
    auto* const barrier = reinterpret_cast<uint64_t*>(tile + ROWS * COLUMNS * 4);
    const int lane = threadIdx.x, col = blockIdx.x * COLUMNS;
    if (lane == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n" ::"r"(number_of(barrier)));
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    float sum = 0.0f;
    for (int k = 0; k < K; k += ROWS) {
        if (lane == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" ::"r"(number_of(barrier)),
                         "r"(ROWS * COLUMNS * 4)
                         : "memory");
            asm volatile(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, "
                "{%3, %4}], [%2];\n" ::"r"(number_of(tile)),
                "l"(&B), "r"(number_of(barrier)), "r"(col), "r"(k)
                : "memory");
        }
        wait(barrier, k / ROWS % 2);
        for (int r = 0; r < ROWS; ++r) {
            const int at = (r * COLUMNS * 4 + lane * 4) ^ r << 4;
            sum += A[blockIdx.y * K + k + r] * *reinterpret_cast<float*>(tile + at);
        }
        __syncthreads();
    }
    C[blockIdx.y * N + col + lane] = sum;
}
