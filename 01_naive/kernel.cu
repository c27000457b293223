// 01 naive — one thread computes one element of C, and neighboring threads take neighboring rows.
//
// First lesson: nothing to compare with yet. The mapping of threads to elements is bad on purpose. It is the
// one many people write first, and lesson 02 changes two lines of it.

#include "common/gemm.hpp"

namespace lesson_01 {

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void sgemm_naive(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                            std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                            std::int64_t ldc) {
    // Blocks are counted along a row of tiles, then along the next one.
    const std::int64_t tiles_n = (N + BN - 1) / BN;
    // gap: element
    // x along rows: a warp is one column of 32. The expensive choice.
    const std::int64_t row = blockIdx.x / tiles_n * BM + threadIdx.x;
    const std::int64_t col = blockIdx.x % tiles_n * BN + threadIdx.y;
    // The last tiles reach past the edges of C.
    if (row >= M || col >= N) return;
    // end gap

    float acc = 0.0f;
    // BLAS: alpha == 0 must not read A or B, which may hold NaN.
    if (alpha != 0.0f) {
        // gap: sum
        const float* a = A + row * lda;  // walks right along a row of A
        const float* b = B + col;        // walks down a column of B
        for (const float* end = a + K; a != end; ++a, b += ldb) acc += *a * *b;
        // end gap
    }

    float* c = &C[row * ldc + col];
    // gap: store
    *c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;  // BLAS: beta == 0 must not read C
    // end gap
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

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_naive),
                                 .architectures = {.from = 50},
                                 .configuration = {.tile = tile, .block = block}}};

extern const gemm::Lesson lesson{
    .name = "01_naive", .part = 1, .ladder = "fp32", .variants = variants, .launch = launch, .owner = owner};

}  // namespace lesson_01
