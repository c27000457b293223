// Exercise 05 2d blocktile: load the tiles in passes, add an outer product per step, and store a thread's
// TM×TN elements.
//
//   ./gemm check 05  says what is right and what is not
//   ./gemm watch 05  checks at every save
//   ./gemm hint 05   three hints, one at a time
//   ./gemm reset 05  brings this file back; yours is kept beside it

#include "common/gemm.hpp"

namespace exercise_05 {

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // steps along K per tile
constexpr int TM = 8;    // rows of C per thread
constexpr int TN = 8;    // columns of C per thread
// The block's threads lie THREADS_M by THREADS_N over C. One pass over all of them loads A_ROWS rows of As,
// or B_ROWS of Bs.
constexpr int THREADS_M = BM / TM, THREADS_N = BN / TN, THREADS = THREADS_M * THREADS_N;
constexpr int A_ROWS = THREADS / BK, B_ROWS = THREADS / BN;
static_assert(BM % TM == 0 && BN % TN == 0, "the threads tile the block exactly");
static_assert(THREADS % BK == 0 && BM % A_ROWS == 0, "As is loaded in whole passes over the threads");
static_assert(THREADS % BN == 0 && BK % B_ROWS == 0, "Bs is loaded in whole passes over the threads");

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major.
__global__ void __launch_bounds__(THREADS, 2)
    sgemm_2d_blocktile(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                       std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                       std::int64_t ldc) {
    __shared__ float As[BM][BK];  // tile of A: rows of this block, steps k0 … k0 + BK − 1
    __shared__ float Bs[BK][BN];  // tile of B: steps k0 … k0 + BK − 1, columns of this block

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x;
    // The thread's elements of C: rows y + i·THREADS_M, columns x + j·THREADS_N of the block tile, so that
    // neighbouring threads read and write neighbouring columns.
    const int x = t % THREADS_N, y = t / THREADS_N;

    // What the thread loads: element (a_row + i, a_k) of As and (b_k + i, b_col) of Bs, in passes over the
    // threads.
    const int a_row = t / BK, a_k = t % BK, b_k = t / BN, b_col = t % BN;
    const float* a = A + (row0 + a_row) * lda + a_k;
    const float* b = B + b_k * ldb + col0 + b_col;

    float acc[TM][TN] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK, a += BK, b += BK * ldb) {
        // TODO 1: fill both tiles. a and b point to the thread's element of the first pass; a pass over the
        // threads loads A_ROWS rows of As or B_ROWS rows of Bs. What belongs where a tile reaches past the
        // edge, and who waits for whom?

        // TODO 2: for each step k add an outer product to acc: TM values of column k of As times TN values of
        // row k of Bs. Which values does a thread need, and how often need it read each of them? And who must
        // wait before the tiles are overwritten?
    }

    // TODO 3: store the thread's TM×TN elements of C, where they exist: C = alpha·A·B + beta·C, and beta == 0
    // must not read C. acc[i][j] belongs to row y + i·THREADS_M and column x + j·THREADS_N of the block tile.
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

extern const gemm::Lesson lesson{"exercise 05",
                                 gemm::DType::fp32,
                                 50,
                                 tile,
                                 dim3(THREADS),
                                 0,
                                 reinterpret_cast<const void*>(&sgemm_2d_blocktile),
                                 nullptr,
                                 launch,
                                 owner};

}  // namespace exercise_05
