// 08b read ahead — the fragments of the next step come from shared memory during the sums of this one, and a
// k-tile's first fragments during the last sums of the k-tile before.
//
// Changed since 08a: two sets of fragments; wait and barrier come before a k-tile's last step, which reads
// from the next k-tile; blocks are numbered so that those that run together share rows of A and columns of B
// in L2; a second, smaller C tile, for matrices that have few of the large ones.

#include <algorithm>
#include <type_traits>

#include "common/gemm.hpp"
#include "common/ptx/cp_async.hpp"

namespace lesson_08b {

/// The sizes of an instantiation.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int STAGES_>
struct Tiles {
    static constexpr int BM = BM_, BN = BN_, BK = BK_;  // C tile: rows and columns; steps of a k-tile
    static constexpr int WM = WM_, WN = WN_;            // warp tile: rows and columns of C
    static constexpr int TM = TM_, TN = TN_;            // thread tile: rows and columns of C
    static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
    static constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
    static constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
    static constexpr int A_PITCH = BM + 4;  // of As: a warp stores to columns, which unpadded share banks
    static constexpr int BS = 4 * BK * A_PITCH, STAGE = BS + 4 * BK * BN;  // bytes: where Bs begins, a stage
    static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0, "warps and lanes tile the block");
    static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "reads of four floats, copies of eight steps");
    static_assert(BM * BK % THREADS == 0 && BK * BN % (4 * THREADS) == 0 && THREADS % BN == 0,
                  "every thread copies equally many");
};
constexpr int GROUP = 8;  // rows of C tiles whose blocks are counted together
using Large = Tiles<128, 256, 8, 64, 64, 8, 16, 4>;
using Small = Tiles<64, 64, 16, 32, 32, 4, 8, 4>;  // where Large has few blocks: see is_large()

/// A place in C.
struct Place {
    std::int64_t row, col;
};

/// Where the block's C tile begins. Blocks are counted down a column of GROUP rows of C tiles, then down the
/// next: those that run at the same time cover a rectangle, and need few rows of A and columns of B.
template <class T>
__device__ __forceinline__ Place first_of_block(std::int64_t M, std::int64_t N) {
    const std::int64_t tiles_m = (M + T::BM - 1) / T::BM, tiles_n = (N + T::BN - 1) / T::BN;
    const std::int64_t group = blockIdx.x / (GROUP * tiles_n), in_group = blockIdx.x % (GROUP * tiles_n);
    const std::int64_t group_m = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;
    return {(group * GROUP + in_group % group_m) * T::BM, in_group / group_m * T::BN};
}

/// Reads a thread's fragments of step k, from where it reads in a stage of As and of Bs.
template <class T, int TM, int TN>
__device__ __forceinline__ void read(float (&a_frag)[TM], float (&b_frag)[TN], const char* as, const char* bs,
                                     int k) {
#pragma unroll
    for (int i = 0; i < TM; i += 4) {
        *reinterpret_cast<float4*>(&a_frag[i]) =
            *reinterpret_cast<const float4*>(as + 4 * (k * T::A_PITCH + i * T::LANES_M));
    }
#pragma unroll
    for (int j = 0; j < TN; j += 4) {
        *reinterpret_cast<float4*>(&b_frag[j]) =
            *reinterpret_cast<const float4*>(bs + 4 * (k * T::BN + j * T::LANES_N));
    }
}

/// acc += a_frag · b_frag, of step k: down a column and up the next, so that each sum shares a factor with
/// the one before, which stays in the reuse cache.
template <int TM, int TN>
__device__ __forceinline__ void add_products(float (&acc)[TM][TN], const float (&a_frag)[TM],
                                             const float (&b_frag)[TN], int k) {
#pragma unroll
    for (int j = 0; j < TN; ++j) {
#pragma unroll
        for (int e = 0; e < TM; ++e) {
            const int i = (j + k) % 2 == 0 ? e : TM - 1 - e;
            acc[i][j] += a_frag[i] * b_frag[j];
        }
    }
}

