// Stand-ins for lessons to come, to hold the tracer against hardware counters: 64×64 block tiles with 4×4
// elements per thread, scalar or float4, with one stage or two. Right for every shape, like lessons; nothing
// here is tuned.

#include "common/gemm.hpp"

namespace standins {

constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4, THREADS = BM / TM * (BN / TN);
static_assert(BM * BK == 4 * THREADS && BK * BN == 4 * THREADS,
              "each thread loads four elements of either tile");

/// Four elements of a row, zeros past the edges; in one access where `wide` and all four exist.
__device__ void load_four(const float* matrix, std::int64_t pitch, std::int64_t rows, std::int64_t cols,
                          std::int64_t row, std::int64_t col, bool wide, float (&four)[4]) {
    if (wide && row < rows && col + 3 < cols) {
        const float4 v = *reinterpret_cast<const float4*>(&matrix[row * pitch + col]);
        four[0] = v.x, four[1] = v.y, four[2] = v.z, four[3] = v.w;
    } else {
        for (int i = 0; i < 4; ++i)
            four[i] = row < rows && col + i < cols ? matrix[row * pitch + col + i] : 0.0f;
    }
}

template <bool VECTOR, int STAGES>
__global__ void __launch_bounds__(THREADS)
    standin(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A, std::int64_t lda,
            const float* B, std::int64_t ldb, float beta, float* C, std::int64_t ldc) {
    __shared__ __align__(16) float As[STAGES][BK][BM];  // transposed
    __shared__ __align__(16) float Bs[STAGES][BK][BN];

    const int t = threadIdx.x;
    const int tx = t % (BN / TN), ty = t / (BN / TN);
    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int a_row = t / (BK / 4), a_col = t % (BK / 4) * 4;
    const int b_row = t / (BN / 4), b_col = t % (BN / 4) * 4;

    float acc[TM][TN] = {};
    int stage = 0;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;
    for (std::int64_t k0 = 0; k0 < k_end; k0 += BK) {
        float a[4], b[4];
        load_four(A, lda, M, K, row0 + a_row, k0 + a_col, VECTOR && lda % 4 == 0, a);
        load_four(B, ldb, K, N, k0 + b_row, col0 + b_col, VECTOR && ldb % 4 == 0, b);
        for (int i = 0; i < 4; ++i) As[stage][a_col + i][a_row] = a[i];
        if (VECTOR) {
            *reinterpret_cast<float4*>(&Bs[stage][b_row][b_col]) = make_float4(b[0], b[1], b[2], b[3]);
        } else {
            for (int i = 0; i < 4; ++i) Bs[stage][b_row][b_col + i] = b[i];
        }
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float x[TM], y[TN];
            if (VECTOR) {
                const float4 xs = *reinterpret_cast<const float4*>(&As[stage][k][ty * TM]);
                const float4 ys = *reinterpret_cast<const float4*>(&Bs[stage][k][tx * TN]);
                x[0] = xs.x, x[1] = xs.y, x[2] = xs.z, x[3] = xs.w;
                y[0] = ys.x, y[1] = ys.y, y[2] = ys.z, y[3] = ys.w;
            } else {
                for (int i = 0; i < TM; ++i) x[i] = As[stage][k][ty * TM + i];
                for (int j = 0; j < TN; ++j) y[j] = Bs[stage][k][tx * TN + j];
            }
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) acc[i][j] += x[i] * y[j];
            }
        }
        if (STAGES == 1) {
            __syncthreads();
        } else {
            stage ^=
                1;  // the tile after the next is the first to overwrite this one, and a barrier lies between
        }
    }

    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            const std::int64_t row = row0 + ty * TM + i, col = col0 + tx * TN + j;
            if (row >= M || col >= N) continue;
            float* c = &C[row * ldc + col];
            *c = beta == 0.0f ? alpha * acc[i][j] : alpha * acc[i][j] + beta * *c;
        }
    }
}

const gemm::Tile tile{BM, BN, BK};

template <bool VECTOR, int STAGES>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    standin<VECTOR, STAGES><<<gemm::grid_of_tiles(p, tile), THREADS, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(row % BM / TM * (BN / TN) + col % BN / TN), 0, 0}};
}

template <bool VECTOR, int STAGES>
gemm::Lesson describe(const char* name) {
    gemm::Lesson lesson{};
    lesson.name = name;
    lesson.min_sm = 50;
    lesson.tile = tile;
    lesson.block = dim3(THREADS);
    lesson.kernel = reinterpret_cast<const void*>(&standin<VECTOR, STAGES>);
    lesson.launch = launch<VECTOR, STAGES>;
    lesson.owner = owner;
    return lesson;
}

extern const gemm::Lesson scalar = describe<false, 1>("standin_scalar");
extern const gemm::Lesson vectorized = describe<true, 1>("standin_vectorized");
extern const gemm::Lesson double_buffer = describe<true, 2>("standin_double_buffer");

}  // namespace standins
