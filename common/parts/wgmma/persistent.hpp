// Device level: what 14c's launch does, for lessons that have another composition beside it: persistent
// blocks with a producer and two consumers, and a table of sizes, of which a launch takes the fastest by a
// model of its time. For kernel.cu alone, which nvcc compiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

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
#include "common/tma/operands.hpp"

namespace gemm::wgmma::persistent {

/// The parts of a composition. S: its sizes. DIRECT: TMA may not write C, or C is read.
template <class T, class S, bool DIRECT>
struct Parts {
    using Scheduler = PersistentFewest<Grouped<8>>;
    using Mainloop = WarpSpecialized<Loader<S>, Atom<T, S>, S::STAGES>;
    using Epilogue = wgmma::Epilogue<T, S, DIRECT, LinearCombination>;
    static_assert(TileScheduler<Scheduler>);
};

/// What the kernel does that calls it: blocks of S::THREADS threads, one block an SM. A and B as their
/// tensor maps say; C: see Arguments. size: C tiles of BM×BN, k-tiles of BK, at least one. boxes: map_c is
/// C's. shared: S::SHARED bytes at a multiple of 1024: stages, then each consumer's boxes of results;
/// `barriers` is in shared memory, too.
template <class T, class S, bool DIRECT>
__device__ __forceinline__ void compute(const Arguments<T>& arguments, const WorkSize& size,
                                        const LinearCombination& output, const CUtensorMap& map_a,
                                        const CUtensorMap& map_b, const CUtensorMap& map_c, bool boxes,
                                        char* shared,
                                        typename Parts<T, S, DIRECT>::Mainloop::Barriers& barriers) {
    using P = Parts<T, S, DIRECT>;
    // By a shuffle the compiler knows that all lanes of a warp have the same role.
    const int t = threadIdx.x, role = __shfl_sync(0xffffffffu, t / S::WARPGROUP, 0);
    if (t == S::CONSUMERS * S::WARPGROUP) {  // the first loads need not wait for the maps
        ptx::prefetch_tensor_map(map_a);
        ptx::prefetch_tensor_map(map_b);
        barriers.init(S::CONSUMERS);
    }
    __syncthreads();  // nobody uses an mbarrier before it is one

    typename P::Mainloop mainloop{{shared, map_a, map_b}, {shared, role}, barriers};
    if (role == S::CONSUMERS) {
        ptx::fewer_registers<S::PRODUCER_REGISTERS>();
        if (t != S::CONSUMERS * S::WARPGROUP) return;
        // A scheduler for each role: what both share is in registers of the threads, from where each load
        // would have to fetch its coordinates.
        typename P::Scheduler scheduler{size};
        Work work = scheduler.first();
        do {
            mainloop.load(work);
        } while (scheduler.next(work));
    } else {
        ptx::more_registers<S::CONSUMER_REGISTERS>();
        typename P::Scheduler scheduler{size};
        Work work = scheduler.first();
        typename P::Epilogue epilogue{arguments, output, map_c, boxes, shared, role};
        typename P::Mainloop::Sums sums;
#pragma unroll 1
        do {
            // During each of the first k-tiles a box of the previous C tile leaves.
            mainloop.template multiply<S::BOXES>(sums, work, [&](int box) { epilogue.leave(box); });
            epilogue.take(sums, work);
        } while (scheduler.next(work));
        epilogue.finish();
    }
}

/// The sizes that a launch chooses from.
using Sizes = Policies<Shape<256, 4>, Shape<224, 4>, Shape<192, 4>, Shape<160, 4>, Shape<144, 3>,
                       Shape<128, 2>, Shape<112, 2>, Shape<64, 1>>;
using Tallest = Shape<256, 4>;
template <class S>
Tiles tiles_of(const Problem& p) {
    return gemm::tiles_of(p.M, p.N, S::BM, S::BN);
}

/// How many blocks run at the same time, one on each SM.
inline unsigned resident() {
    return static_cast<unsigned>(multiprocessors());
}

using Scheduler = Parts<__nv_bfloat16, Tallest, false>::Scheduler;  // knows neither types nor sizes
template <class S>
unsigned blocks_of(const Problem& p) {
    return Scheduler::blocks_of(tiles_of<S>(p), resident());
}

/// Whether TMA may write C: whole units of 16 bytes, at multiples of 16 bytes.
inline bool stores_boxes(const Problem& p) {
    return p.M > 0 && p.N > 0 && reinterpret_cast<std::uintptr_t>(p.C) % 16 == 0 && (p.ldc | p.N) % 8 == 0;
}

/// About how many cycles it takes, on an H200. A k-tile takes as long as its products, which need 4·BM and
/// get eight ninths of the cycles, or as its tiles' way to shared memory, 56 bytes a cycle, whichever is
/// longer. A C tile takes some for its beginning and its end, and for boxes that no products hide: those
/// that find no k-tile, and the last tile's.
template <class S>
double time_of(const Problem& p) {
    const unsigned rounds = Scheduler::rounds_of(tiles_of<S>(p), resident());
    const auto steps = static_cast<int>(ceil_div(p.K, S::BK));
    const int step = std::max(9 * S::BM / 2, S::STAGE / 56);
    const int alone = 300 + 6 * S::BOX_ROWS * std::max(S::BOXES - steps, 0);
    return rounds * (static_cast<double>(steps) * step + alone) + 12 * S::BM;
}

inline int policy_for(const Problem& p) {
    const auto time = [&](int number) {
        return Sizes::with(number, [&](auto policy) { return time_of<decltype(policy)>(p); });
    };
    int best = 0;
    for (int number = 1; number < Sizes::COUNT; ++number) {
        // A lower tile moves more bytes for the same products: it has to be worth 1 %.
        if (time(number) < 0.99 * time(best)) best = number;
    }
    return best;
}

/// What f returns for the size that a launch takes, and how many C tiles one block at most has after another.
template <class F>
auto with_size(const Problem& p, const F& f) {
    return Sizes::with(policy_for(p), [&](auto policy) {
        return f(policy, Scheduler::rounds_of(tiles_of<decltype(policy)>(p), resident()));
    });
}

/// What a problem needs before its launch, beside A and B.
struct Chosen {
    int policy = 0;
    unsigned blocks = 0;
    bool boxes = false;
    CUtensorMap map_c{};
};

/// For prepare(), with A and B for boxes as high as the C tiles.
inline Chosen prepare(TmaOperands& operands, const Problem& p) {
    Chosen plan{policy_for(p), 0, stores_boxes(p), {}};
    Sizes::with(plan.policy, [&](auto policy) {
        using S = decltype(policy);
        prepare_operands(operands, p, S::BM, S::BK);
        plan.blocks = blocks_of<S>(p);
        if (plan.boxes) plan.map_c = tma_map(p.variant.C, p.C, p.M, p.N, p.ldc, S::BOX_ROWS);
    });
    return plan;
}

/// For launch(). M, N and K are not 0. T: the elements' type. kernel(S{}, direct): the kernel that calls
/// compute() with the two, direct a std::true_type or a std::false_type.
template <class T, class Kernel>
void launch(const Problem& p, const TmaOperands& operands, const Chosen& plan, cudaStream_t stream,
            const Kernel& kernel) {
    Sizes::with(plan.policy, [&](auto policy) {
        using S = decltype(policy);
        const bool direct = p.beta != 0.0f || !plan.boxes;
        const auto chosen = direct ? kernel(policy, std::true_type{}) : kernel(policy, std::false_type{});
        // Beyond 48 KiB of shared memory CUDA wants to be told.
        cudaFuncSetAttribute(chosen, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
        const WorkSize size{tiles_of<S>(p), static_cast<int>(ceil_div(p.K, S::BK))};
        const cudaLaunchConfig_t config{dim3(plan.blocks), dim3(S::THREADS), S::SHARED, stream, nullptr, 0};
        cudaLaunchKernelEx(&config, chosen, arguments_of<T>(p), size, LinearCombination{p.alpha, p.beta},
                           operands.map_a, operands.map_b, plan.map_c, plan.boxes);
    });
}

/// For owner().
inline Owner owner(const Problem& p, std::int64_t row, std::int64_t col) {
    return Sizes::with(policy_for(p), [&](auto policy) -> Owner {
        using S = decltype(policy);
        const unsigned block =
            Scheduler::block_of(tile_of(row, col, S::BM, S::BN), tiles_of<S>(p), blocks_of<S>(p));
        const unsigned thread =
            thread_of(static_cast<unsigned>(row % S::BM), static_cast<unsigned>(col % S::BN));
        return {{block, 0, 0}, {thread, 0, 0}};
    });
}

/// For tiling(). kernel(S{}): a kernel that calls compute() with it.
template <class Kernel>
Tiling tiling(const Problem& p, const Kernel& kernel) {
    return Sizes::with(policy_for(p), [&](auto policy) -> Tiling {
        using S = decltype(policy);
        return {{S::BM, S::BN, S::BK}, 1,
                blocks_of<S>(p),       reinterpret_cast<const void*>(kernel(policy)),
                dim3(S::THREADS),      S::SHARED};
    });
}

}  // namespace gemm::wgmma::persistent
