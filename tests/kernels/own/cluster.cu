// A cluster of two blocks: each brings half of the columns' B, and reads the other's half in its shared
// memory.
#include <cstdint>

#define T 16

__device__ uint32_t rank_in_cluster() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(rank));
    return rank;
}

__device__ float of_rank(const float* shared, uint32_t rank) {
    float value;
    asm volatile(
        "{\n"
        ".reg .b32 there;\n"
        "mapa.shared::cluster.u32 there, %1, %2;\n"
        "ld.shared::cluster.f32 %0, [there];\n"
        "}\n"
        : "=f"(value)
        : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(shared))), "r"(rank));
    return value;
}

__device__ void meet() {
    asm volatile("barrier.cluster.arrive.aligned;\n" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;\n" ::: "memory");
}

// The blocks of a cluster have the same columns of C and rows one below the other.
__global__ void __cluster_dims__(1, 2, 1)
    shared_b(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float Bs[T / 2][T];
    const int x = threadIdx.x, y = threadIdx.y, rank = rank_in_cluster();
    const int row = blockIdx.y * T + y, col = blockIdx.x * T + x;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += T) {
        if (y < T / 2) Bs[y][x] = B[(k0 + rank * T / 2 + y) * N + col];
        meet();
        for (int k = 0; k < T; ++k) sum += A[row * K + k0 + k] * of_rank(&Bs[k % (T / 2)][x], k / (T / 2));
        meet();
    }
    C[row * N + col] = sum;
}
