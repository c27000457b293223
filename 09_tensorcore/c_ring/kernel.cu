// 09c ring — cp.async copies k-tiles straight to shared memory, three ahead of the one in use, as in 08a.
// Changed since 09b: four stages filled by cp.async instead of two filled through registers; the swizzle of a
// copy's address is computed once, before the loop.
// Should be 1.47 times as fast: a k-tile takes 89 fewer instructions, and a copy that starts three k-tiles
// ahead should end the wait for global memory.

#include "common/element.hpp"
#include "common/gemm.hpp"
#include "common/parts/swizzle.hpp"
#include "common/ptx/cp_async.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"

namespace lesson_09c {

constexpr int BM = 128, BN = 128, BK = 32;        // C tile: rows, columns; k-tile: steps along K
constexpr int WM = 64, WN = 64;                   // warp tile: rows and columns of C
constexpr int MMA_M = 16, MMA_N = 8, MMA_K = 16;  // what one instruction multiplies
constexpr int STAGES = 4;                         // k-tiles of A and of B in shared memory
constexpr int WARPS_N = BN / WN, THREADS = 32 * (BM / WM) * WARPS_N;
constexpr int TILES_M = WM / MMA_M, TILES_N = WN / MMA_N;  // of mma.sync in the warp tile
constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage

// Where an element of a k-tile goes, in bytes: eight neighbors stay together, and which of the row's first
// eight places they take depends on the row. So eight rows of a fragment are in different banks.
__device__ __forceinline__ int a_at(int row, int k) {
    return gemm::Swizzle<2, 4, 3>::apply(2 * (row * BK + k));
}
__device__ __forceinline__ int b_at(int k, int col) {
    return gemm::Swizzle<3, 4, 4>::apply(2 * (k * BN + col));
}
static_assert(BK == 32 && BN == 128, "the swizzles are for rows of 2^5 and 2^7 elements");

/// Copies WIDTH neighbors of a row, of which the first `left` exist, and zeros for the others.
template <bool ALIGNED, class T>
__device__ __forceinline__ void copy_run(char* to, const T* from, int left) {
    if constexpr (ALIGNED) {
        gemm::ptx::cp_async_or_zero<16>(to, from, left > 0);
    } else {
        const auto* bits = reinterpret_cast<const std::uint16_t*>(from);
        const std::uint32_t low = left > 0 ? bits[0] : 0, high = left > 1 ? bits[1] : 0;
        *reinterpret_cast<std::uint32_t*>(to) = low | high << 16;
    }
}

/// A thread's part of copying a k-tile of A or of B, ROWS×COLS elements: WIDTH neighbors at a time. The
/// threads of a row copy RUN elements of it together.
template <class T, bool ALIGNED, int ROWS, int COLS, int RUN>
struct Share {
    static constexpr int WIDTH = ALIGNED ? 8 : 2, AT_ONCE = THREADS * WIDTH / RUN;  // rows at a time
    static_assert(ROWS % AT_ONCE == 0 && AT_ONCE % 8 == 0, "swizzles repeat");
    const int t = threadIdx.x, row = t * WIDTH / RUN, col = t * WIDTH % RUN;
    char* to[COLS / RUN];     // in stage 0
    const T* from = nullptr;  // in the k-tile that is copied next

