// 13e overlapped epilogue — a consumer rounds the sums of its C tile and packs them into half as many
// registers. From there they leave, a box at a time, while the tensor cores multiply the next tile.
//
// Changed since 13d: nobody takes turns. A consumer computes a piece of Cᵀ = Bᵀ·Aᵀ, so that the rows of a C
// tile are wgmma's N, any multiple of 8: the launch chooses the tile that leaves the fewest SMs without work.
// Blocks form no clusters. Where C is read, or TMA may not write it, threads reach it themselves. Eight tile
// sizes and the choice between them are why this file is longer than others.

#include <algorithm>
#include <cstdint>

#include "common/element.hpp"
#include "common/gemm.hpp"
#include "common/parts/pairs.hpp"
#include "common/parts/tile_order.hpp"
#include "common/ptx/barrier.hpp"
#include "common/ptx/stmatrix.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"
#include "common/tma/launch.hpp"

namespace lesson_13e {

using gemm::Tiles;
using gemm::ptx::Major;
using gemm::ptx::Mbarrier;
using gemm::ptx::WgmmaSwizzle;

constexpr int BN = 128, BK = 64;           // C tile: columns of C, steps along K. Its rows: Policy::BM
constexpr int WGMMA_M = 64, WGMMA_K = 16;  // what one instruction multiplies: columns of C, steps along K
constexpr int WARPGROUP = 128, CONSUMERS = BN / WGMMA_M, THREADS = (CONSUMERS + 1) * WARPGROUP;
constexpr int AT_LAUNCH = 168, PRODUCER_REGISTERS = 40, CONSUMER_REGISTERS = 232;  // of a thread
static_assert(PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS == (CONSUMERS + 1) * AT_LAUNCH,
              "nobody gets registers that nobody gives");
constexpr unsigned GROUP = 8;                   // rows of C tiles that are counted together
constexpr int SPAN = 128, BOX = gemm::kTmaBox;  // what the swizzle permutes: bytes, elements
constexpr int OUT_BOXES = 2;                    // of results, that a consumer has in shared memory
constexpr int SHARED = 226 * 1024;  // bytes: a block's stages, and its boxes of results after them
static_assert(BK == BOX && WGMMA_M == BOX, "a row of As, of a consumer's Bs and of its results is a span");

/// C tiles of ROWS×BN. A consumer's results leave in BOXES boxes of BOX_ROWS×BOX.
template <int ROWS, int PIECES>
struct Policy {
    static constexpr int BM = ROWS, BOXES = PIECES, BOX_ROWS = BM / BOXES;
    static constexpr int BS = BM * SPAN, STAGE = BS + BN * SPAN;  // bytes: where Bs begins, a stage
    static constexpr int OUT_BOX = BOX_ROWS * SPAN;               // bytes
    static constexpr int STAGES = (SHARED - CONSUMERS * OUT_BOXES * OUT_BOX) / STAGE;  // tiles of A and of B
    static_assert(BM % 8 == 0 && BOX_ROWS % 8 == 0, "whole patterns of the swizzle");
    static_assert(BOX_ROWS <= BK && BOXES <= STAGES, "a stage's Bs has room for a box of the last C tile");
};

/// A block's mbarriers, two for each stage, which producer and consumers go through in the same order.
template <class P>
struct Barriers {
    Mbarrier full[P::STAGES], empty[P::STAGES];
};
template <class P>
struct Ring {
    unsigned stage = 0, parity = 0, before = 0;  // before: the stage before
    __device__ __forceinline__ void next() {
        before = stage;
        if (++stage == P::STAGES) stage = 0, parity ^= 1;
    }
};

/// An element of C. place_of(): where C tile number i begins.
struct Place {
    int row, col;
};
template <class P>
__device__ __forceinline__ Place place_of(unsigned i, Tiles all) {
    const Tiles c_tile = gemm::tile_at<GROUP>(i, all);
    return {static_cast<int>(c_tile.m) * P::BM, static_cast<int>(c_tile.n) * BN};
}

/// One thread of the producer: requests the block's tiles of A and of B.
template <class P>
__device__ __forceinline__ void produce(char* shared, Barriers<P>& barriers, const CUtensorMap& map_a,
                                        const CUtensorMap& map_b, Tiles all, int steps) {
    Ring<P> ring;
    for (unsigned i = blockIdx.x; i < all.m * all.n; i += gridDim.x) {
        const Place c_tile = place_of<P>(i, all);
        for (int step = 0; step < steps; ++step, ring.next()) {
            char *const as = shared + ring.stage * P::STAGE, *const bs = as + P::BS;
            Mbarrier& full = barriers.full[ring.stage];
            gemm::ptx::mbarrier_wait(barriers.empty[ring.stage], ring.parity ^ 1);
            gemm::ptx::mbarrier_arrive_expect_tx(full, P::STAGE);
            gemm::ptx::tma_load(as, map_a, {step * BK, c_tile.row}, full);
#pragma unroll
            for (int x = 0; x < BN; x += BOX) {
                gemm::ptx::tma_load(bs + x * SPAN, map_b, {c_tile.col + x, step * BK}, full);
            }
        }
    }
}

/// A stage back to the producer, by one thread of a consumer.
template <class P>
__device__ __forceinline__ void give_back(Barriers<P>& barriers, unsigned stage) {
    if (threadIdx.x % WARPGROUP == 0) gemm::ptx::mbarrier_arrive(barriers.empty[stage]);
}

/// Starts the products of a C tile's k-tile, and gives back the stage of the one before. as, bs: descriptors
/// of As and of the consumer's Bs in stage 0.
template <class P, class T>
__device__ __forceinline__ void multiply(float (&acc)[P::BM / 2], Barriers<P>& barriers, Ring<P>& ring,
                                         std::uint64_t as, std::uint64_t bs, bool first) {
    gemm::ptx::mbarrier_wait(barriers.full[ring.stage], ring.parity);
    gemm::ptx::wgmma_fence();
    as = gemm::ptx::moved(as, ring.stage * P::STAGE);
    bs = gemm::ptx::moved(bs, ring.stage * P::STAGE);
    // wgmma's A is Bsᵀ, of which 64 columns of C lie side by side; its B is Asᵀ, of which steps along K do.
#pragma unroll
    for (int k = 0; k < BK; k += WGMMA_K) {
        gemm::ptx::wgmma<T, P::BM, Major::row, Major::k>(acc, gemm::ptx::moved(bs, k * SPAN),
                                                         gemm::ptx::moved(as, 2 * k), !first || k > 0);
    }
    gemm::ptx::wgmma_commit();
    gemm::ptx::wgmma_wait<1>();  // the batch before has read its stage
    if (!first) give_back<P>(barriers, ring.before);
    ring.next();
}

/// A box of a consumer's packed results on its way to C, by `to`: T [BOX_ROWS][BOX], swizzled as map_c says.
/// again: the next box takes the place of the box before. at: where the consumer's results begin.
template <class P>
__device__ __forceinline__ void store_box(char* to, bool again, const CUtensorMap& map_c,
                                          const std::uint32_t (&packed)[P::BM / 4], int box, Place at) {
    const unsigned t = threadIdx.x % WARPGROUP, warp = t / 32, lane = t % 32;
    // A warp has 16 columns of the box, so two units of 16 bytes of each row. stmatrix transposes four
    // matrices, 8 rows of the box by one unit each: the first two are side by side, the others below them.
    const unsigned y = lane / 16 * 8 + lane % 8, unit = warp * 2 + lane / 8 % 2;
#pragma unroll
    for (int r = 0; r < P::BOX_ROWS; r += 16) {
        const std::uint32_t* const two_by_two = &packed[(box * P::BOX_ROWS + r) / 4];
        char* const place = to + (r + y) * SPAN + (unit ^ y % 8) * 16;
        if (r + 16 <= P::BOX_ROWS) {
            gemm::ptx::stmatrix_trans<4>(place, {two_by_two[0], two_by_two[1], two_by_two[2], two_by_two[3]});
        } else {
            gemm::ptx::stmatrix_trans<2>(place, {two_by_two[0], two_by_two[1]});
        }
    }
    // gap: store
    gemm::ptx::fence_proxy_async();                       // each thread, for what it has written
    if (again && t == 0) gemm::ptx::bulk_wait_read<0>();  // the box before has been read
    gemm::ptx::barrier_sync(1 + threadIdx.x / WARPGROUP, WARPGROUP);
    if (t == 0) {
        gemm::ptx::tma_store(map_c, {at.col, at.row + box * P::BOX_ROWS}, to);
        gemm::ptx::bulk_commit();
    }
    // end gap
}

/// What TMA cannot do, by the threads that have the sums: acc += beta·C, and C = acc if `store`. Box by box,
/// so that the loads of one are on their way together. C: M×N, pitch ldc; the sums begin at (at.row, at.col).
template <class P, class T>
__device__ __forceinline__ void reach_c(float (&acc)[P::BM / 2], Place at, std::int64_t M, std::int64_t N,
                                        float beta, T* C, std::int64_t ldc, bool store) {
    constexpr int SUMS = P::BOX_ROWS / 2;  // of a thread in a box
    const auto element = [&](int e) -> T* {
        const gemm::ptx::WgmmaPlace in = gemm::ptx::wgmma_sum(threadIdx.x % WARPGROUP, e);  // of Cᵀ
        const std::int64_t row = at.row + static_cast<int>(in.column),
                           col = at.col + static_cast<int>(in.row);
        return row < M && col < N ? &C[row * ldc + col] : nullptr;
    };
#pragma unroll
    for (int e0 = 0; e0 < P::BM / 2; e0 += SUMS) {
#pragma unroll
        for (int e = e0; e < e0 + SUMS && beta != 0.0f; ++e) {  // BLAS: beta == 0 must not read C
            if (const T* const c = element(e)) acc[e] += beta * gemm::to_float(*c);
        }
#pragma unroll
        for (int e = e0; e < e0 + SUMS && store; ++e) {
            if (T* const c = element(e)) *c = gemm::from_float<T>(acc[e]);
        }
    }
}

/// A consumer's piece of every C tile of the block, 64 columns: multiplied, packed, and stored during the
/// next one. boxes: TMA may write C; DIRECT: it may not, or beta is not 0. C: M×N, pitch ldc.
template <class T, class P, bool DIRECT>
__device__ __forceinline__ void consume(char* shared, Barriers<P>& barriers, int consumer, Tiles all,
                                        int steps, std::int64_t M, std::int64_t N, float alpha, float beta,
                                        T* C, std::int64_t ldc, const CUtensorMap& map_c, bool boxes) {
    const unsigned base = __shfl_sync(0xffffffffu, gemm::ptx::shared_address(shared), 0);
    const std::uint64_t as =
        gemm::ptx::encode({.start = base, .stride = 8 * SPAN, .swizzle = WgmmaSwizzle::bytes128});
    char* const bs_at = shared + P::BS + consumer * BK * SPAN;  // the consumer's Bs in stage 0
    const std::uint64_t bs = gemm::ptx::moved(as, P::BS + consumer * BK * SPAN);
    char* const out = shared + P::STAGES * P::STAGE + consumer * OUT_BOXES * P::OUT_BOX;
    Ring<P> ring;
    float acc[P::BM / 2];             // of Cᵀ, 64×BM: wgmma_sum() says which
    std::uint32_t packed[P::BM / 4];  // results of the C tile before, two rows each, that begin at `at`
    Place at{};
    bool pending = false;  // whether there are any
    unsigned slot = 0;
#pragma unroll 1
    for (unsigned i = blockIdx.x; i < all.m * all.n; i += gridDim.x) {
        Place here = place_of<P>(i, all);
        here.col += consumer * WGMMA_M;
        gemm::ptx::wgmma_fence(acc);
        // During each of the first k-tiles a box of the tile before leaves.
#pragma unroll
        for (int box = 0; box < P::BOXES; ++box) {
            if (box == 0 || box < steps) multiply<P, T>(acc, barriers, ring, as, bs, box == 0);
            // gap: leave
            if (pending) {
                store_box<P>(out + slot * P::OUT_BOX, true, map_c, packed, box, at);
                slot ^= 1;
            }
            // end gap
        }
#pragma unroll 1
        for (int step = P::BOXES; step < steps; ++step) multiply<P, T>(acc, barriers, ring, as, bs, false);
        gemm::ptx::wgmma_wait<0>(acc);
        give_back<P>(barriers, ring.before);

        if (alpha != 1.0f) {  // a multiplication for each sum, while the tensor cores may idle
#pragma unroll
            for (float& sum : acc) sum *= alpha;
        }
        if constexpr (DIRECT) {
            reach_c<P>(acc, here, M, N, beta, C, ldc, !boxes);
            if (!boxes) continue;
        }
        // gap: pack
#pragma unroll
        for (int j = 0; j < P::BM / 4; ++j) packed[j] = gemm::pack2<T>(acc[2 * j], acc[2 * j + 1]);
        at = here;
        pending = true;
        // end gap
    }
    // gap: rest
    // The stages are empty: each box of the last C tile finds a place of its own, where a stage's Bs was.
#pragma unroll
    for (int box = 0; box < P::BOXES; ++box) {
        if (pending) store_box<P>(bs_at + box * P::STAGE, false, map_c, packed, box, at);
    }
    // Shared memory lives as long as the block.
    if (threadIdx.x % WARPGROUP == 0) gemm::ptx::bulk_wait_read<0>();
    // end gap
}

// A: M×K and B: K×N, as their tensor maps say.  C: M×N, pitch ldc.  All row-major. K > 0. boxes: map_c is
// C's.
template <class T, class P, bool DIRECT>
__global__ void __launch_bounds__(THREADS, 1)
    hgemm_overlapped(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                     const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                     float beta, T* C, std::int64_t ldc, const __grid_constant__ CUtensorMap map_c,
                     bool boxes) {
    // Stages: T As[BM][BK], then for each consumer T Bs[BK][BOX]. After the stages each has its boxes of
    // results.
    extern __shared__ __align__(1024) char shared[];
    __shared__ Barriers<P> barriers;
    // By a shuffle the compiler knows that all lanes of a warp have the same, and computes with it once a
    // warp.
    const int t = threadIdx.x, consumer = __shfl_sync(0xffffffffu, t / WARPGROUP, 0);
    if (t == CONSUMERS * WARPGROUP) {  // the first loads need not wait for the maps
        gemm::ptx::prefetch_tensor_map(map_a);
        gemm::ptx::prefetch_tensor_map(map_b);
        for (Mbarrier& barrier : barriers.full) gemm::ptx::mbarrier_init(barrier, 1);
        for (Mbarrier& barrier : barriers.empty) gemm::ptx::mbarrier_init(barrier, CONSUMERS);
        gemm::ptx::fence_mbarrier_init();
    }
    __syncthreads();  // nobody uses an mbarrier before it is one

    const Tiles all = gemm::tiles_of(M, N, P::BM, BN);
    const int steps = static_cast<int>((K + BK - 1) / BK);  // at least 1
    if (consumer == CONSUMERS) {
        gemm::ptx::fewer_registers<PRODUCER_REGISTERS>();
        if (t == CONSUMERS * WARPGROUP) produce<P>(shared, barriers, map_a, map_b, all, steps);
    } else {
        gemm::ptx::more_registers<CONSUMER_REGISTERS>();
        consume<T, P, DIRECT>(shared, barriers, consumer, all, steps, M, N, alpha, beta, C, ldc, map_c,
                              boxes);
    }
}

const gemm::Tile tile{256, BN, BK};

/// what(Policy{}) with the one of this number, of POLICIES.
template <class What, class P, class... Others>
auto with_one_of(int number, const What& what, P policy, Others... others) {
    if constexpr (sizeof...(Others) > 0) {
        if (number > 0) return with_one_of(number - 1, what, others...);
    }
    return what(policy);
}
constexpr int POLICIES = 8;
template <class What>
auto with_policy(int number, const What& what) {
    return with_one_of(number, what, Policy<256, 4>{}, Policy<224, 4>{}, Policy<192, 4>{}, Policy<160, 4>{},
                       Policy<144, 3>{}, Policy<128, 2>{}, Policy<112, 2>{}, Policy<64, 1>{});
}

template <class P>
Tiles tiles_of(const gemm::Problem& p) {
    return gemm::tiles_of(p.M, p.N, P::BM, BN);
}

/// How often an SM has a tile of C, at most.
unsigned rounds_of(Tiles all) {
    const auto most = static_cast<unsigned>(gemm::multiprocessors());
    return (all.m * all.n + most - 1) / most;
}

/// As few blocks as need no more rounds.
unsigned blocks_of(Tiles all) {
    const unsigned rounds = rounds_of(all);
    return rounds == 0 ? 0 : (all.m * all.n + rounds - 1) / rounds;
}

/// Whether TMA may write C: whole units of 16 bytes, at multiples of 16 bytes.
bool stores_boxes(const gemm::Problem& p) {
    return p.M > 0 && p.N > 0 && reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 && (p.ldc | p.N) % 8 == 0;
}

/// About how many cycles it takes, on an H200. A k-tile takes as long as its products, which need 4·BM and
/// get eight ninths of the cycles, or as its tiles' way to shared memory, 56 bytes a cycle, whichever is
/// longer. A C tile takes some for its beginning and its end, and for boxes that no products hide: those
/// that find no k-tile, and the last tile's.
template <class P>
double time_of(const gemm::Problem& p) {
    const auto steps = static_cast<int>(gemm::ceil_div(p.K, BK));
    const int step = std::max(9 * P::BM / 2, P::STAGE / 56);
    const int alone = 300 + 6 * P::BOX_ROWS * std::max(P::BOXES - steps, 0);
    return rounds_of(tiles_of<P>(p)) * (static_cast<double>(steps) * step + alone) + 12 * P::BM;
}

int policy_for(const gemm::Problem& p) {
    const auto time = [&](int number) {
        return with_policy(number, [&](auto policy) { return time_of<decltype(policy)>(p); });
    };
    int best = 0;
    for (int number = 1; number < POLICIES; ++number) {
        // A lower tile moves more bytes for the same products: it has to be worth 1 %.
        if (time(number) < 0.99 * time(best)) best = number;
    }
    return best;
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    int policy = 0;
    unsigned blocks = 0;
    bool boxes = false;
    CUtensorMap map_c{};
};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    plan->policy = policy_for(p);
    plan->boxes = stores_boxes(p);
    with_policy(plan->policy, [&](auto policy) {
        using P = decltype(policy);
        gemm::prepare_operands(*plan, p, P::BM, BK);
        plan->blocks = blocks_of(tiles_of<P>(p));
        if (plan->boxes) plan->map_c = gemm::tma_map(p.variant.C, p.C, p.M, p.N, p.ldc, P::BOX_ROWS);
    });
    return plan;
}

