#include "common/ptx/tma.hpp"
#include "common/tma/tensor_map.hpp"
#include "tests/tma/tma_gemm.hpp"

#include <algorithm>

namespace kernels {
namespace {

using gemm::ptx::Mbarrier;
using gemm::ptx::mbarrier_arrive;
using gemm::ptx::mbarrier_wait;

constexpr int BM = 32, BN = 32, BK = 32, kStages = 2;
constexpr int kConsumers = 128, kRows = BM * BN / kConsumers;
constexpr unsigned kBytes = (BM + BN) * BK * sizeof(float);  // of a stage

struct Sizes {
    int M, N, K;
    float alpha, beta;
    float* C;
    std::int64_t ldc;
    bool c_by_tma;
};

__global__ void tma_gemm_kernel(TmaMistake mistake, Sizes s, const __grid_constant__ CUtensorMap map_a,
                                const __grid_constant__ CUtensorMap map_b,
                                const __grid_constant__ CUtensorMap map_c) {
    __shared__ __align__(1024) float As[kStages][BM * BK];
    __shared__ __align__(1024) float Bs[kStages][BK * BN];
    __shared__ __align__(1024) float Cs[BM * BN];
    __shared__ Mbarrier full[kStages], empty[kStages], met;

    const int thread = threadIdx.x;
    if (thread == 0) {
        for (int stage = 0; stage < kStages; ++stage) {
            gemm::ptx::mbarrier_init(full[stage], 1);            // LINE init-full
            gemm::ptx::mbarrier_init(empty[stage], kConsumers);  // LINE init-empty
        }
        gemm::ptx::mbarrier_init(met, kConsumers);
        if (mistake == TmaMistake::proxy_fence_for_init) gemm::ptx::fence_proxy_async();
        if (mistake != TmaMistake::no_init_fence && mistake != TmaMistake::proxy_fence_for_init)
            gemm::ptx::fence_mbarrier_init();
    }
    if (mistake != TmaMistake::no_barrier_after_init) __syncthreads();

    const int columns = (s.N + BN - 1) / BN, tiles = (s.M + BM - 1) / BM * columns;
    const int steps = s.alpha == 0.0f ? 0 : (s.K + BK - 1) / BK;
    unsigned step = 0;  // of all tiles

    if (thread >= kConsumers) {
        if (thread > kConsumers) return;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            const int m0 = tile / columns * BM, n0 = tile % columns * BN;
            for (int k0 = 0; k0 < steps * BK; k0 += BK, ++step) {
                const unsigned stage = step % kStages, round = step / kStages;
                if (mistake == TmaMistake::returned_early && k0 == (steps - 1) * BK) return;
                const unsigned wrong = mistake == TmaMistake::wrong_producer_parity;
                mbarrier_wait(empty[stage], (round & 1) ^ 1 ^ wrong);  // LINE wait-empty
                const unsigned bytes = mistake == TmaMistake::too_few_bytes    ? kBytes / 2
                                       : mistake == TmaMistake::too_many_bytes ? kBytes + 16
                                                                               : kBytes;
                gemm::ptx::mbarrier_arrive_expect_tx(full[stage], bytes);      // LINE expect-full
                gemm::ptx::tma_load(As[stage], map_a, {k0, m0}, full[stage]);  // LINE load-a
                gemm::ptx::tma_load(Bs[stage], map_b, {n0, k0}, full[stage]);  // LINE load-b
            }
        }
        return;
    }

