#include "tests/check/mutants.hpp"

#include <cstring>

namespace {

constexpr int BM = 32, BN = 32, BK = 32;
const gemm::Tile tile{BM, BN, BK};
const dim3 block(BN, BM);

#define GEMM_MUTANT_(name) name,
enum class Mistake { GEMM_MUTANTS(GEMM_MUTANT_) };
#undef GEMM_MUTANT_

/// 10 of the 23 mantissa bits, rounded to nearest even.
__device__ float tf32(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
    memcpy(&value, &bits, sizeof bits);
    return value;
}

template <Mistake MISTAKE>
__device__ float factor(float value) {
    return MISTAKE == Mistake::tf32_inputs ? tf32(value) : value;
}

template <Mistake MISTAKE>
__global__ void sgemm_mutant(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                             std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                             std::int64_t ldc) {
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const int x = threadIdx.x, y = threadIdx.y;
    const std::int64_t row = blockIdx.x / tiles_n * BM + y;
    const std::int64_t col = blockIdx.x % tiles_n * BN + x;
    const std::int64_t a_pitch = MISTAKE == Mistake::no_pitch ? K : lda;

    float acc = 0.0f;
    const std::int64_t tiles = MISTAKE == Mistake::no_k_tail ? K / BK : (K + BK - 1) / BK;
    const std::int64_t k_end = alpha == 0.0f ? 0 : tiles * BK;
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK) {
        As[y][x] = row < M && k0 + x < K ? A[row * a_pitch + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * ldb + col] : 0.0f;
        if constexpr (MISTAKE != Mistake::no_first_barrier) __syncthreads();

        for (int k = 0; k < BK; ++k) acc += factor<MISTAKE>(As[y][k]) * factor<MISTAKE>(Bs[k][x]);
        if constexpr (MISTAKE != Mistake::no_second_barrier) __syncthreads();
    }

    constexpr int MORE = MISTAKE == Mistake::guard_off_by_one ? 1 : 0;
    if (row >= M + MORE || col >= N + MORE) return;
    float* c = &C[row * ldc + col];
    const bool adds_c = MISTAKE == Mistake::beta_times_nan || (MISTAKE != Mistake::no_beta && beta != 0.0f);
    if constexpr (MISTAKE != Mistake::nothing_written) *c = adds_c ? alpha * acc + beta * *c : alpha * acc;
}

template <Mistake MISTAKE>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    sgemm_mutant<MISTAKE><<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(col % BN), static_cast<unsigned>(row % BM), 0}};
}

template <Mistake MISTAKE>
const void* address() {
    return reinterpret_cast<const void*>(&sgemm_mutant<MISTAKE>);
}

}  // namespace

#define GEMM_MUTANT_(mistake)                                                                            \
    namespace mutant_##mistake {                                                                         \
        const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),                    \
                                         .kernel = address<Mistake::mistake>(),                          \
                                         .architectures = {.from = 50},                                  \
                                         .configuration = {.tile = tile, .block = block}}};              \
        extern const gemm::Lesson lesson{                                                                \
            .name = #mistake, .variants = variants, .launch = launch<Mistake::mistake>, .owner = owner}; \
    }
GEMM_MUTANTS(GEMM_MUTANT_)
