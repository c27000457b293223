#include "tests/kernels/ping_pong.hpp"

#include <algorithm>
#include <cstdint>

#include "common/element.hpp"
#include "common/gemm.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma_launch.hpp"

namespace kernels {
namespace {

using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::WgmmaSwizzle;

constexpr int BK = 64;                     // steps along K of a tile
constexpr int WGMMA_M = 64, WGMMA_K = 16;  // what one instruction multiplies, beside BN columns
constexpr int WARPGROUP = 128, CONSUMERS = 2, THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int AT_LAUNCH = 168, PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of a thread
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS == (CONSUMERS + 1) * AT_LAUNCH,
              "nobody gets registers that nobody gives");
constexpr int SPAN = 128, BOX = gemm::kTmaBox;  // what the swizzle permutes: bytes, elements
constexpr int WARP_ROWS = 16;                   // of the WGMMA_M: what of the sums a warp has
constexpr int SHARED = 226 * 1024;              // bytes of a block's stages and results, at most

/// How consumers share tiles of C. Each has a piece of ROWS×COLUMNS sums: a tile of its own where they take
/// turns, else its rows of the tile of both. CLUSTER: blocks that share their tiles of B, 1 for none.
template <int ROWS_OF_ONE, int COLUMNS, bool TURNS, int BLOCKS,
          PingPongMistake PLANTED = PingPongMistake::none>
struct Policy {
    static constexpr PingPongMistake MISTAKE = PLANTED;
    static constexpr int ROWS = ROWS_OF_ONE, CLUSTER = BLOCKS;
    static constexpr bool PING_PONG = TURNS;
    static constexpr int READERS = PING_PONG ? 1 : CONSUMERS;         // of a stage, in a block
    static constexpr int BM = READERS * ROWS, BN = COLUMNS;           // block tile
    static constexpr int BS = 2 * BM * BK, STAGE = BS + 2 * BK * BN;  // bytes: where Bs begins, a stage
    static constexpr int OUT = 2 * WARP_ROWS * BN;                    // bytes: a warp's results on their way
    static constexpr int OUTS = CONSUMERS * WARPGROUP / 32 * OUT;
    static constexpr int STAGES = (SHARED - OUTS) / STAGE;
    static_assert(BN % (CLUSTER * BOX) == 0 && ROWS % WGMMA_M == 0, "whole boxes, whole instructions");
};
/// A tile of C, or how many there are: rows and columns of tiles, of a cluster's tiles where there are
/// clusters.
struct Tiles {
    unsigned m, n;
};

/// Which tile of C comes as number `i`, of all.m·all.n: down a group of GROUP rows of tiles, then along it.
constexpr unsigned GROUP = 16;
constexpr __host__ __device__ Tiles tile_at(unsigned i, Tiles all) {
    const unsigned first = i / (GROUP * all.n) * GROUP, in_group = i - first * all.n;
    const unsigned rows = all.m - first < GROUP ? all.m - first : GROUP;
    return {first + in_group % rows, in_group / rows};
}

/// The mbarriers of a block: of each stage, and of each consumer's turn.
template <class D>
struct Barriers {
    Mbarrier full[D::STAGES], empty[D::STAGES], turn[CONSUMERS];
};

/// Two neighbours in a row of C, of which only the first `left` are there.
template <class T>
__device__ __forceinline__ void store2(T* c, std::int64_t left, bool pairs, float first, float second,
                                       float beta) {
    if (beta != 0.0f) {  // BLAS: beta == 0 must not read C
        if (left > 0) first += beta * gemm::to_float(c[0]);
        if (left > 1) second += beta * gemm::to_float(c[1]);
    }
    __align__(4) const T both[2] = {gemm::from_float<T>(first), gemm::from_float<T>(second)};
    if (pairs && left > 1) {  // one store for the two
        *reinterpret_cast<std::uint32_t*>(c) = *reinterpret_cast<const std::uint32_t*>(both);
    } else {
        if (left > 0) c[0] = both[0];
        if (left > 1) c[1] = both[1];
    }
}

/// A warpgroup's piece of C, ROWS×BN sums, from (row0, col0) on, pair by pair.
template <class D, class T>
__device__ __forceinline__ void store_pairs(const float (&acc)[D::ROWS / WGMMA_M][D::BN / 2],
                                            std::int64_t row0, std::int64_t col0, std::int64_t M,
                                            std::int64_t N, float alpha, float beta, T* C, std::int64_t ldc) {
    const bool pairs = (reinterpret_cast<std::uintptr_t>(C) % 4 | ldc % 2) == 0;
#pragma unroll
    for (int i = 0; i < D::ROWS / WGMMA_M; ++i) {
#pragma unroll
        for (int e = 0; e < D::BN / 2; e += 2) {
            const gemm::ptx::WgmmaPlace in = gemm::ptx::wgmma_sum(threadIdx.x % WARPGROUP, e);
            const std::int64_t row = row0 + i * WGMMA_M + in.row, col = col0 + in.column;
            if (row >= M) continue;
            store2(&C[row * ldc + col], N - col, pairs, alpha * acc[i][e], alpha * acc[i][e + 1], beta);
        }
    }
}

/// The same by the copy engine, 16 rows of a warp at a time through `out`, its own part of shared memory:
/// T [BN / BOX][WARP_ROWS][BOX], swizzled as map_c says. What lies outside of C is left out.
template <class D, class T>
__device__ __forceinline__ void store_boxes(char* out, const float (&acc)[D::ROWS / WGMMA_M][D::BN / 2],
                                            int row0, int col0, float alpha, const CUtensorMap& map_c) {
    const int t = threadIdx.x % WARPGROUP, lane = t % 32;
#pragma unroll
    for (int i = 0; i < D::ROWS / WGMMA_M; ++i) {
        if (lane == 0 && D::MISTAKE != PingPongMistake::no_wait_read) gemm::ptx::bulk_wait_read<0>();
        __syncwarp();
#pragma unroll
        for (int e = 0; e < D::BN / 2; e += 2) {
            const gemm::ptx::WgmmaPlace in = gemm::ptx::wgmma_sum(t, e);
            const int row = in.row % WARP_ROWS, chunk = in.column % BOX / 8 ^ row % 8;  // of 16 bytes
            __align__(4) const T both[2] = {gemm::from_float<T>(alpha * acc[i][e]),
                                            gemm::from_float<T>(alpha * acc[i][e + 1])};
            *reinterpret_cast<std::uint32_t*>(out + (in.column / BOX * WARP_ROWS + row) * SPAN + 16 * chunk +
                                              in.column % 8 * 2) =
                *reinterpret_cast<const std::uint32_t*>(both);
        }
        if (D::MISTAKE != PingPongMistake::no_fence) gemm::ptx::fence_proxy_async();  // each lane
        __syncwarp();
        if (lane == 0) {
            const int row = row0 + i * WGMMA_M + t / 32 * WARP_ROWS;
            for (int j = 0; j < D::BN; j += BOX) {
                gemm::ptx::tma_store(map_c, {col0 + j, row}, out + j * WARP_ROWS * 2);
            }
            gemm::ptx::bulk_commit();
        }
    }
}

/// One thread of the producer: asks for the block's tiles of A, and for its share of the cluster's tiles of
/// B.
template <class D>
__device__ __forceinline__ void produce(char* shared, Barriers<D>& barriers, const CUtensorMap& map_a,
                                        const CUtensorMap& map_b, Tiles all, int steps) {
    const int rank = D::CLUSTER > 1 ? static_cast<int>(gemm::ptx::cluster_rank()) : 0;
    unsigned n = 0;  // tiles of A and of B since the block began
    for (unsigned i = blockIdx.x / D::CLUSTER; i < all.m * all.n; i += gridDim.x / D::CLUSTER) {
        const Tiles c_tile = tile_at(i, all);
        const int row0 = (static_cast<int>(c_tile.m) * D::CLUSTER + rank) * D::BM;
        const int col0 = static_cast<int>(c_tile.n) * D::BN;
        for (int step = 0; step < steps; ++step, ++n) {
            char* const to = shared + n % D::STAGES * D::STAGE;
            Mbarrier &arrived = barriers.full[n % D::STAGES], &empty = barriers.empty[n % D::STAGES];
            if constexpr (D::CLUSTER > 1) {
                gemm::ptx::mbarrier_wait_cluster(empty, n / D::STAGES % 2 ^ 1);
            } else {
                gemm::ptx::mbarrier_wait(empty, n / D::STAGES % 2 ^ 1);
            }
            gemm::ptx::mbarrier_arrive_expect_tx(arrived, D::STAGE);
            gemm::ptx::tma_load(to, map_a, {step * BK, row0}, arrived);
            for (int j = rank * BOX; j < D::BN; j += D::CLUSTER * BOX) {
                char* const bs = to + D::BS + j * BK * 2;
                if constexpr (D::CLUSTER > 1) {
                    gemm::ptx::tma_load_multicast(bs, map_b, {col0 + j, step * BK}, arrived,
                                                  (1 << D::CLUSTER) - 1);
                } else {
                    gemm::ptx::tma_load(bs, map_b, {col0 + j, step * BK}, arrived);
                }
            }
        }
    }
}

/// A consumer's sums of tile number j of the block, from row y of the block tile on.
template <class D, class T>
__device__ __forceinline__ void multiply(float (&acc)[D::ROWS / WGMMA_M][D::BN / 2], unsigned base,
                                         Barriers<D>& barriers, int y, unsigned j, int steps) {
    const unsigned thread = threadIdx.x % WARPGROUP, consumer = threadIdx.x / WARPGROUP;
    unsigned n = j * steps;
    const auto give_back = [&](unsigned of) {  // the stage of tile `of`
        if constexpr (D::CLUSTER > 1) {
            if (thread < D::CLUSTER) {
                gemm::ptx::mbarrier_arrive_relaxed_at(barriers.empty[of % D::STAGES], thread);
            }
        } else {
            if (thread == 0) gemm::ptx::mbarrier_arrive(barriers.empty[of % D::STAGES]);
        }
    };
    if (D::PING_PONG && D::MISTAKE != PingPongMistake::no_turn)
        gemm::ptx::mbarrier_wait(barriers.turn[consumer], (j / CONSUMERS + consumer + 1) % 2);
    gemm::ptx::wgmma_fence(acc);
#pragma unroll 1
    for (int step = 0; step < steps; ++step, ++n) {
        gemm::ptx::mbarrier_wait(barriers.full[n % D::STAGES], n / D::STAGES % 2);
        const unsigned as = base + n % D::STAGES * D::STAGE, bs = as + D::BS;
        gemm::ptx::wgmma_fence();
#pragma unroll
        for (int k = 0; k < BK; k += WGMMA_K) {
            const std::uint64_t b = gemm::ptx::encode({.start = bs + k * SPAN,
                                                       .leading = BK * SPAN,
                                                       .stride = 8 * SPAN,
                                                       .swizzle = WgmmaSwizzle::bytes128});
#pragma unroll
            for (int i = 0; i < D::ROWS / WGMMA_M; ++i) {
                const std::uint64_t a = gemm::ptx::encode({.start = as + (y + i * WGMMA_M) * SPAN + 2 * k,
                                                           .stride = 8 * SPAN,
                                                           .swizzle = WgmmaSwizzle::bytes128});
                gemm::ptx::wgmma<T, D::BN, Major::k, Major::row>(acc[i], a, b, true);
            }
        }
        gemm::ptx::wgmma_commit();
        gemm::ptx::wgmma_wait<1>();
        if (step > 0) give_back(n - 1);
    }
    // All products of the tile are under way: those of the other's tile may queue behind them.
    if (D::PING_PONG && thread == 0) gemm::ptx::mbarrier_arrive(barriers.turn[1 - consumer]);
    gemm::ptx::wgmma_wait<0>(acc);
    if (steps > 0) give_back(n - 1);
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major. by_tma: map_c is C's.
template <class T, class D>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_ping_pong(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                    const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                    float beta, T* C, std::int64_t ldc, const __grid_constant__ CUtensorMap map_c,
                    bool by_tma) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    // Behind them, results.
    extern __shared__ __align__(1024) char shared[];
    __shared__ Barriers<D> barriers;
    const int t = threadIdx.x, consumer = t / WARPGROUP;

    if (t == 0) {
        for (Mbarrier& barrier : barriers.full) gemm::ptx::mbarrier_init(barrier, 1);
        for (Mbarrier& barrier : barriers.empty) {
            gemm::ptx::mbarrier_init(barrier, D::CLUSTER * D::READERS);
        }
        for (Mbarrier& barrier : barriers.turn) gemm::ptx::mbarrier_init(barrier, 1);
        gemm::ptx::fence_mbarrier_init();
    }
    const auto meet = [] { D::CLUSTER > 1 ? gemm::ptx::cluster_sync() : __syncthreads(); };
    meet();  // nobody uses an mbarrier before it is one

    const Tiles all{static_cast<unsigned>((M + D::CLUSTER * D::BM - 1) / (D::CLUSTER * D::BM)),
                    static_cast<unsigned>((N + D::BN - 1) / D::BN)};
    const int steps = alpha == 0.0f ? 0 : static_cast<int>((K + BK - 1) / BK);  // BLAS: as if K were 0
    if (consumer == CONSUMERS) {
        gemm::ptx::fewer_registers<PRODUCER_REGISTERS>();
        if (t == CONSUMERS * WARPGROUP) {
            produce<D>(shared, barriers, map_a, map_b, all, steps);
            if (D::CLUSTER > 1) gemm::ptx::cluster_sync();
        }
        return;
    }

    gemm::ptx::more_registers<CONSUMER_REGISTERS>();
    const unsigned base = gemm::ptx::shared_address(shared);
    char* const out = shared + D::STAGES * D::STAGE + t / 32 * D::OUT;
    const int y = D::PING_PONG ? 0 : consumer * D::ROWS;  // the consumer's first row of the block tile
    const int rank = D::CLUSTER > 1 ? static_cast<int>(gemm::ptx::cluster_rank()) : 0;
    unsigned j = 0;  // tiles of C of the block
#pragma unroll 1
    for (unsigned i = blockIdx.x / D::CLUSTER; i < all.m * all.n; i += gridDim.x / D::CLUSTER, ++j) {
        if (D::PING_PONG && j % CONSUMERS != static_cast<unsigned>(consumer)) continue;
        float acc[D::ROWS / WGMMA_M][D::BN / 2] = {};
        multiply<D, T>(acc, base, barriers, y, j, steps);
        const Tiles c_tile = tile_at(i, all);
        const int row0 = (static_cast<int>(c_tile.m) * D::CLUSTER + rank) * D::BM + y;
        const int col0 = static_cast<int>(c_tile.n) * D::BN;
        if (by_tma) {
            store_boxes<D, T>(out, acc, row0, col0, alpha, map_c);
        } else {
            store_pairs<D, T>(acc, row0, col0, M, N, alpha, beta, C, ldc);
        }
    }
    if (t % 32 == 0) gemm::ptx::bulk_wait_read<0>();  // a block must not end before
    if (D::CLUSTER > 1) gemm::ptx::cluster_sync();    // nor while the other still reaches into it
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    CUtensorMap map_c{};
    bool by_tma = false;
};

template <class D>
Tiles tiles_of(const gemm::Problem& p) {
    return {static_cast<unsigned>(gemm::ceil_div(p.M, D::CLUSTER * D::BM)),
            static_cast<unsigned>(gemm::ceil_div(p.N, D::BN))};
}

/// One for each SM, but where the last round leaves some without work, as few as need no more rounds.
template <class D>
unsigned blocks_of(Tiles all) {
    const unsigned count = all.m * all.n;
    const auto most = static_cast<unsigned>(std::max(gemm::multiprocessors() / D::CLUSTER, 1));
    const unsigned rounds = (count + most - 1) / most;
    return rounds == 0 ? 0 : (count + rounds - 1) / rounds * D::CLUSTER;
}

/// Whether TMA can write C: from multiples of 16 bytes, whole units of 16 bytes, and without reading C.
bool stores_boxes(const gemm::Problem& p) {
    return p.M > 0 && p.N > 0 && p.beta == 0.0f && reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 &&
           (p.ldc | p.N) % 8 == 0;
}

template <class D>
gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    gemm::prepare_operands(*plan, p, D::BM, BK);
    plan->by_tma = stores_boxes(p);
    if (plan->by_tma) plan->map_c = gemm::tma_map(p.variant.C, p.C, p.M, p.N, p.ldc, WARP_ROWS);
    return plan;
}

