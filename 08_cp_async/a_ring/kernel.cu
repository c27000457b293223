// 08a ring — k-tiles go from global to shared memory by asynchronous copies, several of them ahead, and no
// register holds them on the way.
//
// Changed since 07: a ring of STAGES stages of shared memory, filled by cp.async; one barrier per k-tile is
// still enough. A copy of 16 bytes cannot transpose: those of A are of 4 bytes.

#include <type_traits>

#include "common/gemm.hpp"
#include "common/ptx/cp_async.hpp"

namespace lesson_08a {

constexpr int BM = 128, BN = 256, BK = 8;  // C tile: rows and columns; steps of a k-tile
constexpr int WM = 64, WN = 64;            // warp tile: rows and columns of C
constexpr int TM = 8, TN = 16;             // thread tile: rows and columns of C
constexpr int STAGES = 4;                  // k-tiles in shared memory
constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int A_PITCH = BM + 4;  // of As: a warp stores to columns, which without padding share banks
constexpr int BS = 4 * BK * A_PITCH, STAGE = BS + 4 * BK * BN;  // bytes: where Bs begins, a stage
static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0,
              "warps and lanes tile the block exactly");
static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "reads of four floats, copies of eight steps");
static_assert(BM * BK % THREADS == 0 && BK * BN % (4 * THREADS) == 0 && THREADS % BN == 0,
              "every thread copies equally many");

/// Reads a thread's values of step k, from where it reads in a stage of As and of Bs.
__device__ __forceinline__ void read(float (&a_frag)[TM], float (&b_frag)[TN], const char* as, const char* bs,
                                     int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) {
        *reinterpret_cast<float4*>(&a_frag[i]) =
            *reinterpret_cast<const float4*>(as + 4 * (k * A_PITCH + i * LANES_M));
    }
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
        *reinterpret_cast<float4*>(&b_frag[j]) =
            *reinterpret_cast<const float4*>(bs + 4 * (k * BN + j * LANES_N));
    }
}

