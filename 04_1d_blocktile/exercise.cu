// Exercise 04 1d blocktile: load the tiles in passes over the threads, and let a value of Bs serve TM
// multiply-adds.
//
//   ./gemm check 04  says what is right and what is not
//   ./gemm watch 04  checks at every save
//   ./gemm hint 04   three hints, one at a time
//   ./gemm reset 04  brings this file back; yours is kept beside it

#include "common/gemm.hpp"

namespace exercise_04 {

constexpr int BM = 64;  // rows of C per block
constexpr int BN = 64;  // columns of C per block
constexpr int BK = 8;   // steps along K per tile
constexpr int TM = 16;  // rows of C per thread, all in one column
constexpr int THREADS = BM / TM * BN;
static_assert(BM % TM == 0, "the threads tile the block exactly");
static_assert(THREADS % BK == 0 && BM * BK % THREADS == 0, "As is loaded in whole passes over the threads");
static_assert(THREADS % BN == 0 && BK * BN % THREADS == 0, "Bs is loaded in whole passes over the threads");

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
    // The thread's elements of C: column x, rows y … y + TM − 1 of the block tile.
    const int x = t % BN, y = t / BN * TM;
    // What the thread loads: element (a_row + i, a_k) of As and (b_k + i, x) of Bs, in passes over the
    // threads.
    // TODO 1: thread t loads element (a_row, a_k) of As and (b_k, x) of Bs in the first pass. Neighbouring
    // threads should load neighbours in memory.
    const int a_row = 0, a_k = 0, b_k = 0;
    const float* a = A + (row0 + a_row) * lda + a_k;
    const float* b = B + b_k * ldb + col0 + x;

    float acc[TM] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK, a += BK, b += BK * ldb) {
        // TODO 2: fill both tiles. There are fewer threads than elements, so each loads several, in passes. a
        // and b point to the thread's element of the first pass. What belongs where a tile reaches past the
        // edge, and who waits for whom?

        // TODO 3: for each step k add TM products to acc: rows y … y + TM - 1 of As, column x of Bs. What
        // does a thread need to read only once per step? And who must wait before the tiles are overwritten?
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

extern const gemm::Lesson lesson{"exercise 04",
                                 gemm::DType::fp32,
                                 50,
                                 tile,
                                 dim3(THREADS),
                                 0,
                                 reinterpret_cast<const void*>(&sgemm_1d_blocktile),
                                 nullptr,
                                 launch,
                                 owner};

}  // namespace exercise_04
