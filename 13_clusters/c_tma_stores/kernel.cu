// 13c TMA stores — results leave the way A and B come: a warp puts a box of them into shared memory, and the
// copy engine writes it to C while the warp fills the next one. Where beta asks for the old C, the engine
// brings its box there first.
//
// Changed since 13b: store_boxes(), which needs a tensor map of C, and for each warp two boxes in shared
// memory and an mbarrier. Where TMA may not write C, threads store pair by pair.

#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/pairs.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/stmatrix.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/clusters.hpp"
#include "common/tma/launch.hpp"

namespace lesson_13c {

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
constexpr int WARPS = CONSUMERS * WARPGROUP / 32;         // which have sums
constexpr int WARP_ROWS = WGMMA_M / 4;                    // of a product, whose sums a warp has
constexpr int OUT_BOXES = 2, OUT_BOX = WARP_ROWS * SPAN;  // a warp's boxes of results, bytes of each
constexpr int SHARED = STAGES * STAGE + WARPS * OUT_BOXES * OUT_BOX;  // bytes of a block
static_assert(BN / BOX % 2 == 0, "each C tile begins with the same parity of its loads");

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
            for (int j = rank * BOX; j < BN; j += CLUSTER * BOX) {
                gemm::ptx::tma_load_multicast(to + BS + j * BK * 2, map_b, {col0 + j, step * BK}, arrived,
                                              BOTH);
            }
        }
    }
    // A block stays until every stage has come back: then the other one reaches into it no more.
    for (int stage = 0; stage < STAGES; ++stage, ++n) {
        gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);
    }
}

/// A warpgroup's sums of one tile of C, 64 rows from `y` on. n: tiles of A and of B that the block has had.
template <class T>
__device__ __forceinline__ void multiply(float (&acc)[WGMMA_N / 2], unsigned base, Mbarrier (&full)[STAGES],
                                         Mbarrier (&empty)[STAGES], int y, unsigned n, int steps) {
    const auto give_back = [&](unsigned of) {  // the stage of tile `of`, to both blocks, by a thread each
        const unsigned rank = threadIdx.x % WARPGROUP;
        if (rank < CLUSTER) gemm::ptx::mbarrier_arrive_relaxed_at(empty[of % STAGES], rank);
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

/// A warp's sums to C by the copy engine, WARP_ROWS rows from row0 on. A box of them is put together in
/// `out`, the warp's part of shared memory, T [OUT_BOXES][WARP_ROWS][BOX], swizzled as map_c says. Where beta
/// is not 0, the old C comes there first, at whose arrival `loaded` completes a phase. What would lie outside
/// of C is neither read nor written.
template <class T>
__device__ __forceinline__ void store_boxes(char* out, Mbarrier& loaded, const float (&acc)[WGMMA_N / 2],
                                            int row0, int col0, float alpha, float beta,
                                            const CUtensorMap& map_c) {
    // Of four matrices of 8×8, two by two, a lane gives one row's address.
    const int lane = threadIdx.x % 32, row = lane % WARP_ROWS, right = lane / WARP_ROWS;
#pragma unroll
    for (int box = 0; box < BN / BOX; ++box) {
        char* const to = out + box % OUT_BOXES * OUT_BOX;
        // gap: reuse
        if (lane == 0) gemm::ptx::bulk_wait_read<OUT_BOXES - 1>();  // the box before last has been read
        __syncwarp();
        // end gap
        // gap: load
        if (beta != 0.0f) {  // BLAS: beta == 0 must not read C
            if (lane == 0) {
                gemm::ptx::mbarrier_arrive_expect_tx(loaded, OUT_BOX);
                gemm::ptx::tma_load(to, map_c, {col0 + box * BOX, row0}, loaded);
            }
            gemm::ptx::mbarrier_wait(loaded, box % 2);
        }
        // end gap
#pragma unroll
        for (int chunk = 0; chunk < BOX / 8; chunk += 2) {  // 8 columns, 16 bytes of a row; two at a time
            char* const place = to + row * SPAN + ((chunk + right) ^ row % 8) * 16;
            const float* const sums = &acc[(box * BOX + chunk * 8) / 2];
            std::uint32_t words[4];
            if (beta != 0.0f) gemm::ptx::ldmatrix(words, place);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float first = alpha * sums[2 * i], second = alpha * sums[2 * i + 1];
                if (beta != 0.0f) {
                    const float2 old = gemm::unpack2<T>(words[i]);
                    first += beta * old.x;
                    second += beta * old.y;
                }
                words[i] = gemm::pack2<T>(first, second);
            }
            gemm::ptx::stmatrix(place, words);
        }
        // gap: store
        gemm::ptx::fence_proxy_async();  // each lane, for what it has written
        __syncwarp();
        if (lane == 0) {
            gemm::ptx::tma_store(map_c, {col0 + box * BOX, row0}, to);
            gemm::ptx::bulk_commit();
        }
        // end gap
    }
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major. boxes: map_c is C's, and
// TMA may write it.
template <class T>
__global__ void __cluster_dims__(CLUSTER) __launch_bounds__(THREADS, 1)
    hgemm_tma_stores(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                     const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                     float beta, T* C, std::int64_t ldc, const __grid_constant__ CUtensorMap map_c,
                     bool boxes) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    // Behind the stages each warp of the consumers has its boxes of results.
    extern __shared__ __align__(1024) char shared[];
    __shared__ Mbarrier full[STAGES], empty[STAGES], loaded[WARPS];
    const int t = threadIdx.x, warpgroup = t / WARPGROUP, warp = t / 32;

    if (t == 0) {
        for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, 1);
        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CLUSTER * CONSUMERS);
        for (Mbarrier& barrier : loaded) gemm::ptx::mbarrier_init(barrier, 1);
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
    char* const out = shared + STAGES * STAGE + warp * OUT_BOXES * OUT_BOX;
    unsigned n = 0;  // tiles of A and of B since the block began
#pragma unroll 1
    for (unsigned i = blockIdx.x / CLUSTER; i < all.m * all.n; i += gridDim.x / CLUSTER, n += steps) {
        float acc[WGMMA_N / 2];
        multiply<T>(acc, base, full, empty, y, n, steps);
        const gemm::Tiles c_tile = gemm::tile_at(i, all);
        const int row0 = static_cast<int>(c_tile.m * CLUSTER + gemm::ptx::cluster_rank()) * BM + y;
        const int col0 = static_cast<int>(c_tile.n) * BN;
        if (boxes) {
            store_boxes<T>(out, loaded[warp], acc, row0 + warp % 4 * WARP_ROWS, col0, alpha, beta, map_c);
        } else {
            gemm::store_sums_by_pairs(acc, row0, col0, M, N, alpha, beta, C, ldc);
        }
    }
    if (t % 32 == 0) gemm::ptx::bulk_wait_read<0>();  // shared memory lives as long as the block
}

