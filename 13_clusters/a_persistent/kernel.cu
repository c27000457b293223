// 13a persistent — blocks stay, and go from C tile to C tile: the next one's tiles of A and B load while this
// one's sums are written.
//
// Changed since 12: a loop over C tiles, whose order is a template parameter; the ring goes on from one to
// the next, so that the last stage is given back, too.

#include <algorithm>
#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/store_sums.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/launch.hpp"

namespace lesson_13a {

using gemm::Tiles;
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

/// Orders of the tiles of C: which one comes as number `i`, of all.m·all.n.
struct RowByRow {
    static constexpr __host__ __device__ Tiles at(unsigned i, Tiles all) { return {i / all.n, i % all.n}; }
};

/// Down a group of ROWS rows of tiles, then along it.
template <unsigned ROWS>
struct Grouped {
    static constexpr __host__ __device__ Tiles at(unsigned i, Tiles all) {
        Tiles at{0, 0};
        // gap: order
        const unsigned first = i / (ROWS * all.n) * ROWS, in_group = i - first * all.n;
        const unsigned rows = all.m - first < ROWS ? all.m - first : ROWS;
        at = {first + in_group % rows, in_group / rows};
        // end gap
        return at;
    }
};

using Order = Grouped<16>;

/// One thread of the producer: asks for tile after tile of A and of B, for all tiles of C of the block. It is
/// ahead of the consumers by up to STAGES tiles, also from one tile of C to the next.
template <class ORDER>
__device__ __forceinline__ void produce(char* shared, Mbarrier (&full)[STAGES], Mbarrier (&empty)[STAGES],
                                        const CUtensorMap& map_a, const CUtensorMap& map_b, Tiles all,
                                        int steps) {
    unsigned n = 0;  // tiles of A and of B since the block began
    for (unsigned i = blockIdx.x; i < all.m * all.n; i += gridDim.x) {
        const Tiles c_tile = ORDER::at(i, all);
        const int row0 = static_cast<int>(c_tile.m) * BM, col0 = static_cast<int>(c_tile.n) * BN;
        for (int step = 0; step < steps; ++step, ++n) {
            char* const to = shared + n % STAGES * STAGE;
            Mbarrier& arrived = full[n % STAGES];
            gemm::ptx::mbarrier_wait(empty[n % STAGES], n / STAGES % 2 ^ 1);  // at first, all are
            gemm::ptx::mbarrier_arrive_expect_tx(arrived, STAGE);
            gemm::ptx::tma_load(to, map_a, {step * BK, row0}, arrived);
            for (int j = 0; j < BN; j += BOX) {
                gemm::ptx::tma_load(to + BS + j * BK * 2, map_b, {col0 + j, step * BK}, arrived);
            }
        }
    }
}

/// A warpgroup's sums of one tile of C, 64 rows from `y` on. n: tiles of A and of B that the block has had
/// before.
template <class T>
__device__ __forceinline__ void multiply(float (&acc)[WGMMA_N / 2], unsigned base, Mbarrier (&full)[STAGES],
                                         Mbarrier (&empty)[STAGES], int y, unsigned n, int steps) {
    const auto give_back = [&](unsigned of) {  // the stage of tile `of`, by one thread
        if (threadIdx.x % WARPGROUP == 0) gemm::ptx::mbarrier_arrive(empty[of % STAGES]);
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
    // gap: last
    give_back(n - 1);  // before the sums are written: the next tile of C needs it
    // end gap
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major.
template <class T, class ORDER>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_persistent(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                     const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                     float beta, T* C, std::int64_t ldc) {
    // Stages: T As[BM][BK]; then Bs, in boxes of 64 columns, one behind the other: T [BN / BOX][BK][BOX].
    extern __shared__ __align__(1024) char shared[];
    __shared__ Mbarrier full[STAGES], empty[STAGES];
    const int t = threadIdx.x, warpgroup = t / WARPGROUP;

    if (t == 0) {
        for (Mbarrier& barrier : full) gemm::ptx::mbarrier_init(barrier, 1);
        for (Mbarrier& barrier : empty) gemm::ptx::mbarrier_init(barrier, CONSUMERS);
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();  // nobody waits at an mbarrier before it is one

    const Tiles all = gemm::tiles_of(M, N, BM, BN);
    const int steps = static_cast<int>((K + BK - 1) / BK);
    if (warpgroup == CONSUMERS) {
        gemm::ptx::fewer_registers<PRODUCER_REGISTERS>();
        if (t == CONSUMERS * WARPGROUP) produce<ORDER>(shared, full, empty, map_a, map_b, all, steps);
        return;
    }

    gemm::ptx::more_registers<CONSUMER_REGISTERS>();
    const int y = warpgroup * WGMMA_M;  // the warpgroup's first row of the C tile
    const unsigned base = gemm::ptx::shared_address(shared);
    unsigned n = 0;  // tiles of A and of B since the block began
#pragma unroll 1
    for (unsigned i = blockIdx.x; i < all.m * all.n; i += gridDim.x) {
        float acc[WGMMA_N / 2];
        multiply<T>(acc, base, full, empty, y, n, steps);
        // gap: carry
        n += steps;  // the ring goes on where it is
        // end gap
        const Tiles c_tile = ORDER::at(i, all);
        gemm::store_sums(acc, std::int64_t{c_tile.m} * BM + y, std::int64_t{c_tile.n} * BN, M, N, alpha, beta,
                         C, ldc);
    }
}

const gemm::Tile tile{BM, BN, BK};

/// One for each SM, where there is work for all.
unsigned blocks_of(const gemm::Problem& p) {
    return std::min(gemm::grid_of_tiles(p, tile).x, static_cast<unsigned>(gemm::multiprocessors()));
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    unsigned blocks = 0;
};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    gemm::prepare_operands(*plan, p, BM, BK);
    plan->blocks = blocks_of(p);
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        constexpr int bytes = STAGES * STAGE;  // beyond 48 KiB CUDA wants to be told
        cudaFuncSetAttribute(hgemm_persistent<T, Order>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
        hgemm_persistent<T, Order><<<operands.blocks, THREADS, bytes, stream>>>(
            p.M, p.N, p.K, p.alpha, operands.map_a, operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc);
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const Tiles all = gemm::tiles_of(p.M, p.N, BM, BN);
    unsigned i = 0;
    for (Tiles c_tile{}; i < all.m * all.n; ++i) {
        c_tile = Order::at(i, all);
        if (c_tile.m == row / BM && c_tile.n == col / BN) break;
    }
    const auto warpgroup = static_cast<unsigned>(row % BM / WGMMA_M);
    return {{i % blocks_of(p), 0, 0}, {warpgroup * WARPGROUP + gemm::store_sums_thread(p, row, col), 0, 0}};
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
     .kernel = reinterpret_cast<const void*>(&hgemm_persistent<__nv_bfloat16, Order>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_persistent<__half, Order>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration}};

const gemm::Reach reaching[] = {{.path = "a ring that goes on to the next tile of C",
                                 .M = 2 * BM + 1,
                                 .N = 2 * BN + 8,
                                 .K = 5 * BK,
                                 .every_type = true},
                                {.path = "the second group of C tiles", .M = 2049, .N = 264, .K = 8}};

extern const gemm::Lesson lesson{.name = "13a_persistent",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_13a