/// C = alpha · acc + beta · C, where the thread's first element is (row0, col0).
template <class T, bool ALIGNED, int TM, int TN>
__device__ __forceinline__ void write_c(const float (&acc)[TM][TN], std::int64_t row0, std::int64_t col0,
                                        std::int64_t M, std::int64_t N, float alpha, float beta, float* C,
                                        std::int64_t ldc) {
#pragma unroll  // acc is in registers, which take no index at run time
    for (int i = 0; i < TM; ++i) {
        const std::int64_t row = row0 + i / 4 * 4 * T::LANES_M + i % 4;
        if (row >= M) return;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            const std::int64_t col = col0 + j * T::LANES_N;
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
template <class T, bool ALIGNED>
__global__ void __launch_bounds__(T::THREADS)
    sgemm_read_ahead(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const float* A,
                     std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                     std::int64_t ldc) {
    constexpr int BM = T::BM, BN = T::BN, BK = T::BK, WM = T::WM, WN = T::WN, TM = T::TM, TN = T::TN;
    constexpr int LANES_M = T::LANES_M, WARPS_N = T::WARPS_N, THREADS = T::THREADS, STAGES = T::STAGES;
    constexpr int A_PITCH = T::A_PITCH, BS = T::BS, STAGE = T::STAGE;
    extern __shared__ __align__(16) char shared[];  // a stage: float As[BK][A_PITCH], transposed, Bs[BK][BN]

    const Place first = first_of_block<T>(M, N);
    const std::int64_t row0 = first.row, col0 = first.col;
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
            gemm::ptx::cp_async_or_zero<4 * WIDTH>(b_write + stage + 4 * i * BN, b + i * ldb,
                                                   b_k + i < steps && col0 + b_col < N);
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
    for (int s = 1; s < STAGES - 1; ++s) {
        if (s < tiles) copy(s * STAGE, BK);
        gemm::ptx::cp_async_commit();  // one group per tile, be it empty
    }
    float a_frag[2][TM], b_frag[2][TN];  // of this step and of the next
    // gap: first
    gemm::ptx::cp_async_wait<STAGES - 2>();
    __syncthreads();  // the first tiles are complete before anyone reads them
    if (tiles > 0) read<T>(a_frag[0], b_frag[0], a_read, b_read, 0);
    // end gap

    float acc[TM][TN] = {};
    int stage = 0, ahead = LAST;  // the k-tile in use, and the one that is copied meanwhile
    const auto use_tiles = [&](auto copying) {
#pragma unroll
        for (int k = 0; k < BK; ++k) {  // C_tile += A[:, k] · B[k, :]
            if (k == BK - 1) {
                // gap: arrived
                gemm::ptx::cp_async_wait<STAGES - 2>();
                __syncthreads();  // the next tiles are complete, and everyone has read these
                stage = stage == LAST ? 0 : stage + STAGE;
                // end gap
            }
            // gap: next
            if (copying.value || k < BK - 1 || tiles > 1) {
                read<T>(a_frag[(k + 1) % 2], b_frag[(k + 1) % 2], a_read + stage, b_read + stage,
                        (k + 1) % BK);
            }
            // end gap
            if (k == 0) {
                if (copying.value) copy(ahead, BK);
                gemm::ptx::cp_async_commit();
                ahead = ahead == LAST ? 0 : ahead + STAGE;
            }
            add_products(acc, a_frag[k % 2], b_frag[k % 2], k);
        }
    };
    for (; tiles > STAGES - 1; --tiles) use_tiles(std::true_type());
    for (; tiles > 0; --tiles) use_tiles(std::false_type());  // everything is copied
    write_c<T, ALIGNED>(acc, row0 + y, col0 + x, M, N, alpha, beta, C, ldc);
}

const gemm::Tile tile{Large::BM, Large::BN, Large::BK};

bool is_large(const gemm::Problem& p) {
    return gemm::ceil_div(p.M, Large::BM) * gemm::ceil_div(p.N, Large::BN) >= 100;
}

template <class T>
void launch_tiles(const gemm::Problem& p, cudaStream_t stream) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.B) | address(p.C)) % 16 == 0 && (p.N | p.ldb | p.ldc) % 4 == 0;
    const auto kernel = aligned ? sgemm_read_ahead<T, true> : sgemm_read_ahead<T, false>;
    constexpr int bytes = T::STAGES * T::STAGE;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<gemm::grid_of_tiles(p, {T::BM, T::BN, T::BK}), T::THREADS, bytes, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const float*>(p.A), p.lda, static_cast<const float*>(p.B), p.ldb,
        p.beta, static_cast<float*>(p.C), p.ldc);
}

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    is_large(p) ? launch_tiles<Large>(p, stream) : launch_tiles<Small>(p, stream);
}

template <class T>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_m = gemm::ceil_div(p.M, T::BM), tiles_n = gemm::ceil_div(p.N, T::BN);
    const std::int64_t group = row / T::BM / GROUP,
                       group_m = std::min<std::int64_t>(tiles_m - group * GROUP, GROUP);
    const std::int64_t block = group * GROUP * tiles_n + col / T::BN * group_m + row / T::BM % GROUP;
    const int y = static_cast<int>(row % T::BM), x = static_cast<int>(col % T::BN);
    const int lane_m = y % T::WM / 4 % T::LANES_M, lane_n = x % T::WN / 4 % T::LANES_N;
    const int lane = lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * T::LANES_M;
    return {{static_cast<unsigned>(block), 0, 0},
            {static_cast<unsigned>((y / T::WM * T::WARPS_N + x / T::WN) * 32 + lane), 0, 0}};
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return is_large(p) ? owner_in<Large>(p, row, col) : owner_in<Small>(p, row, col);
}

const gemm::Constant constants[] = {
    {"WM", Large::WM}, {"WN", Large::WN}, {"TM", Large::TM}, {"TN", Large::TN}, {"STAGES", Large::STAGES}};
const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_read_ahead<Large, true>),
                                 .architectures = {.from = 80},
                                 .configuration = {.tile = tile,
                                                   .constants = constants,
                                                   .block = dim3(Large::THREADS),
                                                   .dynamic_shared_bytes = Large::STAGES * Large::STAGE}}};

const gemm::Reach reaching[] = {{.path = "Large, four floats at once", .M = 12677, .N = 4, .K = 37},
                                {.path = "Large, float by float", .M = 5, .N = 25347, .K = 37},
                                {.path = "Small's second group of block tiles", .M = 573, .N = 68, .K = 9}};

extern const gemm::Lesson lesson{.name = "08b_read_ahead",
                                 .part = 1,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_08b
