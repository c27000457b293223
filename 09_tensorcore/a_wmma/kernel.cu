// 09a WMMA — tensor cores: an instruction of a warp multiplies 16×16 matrices of 16-bit numbers and adds the
// products in FP32. nvcuda::wmma is CUDA's own interface to them.
//
// Changed since 06b, whose tiles and loads it keeps: A, B and C have 16 bits (bf16 or fp16); the sums of a
// warp are in fragments, whose elements CUDA spreads over the lanes as it likes; they go to C through shared
// memory.

#include <mma.h>

#include "common/element.hpp"
#include "common/gemm.hpp"

namespace lesson_09a {

namespace wmma = nvcuda::wmma;

constexpr int BM = 128, BN = 128, BK = 64;  // C tile: rows, columns; k-tile: steps along K
constexpr int WM = 64, WN = 64;             // warp tile: rows and columns of C
constexpr int F = 16;                       // rows, columns and steps of a fragment
constexpr int WARPS_N = BN / WN, THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int TILES_M = WM / F, TILES_N = WN / F;  // fragments in the warp tile
constexpr int PAD = 8;  // elements, 16 bytes: rows of a fragment then lie in different banks
constexpr int A_ROWS = 8 * THREADS / BK, B_ROWS = 8 * THREADS / BN;  // that all threads load at a time
static_assert(BM % WM == 0 && BN % WN == 0 && WM % F == 0 && WN % F == 0 && BK % F == 0, "fragments tile");
static_assert(BM % A_ROWS == 0 && BK % B_ROWS == 0, "every thread loads equally many");

/// Eight elements of a row from `p` on, of which only the first `left` are there: zeros for the others.
template <bool ALIGNED, class T>
__device__ __forceinline__ uint4 load8(const T* p, std::int64_t left) {
    uint4 eight = make_uint4(0, 0, 0, 0);
    // gap: load8
    if (ALIGNED) {
        if (left > 0) eight = *reinterpret_cast<const uint4*>(p);
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            if (i < left) reinterpret_cast<T*>(&eight)[i] = p[i];
        }
    }
    // end gap
    return eight;
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class T>
constexpr bool HERE = std::is_same_v<T, __half>;  // 7.5 has no tensor cores for bf16
#else
template <class T>
constexpr bool HERE = true;
#endif

// A: M×K, pitch lda.  B: K×N, pitch ldb.  C: M×N, pitch ldc.  All row-major. ALIGNED: every row of A and B
// begins at a multiple of 16 bytes, and K and N are multiples of 8, so that eight elements are there or none.
template <class T, bool ALIGNED>
__global__ void __launch_bounds__(THREADS, ALIGNED ? 2 : 1)
    hgemm_wmma(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const T* A, std::int64_t lda,
               const T* B, std::int64_t ldb, float beta, T* C, std::int64_t ldc) {
    if constexpr (HERE<T>) {
        __shared__ __align__(32) T As[BM][BK + PAD];             // k-tile of A, row-major
        __shared__ __align__(32) T Bs[BK][BN + PAD];             // k-tile of B
        __shared__ __align__(32) float out[THREADS / 32][F][F];  // of each warp: a fragment on its way to C

        const std::int64_t tiles_n = (N + BN - 1) / BN;
        const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
        const int t = threadIdx.x, warp = t / 32, lane = t % 32;
        const int y = warp / WARPS_N * WM, x = warp % WARPS_N * WN;  // of the warp tile in the C tile
        // What the thread loads: eight elements of row a_row + i of A and of row b_k + i of B.
        const int a_row = t / (BK / 8), a_k = t % (BK / 8) * 8, b_k = t / (BN / 8), b_col = t % (BN / 8) * 8;
        const T* a = A + (row0 + a_row) * lda + a_k;
        const T* b = B + b_k * ldb + col0 + b_col;

        wmma::fragment<wmma::accumulator, F, F, F, float> acc[TILES_M][TILES_N];
        for (auto& row : acc) {
            for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0f);
        }
        // The partial k-tile comes first, so that the others need no guard along K.
        std::int64_t k_left = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
        for (int steps = k_left % BK == 0 ? BK : static_cast<int>(k_left % BK); k_left > 0;
             k_left -= steps, steps = BK) {
            // gap: tiles
#pragma unroll
            for (int i = 0; i < BM; i += A_ROWS) {
                *reinterpret_cast<uint4*>(&As[a_row + i][a_k]) =
                    load8<ALIGNED>(a + i * lda, row0 + a_row + i < M ? steps - a_k : 0);
            }
#pragma unroll
            for (int i = 0; i < BK; i += B_ROWS) {
                *reinterpret_cast<uint4*>(&Bs[b_k + i][b_col]) =
                    load8<ALIGNED>(b + i * ldb, b_k + i < steps ? N - (col0 + b_col) : 0);
            }
            // end gap
            a += steps;
            b += steps * ldb;
            __syncthreads();  // the tiles are complete before anyone reads them

            // gap: multiply
#pragma unroll 2  // of more steps at once nvcc keeps too much in registers
            for (int k = 0; k < BK; k += F) {
                wmma::fragment<wmma::matrix_a, F, F, F, T, wmma::row_major> a_frag[TILES_M];
                wmma::fragment<wmma::matrix_b, F, F, F, T, wmma::row_major> b_frag[TILES_N];
#pragma unroll
                for (int i = 0; i < TILES_M; ++i) {
                    wmma::load_matrix_sync(a_frag[i], &As[y + i * F][k], BK + PAD);
                }
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) {
                    wmma::load_matrix_sync(b_frag[j], &Bs[k][x + j * F], BN + PAD);
                }
#pragma unroll
                for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
                    for (int j = 0; j < TILES_N; ++j) {
                        wmma::mma_sync(acc[i][j], a_frag[i], b_frag[j], acc[i][j]);
                    }
                }
            }
            // end gap
            __syncthreads();  // everyone has read the tiles before anyone overwrites them
        }

        // Which lane holds which element of a fragment is CUDA's affair: only store_matrix_sync knows.
