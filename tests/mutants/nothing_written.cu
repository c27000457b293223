// Mutant of lesson 03: the result is computed and not stored.
#include "tests/mutants/mutant.hpp"

namespace mutant_nothing_written {

using namespace mutant;

__global__ void sgemm_nothing_written(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                                      const float* A, std::int64_t lda, const float* B, std::int64_t ldb,
                                      float beta, float* C, std::int64_t ldc) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const int x = threadIdx.x, y = threadIdx.y;
    const std::int64_t row = blockIdx.x / tiles_n * BM + y;
    const std::int64_t col = blockIdx.x % tiles_n * BN + x;

    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK) {
        As[y][x] = row < M && k0 + x < K ? A[row * lda + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * ldb + col] : 0.0f;
        __syncthreads();

        for (int k = 0; k < BK; ++k) acc += As[y][k] * Bs[k][x];
        __syncthreads();
    }

    if (row >= M || col >= N) return;
    float c = C[row * ldc + col];
    c = beta == 0.0f ? alpha * acc : alpha * acc + beta * c;  // MISTAKE: c is a copy
    (void)c;
}

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    sgemm_nothing_written<<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_nothing_written),
                                 .architectures = {.from = 50}}};

extern const gemm::Lesson lesson{.name = "nothing_written",
                                 .tile = tile,
                                 .block = block,
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace mutant_nothing_written
