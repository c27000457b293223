// 13d ping-pong — a block's two consumers have a tile of C each and take turns at the tensor cores, so that
// one writes while the other multiplies; or they share a tile, as in 13c. Which of the two depends on the
// problem.
//
// Changed since 13c: how consumers share the work is a template parameter, and the launch chooses. Two small
// things come along, since smaller tiles leave less time for everything else: descriptors are counted up
// instead of computed anew, and tensor maps are fetched ahead. Four policies and the choice between them are
// why this file is longer than others.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "common/gemm.hpp"
#include "common/parts/store_boxes.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/clusters.hpp"
#include "common/tma/launch.hpp"

namespace lesson_13d {

using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::WgmmaSwizzle;

constexpr int BK = 64;                     // steps along K of a tile
constexpr int WGMMA_M = 64, WGMMA_K = 16;  // what one instruction multiplies, beside a tile's columns
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int AT_LAUNCH = 168, PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of a thread
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS == (CONSUMERS + 1) * AT_LAUNCH,
              "nobody gets registers that nobody gives");
constexpr unsigned GROUP = 8;                      // rows of C tiles that are counted together
constexpr int SPAN = 128, BOX = gemm::kTmaBox;     // what the swizzle permutes: bytes, elements
constexpr int WARPS = CONSUMERS * WARPGROUP / 32;  // which have sums, and boxes for them behind the stages
constexpr int SHARED = 224 * 1024;                 // bytes of a block

/// How consumers share the tiles of C. Each computes ROWS×COLUMNS sums at a time: of a tile of its own,
/// IN_TURNS, or of its half of one tile. BLOCKS: of a cluster, one below the other, which share their tiles
/// of B. SLOWER: its time for the same products in per cent, without writes that nobody hides, on an H200.
template <int ROWS_EACH, int COLUMNS, bool IN_TURNS, int BLOCKS, int SLOWER>
struct Policy {
    static constexpr bool TURNS = IN_TURNS;
    static constexpr int ROWS = ROWS_EACH, PIECES = ROWS / WGMMA_M;   // of a consumer's sums
    static constexpr int READERS = TURNS ? 1 : CONSUMERS;             // of a stage, in a block
    static constexpr int BM = READERS * ROWS, BN = COLUMNS;           // C tile: rows and columns of C
    static constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
    static constexpr int STAGES =
        (SHARED - WARPS * gemm::kOutBytes) / STAGE;  // tiles of A and of B in shared memory
    static constexpr int CLUSTER = BLOCKS, TIME = SLOWER;
    static_assert(BN % (CLUSTER * BOX) == 0 && ROWS % WGMMA_M == 0, "whole boxes, whole products");
};
using Together = Policy<64, 256, false, 2, 100>;
using Turns = Policy<128, 128, true, 1, 103>;
using WideTurns = Policy<128, 192, true, 1, 100>;
using SmallTurns = Policy<64, 128, true, 1, 112>;

/// A block's mbarriers: of each stage, of each consumer's turn, and of each warp that loads boxes of C.
template <class P>
struct Barriers {
    Mbarrier full[P::STAGES], empty[P::STAGES], turn[CONSUMERS], loaded[WARPS];
};

/// One thread of the producer: asks for the block's tiles of A, and for its share of the cluster's tiles of
/// B.
template <class P>
__device__ __forceinline__ void produce(char* shared, Barriers<P>& barriers, const CUtensorMap& map_a,
                                        const CUtensorMap& map_b, gemm::Tiles all, int steps) {
    constexpr unsigned EACH = (1 << P::CLUSTER) - 1;
    const int rank = P::CLUSTER > 1 ? static_cast<int>(gemm::ptx::cluster_rank()) : 0;
    unsigned n = 0;  // tiles of A and of B since the block began
    for (unsigned i = blockIdx.x / P::CLUSTER; i < all.m * all.n; i += gridDim.x / P::CLUSTER) {
        const gemm::Tiles c_tile = gemm::tile_at<GROUP>(i, all);
        const int row0 = (static_cast<int>(c_tile.m) * P::CLUSTER + rank) * P::BM;
        const int col0 = static_cast<int>(c_tile.n) * P::BN;
        for (int step = 0; step < steps; ++step, ++n) {
            char* const to = shared + n % P::STAGES * P::STAGE;
            Mbarrier& arrived = barriers.full[n % P::STAGES];
            gemm::ptx::mbarrier_wait(barriers.empty[n % P::STAGES], n / P::STAGES % 2 ^ 1);
            gemm::ptx::mbarrier_arrive_expect_tx(arrived, P::STAGE);
            gemm::ptx::tma_load(to, map_a, {step * BK, row0}, arrived);
#pragma unroll
            for (int j = 0; j < P::BN; j += P::CLUSTER * BOX) {
                char* const bs = to + P::BS + (j + rank * BOX) * BK * 2;
                const int col = col0 + j + rank * BOX;
                if constexpr (P::CLUSTER > 1) {
                    gemm::ptx::tma_load_multicast(bs, map_b, {col, step * BK}, arrived, EACH);
                } else {
                    gemm::ptx::tma_load(bs, map_b, {col, step * BK}, arrived);
                }
            }
        }
    }
    // A block of a cluster stays until every stage has come back: then no other reaches into it any more.
    for (int stage = 0; P::CLUSTER > 1 && stage < P::STAGES; ++stage, ++n) {
        gemm::ptx::mbarrier_wait(barriers.empty[n % P::STAGES], n / P::STAGES % 2 ^ 1);
    }
}

