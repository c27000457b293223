// 09b mma.sync — the tensor cores' own instruction: its manual says which lane holds which element, so
// ldmatrix brings each lane what it needs, and C is written from registers.
//
// Changed since 09a: mma.sync m16n8k16 instead of wmma, fed by ldmatrix (for B by ldmatrix.trans, which
// transposes on the way); a swizzle instead of padding keeps the rows of a matrix in different banks; the
// next k-tile goes through registers to a second stage meanwhile, as in 07. 1.4 times as fast.

#include "common/element.hpp"
#include "common/gemm.hpp"
#include "common/parts/swizzle.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"

namespace lesson_09b {

constexpr int BM = 128, BN = 128, BK = 32;        // C tile: rows and columns; k-tile: steps along K
constexpr int WM = 64, WN = 64;                   // warp tile: rows and columns of C
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one instruction multiplies
constexpr int WARPS_N = BN / WN, THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;            // of mma.sync in the warp tile
constexpr int A_ROWS = 8 * THREADS / BK, B_ROWS = 8 * THREADS / BN;  // that all threads load at a time
static_assert(BM % WM == 0 && BN % WN == 0 && WM % MMA_M == 0 && WN % 16 == 0 && BK % MMA_K == 0, "tiles");
static_assert(BM % A_ROWS == 0 && BK % B_ROWS == 0, "every thread loads equally many");

// Where an element of the k-tile is, in elements from its start. Eight neighbors stay together, and the
// place that they take in their row depends on the row. So the eight rows of a matrix are in different banks.
__device__ __forceinline__ int a_at(int row, int k) {
    // gap: a_at
    return gemm::Swizzle<2, 3, 3>::apply(row * BK + k);
    // end gap
}
__device__ __forceinline__ int b_at(int k, int col) {
    // gap: b_at
    return gemm::Swizzle<3, 3, 4>::apply(k * BN + col);
    // end gap
}
static_assert(BK == 32 && BN == 128, "the swizzles are for rows of 2^5 and 2^7 elements");

/// Eight elements of a row from `p` on, of which only the first `left` are there: zeros for the others.
template <bool ALIGNED, class T>
__device__ __forceinline__ uint4 load8(const T* p, std::int64_t left) {
    uint4 eight = make_uint4(0, 0, 0, 0);
    if (ALIGNED) {
        if (left > 0) eight = *reinterpret_cast<const uint4*>(p);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i < left) reinterpret_cast<T*>(&eight)[i] = p[i];
        }
    }
    return eight;
}