    unsigned meetings = 0;
    const auto meet = [&] {
        mbarrier_arrive(met);
        mbarrier_wait(met, meetings++ & 1);
    };
    const int n = thread % BN, row = thread / BN * kRows;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const int m0 = tile / columns * BM, n0 = tile % columns * BN;
        float sums[kRows] = {};
        for (int i = 0; i < steps; ++i, ++step) {
            const unsigned stage = step % kStages, round = step / kStages;
            mbarrier_wait(full[stage], (round & 1) ^ (mistake == TmaMistake::wrong_parity));
            if (mistake == TmaMistake::released_early) mbarrier_arrive(empty[stage]);
            for (int k = 0; k < BK; ++k) {
                const float b = Bs[stage][k * BN + n];  // LINE read-b
                for (int r = 0; r < kRows; ++r) {
                    // 16-byte chunk k / 4 of row m lies at chunk k / 4 ^ m % 8.
                    const int m = row + r;
                    sums[r] += As[stage][m * BK + ((k / 4) ^ (m % 8)) * 4 + k % 4] * b;  // LINE read-a
                }
            }
            if (mistake == TmaMistake::released_early) continue;
            if (mistake == TmaMistake::never_released && thread == 77) continue;
            mbarrier_arrive(empty[stage]);
        }
        if (s.c_by_tma) {
            if (thread == 0 && mistake != TmaMistake::no_wait_before_reuse) gemm::ptx::bulk_wait_read<0>();
            meet();
        }
        for (int r = 0; r < kRows; ++r) {
            const int m = m0 + row + r, column = n0 + n;
            float value = s.alpha == 0.0f ? 0.0f : s.alpha * sums[r];
            const bool inside = m < s.M && column < s.N;
            if (s.beta != 0.0f && inside) value += s.beta * s.C[m * s.ldc + column];
            if (s.c_by_tma) {
                Cs[(row + r) * BN + n] = value;  // LINE write-c
            } else if (inside) {
                s.C[m * s.ldc + column] = value;
            }
        }
        if (s.c_by_tma) {
            if (mistake != TmaMistake::no_proxy_fence) gemm::ptx::fence_proxy_async();
            meet();
            if (thread == 0) {
                gemm::ptx::tma_store(map_c, {n0, m0}, Cs);  // LINE store-c
                gemm::ptx::bulk_commit();
            }
        }
    }
    if (s.c_by_tma && thread == 0 && mistake != TmaMistake::no_wait_at_the_end) gemm::ptx::bulk_wait<0>();
}

/// Where TMA cannot go: a pitch or an address that is no multiple of 16 bytes.
__global__ void plain_kernel(Sizes s, const float* A, std::int64_t lda, const float* B, std::int64_t ldb) {
    const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y;
    if (n >= s.N) return;
    float sum = 0.0f;
    for (int k = 0; k < s.K && s.alpha != 0.0f; ++k) sum += A[m * lda + k] * B[k * ldb + n];
    float value = s.alpha == 0.0f ? 0.0f : s.alpha * sum;
    if (s.beta != 0.0f) value += s.beta * s.C[m * s.ldc + n];
    s.C[m * s.ldc + n] = value;
}

bool tma_reaches(const float* matrix, std::int64_t pitch) {
    return reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0 && pitch % 4 == 0;
}

CUtensorMap map_of(const float* matrix, int rows, int columns, std::int64_t pitch, int box_rows,
                   int box_columns, CUtensorMapSwizzle swizzle) {
    gemm::TensorMapFields f;
    f.address = matrix;
    f.sizes[0] = static_cast<cuuint64_t>(columns);
    f.sizes[1] = static_cast<cuuint64_t>(rows);
    f.strides[0] = static_cast<cuuint64_t>(pitch) * sizeof(float);
    f.box[0] = static_cast<cuuint32_t>(box_columns);
    f.box[1] = static_cast<cuuint32_t>(box_rows);
    f.swizzle = swizzle;
    return gemm::tensor_map(f);
}

}  // namespace

void tma_gemm(TmaMistake mistake, int M, int N, int K, const float* A, std::int64_t lda, const float* B,
              std::int64_t ldb, float* C, std::int64_t ldc, float alpha, float beta) {
    if (M == 0 || N == 0) return;
    // A store writes whole 16 bytes, and what lies behind a row of C is not ours.
    const bool whole = N % 4 == 0 || mistake == TmaMistake::ragged_rows;
    Sizes s{M, N, K, alpha, beta, C, ldc, whole && tma_reaches(C, ldc)};
    if (K == 0) s.alpha = 0.0f;
    if (s.alpha != 0.0f && (!tma_reaches(A, lda) || !tma_reaches(B, ldb))) {
        plain_kernel<<<dim3((N + 127) / 128, M), 128>>>(s, A, lda, B, ldb);
        return;
    }
    // Maps that nobody follows need not be.
    CUtensorMap a{}, b{}, c{};
    if (s.alpha != 0.0f) {
        const int rows = mistake == TmaMistake::box_too_wide ? BM + 1 : BM;
        a = map_of(A, M, K, lda, rows, BK, CU_TENSOR_MAP_SWIZZLE_128B);
        b = map_of(B, K, N, ldb, BK, BN, CU_TENSOR_MAP_SWIZZLE_NONE);
    }
    if (s.c_by_tma) c = map_of(C, M, N, ldc, BM, BN, CU_TENSOR_MAP_SWIZZLE_NONE);
    const int tiles = (M + BM - 1) / BM * ((N + BN - 1) / BN);
    tma_gemm_kernel<<<std::min(tiles, 2), kConsumers + 32>>>(mistake, s, a, b, c);
}

}  // namespace kernels