template <class D>
void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::copy_refused<__nv_bfloat16>(operands.a, p.A, p.lda, stream);
    gemm::copy_refused<__nv_bfloat16>(operands.b, p.B, p.ldb, stream);
    constexpr int bytes = D::STAGES * D::STAGE + D::OUTS;  // beyond 48 KiB CUDA wants to be told
    const auto kernel = hgemm_ping_pong<__nv_bfloat16, D>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = D::CLUSTER;
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(blocks_of<D>(tiles_of<D>(p)));
    config.blockDim = dim3(THREADS);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = D::CLUSTER > 1 ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta,
                       static_cast<__nv_bfloat16*>(p.C), p.ldc, operands.map_c, operands.by_tma);
}

template <class D>
gemm::Lesson lesson_of(const char* name) {
    static const gemm::Offer offers[] = {
        {.variant = gemm::of_type(gemm::DType::bf16),
         .kernel = reinterpret_cast<const void*>(&hgemm_ping_pong<__nv_bfloat16, D>),
         .architectures = {.exactly = "90a"}}};
    return {.name = name,
            .part = 2,
            .ladder = "tensorcore",
            .tile = {D::BM, D::BN, BK},
            .block = dim3(THREADS),
            .dynamic_shared_bytes = D::STAGES * D::STAGE + D::OUTS,
            .variants = offers,
            .prepare = prepare<D>,
            .launch = launch<D>};
}

}  // namespace