/// Two neighbors in a row of C become beta·C + (first, second), of which only the first `left` are there.
template <bool ALIGNED, class T>
__device__ __forceinline__ void store2(T* c, std::int64_t left, float first, float second, float beta) {
    if (beta != 0.0f) {  // BLAS: beta == 0 must not read C
        if (left > 0) first += beta * gemm::to_float(c[0]);
        if (left > 1) second += beta * gemm::to_float(c[1]);
    }
    __align__(4) const T both[2] = {gemm::from_float<T>(first), gemm::from_float<T>(second)};
    if (ALIGNED && left > 0) {  // one store for the two
        *reinterpret_cast<std::uint32_t*>(c) = *reinterpret_cast<const std::uint32_t*>(both);
    } else {
        if (left > 0) c[0] = both[0];
        if (left > 1) c[1] = both[1];
    }
}

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: rows of A and B begin
// at multiples of 16 bytes, rows of C at multiples of 4, and K and N are multiples of 8. So eight elements
// of A or B, or two of C, are there together or not at all.
template <class T, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, 2)
    hgemm_mma_sync(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const T* A, std::int64_t lda,
                   const T* B, std::int64_t ldb, float beta, T* C, std::int64_t ldc) {
    __shared__ __align__(128) T As[2][BM * BK];  // two k-tiles of A, swizzled
    __shared__ __align__(128) T Bs[2][BK * BN];  // two k-tiles of B, swizzled

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int y = warp / WARPS_N * WM, x = warp % WARPS_N * WN;  // of the warp tile in the C tile
    // What the thread loads: eight elements of row a_row + i of A and of row b_k + i of B.
    const int a_row = t / (BK / 8), a_k = t % (BK / 8) * 8, b_k = t / (BN / 8), b_col = t % (BN / 8) * 8;
    const T* a = A + (row0 + a_row) * lda + a_k;
    const T* b = B + b_k * ldb + col0 + b_col;
    // The row of a 16×16 tile whose address this lane gives to ldmatrix.
    const gemm::ptx::Position at = gemm::ptx::ldmatrix_row(lane);

    uint4 a_next[BM / A_ROWS], b_next[BK / B_ROWS];  // of the next k-tile, on its way
    const auto load = [&](int steps) {
#pragma unroll
        for (int i = 0; i < BM; i += A_ROWS) {
            a_next[i / A_ROWS] = load8<ALIGNED>(a + i * lda, row0 + a_row + i < M ? steps - a_k : 0);
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_ROWS) {
            b_next[i / B_ROWS] = load8<ALIGNED>(b + i * ldb, b_k + i < steps ? N - (col0 + b_col) : 0);
        }
        a += steps;
        b += steps * ldb;
    };
    const auto store = [&](int stage) {
#pragma unroll
        for (int i = 0; i < BM; i += A_ROWS) {
            *reinterpret_cast<uint4*>(&As[stage][a_at(a_row + i, a_k)]) = a_next[i / A_ROWS];
        }
#pragma unroll
        for (int i = 0; i < BK; i += B_ROWS) {
            *reinterpret_cast<uint4*>(&Bs[stage][b_at(b_k + i, b_col)]) = b_next[i / B_ROWS];
        }
    };

    float acc[TILES_M][TILES_N][4] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    std::int64_t tiles = (k_end + BK - 1) / BK;
    // The partial k-tile comes first, so that the others need no guard along K.
    if (tiles > 0) {
        load(static_cast<int>((k_end - 1) % BK) + 1);
        store(0);
    }
    __syncthreads();  // the first tiles are complete before anyone reads them
    for (int stage = 0; tiles > 0; --tiles, stage ^= 1) {
        if (tiles > 1) load(BK);
#pragma unroll
        for (int k = 0; k < BK; k += MMA_K) {
            std::uint32_t a_frag[TILES_M][4], b_frag[TILES_N / 2][2][2];
            // gap: fragments
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
                gemm::ptx::ldmatrix(a_frag[i], &As[stage][a_at(y + i * MMA_M + at.row, k + at.col)]);
            }
#pragma unroll
            for (int j = 0; j < TILES_N / 2; ++j) {  // one ldmatrix brings the fragments of 16 columns
                gemm::ptx::ldmatrix_trans(b_frag[j], &Bs[stage][b_at(k + at.row, x + j * 16 + at.col)]);
            }
            // end gap
            // gap: multiply
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) {
                    gemm::ptx::mma_m16n8k16<T>(acc[i][j], a_frag[i], b_frag[j / 2][j % 2]);
                }
            }
            // end gap
        }
        if (tiles > 1) store(stage ^ 1);
        __syncthreads();  // the next tiles are complete, and everyone has read these
    }

#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
        for (int j = 0; j < TILES_N; ++j) {
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                // gap: store
                const gemm::ptx::Position in = gemm::ptx::fragment_c(lane, e);
                const std::int64_t row = row0 + y + i * MMA_M + in.row, col = col0 + x + j * MMA_N + in.col;
                if (row >= M) continue;
                store2<ALIGNED>(&C[row * ldc + col], N - col, alpha * acc[i][j][e], alpha * acc[i][j][e + 1],
                                beta);
                // end gap
            }
        }
    }
}

const gemm::Tile tile{BM, BN, BK};

template <class T>
void launch_type(const gemm::Problem& p, cudaStream_t stream) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.A) | address(p.B)) % 16 == 0 && (p.K | p.N | p.lda | p.ldb) % 8 == 0 &&
                         address(p.C) % 4 == 0 && p.ldc % 2 == 0;
    const auto kernel = aligned ? hgemm_mma_sync<T, true> : hgemm_mma_sync<T, false>;
    kernel<<<gemm::grid_of_tiles(p, tile), THREADS, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const T*>(p.A), p.lda, static_cast<const T*>(p.B), p.ldb, p.beta,
        static_cast<T*>(p.C), p.ldc);
}

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    p.variant.C == gemm::DType::bf16 ? launch_type<__nv_bfloat16>(p, stream) : launch_type<__half>(p, stream);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, BN);
    const int y = static_cast<int>(row % BM), x = static_cast<int>(col % BN);
    const int warp = y / WM * WARPS_N + x / WN, lane = y % 8 * 4 + x % 8 / 2;
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(warp * 32 + lane), 0, 0}};
}

const gemm::Constant constants[] = {
    {"WM", WM}, {"WN", WN}, {"MMA_M", MMA_M}, {"MMA_N", MMA_N}, {"MMA_K", MMA_K}};
const gemm::Configuration configuration{.tile = tile, .constants = constants, .block = dim3(THREADS)};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_mma_sync<__nv_bfloat16, true>),
     .architectures = {.from = 80},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_mma_sync<__half, true>),
     .architectures = {.from = 80},
     .configuration = configuration}};

extern const gemm::Lesson lesson{.name = "09b_mma_sync",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_09b
