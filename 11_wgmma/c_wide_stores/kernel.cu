// 11c wide stores — 16 bytes of C a store instead of 4. wgmma leaves a thread two neighbors of a row in each
// 8 columns; four lanes exchange what they hold, and then each has 8 neighbors.
//
// Changed since 11b: store_wide() and its transposition, which the kernel calls where C allows it. Should
// gain most of the time in which a block only stores: a quarter of the stores, and each of them fills whole
// sectors instead of halves. From lesson 12 on this is in common/parts/store_sums.hpp.

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/pairs.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/launch.hpp"

namespace lesson_11c {

using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::WgmmaSwizzle;

constexpr int BM = 128, BN = 256, BK = 64;               // C tile: rows and columns of C, steps along K
constexpr int WGMMA_M = 64, WGMMA_N = BN, WGMMA_K = 16;  // what one instruction multiplies
constexpr int STAGES = 4;                                // tiles of A and of B in shared memory
constexpr int WARPGROUP = 128, THREADS = BM / WGMMA_M * WARPGROUP;
constexpr int SPAN = 128, BOX = gemm::kTmaBox;             // what the swizzle permutes: bytes, elements
constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
static_assert(BK == BOX && BN % BOX == 0, "a row of As is a span, a row of Bs several");

/// Four neighboring lanes hold a row each of a 4×4 matrix of words; afterwards each holds a column.
__device__ __forceinline__ void transpose(std::uint32_t (&words)[4]) {
#pragma unroll
    for (int step = 1; step < 4; step *= 2) {   // first within the four 2×2 squares, then whole squares
        const bool upper = threadIdx.x & step;  // the lane has the second of the two rows
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            if (i & step) continue;
            // gap: exchange
            const std::uint32_t mine = upper ? words[i] : words[i + step];
            const std::uint32_t other = __shfl_xor_sync(0xffffffffu, mine, step);
            if (upper)
                words[i] = other;
            else
                words[i + step] = other;
            // end gap
        }
    }
}

