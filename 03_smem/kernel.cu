// 03 smem — the block loads 32×32 tiles of A and B into shared memory once, and all its threads read them
// there.
//
// Changed since 02: the loop over k is cut into tiles of BK; a tile is loaded, a barrier, used, a barrier.
// An element of A or B is read from global memory once per block instead of 32 times: a 32nd of the loads.

#include "common/gemm.hpp"

namespace lesson_03 {

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block
constexpr int BK = 32;  // steps along K per tile
static_assert(BK == BN && BK == BM, "each thread loads one element of either tile");

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void sgemm_smem(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                           std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                           std::int64_t ldc) {
    __shared__ float As[BM][BK];  // tile of A: rows of this block, steps k0 … k0 + BK − 1
    __shared__ float Bs[BK][BN];  // tile of B: steps k0 … k0 + BK − 1, columns of this block

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const int x = threadIdx.x, y = threadIdx.y;
    const std::int64_t row = blockIdx.x / tiles_n * BM + y;
    const std::int64_t col = blockIdx.x % tiles_n * BN + x;
    // No early return here: a thread without an element of C still loads its share and meets the others at
    // the barriers.

    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK) {
        // gap: load
        // Zeros past the edges: they add nothing to acc, and no read leaves the matrices.
        As[y][x] = row < M && k0 + x < K ? A[row * lda + k0 + x] : 0.0f;
        Bs[y][x] = k0 + y < K && col < N ? B[(k0 + y) * ldb + col] : 0.0f;
        __syncthreads();  // the tiles are complete before anyone reads them
        // end gap

        // gap: use
        for (int k = 0; k < BK; ++k) acc += As[y][k] * Bs[k][x];
        __syncthreads();  // everyone has read the tiles before anyone overwrites them
        // end gap
    }

    if (row >= M || col >= N) return;
    float* c = &C[row * ldc + col];
    *c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;  // BLAS: beta == 0 must not read C
}

const gemm::Tile tile{BM, BN, BK};
const dim3 block(BN, BM);

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    sgemm_smem<<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(col % BN), static_cast<unsigned>(row % BM), 0}};
}

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_smem),
                                 .architectures = {.from = 50},
                                 .configuration = {.tile = tile, .block = block}}};

extern const gemm::Lesson lesson{
    .name = "03_smem", .part = 1, .ladder = "fp32", .variants = variants, .launch = launch, .owner = owner};

}  // namespace lesson_03
