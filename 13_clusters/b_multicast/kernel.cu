// 13b multicast — two blocks of a cluster, one below the other in C, need the same tiles of B: each requests
// half of every one, and the copy engine brings it to both.
//
// Changed since 13a: the order is one of pairs of C tiles, gemm::tile_at() again; a stage is empty when both
// blocks' consumers have read it; a block stays until the other reaches into it no more; as many clusters as
// the last round needs.

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/clusters.hpp"
#include "common/tma/launch.hpp"

namespace lesson_13b {

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
constexpr int CLUSTER = 2;                                 // blocks, which share their tiles of B
static_assert(BK == BOX && BN % (CLUSTER * BOX) == 0, "a row of As is a span, a row of Bs several for each");

/// One thread of the producer: asks for the block's tiles of A, and for its share of both blocks' tiles of B.
__device__ __forceinline__ void produce(char* shared, Mbarrier (&full)[STAGES], Mbarrier (&empty)[STAGES],
                                        const CUtensorMap& map_a, const CUtensorMap& map_b, gemm::Tiles all,
                                        int steps) {
    constexpr unsigned BOTH = (1 << CLUSTER) - 1;
    const int rank = static_cast<int>(gemm::ptx::cluster_rank());
    unsigned n = 0;  // tiles of A and of B since the block began
    for (unsigned i = blockIdx.x / CLUSTER; i < all.m * all.n; i += gridDim.x / CLUSTER) {
        const gemm::Tiles c_tile = gemm::tile_at(i, all);
        const int row0 = (static_cast<int>(c_tile.m) * CLUSTER + rank) * BM;
        const int col0 = static_cast<int>(c_tile.n) * BN;
        for (int step = 0; step < steps; ++step, ++n) {
            char* const to = shared + n % STAGES * STAGE;
            Mbarrier& arrived = full[n % STAGES];
            gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);  // in both blocks
            gemm::ptx::mbarrier_arrive_expect_tx(arrived, STAGE);             // the other's share of Bs, too
            gemm::ptx::tma_load(to, map_a, {step * BK, row0}, arrived);
            // gap: share
            for (int j = rank * BOX; j < BN; j += CLUSTER * BOX) {
                gemm::ptx::tma_load_multicast(to + BS + j * BK * 2, map_b, {col0 + j, step * BK}, arrived,
                                              BOTH);
            }
            // end gap
        }
    }
    // A block stays until every stage has come back: then the other one reaches into it no more.
    for (int stage = 0; stage < STAGES; ++stage, ++n) {
        gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);
    }
}

/// A warpgroup's sums of one tile of C, 64 rows from `y` on. n: tiles of A and of B that the block has had
/// before.
template <class T>
__device__ __forceinline__ void multiply(float (&acc)[WGMMA_N / 2], unsigned base, Mbarrier (&full)[STAGES],
                                         Mbarrier (&empty)[STAGES], int y, unsigned n, int steps) {
    const auto give_back = [&](unsigned of) {  // the stage of tile `of`, to both blocks, by a thread each
        // gap: give
        const unsigned rank = threadIdx.x % WARPGROUP;
        if (rank < CLUSTER) gemm::ptx::mbarrier_arrive_relaxed_at(empty[of % STAGES], rank);
        // end gap
    };
#pragma unroll 1
    for (int step = 0; step < steps; ++step, ++n) {
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
            const bool add = step > 0 || k > 0;  // a C tile's first product does not add
            gemm::ptx::wgmma<T, WGMMA_N, Major::k, Major::row>(acc, a, b, add);
        }
        gemm::ptx::wgmma_commit();
        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage: it is given back
        if (step > 0) give_back(n - 1);
    }
    gemm::ptx::wgmma_wait<0>(acc);
    give_back(n - 1);  // before the sums are written: the next tile of C needs it
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major.
template <class T>
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(THREADS, 1)
    hgemm_multicast(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                    float beta, T* C, std::int64_t ldc) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    extern __shared__ __align__(1024) char shared[];
    __shared__ Mbarrier full[STAGES], empty[STAGES];
    const int t = threadIdx.x, warpgroup = t / WARPGROUP;

    if (t == 0) {
        for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, 1);
        // gap: counts
        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CLUSTER * CONSUMERS);
        // end gap
        gemm::ptx::fence_mbarrier_init();
    }
    gemm::ptx::cluster_sync_relaxed();  // nobody uses an mbarrier of either block before it is one

    const gemm::Tiles all = gemm::tiles_of(M, N, CLUSTER * BM, BN);  // C tiles of a cluster
    const int steps = static_cast<int>((K + BK - 1) / BK);
    if (warpgroup == CONSUMERS) {
        gemm::ptx::fewer_registers<PRODUCER_REGISTERS>();
        if (t == CONSUMERS * WARPGROUP) produce(shared, full, empty, map_a, map_b, all, steps);
        return;
    }

    gemm::ptx::more_registers<CONSUMER_REGISTERS>();
    const int y = warpgroup * WGMMA_M;  // the warpgroup's first row of the C tile
    const unsigned base = gemm::ptx::shared_address(shared);
    unsigned n = 0;  // tiles of A and of B since the block began