template <class T, class P>
void launch_policy(const gemm::Problem& p, const Operands& operands, cudaStream_t stream) {
    const bool direct = p.beta != 0.0f || !operands.boxes;
    const auto kernel = direct ? hgemm_overlapped<T, P, true> : hgemm_overlapped<T, P, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);  // beyond 48 KiB
    kernel<<<operands.blocks, THREADS, SHARED, stream>>>(p.M, p.N, p.K, p.alpha, operands.map_a,
                                                         operands.map_b, p.beta, static_cast<T*>(p.C), p.ldc,
                                                         operands.map_c, operands.boxes);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        with_policy(operands.policy, [&](auto policy) {
            launch_policy<decltype(zero), decltype(policy)>(p, operands, stream);
        });
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return with_policy(policy_for(p), [&](auto policy) -> gemm::Owner {
        using P = decltype(policy);
        const Tiles all = tiles_of<P>(p);
        const auto y = static_cast<unsigned>(row % P::BM), x = static_cast<unsigned>(col % BN);
        const auto m = static_cast<unsigned>(row / P::BM), n = static_cast<unsigned>(col / BN);
        const unsigned block = gemm::number_of<GROUP>({m, n}, all) % blocks_of(all);
        return {{block, 0, 0}, {x / 16 * 32 + x % 8 * 4 + y % 8 / 2, 0, 0}};
    });
}

