// 04 1D blocktile — each thread computes TM elements of a column of C, so that a value of Bs serves TM
// multiply-adds.
//
// Changed since 03: the C tile is 64×64 for 256 threads, a thread keeps TM = 16 sums in registers, and
// the k-tiles are shorter. Per multiply-add the source names 1 + 1/16 reads of shared memory instead
// of 2.

#include "common/gemm.hpp"

namespace lesson_04 {

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 64;  // columns of C per block
constexpr int BK = 8;   // steps along K per k-tile
constexpr int TM = 16;  // rows of C per thread, all in one column
constexpr int THREADS = BM / TM * BN;
static_assert(BM % TM == 0, "the threads tile the block exactly");
static_assert(THREADS % BK == 0 && BM * BK % THREADS == 0, "every thread loads equally many of As");
static_assert(THREADS % BN == 0 && BK * BN % THREADS == 0, "every thread loads equally many of Bs");

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void __launch_bounds__(THREADS)
    sgemm_1d_blocktile(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                       std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                       std::int64_t ldc) {
    __shared__ float As[BM][BK];  // tile of A: rows of this block, steps k0 … k0 + BK − 1
    __shared__ float Bs[BK][BN];  // tile of B: steps k0 … k0 + BK − 1, columns of this block

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x;
    // The thread's elements of C: column x, rows y … y + TM − 1 of the C tile.
    const int x = t % BN, y = t / BN * TM;
    // What the thread loads first: element (a_row, a_k) of As and (b_k, x) of Bs. Its other elements
    // are i rows further down.
    // gap: share
    const int a_row = t / BK, a_k = t % BK, b_k = t / BN;
    // end gap
    const float* a = A + (row0 + a_row) * lda + a_k;
    const float* b = B + b_k * ldb + col0 + x;

    float acc[TM] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK, a += BK, b += BK * ldb) {
        // gap: load
        // Zeros past the edges: they add nothing to acc, and no read leaves the matrices.
        for (int i = 0; i < BM; i += THREADS / BK) {
            As[a_row + i][a_k] = row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : 0.0f;
        }
        for (int i = 0; i < BK; i += THREADS / BN) {
            Bs[b_k + i][x] = k0 + b_k + i < K && col0 + x < N ? b[i * ldb] : 0.0f;
        }
        __syncthreads();  // the tiles are complete before anyone reads them
        // end gap

        // gap: use
        for (int k = 0; k < BK; ++k) {
            const float b_frag = Bs[k][x];  // read once, used TM times
            for (int i = 0; i < TM; ++i) acc[i] += As[y + i][k] * b_frag;
        }
        __syncthreads();  // everyone has read the tiles before anyone overwrites them
        // end gap
    }

    const std::int64_t col = col0 + x;
    for (int i = 0; i < TM; ++i) {
        const std::int64_t row = row0 + y + i;
        if (row >= M || col >= N) return;
        float* c = &C[row * ldc + col];
        *c = beta == 0.0f ? alpha * acc[i] : alpha * acc[i] + beta * *c;  // BLAS: beta == 0 must not read C
    }
}

const gemm::Tile tile{BM, BN, BK};

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    sgemm_1d_blocktile<<<gemm::grid_of_tiles(p, tile), THREADS, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(row % BM / TM * BN + col % BN), 0, 0}};
}

const gemm::Constant constants[] = {{"TM", TM}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_1d_blocktile),
     .architectures = {.from = 50},
     .configuration = {.tile = tile, .constants = constants, .block = dim3(THREADS)}}};

extern const gemm::Lesson lesson{.name = "04_1d_blocktile",
                                 .part = 1,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_04