#pragma unroll
        for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
            for (int j = 0; j < TILES_N; ++j) {
                // gap: store
                wmma::store_matrix_sync(&out[warp][0][0], acc[i][j], F, wmma::mem_row_major);
                __syncwarp();  // the fragment is complete before any lane reads it
                for (int e = lane; e < F * F; e += 32) {
                    const std::int64_t row = row0 + y + i * F + e / F, col = col0 + x + j * F + e % F;
                    if (row >= M || col >= N) continue;
                    T* c = &C[row * ldc + col];
                    const float sum = alpha * out[warp][e / F][e % F];
                    // BLAS: beta == 0 must not read C
                    *c = gemm::from_float<T>(beta == 0.0f ? sum : sum + beta * gemm::to_float(*c));
                }
                __syncwarp();  // every lane has read it before the next overwrites it
                // end gap
            }
        }
    }
}

const gemm::Tile tile{BM, BN, BK};

template <class T>
void launch_type(const gemm::Problem& p, cudaStream_t stream) {
    const auto address = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); };
    const bool aligned = (address(p.A) | address(p.B)) % 16 == 0 && (p.K | p.N | p.lda | p.ldb) % 8 == 0;
    const auto kernel = aligned ? hgemm_wmma<T, true> : hgemm_wmma<T, false>;
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
    const int warp = y / WM * WARPS_N + x / WN, lane = (y % F * F + x % F) % 32;
    return {{static_cast<unsigned>(row / BM * tiles_n + col / BN), 0, 0},
            {static_cast<unsigned>(warp * 32 + lane), 0, 0}};
}

const gemm::Constant constants[] = {{"WM", WM}, {"WN", WN}, {"F", F}, {"PAD", PAD}};
const gemm::Configuration configuration{.tile = tile, .constants = constants, .block = dim3(THREADS)};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_wmma<__nv_bfloat16, true>),
                                 .architectures = {.from = 80},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_wmma<__half, true>),
                                 .architectures = {.from = 75},
                                 .configuration = configuration}};

extern const gemm::Lesson lesson{.name = "09a_wmma",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_09a