const gemm::Constant constants[] = {{"WGMMA_M", WGMMA_M},
                                    {"WGMMA_N", tile.BM},
                                    {"WGMMA_K", WGMMA_K},
                                    {"BOX", BOX},
                                    {"STAGES", Policy<256, 4>::STAGES},
                                    {"CONSUMERS", CONSUMERS},
                                    {"BOX_ROWS", Policy<256, 4>::BOX_ROWS},
                                    {"OUT_BOXES", OUT_BOXES},
                                    {"PRODUCER_REGISTERS", PRODUCER_REGISTERS},
                                    {"CONSUMER_REGISTERS", CONSUMER_REGISTERS}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(THREADS), .dynamic_shared_bytes = SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_overlapped<__nv_bfloat16, Policy<256, 4>, false>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_overlapped<__half, Policy<256, 4>, false>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration}};

// Each policy, in several rounds: its K has more k-tiles than a C tile has boxes, and fewer in a variation of
// the case.
const gemm::Reach reaching[] = {
    {.path = "256 rows, and a ring that goes on", .M = 768, .N = 136, .K = 264, .multiprocessors = 1},
    {.path = "224 rows", .M = 1304, .N = 136, .K = 264, .multiprocessors = 1},
    {.path = "192 rows", .M = 768, .N = 264, .K = 264, .multiprocessors = 4},
    {.path = "160 rows", .M = 792, .N = 136, .K = 264, .every_type = true, .multiprocessors = 5},
    {.path = "144 rows", .M = 776, .N = 136, .K = 264, .multiprocessors = 3},
    {.path = "128 rows", .M = 768, .N = 136, .K = 264, .multiprocessors = 3},
    {.path = "112 rows", .M = 776, .N = 136, .K = 264, .multiprocessors = 7},
    {.path = "64 rows", .M = 168, .N = 136, .K = 200, .multiprocessors = 3},
    {.path = "the second group of C tiles", .M = 2050, .N = 8, .K = 8}};

extern const gemm::Lesson lesson{.name = "13e_overlapped",
                                 .part = 2,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_13e