const gemm::Tile tile{BM, BN, BK};

/// Clusters to launch for so many C tiles. A kernel of the other type has as much room.
unsigned clusters_of(gemm::Tiles all) {
    const int most = gemm::resident_clusters(hgemm_tma_stores<__nv_bfloat16>, THREADS, SHARED, CLUSTER);
    return gemm::enough_clusters(all.m * all.n, static_cast<unsigned>(most));
}

/// Whether TMA may write C: whole units of 16 bytes, at multiples of 16 bytes.
bool stores_boxes(const gemm::Problem& p) {
    return p.M > 0 && p.N > 0 && reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 && (p.ldc | p.N) % 8 == 0;
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    unsigned clusters = 0;
    bool boxes = false;
    CUtensorMap map_c{};
};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    gemm::prepare_operands(*plan, p, BM, BK);
    plan->clusters = clusters_of(gemm::tiles_of(p.M, p.N, CLUSTER * BM, BN));
    plan->boxes = stores_boxes(p);
    if (plan->boxes) plan->map_c = gemm::tma_map(p.variant.C, p.C, p.M, p.N, p.ldc, WARP_ROWS);
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        // Beyond 48 KiB CUDA wants to be told.
        cudaFuncSetAttribute(hgemm_tma_stores<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
        hgemm_tma_stores<T><<<CLUSTER * operands.clusters, THREADS, SHARED, stream>>>(
            p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc,
            operands.map_c, operands.boxes);
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const gemm::Tiles all = gemm::tiles_of(p.M, p.N, CLUSTER * BM, BN);
    const unsigned i = gemm::number_of(gemm::tile_of(row, col, CLUSTER * BM, BN), all);
    const auto rank = static_cast<unsigned>(row / BM % CLUSTER);
    const int y = static_cast<int>(row % BM), x = static_cast<int>(col % 8);
    return {{i % clusters_of(all) * CLUSTER + rank, 0, 0},
            {static_cast<unsigned>(y / 16 * 32 + y % 8 * 4 + x / 2), 0, 0}};
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
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = SHARED};

const gemm::Offer variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_tma_stores<__nv_bfloat16>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration},
                                {.variant = gemm::of_type(gemm::DType::fp16),
                                 .kernel = reinterpret_cast<const void*>(&hgemm_tma_stores<__half>),
                                 .architectures = {.exactly = "90a"},
                                 .configuration = configuration}};

const gemm::Reach reaching[] = {{.path = "a ring that goes on to the cluster's next tile",
                                 .M = 2 * CLUSTER * BM + 1,
                                 .N = BN + 8,
                                 .K = 5 * BK,
                                 .every_type = true},
                                {.path = "the second group of C tiles", .M = 2050, .N = 264, .K = 8}};

extern const gemm::Lesson lesson{.name = "13c_tma_stores",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_13c
