// 06b warp tile — a warp owns a tile of C, and its lanes are placed in it so that neighbors read the same
// values and shared memory serves them together.
//
// Changed since 06a: a warp owns 64×32 of C instead of two strips of 8×128. Each lane reads the same 16 bytes
// of As as one neighbor, and of Bs as another: a third fewer wavefronts for reads. By itself that gains 2 %,
// since the schedulers are the slowest unit; lesson 09 needs warps that own tiles. write_c is a function.

#include "common/gemm.hpp"

namespace lesson_06b {

constexpr int BM = 128, BN = 128, BK = 16;  // C tile: rows and columns; k-tile: steps along K
constexpr int WM = 64, WN = 32;             // warp tile: rows and columns of C
constexpr int TM = 8, TN = 8;               // thread tile: rows and columns of C
constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int PAD = 4;  // of As: a warp stores columns of it, which without padding share few banks
constexpr int A_ROWS = 4 * THREADS / BK, B_ROWS = 4 * THREADS / BN;  // that all threads load at a time
static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0,
              "warps and lanes tile the block exactly");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BM % A_ROWS == 0 && BK % B_ROWS == 0, "four floats per access");

/// Four floats of a row from `p` on, of which only the first `left` are there: zeros for the others.
template <bool ALIGNED>
__device__ __forceinline__ float4 load4(const float* p, std::int64_t left) {
    if (ALIGNED) return left > 0 ? *reinterpret_cast<const float4*>(p) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return make_float4(left > 0 ? p[0] : 0.0f, left > 1 ? p[1] : 0.0f, left > 2 ? p[2] : 0.0f,
                       left > 3 ? p[3] : 0.0f);
}

/// C = alpha · acc + beta · C, where the thread's first element is (row0, col0).
template <bool ALIGNED>
__device__ __forceinline__ void write_c(const float (&acc)[TM][TN], std::int64_t row0, std::int64_t col0,
                                        std::int64_t M, std::int64_t N, float alpha, float beta, float* C,
                                        std::int64_t ldc) {
#pragma unroll  // acc is in registers, which take no index at run time
    for (int i = 0; i < TM; ++i) {
        const std::int64_t row = row0 + i / 4 * 4 * LANES_M + i % 4;
        if (row >= M) return;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const std::int64_t col = col0 + j * LANES_N;
            float* c = &C[row * ldc + col];
            if (ALIGNED) {
                if (col >= N) continue;
                // BLAS: beta == 0 must not read C
                const float4 old =
                    beta == 0.0f ? make_float4(0.0f, 0.0f, 0.0f, 0.0f) : *reinterpret_cast<float4*>(c);
                *reinterpret_cast<float4*>(c) =
                    make_float4(alpha * acc[i][j] + beta * old.x, alpha * acc[i][j + 1] + beta * old.y,
                                alpha * acc[i][j + 2] + beta * old.z, alpha * acc[i][j + 3] + beta * old.w);
            } else {
                for (int e = 0; e < 4; ++e) {
                    if (col + e >= N) break;
                    c[e] = beta == 0.0f ? alpha * acc[i][j + e] : alpha * acc[i][j + e] + beta * c[e];
                }
            }
        }
    }
}

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: every row begins at a
// multiple of 16 bytes, and K and N are multiples of 4, so that four floats are there or none.
template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2)
    sgemm_warp_tile(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                    std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                    std::int64_t ldc) {
    __shared__ __align__(16) float As[BK][BM + PAD];  // k-tile of A, transposed
    __shared__ __align__(16) float Bs[BK][BN];        // k-tile of B

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    // gap: lanes
    // A lane reads the same 16 bytes of As as the lane whose number differs in bit 1, and the same of Bs as
    // the one that differs in bit 0: shared memory serves such pairs at once.
    const int lane_m = lane % 2 + lane / 4 % (LANES_M / 2) * 2,
              lane_n = lane / 2 % 2 + lane / (2 * LANES_M) * 2;
    // end gap
    // The thread's elements of C: groups of four rows from y + i·LANES_M and of four columns from x +
    // j·LANES_N on, i and j multiples of 4.
    // gap: place
    const int y = warp / WARPS_N * WM + lane_m * 4, x = warp % WARPS_N * WN + lane_n * 4;
    // end gap
    // What the thread loads: four floats of row a_row + i of A and of row b_k + i of B.
    const int a_row = t / (BK / 4), a_k = t % (BK / 4) * 4, b_k = t / (BN / 4), b_col = t % (BN / 4) * 4;
    const float* a = A + (row0 + a_row) * lda + a_k;
    const float* b = B + b_k * ldb + col0 + b_col;

    float acc[TM][TN] = {};
    // The partial k-tile comes first; all others have BK steps.
    std::int64_t k_left = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (int steps = k_left % BK == 0 ? BK : k_left % BK; k_left > 0; k_left -= steps, steps = BK) {
#pragma unroll
        for (int i = 0; i < BM; i += A_ROWS) {
            const float4 v = load4<ALIGNED>(a + i * lda, row0 + a_row + i < M ? steps - a_k : 0);
            As[a_k][a_row + i] = v.x;
            As[a_k + 1][a_row + i] = v.y;
            As[a_k + 2][a_row + i] = v.z;
            As[a_k + 3][a_row + i] = v.w;
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_ROWS) {
            *reinterpret_cast<float4*>(&Bs[b_k + i][b_col]) =
                load4<ALIGNED>(b + i * ldb, b_k + i < steps ? N - (col0 + b_col) : 0);
        }
        a += steps;
        b += steps * ldb;
        __syncthreads();  // the tiles are complete before anyone reads them

        // gap: multiply
#pragma unroll
        for (int k = 0; k < BK; ++k) {  // C_tile += A[:, k] · B[k, :]
            float a_frag[TM], b_frag[TN];
            for (int i = 0; i < TM; i += 4) {
                *reinterpret_cast<float4*>(&a_frag[i]) = *reinterpret_cast<float4*>(&As[k][y + i * LANES_M]);
            }
            for (int j = 0; j < TN; j += 4) {
                *reinterpret_cast<float4*>(&b_frag[j]) = *reinterpret_cast<float4*>(&Bs[k][x + j * LANES_N]);
            }
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) acc[i][j] += a_frag[i] * b_frag[j];
            }
        }
        // end gap
        __syncthreads();  // everyone has read the tiles before anyone overwrites them
    }
    write_c<ALIGNED>(acc, row0 + y, col0 + x, M, N, alpha, beta, C, ldc);
}

const gemm::Tile tile{BM, BN, BK};

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.A) | address(p.B) | address(p.C)) % 16 == 0 &&
                         (p.K | p.N | p.lda | p.ldb | p.ldc) % 4 == 0;
    const auto kernel = aligned ? sgemm_warp_tile<true> : sgemm_warp_tile<false>;
    kernel<<<gemm::grid_of_tiles(p, tile), THREADS, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    const int y = static_cast<int>(row % BM), x = static_cast<int>(col % BN);
    const int warp = y / WM * WARPS_N + x / WN;
    const int lane_m = y % WM / 4 % LANES_M, lane_n = x % WN / 4 % LANES_N;
    const int lane = lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * LANES_M;
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(warp * 32 + lane), 0, 0}};
}

const gemm::Constant constants[] = {{"WM", WM}, {"WN", WN}, {"TM", TM}, {"TN", TN}, {"PAD", PAD}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_warp_tile<true>),
     .architectures = {.from = 50},
     .configuration = {.tile = tile, .constants = constants, .block = dim3(THREADS)}}};

extern const gemm::Lesson lesson{.name = "06b_warp_tile",
                                 .part = 1,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_06b
