// 12 warp specialized — a producer warpgroup only requests tiles, two consumer warpgroups only multiply.
//
// Changed since 11c: a third warpgroup, which gives most of its registers to the others; beside each stage's
// full mbarrier an empty one, by which the consumers give it back, and no barrier in the loop. The wide
// stores are 11c's, now in common/parts/store_sums.hpp. By itself this makes no difference; lesson 13 needs
// it.

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/launch.hpp"

namespace lesson_12 {

using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::WgmmaSwizzle;

constexpr int BM = 128, BN = 256, BK = 64;               // C tile: rows and columns of C, steps along K
constexpr int WGMMA_M = 64, WGMMA_N = BN, WGMMA_K = 16;  // what one instruction multiplies
constexpr int STAGES = 4;                                // tiles of A and of B in shared memory
constexpr int WARPGROUP = 128, CONSUMERS = BM / WGMMA_M, THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int AT_LAUNCH = 168, PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of a thread
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS == (CONSUMERS + 1) * AT_LAUNCH,
              "nobody gets registers that nobody gives");
constexpr int SPAN = 128, BOX = gemm::kTmaBox;             // what the swizzle permutes: bytes, elements
constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
static_assert(BK == BOX && BN % BOX == 0, "a row of As is a span, a row of Bs several");

/// One thread of the producer: asks for tile n of A and of B as soon as stage n % STAGES is empty.
__device__ __forceinline__ void produce(char* shared, Mbarrier (&full)[STAGES], Mbarrier (&empty)[STAGES],
                                        const CUtensorMap& map_a, const CUtensorMap& map_b, int row0,
                                        int col0, int tiles) {
    for (int n = 0; n < tiles; ++n) {
        char* const to = shared + n % STAGES * STAGE;
        Mbarrier& arrived = full[n % STAGES];
        // gap: empty
        gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);  // at first, all are
        // end gap
        gemm::ptx::mbarrier_arrive_expect_tx(arrived, STAGE);
        gemm::ptx::tma_load(to, map_a, {n * BK, row0}, arrived);
        for (int j = 0; j < BN; j += BOX) {
            gemm::ptx::tma_load(to + BS + j * BK * 2, map_b, {col0 + j, n * BK}, arrived);
        }
    }
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major.
template <class T>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_warp_specialized(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                           const __grid_constant__ CUtensorMap map_a,
                           const __grid_constant__ CUtensorMap map_b, float beta, T* C, std::int64_t ldc) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    extern __shared__ __align__(1024) char shared[];
    __shared__ Mbarrier full[STAGES], empty[STAGES];
    const int t = threadIdx.x, warpgroup = t / WARPGROUP;

    const gemm::Tiles c_tile = gemm::tile_at(blockIdx.x, gemm::tiles_of(M, N, BM, BN));
    const int row0 = static_cast<int>(c_tile.m) * BM, col0 = static_cast<int>(c_tile.n) * BN;

    if (t == 0) {
        // gap: counts
        for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, 1);
        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CONSUMERS);
        // end gap
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();  // nobody waits at an mbarrier before it is one

    const int tiles = static_cast<int>((K + BK - 1) / BK);
    if (warpgroup == CONSUMERS) {
        gemm::ptx::fewer_registers<PRODUCER_REGISTERS>();
        if (t == CONSUMERS * WARPGROUP) produce(shared, full, empty, map_a, map_b, row0, col0, tiles);
        return;
    }

    gemm::ptx::more_registers<CONSUMER_REGISTERS>();
    const int y = warpgroup * WGMMA_M;  // the warpgroup's first row of the C tile
    const unsigned base = gemm::ptx::shared_address(shared);
    float acc[WGMMA_N / 2];
#pragma unroll 1
    for (int n = 0; n < tiles; ++n) {
        // gap: arrived
        gemm::ptx::mbarrier_wait(full[n % STAGES], n / STAGES % 2);  // the tiles are there
        // end gap
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
        // gap: release
        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage: it is given back
        if (n > 0 && t % WARPGROUP == 0) gemm::ptx::mbarrier_arrive(empty[(n - 1) % STAGES]);
        // end gap
    }
    gemm::ptx::wgmma_wait<0>(acc);

    gemm::store_sums(acc, row0 + y, col0, M, N, alpha, beta, C, ldc);
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
        cudaFuncSetAttribute(hgemm_warp_specialized<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        hgemm_warp_specialized<T><<<gemm::grid_of_tiles(p, tile), THREADS, bytes, stream>>>(
            p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc);
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const unsigned block = gemm::number_of(gemm::tile_of(row, col, BM, BN), gemm::tiles_of(p.M, p.N, BM, BN));
    const auto warpgroup = static_cast<unsigned>(row % BM / WGMMA_M);
    return {{block, 0, 0}, {warpgroup * WARPGROUP + gemm::store_sums_thread(p, row, col), 0, 0}};
}

const gemm::Constant constants[] = {{"WGMMA_M", WGMMA_M},
                                    {"WGMMA_N", WGMMA_N},
                                    {"WGMMA_K", WGMMA_K},
                                    {"BOX", BOX},
                                    {"STAGES", STAGES},
                                    {"CONSUMERS", CONSUMERS},
                                    {"PRODUCER_REGISTERS", PRODUCER_REGISTERS},
                                    {"CONSUMER_REGISTERS", CONSUMER_REGISTERS}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = STAGES * STAGE};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_warp_specialized<__nv_bfloat16>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_warp_specialized<__half>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration}};

const gemm::Reach reaching[] = {
    {.path = "the third group of C tiles", .M = 2049, .N = 256, .K = 8, .every_type = true}};

extern const gemm::Lesson lesson{.name = "12_warp_specialized",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_12
