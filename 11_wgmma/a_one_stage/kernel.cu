// 11a one stage — four warps multiply tiles that are in shared memory, 64×128×16 with one instruction: wgmma.
// Two descriptors of 64 bits say where the tiles are.
//
// Changed since 09f: no fragments and no ldmatrix, the tensor cores read A and B from shared memory
// themselves; TMA brings the tiles, as in lesson 10, swizzled as wgmma wants them. To begin with, one tile of
// A and of B at a time, and one C tile a block. Order, stores and scaling are in common/parts and common/tma.

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/copy_rows.hpp"
#include "common/tma/matrix.hpp"
#include "common/tma/scale.hpp"
#include "common/tma/tensor_map.hpp"

namespace lesson_11a {

using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::WgmmaSwizzle;

constexpr int BM = 128, BN = 128, BK = 64;                  // C tile: rows and columns of C, steps along K
constexpr int WGMMA_M = 64, WGMMA_N = BN, WGMMA_K = 16;     // what one instruction multiplies
constexpr int THREADS = 128;                                // a warpgroup: four warps
constexpr int SPAN = 128, BOX = SPAN / 2;                   // what the swizzle permutes: bytes, elements
constexpr int BS = 2 * BM * BK, SHARED = BS + 2 * BK * BN;  // bytes: where Bs begins, both tiles
static_assert(BK == BOX && BN % BOX == 0, "a row of As is a span, a row of Bs several");

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major.
template <class T>
__global__ void __launch_bounds__(THREADS)
    hgemm_wgmma(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                float beta, T* C, std::int64_t ldc) {
    // T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    extern __shared__ __align__(1024) char shared[];
    __shared__ Mbarrier full;
    const int t = threadIdx.x;

    const gemm::Tiles c_tile = gemm::tile_at(blockIdx.x, gemm::tiles_of(M, N, BM, BN));
    const int row0 = static_cast<int>(c_tile.m) * BM, col0 = static_cast<int>(c_tile.n) * BN;

    if (t == 0) {
        gemm::ptx::mbarrier_init(full, 1);
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();  // nobody waits at the mbarrier before it is one

    // Where wgmma finds the operands of a step: 64 rows of As from `row` on, all columns of Bs.
    const unsigned as = gemm::ptx::shared_address(shared), bs = as + BS;
    // gap: descriptors
    const auto a_at = [&](int row, int k) {
        return gemm::ptx::encode({.start = as + row * SPAN + 2 * k,  // in the first of 8 rows, at step k
                                  .stride = 8 * SPAN,                // the next 8 rows
                                  .swizzle = WgmmaSwizzle::bytes128});
    };
    const auto b_at = [&](int k) {
        return gemm::ptx::encode({.start = bs + k * SPAN,
                                  .leading = BK * SPAN,  // the next 64 columns
                                  .stride = 8 * SPAN,    // the next 8 steps along K
                                  .swizzle = WgmmaSwizzle::bytes128});
    };
    // end gap

    float acc[BM / WGMMA_M][WGMMA_N / 2];
    unsigned parity = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += BK) {
        // gap: load
        if (t == 0) {
            gemm::ptx::mbarrier_arrive_expect_tx(full, SHARED);
            gemm::ptx::tma_load(shared, map_a, {k0, row0}, full);
            for (int j = 0; j < BN; j += BOX) {
                gemm::ptx::tma_load(shared + BS + j * BK * 2, map_b, {col0 + j, k0}, full);
            }
        }
        gemm::ptx::mbarrier_wait(full, parity);  // both tiles are there, zeros where a matrix has ended
        parity ^= 1;
        // end gap
        // gap: multiply
        gemm::ptx::wgmma_fence(acc);
#pragma unroll
        for (int k = 0; k < BK; k += WGMMA_K) {
#pragma unroll
            for (int i = 0; i < BM / WGMMA_M; ++i) {
                const bool add = k0 > 0 || k > 0;  // the first product does not add: acc needs no zeros
                gemm::ptx::wgmma<T, WGMMA_N, Major::k, Major::row>(acc[i], a_at(i * WGMMA_M, k), b_at(k),
                                                                   add);
            }
        }
        gemm::ptx::wgmma_commit();
        gemm::ptx::wgmma_wait<0>(acc);  // all four warps' products: they are one batch of the warpgroup
        // end gap
    }

    // A thread's sums are neighbors by twos, which one store takes where every row of C allows it.
#pragma unroll
    for (int i = 0; i < BM / WGMMA_M; ++i) {
        gemm::store_sums_by_pairs(acc[i], row0 + i * WGMMA_M, col0, M, N, alpha, beta, C, ldc);
    }
}

const gemm::Tile tile{BM, BN, BK};

/// What a problem needs before its launch: A and B as TMA takes them.
struct Operands {
    gemm::TmaMatrix a, b;
    CUtensorMap map_a{}, map_b{};
};

/// The tensor map of a matrix, of which a copy brings `rows` rows of BOX elements.
CUtensorMap map_of(const gemm::TmaMatrix& m, gemm::DType type, int rows) {
    const bool bf16 = type == gemm::DType::bf16;
    return gemm::tensor_map(
        {.type = bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
         .address = m.address,
         .sizes = {static_cast<cuuint64_t>(m.cols), static_cast<cuuint64_t>(m.rows)},
         .strides = {static_cast<cuuint64_t>(2 * m.pitch)},
         .box = {BOX, static_cast<cuuint32_t>(rows)},
         .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
         .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
}

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    if (p.M == 0 || p.N == 0 || p.K == 0 || p.alpha == 0.0f) return plan;  // A and B are not read
    plan->a = gemm::tma_matrix(p.A, p.M, p.K, p.lda, 2);
    plan->b = gemm::tma_matrix(p.B, p.K, p.N, p.ldb, 2);
    plan->map_a = map_of(plan->a, p.variant.A, BM);
    plan->map_b = map_of(plan->b, p.variant.B, BK);
    return plan;
}

/// TMA wants rows that begin at multiples of 16 bytes. Where a matrix has others, it is copied to such rows.
template <class T>
void copy_if_refused(const gemm::TmaMatrix& m, const void* matrix, std::int64_t pitch, cudaStream_t stream) {
    if (m.copy == nullptr) return;
    gemm::copy_rows<T><<<gemm::copy_blocks(m.rows), gemm::kCopyThreads, 0, stream>>>(
        m.rows, m.cols, static_cast<const T*>(matrix), pitch, static_cast<T*>(m.copy.get()), m.pitch);
}

template <class T>
void launch_type(const gemm::Problem& p, const Operands& operands, cudaStream_t stream) {
    if (p.K == 0 || p.alpha == 0.0f) return gemm::launch_scale<T>(p, stream);  // C = beta·C
    copy_if_refused<T>(operands.a, p.A, p.lda, stream);
    copy_if_refused<T>(operands.b, p.B, p.ldb, stream);
    hgemm_wgmma<T><<<gemm::grid_of_tiles(p, tile), THREADS, SHARED, stream>>>(
        p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    p.variant.C == gemm::DType::bf16 ? launch_type<__nv_bfloat16>(p, operands, stream)
                                     : launch_type<__half>(p, operands, stream);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const unsigned block = gemm::number_of(gemm::tile_of(row, col, BM, BN), gemm::tiles_of(p.M, p.N, BM, BN));
    const int y = static_cast<int>(row % WGMMA_M), x = static_cast<int>(col % 8);
    return {{block, 0, 0}, {static_cast<unsigned>(y / 16 * 32 + y % 8 * 4 + x / 2), 0, 0}};
}

const gemm::Constant constants[] = {
    {"WGMMA_M", WGMMA_M}, {"WGMMA_N", WGMMA_N}, {"WGMMA_K", WGMMA_K}, {"BOX", BOX}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = SHARED};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_wgmma<__nv_bfloat16>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_wgmma<__half>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration}};

const gemm::Reach reaching[] = {{.path = "the second group of C tiles", .M = 1153, .N = 8, .K = 8}};

extern const gemm::Lesson lesson{.name = "11a_one_stage",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_11a
