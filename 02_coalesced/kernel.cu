// 02 coalesced — the kernel of lesson 01 with neighboring threads on neighboring columns.
//
// Changed since 01: the lines that compute `row` and `col`, and with them the owner of an element.
// A warp now reads one element of A for all its threads and 32 neighboring elements of B, where lesson 01
// read 32 elements of A from 32 different rows, each in a cache line of its own.

#include "common/gemm.hpp"

namespace lesson_02 {

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void sgemm_coalesced(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                                std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                                std::int64_t ldc) {
    // Blocks are counted along a row of tiles, then along the next one.
    const std::int64_t tiles_n = (N + BN - 1) / BN;
    // gap: mapping
    // x along columns: a warp is one row of 32.
    const std::int64_t row = blockIdx.x / tiles_n * BM + threadIdx.y;
    const std::int64_t col = blockIdx.x % tiles_n * BN + threadIdx.x;
    // end gap
    // The last tiles reach past the edges of C.
    if (row >= M || col >= N) return;

    float acc = 0.0f;
    // BLAS: alpha == 0 must not read A or B, which may hold NaN.
    if (alpha != 0.0f) {
        const float* a = A + row * lda;  // walks right along a row of A
        const float* b = B + col;        // walks down a column of B
        for (const float* end = a + K; a != end; ++a, b += ldb) acc += *a * *b;
    }

    float* c = &C[row * ldc + col];
    *c = beta == 0.0f ? alpha * acc : alpha * acc + beta * *c;  // BLAS: beta == 0 must not read C
}

const gemm::Tile tile{BM, BN, 1};
const dim3 block(BN, BM);

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    sgemm_coalesced<<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(col % BN), static_cast<unsigned>(row % BM), 0}};
}

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_coalesced),
                                 .architectures = {.from = 50},
                                 .configuration = {.tile = tile, .block = block}}};

extern const gemm::Lesson lesson{.name = "02_coalesced",
                                 .part = 1,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_02