gemm::Lesson ping_pong(PingPongPolicy policy) {
    switch (policy) {
        case PingPongPolicy::turns:
            return lesson_of<Policy<128, 128, true, 1>>("ping_pong");
        case PingPongPolicy::small:
            return lesson_of<Policy<64, 128, true, 1>>("ping_pong_small");
        case PingPongPolicy::together:
            return lesson_of<Policy<128, 128, false, 1>>("cooperative");
        case PingPongPolicy::clusters:
            return lesson_of<Policy<64, 256, true, 2>>("ping_pong_clusters");
        default:
            return lesson_of<Policy<64, 256, false, 2>>("cooperative_clusters");
    }
}

gemm::Lesson ping_pong_mistake(PingPongMistake mistake) {
    switch (mistake) {
        case PingPongMistake::no_turn:
            return lesson_of<Policy<64, 128, true, 1, PingPongMistake::no_turn>>("no_turn");
        case PingPongMistake::no_wait_read:
            return lesson_of<Policy<64, 128, true, 1, PingPongMistake::no_wait_read>>("no_wait_read");
        case PingPongMistake::no_fence:
            return lesson_of<Policy<64, 128, true, 1, PingPongMistake::no_fence>>("no_fence");
        default:
            return ping_pong(PingPongPolicy::small);
    }
}

}  // namespace kernels