/// A consumer's sums of one tile of C, from row y of the C tile on. n: tiles of A and of B that the block
/// has had before.
template <class P, class T>
__device__ __forceinline__ void multiply(float (&acc)[P::PIECES][P::BN / 2], unsigned base,
                                         Barriers<P>& barriers, int y, unsigned n, int steps) {
    const auto give_back = [&](unsigned stage) {  // to each block of the cluster, by a thread each
        const unsigned rank = threadIdx.x % WARPGROUP;
        if constexpr (P::CLUSTER > 1) {
            if (rank < P::CLUSTER) gemm::ptx::mbarrier_arrive_relaxed_at(barriers.empty[stage], rank);
        } else {
            if (rank == 0) gemm::ptx::mbarrier_arrive(barriers.empty[stage]);
        }
    };
    // Stage 0's; those of every other stage are moved from there.
    const std::uint64_t a0 =
        gemm::ptx::encode({.start = base + y * SPAN, .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128});
    const std::uint64_t b0 = gemm::ptx::encode(
        {.start = base + P::BS, .leading = BK * SPAN, .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128});
    unsigned stage = n % P::STAGES, parity = n / P::STAGES % 2, before = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        gemm::ptx::mbarrier_wait(barriers.full[stage], parity);  // the tiles are there
        gemm::ptx::wgmma_fence();
        const std::uint64_t as = gemm::ptx::moved(a0, stage * P::STAGE);
        const std::uint64_t bs = gemm::ptx::moved(b0, stage * P::STAGE);
#pragma unroll
        for (int k = 0; k < BK; k += WGMMA_K) {
#pragma unroll
            for (int i = 0; i < P::PIECES; ++i) {
                gemm::ptx::wgmma<T, P::BN, Major::k, Major::row>(
                    acc[i], gemm::ptx::moved(as, i * WGMMA_M * SPAN + 2 * k), gemm::ptx::moved(bs, k * SPAN),
                    step > 0 || k > 0);  // a C tile's first products do not add
            }
        }
        gemm::ptx::wgmma_commit();
        gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage: it is given back
        if (step > 0) give_back(before);
        before = stage;
        if (++stage == P::STAGES) {
            stage = 0;
            parity ^= 1;
        }
    }
    // gap: pass
    if (P::TURNS && threadIdx.x % 32 == 0) {  // the warp has asked for all its products: now the other's
        gemm::ptx::mbarrier_arrive(barriers.turn[1 - threadIdx.x / WARPGROUP]);
    }
    // end gap
    gemm::ptx::wgmma_wait<0>(acc);
    give_back(before);  // before the sums are written: the next tile of C needs it
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major. boxes: map_c is C's, and
// TMA may write it.
template <class T, class P>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_ping_pong(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                    float beta, T* C, std::int64_t ldc, const __grid_constant__ CUtensorMap map_c,
                    bool boxes) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    // Behind the stages each warp of the consumers has its boxes of results.
    extern __shared__ __align__(1024) char shared[];
    __shared__ Barriers<P> barriers;
    // By a shuffle the compiler knows that all lanes of a warp have the same, and computes with it once a
    // warp.
    const int t = threadIdx.x, consumer = __shfl_sync(0xffffffffu, t / WARPGROUP, 0);

    if (t == CONSUMERS * WARPGROUP) {  // the first loads need not wait for the maps
        gemm::ptx::prefetch_tensor_map(map_a);
        gemm::ptx::prefetch_tensor_map(map_b);
    }
    if (t == 0) {
        for (Mbarrier& barrier : barriers.full) gemm::ptx::mbarrier_init(barrier, 1);
        for (Mbarrier& barrier : barriers.empty) {
            gemm::ptx::mbarrier_init(barrier, P::CLUSTER * P::READERS);
        }
        for (Mbarrier& barrier : barriers.turn) gemm::ptx::mbarrier_init(barrier, WARPGROUP / 32);
        for (Mbarrier& barrier : barriers.loaded) gemm::ptx::mbarrier_init(barrier, 1);
        gemm::ptx::fence_mbarrier_init();
    }
    gemm::ptx::cluster_sync_relaxed();  // nobody uses an mbarrier of the cluster before it is one

    const gemm::Tiles all = gemm::tiles_of(M, N, P::CLUSTER * P::BM, P::BN);
    const int steps = static_cast<int>((K + BK - 1) / BK);
    if (consumer == CONSUMERS) {
        gemm::ptx::fewer_registers<PRODUCER_REGISTERS>();
        if (t == CONSUMERS * WARPGROUP) produce<P>(shared, barriers, map_a, map_b, all, steps);
        return;
    }

    gemm::ptx::more_registers<CONSUMER_REGISTERS>();
    const unsigned base = __shfl_sync(0xffffffffu, gemm::ptx::shared_address(shared), 0);
    char* const out = shared + P::STAGES * P::STAGE + t / 32 * gemm::kOutBytes;
    const int y = P::TURNS ? 0 : consumer * P::ROWS;  // the consumer's first row of the C tile
    // gemm::Tiles of C are counted through the block, tile j is number first + j·clusters of all. In turns a
    // consumer has every second of them.
    const unsigned first = blockIdx.x / P::CLUSTER, clusters = gridDim.x / P::CLUSTER;
    const unsigned mine = P::TURNS ? consumer : 0, every = P::TURNS ? CONSUMERS : 1;