    /// Copies the k-tile, of which the first `rows` rows and `cols` columns exist.
    __device__ __forceinline__ void copy(int stage, std::int64_t pitch, std::int64_t rows,
                                         std::int64_t cols) {
        // How many rows exist from the thread's first one on, and below, how many columns: counted once, so
        // that a row takes one comparison.
        const int there = rows - row < ROWS ? static_cast<int>(rows - row) : ROWS;
#pragma unroll
        for (int i = 0; i < COLS; i += RUN) {
            const int left = cols - col - i < WIDTH ? static_cast<int>(cols - col - i) : WIDTH;
#pragma unroll(ALIGNED ? ROWS : 8)
            for (int r = 0; r < ROWS; r += AT_ONCE) {
                // gap: copy
                copy_run<ALIGNED>(to[i / RUN] + stage + 2 * r * COLS, from + r * pitch + i,
                                  r < there ? left : 0);
                // end gap
            }
        }
    }
};

/// Two neighbors in a row of C become beta·C + (first, second), of which only the first `left` exist.
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
    hgemm_ring(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const T* A, std::int64_t lda,
               const T* B, std::int64_t ldb, float beta, T* C, std::int64_t ldc) {
    extern __shared__ __align__(128) char shared[];  // stages: T As[BM][BK], Bs[BK][BN], swizzled

    const std::int64_t tiles_n = (N + BN - 1) / BN;
    const std::int64_t row0 = blockIdx.x / tiles_n * BM, col0 = blockIdx.x % tiles_n * BN;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int y = warp / WARPS_N * WM, x = warp % WARPS_N * WN;  // of the warp tile in the C tile

    Share<T, ALIGNED, BM, BK, 32> a;
    constexpr int B_RUN = ALIGNED ? 64 : 32;
    Share<T, ALIGNED, BK, BN, B_RUN> b;
    a.to[0] = shared + a_at(a.row, a.col);
    for (int i = 0; i < BN; i += B_RUN) b.to[i / B_RUN] = shared + (BS + b_at(b.row, b.col + i));
    const auto copy = [&](int stage, int steps) {
        a.copy(stage, lda, M - row0, steps);
        b.copy(stage, ldb, steps, N - col0);
        a.from += steps;
        b.from += steps * ldb;
    };

    // The row of a 16×16 tile whose address this lane gives to ldmatrix.
    const gemm::ptx::Position at = gemm::ptx::ldmatrix_row(lane);

    a.from = A + (row0 + a.row) * lda + a.col;
    b.from = B + b.row * ldb + col0 + b.col;
    float acc[TILES_M][TILES_N][4] = {};
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    std::int64_t tiles = (k_end + BK - 1) / BK;
    // The partial k-tile comes first, so that the others need no guard along K.
    if (tiles > 0) copy(0, static_cast<int>((k_end - 1) % BK) + 1);
    gemm::ptx::cp_async_commit();
    // gap: first
    for (int s = 1; s < STAGES - 1; ++s) {
        if (s < tiles) copy(s * STAGE, BK);
        gemm::ptx::cp_async_commit();  // one group per k-tile, be it empty
    }
    // end gap

    constexpr int LAST = (STAGES - 1) * STAGE;
    int stage = 0, ahead = LAST;  // of the k-tile in use, and of the copies
    for (; tiles > 0; --tiles) {
        // gap: arrived
        gemm::ptx::cp_async_wait<STAGES - 2>();
        // This k-tile is complete, for all threads, and everyone has read the one before.
        __syncthreads();
        // end gap
#pragma unroll
        for (int k = 0; k < BK; k += MMA_K) {
            std::uint32_t a_frag[TILES_M][4], b_frag[TILES_N / 2][2][2];
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
                gemm::ptx::ldmatrix(a_frag[i], shared + stage + a_at(y + i * MMA_M + at.row, k + at.col));
            }
#pragma unroll
            for (int j = 0; j < TILES_N / 2; ++j) {  // one ldmatrix reads the fragments of 16 columns
                gemm::ptx::ldmatrix_trans(b_frag[j],
                                          shared + stage + BS + b_at(k + at.row, x + j * 16 + at.col));
            }
            if (k == 0) {
                // gap: ahead
                if (tiles > STAGES - 1) copy(ahead, BK);  // into the stage of the k-tile before this one
                gemm::ptx::cp_async_commit();
                // end gap
            }
#pragma unroll
            for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
                for (int j = 0; j < TILES_N; ++j) {
                    gemm::ptx::mma_m16n8k16<T>(acc[i][j], a_frag[i], b_frag[j / 2][j % 2]);
                }
            }
        }
        ahead = stage;
        stage = stage == LAST ? 0 : stage + STAGE;
    }

#pragma unroll
    for (int i = 0; i < TILES_M; ++i) {
#pragma unroll
        for (int j = 0; j < TILES_N; ++j) {
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                const gemm::ptx::Position in = gemm::ptx::fragment_c(lane, e);
                const std::int64_t row = row0 + y + i * MMA_M + in.row, col = col0 + x + j * MMA_N + in.col;
                if (row >= M) continue;
                store2<ALIGNED>(&C[row * ldc + col], N - col, alpha * acc[i][j][e], alpha * acc[i][j][e + 1],
                                beta);
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
    const auto kernel = aligned ? hgemm_ring<T, true> : hgemm_ring<T, false>;
    constexpr int bytes = STAGES * STAGE;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<gemm::grid_of_tiles(p, tile), THREADS, bytes, stream>>>(
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

const gemm::Constant constants[] = {{"WM", WM},       {"WN", WN},       {"MMA_M", MMA_M},
                                    {"MMA_N", MMA_N}, {"MMA_K", MMA_K}, {"STAGES", STAGES}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = STAGES * STAGE};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_ring<__nv_bfloat16, true>),
                                 .architectures = {.from = 80},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_ring<__half, true>),
                                 .architectures = {.from = 80},
                                 .configuration = configuration}};

extern const gemm::Lesson lesson{.name = "09c_ring",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_09c
