// 05 2D blocktile — each thread computes TM×TN elements of C, by one outer product per step k: TM values of a
// column of As times TN values of a row of Bs, each with each.
//
// Changed since 04: a thread computes 8×8 elements instead of 16×1. That takes 16 reads for 64 multiply-adds,
// not 17 for 16: 1.5 times faster. The C tile grows from 64×64 to 128×128: another factor of 1.1.

#include "common/gemm.hpp"

namespace lesson_05 {

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // steps along K per k-tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 8;    // columns of C per thread
// The block's threads form THREADS_M rows of THREADS_N. All of them together load A_ROWS rows of As,
// or B_ROWS of Bs, at a time.
constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
constexpr int A_ROWS = THREADS / BK, B_ROWS = THREADS / BN;
static_assert(BM % TM == 0 && BN % TN == 0, "the threads tile the block exactly");
static_assert(THREADS % BK == 0 && BM % A_ROWS == 0, "every thread loads equally many of As");
static_assert(THREADS % BN == 0 && BK % B_ROWS == 0, "every thread loads equally many of Bs");

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void __launch_bounds__(THREADS, 2)
    sgemm_2d_blocktile(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                       std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                       std::int64_t ldc) {
    __shared__ float As[BM][BK];  // k-tile of A: rows of this block, steps k0 … k0 + BK − 1
    __shared__ float Bs[BK][BN];  // k-tile of B: steps k0 … k0 + BK − 1, columns of this block

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x;
    // The thread's elements of C: rows y + i·THREADS_M, columns x + j·THREADS_N of the C tile, so that
    // neighboring threads read and write neighboring columns.
    const int x = t % THREADS_N, y = t / THREADS_N;

    // What the thread loads in its turns: elements (a_row + i, a_k) of As and (b_k + i, b_col) of Bs, for
    // i = 0, A_ROWS, … and 0, B_ROWS, …
    const int a_row = t / BK, a_k = t % BK, b_k = t / BN, b_col = t % BN;
    const float* a = A + (row0 + a_row) * lda + a_k;
    const float* b = B + b_k * ldb + col0 + b_col;

    float acc[TM][TN] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK, a += BK, b += BK * ldb) {
        // gap: load
        // Zeros past the edges: they add nothing to acc, and no read leaves the matrices.
#pragma unroll
        for (int i = 0; i < BM; i += A_ROWS) {
            As[a_row + i][a_k] = row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : 0.0f;
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_ROWS) {
            Bs[b_k + i][b_col] = k0 + b_k + i < K && col0 + b_col < N ? b[i * ldb] : 0.0f;
        }
        // The tiles are complete before anyone reads them.
        __syncthreads();
        // end gap

        // gap: use
#pragma unroll 2  // all at once, nvcc takes up to 168 registers; two blocks per SM leave 128
        for (int k = 0; k < BK; ++k) {  // C_tile += A[:, k] · B[k, :]
            float a_frag[TM], b_frag[TN];
            for (int i = 0; i < TM; ++i) a_frag[i] = As[y + i * THREADS_M][k];
            for (int j = 0; j < TN; ++j) b_frag[j] = Bs[k][x + j * THREADS_N];
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
            }
        }
        __syncthreads();  // everyone has read the tiles before anyone overwrites them
        // end gap
    }

    // gap: store
    for (int i = 0; i < TM; ++i) {
        const std::int64_t row = row0 + y + i * THREADS_M, col = col0 + x;
        if (row >= M) return;
        float* c = &C[row * ldc + col];
        for (int j = 0; j < TN && col + j * THREADS_N < N; ++j, c += THREADS_N) {
            // BLAS: beta == 0 must not read C
            *c = beta == 0.0f ? alpha * acc[i][j] : alpha * acc[i][j] + beta * *c;
        }
    }
    // end gap
}

const gemm::Tile tile{BM, BN, BK};

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    sgemm_2d_blocktile<<<gemm::grid_of_tiles(p, tile), THREADS, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(row % BM % THREADS_M * THREADS_N + col % BN % THREADS_N), 0, 0}};
}

const gemm::Constant constants[] = {{"TM", TM}, {"TN", TN}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_2d_blocktile),
     .architectures = {.from = 50},
     .configuration = {.tile = tile, .constants = constants, .block = dim3(THREADS)}}};

extern const gemm::Lesson lesson{.name = "05_2d_blocktile",
                                 .part = 1,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_05