#pragma unroll 1
    for (unsigned j = mine; first + j * clusters < all.m * all.n; j += every) {
        float acc[P::PIECES][P::BN / 2];
        // gap: turn
        if (P::TURNS) gemm::ptx::mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);
        // end gap
        multiply<P, T>(acc, base, barriers, y, j * steps, steps);
        const gemm::Tiles c_tile = gemm::tile_at<GROUP>(first + j * clusters, all);
        const int row0 = (static_cast<int>(c_tile.m * P::CLUSTER + gemm::ptx::cluster_rank())) * P::BM + y;
        const int col0 = static_cast<int>(c_tile.n) * P::BN;
        if (boxes) {
            gemm::store_boxes<T>(out, barriers.loaded[t / 32], acc, row0 + t / 32 % 4 * gemm::kOutRows, col0,
                                 alpha, beta, map_c);
        } else {
#pragma unroll
            for (int i = 0; i < P::PIECES; ++i) {
                gemm::store_sums(acc[i], row0 + i * WGMMA_M, col0, M, N, alpha, beta, C, ldc);
            }
        }
    }
    if (t % 32 == 0) gemm::ptx::bulk_wait_read<0>();  // shared memory lives as long as the block
}

const gemm::Tile tile{Turns::BM, Turns::BN, BK};

template <class P>
gemm::Tiles tiles_of(const gemm::Problem& p) {
    return gemm::tiles_of(p.M, p.N, P::CLUSTER * P::BM, P::BN);
}

/// How often a cluster has a tile of C, at most, where as many are launched as there is room for at once.
template <class P>
unsigned rounds_of(gemm::Tiles all) {
    const auto most = static_cast<unsigned>(
        gemm::resident_clusters(hgemm_ping_pong<__nv_bfloat16, P>, THREADS, SHARED, P::CLUSTER));
    return (all.m * all.n + most - 1) / most;
}

/// As few blocks as need no more rounds.
template <class P>
unsigned blocks_of(gemm::Tiles all) {
    const unsigned rounds = rounds_of<P>(all);
    return rounds == 0 ? 0 : (all.m * all.n + rounds - 1) / rounds * P::CLUSTER;
}

/// Whether TMA may write C.
bool stores_boxes(const gemm::Problem& p) {
    return p.M > 0 && p.N > 0 && gemm::wide_allowed(p.C, p.ldc, p.N);
}

/// About how long it takes: rounds, and what a block multiplies in each. Where nobody multiplies while
/// results are written, they take the time of some more steps along K.
template <class P>
double time_of(const gemm::Problem& p) {
    const double alone = P::TURNS ? 0.0 : stores_boxes(p) && p.beta == 0.0f ? 80.0 : 640.0;
    return rounds_of<P>(tiles_of<P>(p)) * static_cast<double>(P::BM * P::BN) *
           (static_cast<double>(p.K) + alone) * P::TIME;
}