/// acc += a_frag · b_frag: down a column and up the next, so that each sum shares a factor with the one
/// before, which stays in the operand cache.
__device__ __forceinline__ void add_products(float (&acc)[TM][TN], const float (&a_frag)[TM],
                                             const float (&b_frag)[TN]) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int e = 0; e < TM; ++e) {
            const int i = j % 2 == 0 ? e : TM - 1 - e;
            acc[i][j] += a_frag[i] * b_frag[j];
        }
    }
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

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: every row of B and C
// begins at a multiple of 16 bytes, and N is a multiple of 4, so that four floats are there or none.
template <bool ALIGNED>
__global__ void __launch_bounds__(THREADS)
    sgemm_ring(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A, std::int64_t lda,
               const float* B, std::int64_t ldb, float beta, float* C, std::int64_t ldc) {
    extern __shared__ __align__(16) char shared[];  // a stage: float As[BK][A_PITCH], transposed, Bs[BK][BN]

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    // Lanes have their places so that of four neighbors two read the same 16 bytes of As, and two the
    // same of Bs: shared memory serves such a pair at once.
    const int lane_m = lane % 2 + lane / 4 % (LANES_M / 2) * 2,
              lane_n = lane / 2 % 2 + lane / (2 * LANES_M) * 2;
    // The thread's elements of C: groups of four rows from y + i·LANES_M and of four columns from x +
    // j·LANES_N on, i and j multiples of 4.
    const int y = warp / WARPS_N * WM + lane_m * 4, x = warp % WARPS_N * WN + lane_n * 4;

    // What the thread copies: of A single floats, (a_row + i, a_k), a warp 8 steps of 4 rows, which an H200
    // stores a row at a time; of B (b_k + i, b_col), one float or four.
    constexpr int WIDTH = ALIGNED ? 4 : 1, A_ROWS = THREADS / BK, B_ROWS = THREADS * WIDTH / BN;
    const int a_k = t % 8 + warp % (BK / 8) * 8, a_row = lane / 8 + warp / (BK / 8) * 4;
    const int b_k = t * WIDTH / BN, b_col = t * WIDTH % BN;
    const float* a = A + (row0 + a_row) * lda + a_k;
    const float* b = B + b_k * ldb + col0 + b_col;
    // Where it writes to and reads from in stage 0. Stages are offsets in bytes, which an address takes as
    // they are: counted in floats they would have to be multiplied first.
    char* const a_write = shared + 4 * (a_k * A_PITCH + a_row);
    char* const b_write = shared + BS + 4 * (b_k * BN + b_col);
    const char* const a_read = shared + 4 * y;
    const char* const b_read = shared + BS + 4 * x;
    const auto copy = [&](int stage, int steps) {
#pragma unroll
        for (int i = 0; i < BM; i += A_ROWS) {
            gemm::ptx::cp_async_or_zero<4>(a_write + stage + 4 * i, a + i * lda,
                                           a_k < steps && row0 + a_row + i < M);
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_ROWS) {
            // gap: tile_b
            gemm::ptx::cp_async_or_zero<4 * WIDTH>(b_write + stage + 4 * i * BN, b + i * ldb,
                                                   b_k + i < steps && col0 + b_col < N);
            // end gap
        }
        a += steps;
        b += steps * ldb;
    };

    constexpr int LAST = (STAGES - 1) * STAGE;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    std::int64_t tiles = (k_end + BK - 1) / BK;
    // The partial k-tile comes first, so that the others need no guard along K.
    if (tiles > 0) copy(0, static_cast<int>((k_end - 1) % BK) + 1);
    gemm::ptx::cp_async_commit();
    // gap: first
    for (int s = 1; s < STAGES - 1; ++s) {
        if (s < tiles) copy(s * STAGE, BK);
        gemm::ptx::cp_async_commit();  // one group per tile, be it empty
    }
    // end gap

    float acc[TM][TN] = {};
    int stage = 0, ahead = LAST;  // the k-tile in use, and the one that is copied meanwhile
    const auto use_tiles = [&](auto copying) {
        // gap: arrived
        gemm::ptx::cp_async_wait<STAGES - 2>();
        // These tiles are complete, and everyone has read those before them.
        __syncthreads();
        // end gap
#pragma unroll
        for (int k = 0; k < BK; ++k) {  // C_tile += A[:, k] · B[k, :]
            float a_frag[TM], b_frag[TN];
            read(a_frag, b_frag, a_read + stage, b_read + stage, k);
            if (k == 0) {
                // gap: ahead
                if (copying.value) copy(ahead, BK);  // into the stage of the tiles before these
                gemm::ptx::cp_async_commit();
                // end gap
            }
            add_products(acc, a_frag, b_frag);
        }
        ahead = stage;
        stage = stage == LAST ? 0 : stage + STAGE;
    };
    for (; tiles > STAGES - 1; --tiles) use_tiles(std::true_type());
    for (; tiles > 0; --tiles) use_tiles(std::false_type());  // everything is copied
    write_c<ALIGNED>(acc, row0 + y, col0 + x, M, N, alpha, beta, C, ldc);
}

const gemm::Tile tile{BM, BN, BK};

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.B) | address(p.C)) % 16 == 0 && (p.N | p.ldb | p.ldc) % 4 == 0;
    const auto kernel = aligned ? sgemm_ring<true> : sgemm_ring<false>;
    constexpr int bytes = STAGES * STAGE;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<gemm::grid_of_tiles(p, tile), THREADS, bytes, stream>>>(
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

const gemm::Constant constants[] = {{"WM", WM}, {"WN", WN}, {"TM", TM}, {"TN", TN}, {"STAGES", STAGES}};
const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_ring<true>),
                                 .architectures = {.from = 80},
                                 .configuration = {.tile = tile,
                                                   .constants = constants,
                                                   .block = dim3(THREADS),
                                                   .dynamic_shared_bytes = STAGES * STAGE}}};

extern const gemm::Lesson lesson{
    .name = "08a_ring", .part = 1, .ladder = "fp32", .variants = variants, .launch = launch, .owner = owner};

}  // namespace lesson_08a