/// C = alpha·acc for a warpgroup's 64 rows, 16 bytes a store. c: C at the first of them, in the C tile's
/// first column; rows, columns: how many exist from there on, columns a multiple of 8.
template <class T>
__device__ __forceinline__ void store_wide(T* c, std::int64_t ldc, std::int64_t rows, std::int64_t columns,
                                           float alpha, const float (&acc)[WGMMA_N / 2]) {
    const int t = threadIdx.x;
    const int row = gemm::ptx::wgmma_sum(t % WARPGROUP, 0).row, col = t % 4 * 8;
    const int right = columns < BN ? static_cast<int>(columns) : BN;  // of the C tile
#pragma unroll
    for (int e = 0; e < WGMMA_N / 2; e += 16) {  // a lane's sums of 32 columns, in two rows
#pragma unroll
        for (int y = 0; y < 16; y += 8) {
            std::uint32_t words[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {  // two neighbors in each 8 columns
                // gap: pack
                const float* const sums = &acc[e + 4 * i + y / 4];
                words[i] = gemm::pack2<T>(alpha * sums[0], alpha * sums[1]);
                // end gap
            }
            transpose(words);
            // gap: store
            if (row + y < rows && col + 2 * e < right) {
                *reinterpret_cast<uint4*>(&c[(row + y) * ldc + col + 2 * e]) =
                    make_uint4(words[0], words[1], words[2], words[3]);
            }
            // end gap
        }
    }
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major.
template <class T>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_wide_stores(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                      const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                      float beta, T* C, std::int64_t ldc) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    extern __shared__ __align__(1024) char shared[];
    __shared__ Mbarrier full[STAGES];
    const int t = threadIdx.x, y = t / WARPGROUP * WGMMA_M;  // the warpgroup's first row of the C tile

    const gemm::Tiles c_tile = gemm::tile_at(blockIdx.x, gemm::tiles_of(M, N, BM, BN));
    const int row0 = static_cast<int>(c_tile.m) * BM, col0 = static_cast<int>(c_tile.n) * BN;

    if (t == 0) {
        for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, 1);
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();  // nobody waits at an mbarrier before it is one

    // Tile n of A and of B, by thread 0, for stage n % STAGES.
    const auto load = [&](int n) {
        char* const to = shared + n % STAGES * STAGE;
        Mbarrier& arrived = full[n % STAGES];
        gemm::ptx::mbarrier_arrive_expect_tx(arrived, STAGE);
        gemm::ptx::tma_load(to, map_a, {n * BK, row0}, arrived);
        for (int j = 0; j < BN; j += BOX) {
            gemm::ptx::tma_load(to + BS + j * BK * 2, map_b, {col0 + j, n * BK}, arrived);
        }
    };
    const int tiles = static_cast<int>((K + BK - 1) / BK);
    if (t == 0) {
        for (int n = 0; n < STAGES - 1 && n < tiles; ++n) load(n);
    }

    const unsigned base = gemm::ptx::shared_address(shared);
    float acc[WGMMA_N / 2];
#pragma unroll 1
    for (int n = 0; n < tiles; ++n) {
        gemm::ptx::mbarrier_wait(full[n % STAGES], n / STAGES % 2);  // the tiles are there
        const unsigned as = base + n % STAGES * STAGE, bs = as + BS;
        gemm::ptx::wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK; k += WGMMA_K) {
            const std::uint64_t a = gemm::ptx::encode(
                {.start = as + y * SPAN + 2 * k, .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128});
            const std::uint64_t b = gemm::ptx::encode({.start = bs + k * SPAN,
                                                       .leading = BK * SPAN,
                                                       .stride = 8 * SPAN,
                                                       .swizzle = WgmmaSwizzle::bytes128});
            const bool add = n > 0 || k > 0;  // the first product does not add: acc needs no zeros
            gemm::ptx::wgmma<T, WGMMA_N, Major::k, Major::row>(acc, a, b, add);
        }
        gemm::ptx::wgmma_commit();
        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage,
        __syncthreads();             // and so has the other warpgroup's
        if (t == 0 && n + STAGES - 1 < tiles) load(n + STAGES - 1);
    }
    gemm::ptx::wgmma_wait<0>(acc);

    // Where rows of C begin or end amid 16 bytes, or C must be read first, pair by pair as before.
    const std::int64_t row = row0 + y;
    if (beta == 0.0f && gemm::wide_allowed(C, ldc, N)) {
        store_wide(&C[row * ldc + col0], ldc, M - row, N - col0, alpha, acc);
    } else {
        gemm::store_sums_by_pairs(acc, row, col0, M, N, alpha, beta, C, ldc);
    }
}

const gemm::Tile tile{BM, BN, BK};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<gemm::TmaOperands>();
    gemm::prepare_operands(*plan, p, BM, BK);
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const auto& operands = *static_cast<const gemm::TmaOperands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        constexpr int bytes = STAGES * STAGE;  // beyond 48 KiB CUDA wants to be told
        cudaFuncSetAttribute(hgemm_wide_stores<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        hgemm_wide_stores<T><<<gemm::grid_of_tiles(p, tile), THREADS, bytes, stream>>>(
            p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc);
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const unsigned block = gemm::number_of(gemm::tile_of(row, col, BM, BN), gemm::tiles_of(p.M, p.N, BM, BN));
    const auto warpgroup = static_cast<unsigned>(row % BM / WGMMA_M);
    return {{block, 0, 0}, {warpgroup * WARPGROUP + gemm::store_sums_thread(p, row, col), 0, 0}};
}

const gemm::Constant constants[] = {
    {"WGMMA_M", WGMMA_M}, {"WGMMA_N", WGMMA_N}, {"WGMMA_K", WGMMA_K}, {"BOX", BOX}, {"STAGES", STAGES}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = STAGES * STAGE};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_wide_stores<__nv_bfloat16>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_wide_stores<__half>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration}};

const gemm::Reach reaching[] = {
    {.path = "the second group of C tiles", .M = 1153, .N = 256, .K = 8, .every_type = true}};

extern const gemm::Lesson lesson{.name = "11c_wide_stores",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_11c