#pragma unroll 1
    for (unsigned i = blockIdx.x / CLUSTER; i < all.m * all.n; i += gridDim.x / CLUSTER, n += steps) {
        float acc[WGMMA_N / 2];
        multiply<T>(acc, base, full, empty, y, n, steps);
        const gemm::Tiles c_tile = gemm::tile_at(i, all);
        const std::int64_t row0 = (std::int64_t{c_tile.m} * CLUSTER + gemm::ptx::cluster_rank()) * BM;
        gemm::store_sums(acc, row0 + y, std::int64_t{c_tile.n} * BN, M, N, alpha, beta, C, ldc);
    }
}

const gemm::Tile tile{BM, BN, BK};

/// Clusters to launch for so many C tiles. A kernel of the other type has as much room.
unsigned clusters_of(gemm::Tiles all) {
    const int most =
        gemm::resident_clusters(hgemm_multicast<__nv_bfloat16>, THREADS, STAGES * STAGE, CLUSTER);
    return gemm::enough_clusters(all.m * all.n, static_cast<unsigned>(most));
}

gemm::Tiles tiles_of(const gemm::Problem& p) {
    return gemm::tiles_of(p.M, p.N, CLUSTER * BM, BN);
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    unsigned clusters = 0;
};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    gemm::prepare_operands(*plan, p, BM, BK);
    plan->clusters = clusters_of(tiles_of(p));
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        constexpr int bytes = STAGES * STAGE;  // beyond 48 KiB CUDA wants to be told
        cudaFuncSetAttribute(hgemm_multicast<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        hgemm_multicast<T><<<CLUSTER * operands.clusters, THREADS, bytes, stream>>>(
            p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc);
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const gemm::Tiles all = tiles_of(p);
    const unsigned i = gemm::number_of(gemm::tile_of(row, col, CLUSTER * BM, BN), all);
    const auto rank = static_cast<unsigned>(row / BM % CLUSTER);
    const auto warpgroup = static_cast<unsigned>(row % BM / WGMMA_M);
    return {{i % clusters_of(all) * CLUSTER + rank, 0, 0},
            {warpgroup * WARPGROUP + gemm::store_sums_thread(p, row, col), 0, 0}};
}

const gemm::Constant constants[] = {{"WGMMA_M", WGMMA_M},
                                    {"WGMMA_N", WGMMA_N},
                                    {"WGMMA_K", WGMMA_K},
                                    {"BOX", BOX},
                                    {"STAGES", STAGES},
                                    {"CONSUMERS", CONSUMERS},
                                    {"CLUSTER", CLUSTER},
                                    {"PRODUCER_REGISTERS", PRODUCER_REGISTERS},
                                    {"CONSUMER_REGISTERS", CONSUMER_REGISTERS}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = STAGES * STAGE};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_multicast<__nv_bfloat16>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_multicast<__half>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration}};

const gemm::Reach reaching[] = {{.path = "a ring that goes on to the cluster's next tile",
                                 .M = 2 * CLUSTER * BM + 1,
                                 .N = BN + 8,
                                 .K = 5 * BK,
                                 .every_type = true},
                                {.path = "the second group of C tiles", .M = 2050, .N = 264, .K = 8}};

extern const gemm::Lesson lesson{.name = "13b_multicast",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_13b
