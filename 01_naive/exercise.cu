// Exercise 01 naive: write the kernel in which one thread computes one element of C.
//
//   ./gemm check 01  says what is right and what is not
//   ./gemm watch 01  checks at every save
//   ./gemm hint 01   three hints, one at a time
//   ./gemm reset 01  brings this file back; yours is kept beside it

#include "common/gemm.hpp"

namespace exercise_01 {

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void sgemm_naive(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                            std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                            std::int64_t ldc) {
    // Blocks are counted along a row of tiles, then along the next one.
    const std::int64_t tiles_n = (N + BN - 1) / BN;
    // TODO 1: the element of C that this thread computes. Block blockIdx.x works on one tile of BM×BN; tiles
    // are counted along a row of tiles, tiles_n of them, then along the next. In its tile threadIdx.x is the
    // row and threadIdx.y the column. Which row and column of C is that? What if they lie outside of C?
    const std::int64_t row = 0, col = 0;

    float acc = 0.0f;
    // BLAS: alpha == 0 must not read A or B, which may hold NaN.
    if (alpha != 0.0f) {
        // TODO 2: acc = the sum over k of A[row][k]·B[k][col]. Rows of A lie lda floats apart, rows of B ldb.
    }

    float* c = &C[row * ldc + col];
    // TODO 3: write alpha·acc + beta·C to *c. With beta == 0, C must not be read: it may hold NaN.
}

const gemm::Tile tile{BM, BN, 1};
const dim3 block(BM, BN);

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    sgemm_naive<<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(row % BM), static_cast<unsigned>(col % BN), 0}};
}

extern const gemm::Lesson lesson{"exercise 01",
                                 gemm::DType::fp32,
                                 50,
                                 tile,
                                 block,
                                 0,
                                 reinterpret_cast<const void*>(&sgemm_naive),
                                 nullptr,
                                 launch,
                                 owner};

}  // namespace exercise_01
