// Exercise 03 smem: fill the tiles in shared memory, and use them.
//
//   ./gemm check 03  says what is right and what is not
//   ./gemm watch 03  checks at every save
//   ./gemm hint 03   three hints, one at a time
//   ./gemm reset 03  brings this file back; yours is kept beside it

#include "common/gemm.hpp"

namespace exercise_03 {

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
        // TODO 1: load one element of each tile: row y, column x of As and of Bs. What belongs there where
        // the tile reaches past the edge of A or B? And when may a thread read an element that another one
        // has loaded?

        // TODO 2: add the products of this tile's BK steps to acc, from As and Bs alone. The next round of
        // the loop overwrites both tiles: who may still be reading them?
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

extern const gemm::Lesson lesson{"exercise 03",
                                 gemm::DType::fp32,
                                 50,
                                 tile,
                                 block,
                                 0,
                                 reinterpret_cast<const void*>(&sgemm_smem),
                                 nullptr,
                                 launch,
                                 owner};

}  // namespace exercise_03