enum class Choice { together, turns, wide_turns, small_turns };
Choice choice_for(const gemm::Problem& p) {
    const auto fastest = std::min({std::pair{time_of<Together>(p), Choice::together},
                                   std::pair{time_of<Turns>(p), Choice::turns},
                                   std::pair{time_of<WideTurns>(p), Choice::wide_turns},
                                   std::pair{time_of<SmallTurns>(p), Choice::small_turns}});
    return fastest.second;
}

/// what(Policy{}) with the one that is chosen.
template <class What>
auto with_policy(Choice choice, const What& what) {
    if (choice == Choice::together) return what(Together{});
    if (choice == Choice::turns) return what(Turns{});
    return choice == Choice::wide_turns ? what(WideTurns{}) : what(SmallTurns{});
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    Choice choice = Choice::together;
    unsigned blocks = 0;
    bool boxes = false;
    CUtensorMap map_c{};
};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    plan->choice = choice_for(p);
    with_policy(plan->choice, [&](auto policy) {
        using P = decltype(policy);
        gemm::prepare_operands(*plan, p, P::BM, BK);
        plan->blocks = blocks_of<P>(tiles_of<P>(p));
    });
    plan->boxes = stores_boxes(p);
    if (plan->boxes) plan->map_c = gemm::tma_map(p.variant.C, p.C, p.M, p.N, p.ldc, gemm::kOutRows);
    return plan;
}

template <class T, class P>
void launch_policy(const gemm::Problem& p, const Operands& operands, cudaStream_t stream) {
    const auto kernel = hgemm_ping_pong<T, P>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);  // beyond 48 KiB
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = P::CLUSTER;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{dim3(operands.blocks), dim3(THREADS), SHARED, stream, &cluster, P::CLUSTER > 1};
    cudaLaunchKernelEx(&config, kernel, p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta,
                       static_cast<T*>(p.C), p.ldc, operands.map_c, operands.boxes);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        with_policy(operands.choice, [&](auto policy) {
            launch_policy<decltype(zero), decltype(policy)>(p, operands, stream);
        });
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return with_policy(choice_for(p), [&](auto policy) -> gemm::Owner {
        using P = decltype(policy);
        const gemm::Tiles all = tiles_of<P>(p);
        const unsigned i = gemm::number_of<GROUP>(gemm::tile_of(row, col, P::CLUSTER * P::BM, P::BN), all);
        const unsigned clusters = blocks_of<P>(all) / P::CLUSTER;
        const auto rank = static_cast<unsigned>(row / P::BM % P::CLUSTER);
        const int y = static_cast<int>(row % P::BM), x = static_cast<int>(col % 8);
        const unsigned consumer = P::TURNS ? i / clusters % CONSUMERS : y / P::ROWS;
        const int in = y % WGMMA_M;  // row of a product
        return {{i % clusters * P::CLUSTER + rank, 0, 0},
                {consumer * WARPGROUP + static_cast<unsigned>(in / 16 * 32 + in % 8 * 4 + x / 2), 0, 0}};
    });
}

const gemm::Constant constants[] = {{"WGMMA_M", WGMMA_M},
                                    {"WGMMA_N", Turns::BN},
                                    {"WGMMA_K", WGMMA_K},
                                    {"BOX", BOX},
                                    {"STAGES", Turns::STAGES},
                                    {"CONSUMERS", CONSUMERS},
                                    {"CLUSTER", Together::CLUSTER},
                                    {"WARP_ROWS", gemm::kOutRows},
                                    {"OUT_BOXES", gemm::kOutBoxes},
                                    {"PRODUCER_REGISTERS", PRODUCER_REGISTERS},
                                    {"CONSUMER_REGISTERS", CONSUMER_REGISTERS}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_ping_pong<__nv_bfloat16, Turns>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_ping_pong<__half, Turns>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration}};

const gemm::Reach reaching[] = {
    {.path = "turns of a ring that goes on", .M = 200, .N = 264, .K = 640, .every_type = true},
    {.path = "the second group of C tiles", .M = 1025, .N = 8, .K = 8},
    {.path = "wide tiles", .M = 256, .N = 192, .K = 640, .every_type = true, .multiprocessors = 1},
    {.path = "wide tiles by threads", .M = 256, .N = 190, .K = 8, .every_type = true, .multiprocessors = 1},
    {.path = "a C tile that consumers share", .M = 512, .N = 512, .K = 640, .multiprocessors = 1},
    {.path = "the same by threads", .M = 512, .N = 508, .K = 640, .multiprocessors = 1}};

extern const gemm::Lesson lesson{.name = "13d_ping_pong",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_13d
