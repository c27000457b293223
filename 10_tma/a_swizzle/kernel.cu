// 10a swizzle — tiles come by TMA: one thread asks for a box of A and a box of B, all threads multiply
// meanwhile, and an mbarrier tells them when the boxes' bytes have arrived.
//
// Changed since 08b: no thread copies, and none counts rows and columns at the edges, which TMA fills with
// zeros; As has rows along K, as A has, and TMA's 128-byte swizzle instead of a transposition; a tile has 32
// steps along K; sums go along rows. GPUs have TMA from compute capability 9.0 on; this one is built for 9.0.

#include <algorithm>

#include "common/gemm.hpp"
#include "common/ptx/mbarrier.hpp"
#include "common/ptx/tma.hpp"
#include "common/tma/copy_rows.hpp"
#include "common/tma/matrix.hpp"
#include "common/tma/tensor_map.hpp"

namespace lesson_10a {

constexpr int BK = 32;     // steps along K of a tile: a row of As is 128 bytes, which the swizzle wants
constexpr int STAGES = 4;  // tiles of A and of B in shared memory
constexpr int GROUP = 8;   // rows of C tiles that are counted together

/// The sizes of an instantiation.
template <int BM_, int BN_, int WM_, int WN_, int TM_, int TN_>
struct Tiles {
    static constexpr int BM = BM_, BN = BN_;  // C tile: rows and columns of C
    static constexpr int WM = WM_, WN = WN_;  // warp tile: rows and columns of C
    static constexpr int TM = TM_, TN = TN_;  // thread tile: rows and columns of C
    static constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
    static constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
    static constexpr int BS = 4 * BM * BK, STAGE = BS + 4 * BK * BN;  // bytes: where Bs begins, a stage
    static_assert(LANES_M == 8 && LANES_N == 4, "eight rows of As that are read at once lie in all banks");
    static_assert(BM % WM == 0 && BN % WN == 0 && TN % 4 == 0, "warps tile the block, reads of four floats");
    static_assert(STAGE % 1024 == 0 && BM <= 256 && BN <= 256, "where the swizzle repeats; sides of a box");
};
using Large = Tiles<128, 256, 64, 64, 8, 16>;
using Small = Tiles<64, 64, 32, 32, 4, 8>;  // where Large has few blocks, or most of each is outside of C

/// A place in C.
struct Place {
    std::int64_t row, col;
};

/// Where the block's tile begins. Blocks are counted down a group of GROUP rows of tiles, then along it:
/// those that run at the same time cover a rectangle, and need few rows of A and columns of B.
template <class T>
__device__ __forceinline__ Place first_of_block(std::int64_t M, std::int64_t N) {
    const std::int64_t tiles_m = (M + T::BM - 1) / T::BM, tiles_n = (N + T::BN - 1) / T::BN;
    const std::int64_t group = blockIdx.x / (GROUP * tiles_n), in_group = blockIdx.x % (GROUP * tiles_n);
    const std::int64_t group_m = tiles_m - group * GROUP < GROUP ? tiles_m - group * GROUP : GROUP;
    return {(group * GROUP + in_group % group_m) * T::BM, in_group / group_m * T::BN};
}

/// Reads a thread's values of step k, from where it reads in a stage of As and of Bs.
template <class T>
__device__ __forceinline__ void read(float (&a_frag)[T::TM], float (&b_frag)[T::TN], const char* shared,
                                     int as, int bs, int k) {
    // gap: swizzle
    // Four steps are 16 bytes of a row, and the swizzle puts number c of them to place c ^ row % 8 of the
    // row. All of a thread's rows have the same row % 8, which `as` holds already.
    const char* const a = shared + (as ^ k / 4 * 16);
#pragma unroll
    for (int i = 0; i < T::TM; ++i) {
        // volatile: nvcc would else read four steps at once, to four registers in a row, and the values of a
        // step would all lie in the same of the two register banks.
        a_frag[i] = *reinterpret_cast<const volatile float*>(a + 4 * (i * T::LANES_M * BK + k % 4));
    }
    // end gap
#pragma unroll
    for (int j = 0; j < T::TN; j += 4) {
        *reinterpret_cast<float4*>(&b_frag[j]) =
            *reinterpret_cast<const float4*>(shared + bs + 4 * (k * T::BN + j * T::LANES_N));
    }
}

/// acc += a_frag · b_frag, of one step: along a row and back along the next. A row's value of A stays in the
/// operand cache for all of its sums, and at the turn the value of B does.
template <int TM, int TN>
__device__ __forceinline__ void add_products(float (&acc)[TM][TN], const float (&a_frag)[TM],
                                             const float (&b_frag)[TN]) {
#pragma unroll
    for (int i = 0; i < TM; ++i) {
#pragma unroll
        for (int e = 0; e < TN; ++e) {
            const int j = i % 2 == 0 ? e : TN - 1 - e;
            acc[i][j] += a_frag[i] * b_frag[j];
        }
    }
}

/// C = alpha · acc + beta · C, where the thread's first element is (row0, col0).
template <class T, bool ALIGNED>
__device__ __forceinline__ void write_c(const float (&acc)[T::TM][T::TN], std::int64_t row0,
                                        std::int64_t col0, std::int64_t M, std::int64_t N, float alpha,
                                        float beta, float* C, std::int64_t ldc) {
#pragma unroll  // acc lies in registers, which take no index at run time
    for (int i = 0; i < T::TM; ++i) {
        const std::int64_t row = row0 + i * T::LANES_M;
        if (row >= M) return;
#pragma unroll
        for (int j = 0; j < T::TN; j += 4) {
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

// map_a: A, M×K, in boxes of BM×BK, swizzled.  map_b: B, K×N, in boxes of BK×BN.  C: M×N, pitch ldc.  All
// row-major. ALIGNED: every row of C begins at a multiple of 16 bytes, and N is a multiple of 4.
template <class T, bool ALIGNED>
__global__ void __launch_bounds__(T::THREADS, 1)
    sgemm_tma(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
              const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
              float beta, float* C, std::int64_t ldc) {
    extern __shared__ __align__(1024) char shared[];  // a stage: float As[BM][BK], swizzled, Bs[BK][BN]
    __shared__ gemm::ptx::Mbarrier full[STAGES];      // whose phases end when a stage's tiles are there

    const Place first = first_of_block<T>(M, N);
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int lane_m = lane % T::LANES_M, lane_n = lane / T::LANES_M;
    // The thread's elements of C: rows y + i·LANES_M, and groups of four columns from x + j·LANES_N on, j a
    // multiple of 4.
    const int y = warp / T::WARPS_N * T::WM + lane_m, x = warp % T::WARPS_N * T::WN + lane_n * 4;
    const int a_read = 4 * y * BK + y % 8 * 16, b_read = T::BS + 4 * x;  // in stage 0, of step 0

    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    const int tiles = static_cast<int>((k_end + BK - 1) / BK);

    // The boxes of tile number `tile` shall come to a stage: one thread asks. Past the edges come zeros.
    const auto ask = [&](int stage, int tile) {
        // gap: ask
        gemm::ptx::mbarrier_arrive_expect_tx(full[stage], T::STAGE);
        gemm::ptx::tma_load(shared + stage * T::STAGE, map_a, {tile * BK, static_cast<int>(first.row)},
                            full[stage]);
        gemm::ptx::tma_load(shared + stage * T::STAGE + T::BS, map_b,
                            {static_cast<int>(first.col), tile * BK}, full[stage]);
        // end gap
    };
    if (t == 0) {
        for (int stage = 0; stage < STAGES; ++stage) gemm::ptx::mbarrier_init(full[stage], 1);
        gemm::ptx::fence_mbarrier_init();
        for (int stage = 0; stage < STAGES && stage < tiles; ++stage) ask(stage, stage);
    }
    __syncthreads();  // the mbarriers have begun before anyone waits at one

    float a_frag[2][T::TM], b_frag[2][T::TN];  // of this step along K and of the next
    if (tiles > 0) {
        gemm::ptx::mbarrier_wait(full[0], 0);
        read<T>(a_frag[0], b_frag[0], shared, a_read, b_read, 0);
    }

    float acc[T::TM][T::TN] = {};
    int stage = 0;  // the tiles in use
    unsigned parity = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        const bool more = tile + 1 < tiles;
#pragma unroll
        for (int k = 0; k < BK; ++k) {  // C_tile += A[:, k] · B[k, :]
            if (k == BK - 1) {
                // gap: next
                const int used = stage;
                stage = stage == STAGES - 1 ? 0 : stage + 1;
                if (stage == 0) parity ^= 1;  // the ring begins again: its mbarriers' next phases
                if (more) gemm::ptx::mbarrier_wait(full[stage], parity);
                __syncthreads();  // everyone has read the tiles before others come to their place
                if (t == 0 && tile + STAGES < tiles) ask(used, tile + STAGES);
                // end gap
            }
            if (k < BK - 1 || more) {
                read<T>(a_frag[(k + 1) % 2], b_frag[(k + 1) % 2], shared, a_read + stage * T::STAGE,
                        b_read + stage * T::STAGE, (k + 1) % BK);
            }
            add_products(acc, a_frag[k % 2], b_frag[k % 2]);
        }
    }

    write_c<T, ALIGNED>(acc, first.row + y, first.col + x, M, N, alpha, beta, C, ldc);
}

const gemm::Tile tile{Large::BM, Large::BN, BK};

bool is_large(const gemm::Problem& p) {
    return p.M > Small::BM && p.N > Small::BN &&  // else most of a large tile would lie outside of C
           gemm::ceil_div(p.M, Large::BM) * gemm::ceil_div(p.N, Large::BN) >= 100;
}

/// What is made once for a problem: A and B as TMA takes them, and their tensor maps.
struct Maps {
    gemm::TmaMatrix a, b;
    CUtensorMap map_a{}, map_b{};
};

/// The tensor map of a matrix, in boxes of rows×cols.
CUtensorMap map_of(const gemm::TmaMatrix& m, int rows, int cols, CUtensorMapSwizzle swizzle) {
    return gemm::tensor_map({.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                             .rank = 2,
                             .address = m.address,
                             .sizes = {static_cast<cuuint64_t>(m.cols), static_cast<cuuint64_t>(m.rows)},
                             .strides = {static_cast<cuuint64_t>(4 * m.pitch)},
                             .box = {static_cast<cuuint32_t>(cols), static_cast<cuuint32_t>(rows)},
                             .swizzle = swizzle});
}

gemm::Plan prepare(const gemm::Problem& p) {
    const auto maps = std::make_shared<Maps>();
    if (p.M == 0 || p.N == 0 || p.K == 0 || p.alpha == 0.0f) return maps;  // nobody reads A or B
    maps->a = gemm::tma_matrix(p.A, p.M, p.K, p.lda, sizeof(float));
    maps->b = gemm::tma_matrix(p.B, p.K, p.N, p.ldb, sizeof(float));
    const bool large = is_large(p);
    maps->map_a = map_of(maps->a, large ? Large::BM : Small::BM, BK, CU_TENSOR_MAP_SWIZZLE_128B);
    maps->map_b = map_of(maps->b, BK, large ? Large::BN : Small::BN, CU_TENSOR_MAP_SWIZZLE_NONE);
    return maps;
}

/// TMA takes rows that begin at multiples of 16 bytes. A matrix with others is copied to such rows.
void copy_if_refused(const gemm::TmaMatrix& m, const void* matrix, std::int64_t pitch, cudaStream_t stream) {
    if (m.copy == nullptr) return;
    gemm::copy_rows<float><<<gemm::copy_blocks(m.rows), gemm::kCopyThreads, 0, stream>>>(
        m.rows, m.cols, static_cast<const float*>(matrix), pitch, static_cast<float*>(m.copy.get()), m.pitch);
}

template <class T>
void launch_tiles(const gemm::Problem& p, const Maps& maps, cudaStream_t stream) {
    const bool aligned = reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 && (p.N | p.ldc) % 4 == 0;
    const auto kernel = aligned ? sgemm_tma<T, true> : sgemm_tma<T, false>;
    constexpr int bytes = STAGES * T::STAGE;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<gemm::grid_of_tiles(p, {T::BM, T::BN, BK}), T::THREADS, bytes, stream>>>(
        p.M, p.N, p.K, p.alpha, maps.map_a, maps.map_b, p.beta, static_cast<float*>(p.C), p.ldc);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Maps& maps = *static_cast<const Maps*>(plan);
    copy_if_refused(maps.a, p.A, p.lda, stream);
    copy_if_refused(maps.b, p.B, p.ldb, stream);
    is_large(p) ? launch_tiles<Large>(p, maps, stream) : launch_tiles<Small>(p, maps, stream);
}

template <class T>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_m = gemm::ceil_div(p.M, T::BM), tiles_n = gemm::ceil_div(p.N, T::BN);
    const std::int64_t group = row / T::BM / GROUP,
                       group_m = std::min<std::int64_t>(tiles_m - group * GROUP, GROUP);
    const std::int64_t block = group * GROUP * tiles_n + col / T::BN * group_m + row / T::BM % GROUP;
    const int y = static_cast<int>(row % T::BM), x = static_cast<int>(col % T::BN);
    const int lane = x % T::WN / 4 % T::LANES_N * T::LANES_M + y % T::LANES_M;
    return {{static_cast<unsigned>(block), 0, 0},
            {static_cast<unsigned>((y / T::WM * T::WARPS_N + x / T::WN) * 32 + lane), 0, 0}};
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return is_large(p) ? owner_in<Large>(p, row, col) : owner_in<Small>(p, row, col);
}

const gemm::Constant constants[] = {
    {"WM", Large::WM}, {"WN", Large::WN}, {"TM", Large::TM}, {"TN", Large::TN}, {"STAGES", STAGES}};
const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                 .kernel = reinterpret_cast<const void*>(&sgemm_tma<Large, true>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = {.tile = tile,
                                                   .constants = constants,
                                                   .block = dim3(Large::THREADS),
                                                   .dynamic_shared_bytes = STAGES * Large::STAGE}}};

const gemm::Reach reaching[] = {{.path = "Large, four floats at once", .M = 12677, .N = 68, .K = 132},
                                {.path = "Large, float by float", .M = 65, .N = 25347, .K = 133},
                                {.path = "Small's second group of C tiles", .M = 573, .N = 67, .K = 133}};

extern const gemm::Lesson lesson{.name = "10a_swizzle",
                                 .part = 2,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_10a
