// 14c parts, wgmma — lesson 13e's kernel, put together from parts. Its mainloop has two sides: the
// producer's, load(), and the consumers', multiply(), which lets an epilogue have its turns between k-tiles.
//
// Changed since 14b: another mainloop, loader, atom and epilogue; a scheduler that both roles ask, each for
// itself; and a table of sizes, of which the launch chooses one. Should be as fast as 13e: the compiler
// inlines every part, and its loops have the same loads, products and barriers.

#include <algorithm>
#include <cstdint>

#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/policies.hpp"
#include "common/parts/scheduler.hpp"
#include "common/parts/warp_specialized.hpp"
#include "common/parts/wgmma/atom.hpp"
#include "common/parts/wgmma/epilogue.hpp"
#include "common/parts/wgmma/loader.hpp"
#include "common/parts/wgmma/shape.hpp"
#include "common/ptx/tma.hpp"
#include "common/tma/launch.hpp"

namespace lesson_14c {

/// The parts of a composition. S: its sizes. DIRECT: TMA may not write C, or C is read.
template <class T, class S, bool DIRECT>
struct Parts {
    using Scheduler = gemm::PersistentFewest<gemm::Grouped<8>>;
    using Mainloop = gemm::WarpSpecialized<gemm::wgmma::Loader<S>, gemm::wgmma::Atom<T, S>, S::STAGES>;
    using Epilogue = gemm::wgmma::Epilogue<T, S, DIRECT, gemm::LinearCombination>;
    static_assert(gemm::TileScheduler<Scheduler>);
};

// A and B as their tensor maps say; C: see gemm::Arguments. size: C tiles of BM×BN, k-tiles of BK, at least
// one. boxes: map_c is C's.
template <class T, class S, bool DIRECT>
__global__ void __launch_bounds__(S::THREADS, 1)
    hgemm_of_parts(gemm::Arguments<T> arguments, gemm::WorkSize size, gemm::LinearCombination output,
                   const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                   const __grid_constant__ CUtensorMap map_c, bool boxes) {
    using P = Parts<T, S, DIRECT>;
    extern __shared__ __align__(1024) char shared[];  // stages, then each consumer's boxes of results
    __shared__ typename P::Mainloop::Barriers barriers;
    // By a shuffle the compiler knows that all lanes of a warp have the same role.
    const int t = threadIdx.x, role = __shfl_sync(0xffffffffu, t / S::WARPGROUP, 0);
    if (t == S::CONSUMERS * S::WARPGROUP) {  // the first loads need not wait for the maps
        gemm::ptx::prefetch_tensor_map(map_a);
        gemm::ptx::prefetch_tensor_map(map_b);
        barriers.init(S::CONSUMERS);
    }
    __syncthreads();  // nobody uses an mbarrier before it is one

    typename P::Mainloop mainloop{{shared, map_a, map_b}, {shared, role}, barriers};
    if (role == S::CONSUMERS) {
        gemm::ptx::fewer_registers<S::PRODUCER_REGISTERS>();
        if (t != S::CONSUMERS * S::WARPGROUP) return;
        // A scheduler for each role: what both share is in registers of the threads, from where each load
        // would have to fetch its coordinates.
        typename P::Scheduler scheduler{size};
        gemm::Work work = scheduler.first();
        // gap: produce
        do {
            mainloop.load(work);
        } while (scheduler.next(work));
        // end gap
    } else {
        gemm::ptx::more_registers<S::CONSUMER_REGISTERS>();
        typename P::Scheduler scheduler{size};
        gemm::Work work = scheduler.first();
        typename P::Epilogue epilogue{arguments, output, map_c, boxes, shared, role};
        // gap: consume
        typename P::Mainloop::Sums sums;
#pragma unroll 1
        do {
            // During each of the first k-tiles a box of the previous C tile leaves.
            mainloop.template multiply<S::BOXES>(sums, work, [&](int box) { epilogue.leave(box); });
            epilogue.take(sums, work);
        } while (scheduler.next(work));
        epilogue.finish();
        // end gap
    }
}

/// The sizes that a launch chooses from.
using Policies =
    gemm::Policies<gemm::wgmma::Shape<256, 4>, gemm::wgmma::Shape<224, 4>, gemm::wgmma::Shape<192, 4>,
                   gemm::wgmma::Shape<160, 4>, gemm::wgmma::Shape<144, 3>, gemm::wgmma::Shape<128, 2>,
                   gemm::wgmma::Shape<112, 2>, gemm::wgmma::Shape<64, 1>>;
using Tallest = gemm::wgmma::Shape<256, 4>;
const gemm::Tile tile{Tallest::BM, Tallest::BN, Tallest::BK};

template <class S>
gemm::Tiles tiles_of(const gemm::Problem& p) {
    return gemm::tiles_of(p.M, p.N, S::BM, S::BN);
}

/// How many blocks run at the same time, one on each SM.
unsigned resident() {
    return static_cast<unsigned>(gemm::multiprocessors());
}

using Scheduler = Parts<__nv_bfloat16, Tallest, false>::Scheduler;  // knows neither types nor sizes
template <class S>
unsigned blocks_of(const gemm::Problem& p) {
    return Scheduler::blocks_of(tiles_of<S>(p), resident());
}

/// Whether TMA may write C: whole units of 16 bytes, at multiples of 16 bytes.
bool stores_boxes(const gemm::Problem& p) {
    return p.M > 0 && p.N > 0 && reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 && (p.ldc | p.N) % 8 == 0;
}

/// About how many cycles it takes, on an H200. A k-tile takes as long as its products, which need 4·BM and
/// get eight ninths of the cycles, or as its tiles' way to shared memory, 56 bytes a cycle, whichever is
/// longer. A C tile takes some for its beginning and its end, and for boxes that no products hide: those
/// that find no k-tile, and the last tile's.
template <class S>
double time_of(const gemm::Problem& p) {
    const unsigned rounds = Scheduler::rounds_of(tiles_of<S>(p), resident());
    const auto steps = static_cast<int>(gemm::ceil_div(p.K, S::BK));
    const int step = std::max(9 * S::BM / 2, S::STAGE / 56);
    const int alone = 300 + 6 * S::BOX_ROWS * std::max(S::BOXES - steps, 0);
    return rounds * (static_cast<double>(steps) * step + alone) + 12 * S::BM;
}

int policy_for(const gemm::Problem& p) {
    const auto time = [&](int number) {
        return Policies::with(number, [&](auto policy) { return time_of<decltype(policy)>(p); });
    };
    int best = 0;
    for (int number = 1; number < Policies::COUNT; ++number) {
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
    Policies::with(plan->policy, [&](auto policy) {
        using S = decltype(policy);
        gemm::prepare_operands(*plan, p, S::BM, S::BK);
        plan->blocks = blocks_of<S>(p);
        if (plan->boxes) plan->map_c = gemm::tma_map(p.variant.C, p.C, p.M, p.N, p.ldc, S::BOX_ROWS);
    });
    return plan;
}

template <class T, class S>
void launch_policy(const gemm::Problem& p, const Operands& operands, cudaStream_t stream) {
    const bool direct = p.beta != 0.0f || !operands.boxes;
    const auto kernel = direct ? hgemm_of_parts<T, S, true> : hgemm_of_parts<T, S, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);  // beyond 48 KiB
    const gemm::WorkSize size{tiles_of<S>(p), static_cast<int>(gemm::ceil_div(p.K, S::BK))};
    kernel<<<operands.blocks, S::THREADS, S::SHARED, stream>>>(
        gemm::arguments_of<T>(p), size, gemm::LinearCombination{p.alpha, p.beta}, operands.map_a,
        operands.map_b, operands.map_c, operands.boxes);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        Policies::with(operands.policy, [&](auto policy) {
            launch_policy<decltype(zero), decltype(policy)>(p, operands, stream);
        });
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return Policies::with(policy_for(p), [&](auto policy) -> gemm::Owner {
        using S = decltype(policy);
        const unsigned block =
            Scheduler::block_of(gemm::tile_of(row, col, S::BM, S::BN), tiles_of<S>(p), blocks_of<S>(p));
        const unsigned thread =
            gemm::wgmma::thread_of(static_cast<unsigned>(row % S::BM), static_cast<unsigned>(col % S::BN));
        return {{block, 0, 0}, {thread, 0, 0}};
    });
}

/// FP16's kernels are like BF16's.
gemm::Tiling tiling(const gemm::Problem& p) {
    return Policies::with(policy_for(p), [&](auto policy) -> gemm::Tiling {
        using S = decltype(policy);
        return {
            {S::BM, S::BN, S::BK}, 1,
            blocks_of<S>(p),       reinterpret_cast<const void*>(&hgemm_of_parts<__nv_bfloat16, S, false>),
            dim3(S::THREADS),      S::SHARED};
    });
}

const gemm::Constant constants[] = {{"WGMMA_M", Tallest::WGMMA_M},
                                    {"WGMMA_N", Tallest::BM},
                                    {"WGMMA_K", Tallest::WGMMA_K},
                                    {"BOX", Tallest::BOX},
                                    {"STAGES", Tallest::STAGES},
                                    {"CONSUMERS", Tallest::CONSUMERS},
                                    {"BOX_ROWS", Tallest::BOX_ROWS},
                                    {"OUT_BOXES", Tallest::OUT_BOXES},
                                    {"PRODUCER_REGISTERS", Tallest::PRODUCER_REGISTERS},
                                    {"CONSUMER_REGISTERS", Tallest::CONSUMER_REGISTERS}};
const gemm::Configuration configuration{.tile = tile,
                                        .constants = constants,
                                        .block = dim3(Tallest::THREADS),
                                        .dynamic_shared_bytes = Tallest::SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_of_parts<__nv_bfloat16, Tallest, false>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_of_parts<__half, Tallest, false>),
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

extern const gemm::Lesson lesson{.name = "14c_wgmma",
                                 .part = 3,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>,
                                 .tiling = tiling};

}  // namespace lesson_14c
