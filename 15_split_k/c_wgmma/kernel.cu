// 15c split-K, wgmma — where A has few rows, the blocks of a cluster share a C tile: each multiplies a slice
// of K, and all of them add up the sums, which they read in each other's shared memory.
//
// Changed since 14c: a composition for up to 64 rows, with lower C tiles, two blocks on an SM, a scheduler
// for clusters, and ClusterSum in place of the epilogue. Should be as fast as B comes from DRAM.

#include <algorithm>
#include <cstdint>
#include <memory>

#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/cluster_split_k.hpp"
#include "common/parts/four.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/policies.hpp"
#include "common/parts/scheduler.hpp"
#include "common/parts/warp_specialized.hpp"
#include "common/parts/wgmma/atom.hpp"
#include "common/parts/wgmma/loader.hpp"
#include "common/parts/wgmma/persistent.hpp"
#include "common/parts/wgmma/short_shape.hpp"
#include "common/ptx/barrier.hpp"
#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"
#include "common/tma/launch.hpp"

namespace lesson_15c {

constexpr int BLOCKS = 2;       // on an SM, where there are few rows
constexpr int MOST_SLICES = 8;  // of a C tile: blocks of a cluster, of which every GPU with clusters takes 8
constexpr int IN_FLIGHT = 75;   // KiB on their way to each SM, on average, that keep DRAM busy

/// Each block of the cluster writes every so many-th row of the C tile: to each element it adds up the sums
/// of all slices in their order, so that every launch gives the same bits. By the consumers alone; other
/// threads of the block have returned or will, without a barrier. S: a ShortShape.
template <class T, class S>
struct ClusterSum {
    using Sums = float[S::BM / 2];  // of a thread: a piece of Cᵀ, 64×BM
    static constexpr int THREADS = S::CONSUMERS * S::WARPGROUP, WARPS = THREADS / 32;
    static constexpr int EACH = S::BN / 32;  // columns of a thread
    static_assert(EACH == 4, "a thread reads a float4 of each slice");
    // Rows of a warp whose sums are on their way together: the more, the more registers.
    static constexpr int AT_ONCE = MOST_SLICES <= 4 ? 4 : 2;

    const gemm::Arguments<T>& out;
    const gemm::LinearCombination& output;
    float* tile;  // [BM][PITCH] in shared memory, where the stages were: the block's sums

    /// All that the block has loaded has been multiplied, by this thread's warpgroup at least.
    __device__ __forceinline__ void store(const Sums& sums, const gemm::Slice& work) const {
        gemm::ptx::barrier_sync(1, THREADS);  // the other consumers have read the stages, too
        leave(sums);
        // gap: meet
        if (work.slices == 1) {
            gemm::ptx::barrier_sync(1, THREADS);
        } else {
            gemm::ptx::cluster_sync();  // all slices' sums are there
        }
        // end gap
        add(work);
        if (work.slices > 1) gemm::ptx::cluster_wait();  // shared memory lives as long as its block
    }

  private:
    /// By the pitch a warp's 32 elements are in 32 banks: 4 rows, two apart, of 8 columns.
    __device__ __forceinline__ void leave(const Sums& sums) const {
        const unsigned t = threadIdx.x % S::WARPGROUP, first = threadIdx.x / S::WARPGROUP * S::WGMMA_M;
#pragma unroll
        for (int e = 0; e < S::BM / 2; ++e) {
            const gemm::ptx::WgmmaPlace at = gemm::ptx::wgmma_sum(t, e);  // of Cᵀ
            tile[at.column * S::PITCH + first + at.row] = sums[e];
        }
    }

    /// A warp has a row. All loads of several rows, from all blocks, come before the first addition.
    __device__ __forceinline__ void add(const gemm::Slice& work) const {
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM,
                           col = std::int64_t{work.tile.n} * S::BN + threadIdx.x % 32 * EACH;
        const int rows = out.M - row0 < S::BM ? static_cast<int>(out.M - row0) : S::BM;
        const int x = threadIdx.x % 32 * EACH, step = work.slices * WARPS,
                  first = static_cast<int>(threadIdx.x / 32) * work.slices + work.slice;
        for (int y = first; y < rows; y += AT_ONCE * step) {
            // Zeros where there is no such slice.
            float4 parts[AT_ONCE][MOST_SLICES] = {};
            // gap: read
#pragma unroll
            for (int s = 0; s < MOST_SLICES; ++s) {
                if (s >= work.slices) break;
                const float* const from = work.slices == 1 ? tile : gemm::ptx::at_rank(tile, s);
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    const int row = y + i * step;
                    if (row < rows) {
                        parts[i][s] = *reinterpret_cast<const float4*>(&from[row * S::PITCH + x]);
                    }
                }
            }
            // end gap
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) {
                float4 total = parts[i][0];
#pragma unroll
                for (int s = 1; s < MOST_SLICES; ++s) {
                    total.x += parts[i][s].x, total.y += parts[i][s].y;
                    total.z += parts[i][s].z, total.w += parts[i][s].w;
                }
                if (y + i * step < rows) gemm::store_four(out, output, row0 + y + i * step, col, total);
            }
        }
        if (work.slices > 1) gemm::ptx::cluster_arrive_relaxed();  // the thread has what it needed of others
    }
};

/// The parts of a composition. S: a ShortShape.
template <class T, class S>
struct Parts {
    using Scheduler = gemm::ClusterSplitK<gemm::Grouped<8>>;
    using Mainloop = gemm::WarpSpecialized<gemm::wgmma::Loader<S>, gemm::wgmma::Atom<T, S>, S::STAGES>;
    static_assert(gemm::SliceScheduler<Scheduler>);
};

// A and B as their tensor maps say; C: see gemm::Arguments. scheduler: C tiles of BM×BN, k-tiles of BK and
// slices, of which each has one at least.
template <class T, class S>
__global__ void __launch_bounds__(S::THREADS, S::BLOCKS)
    hgemm_split_k(gemm::Arguments<T> arguments, typename Parts<T, S>::Scheduler scheduler,
                  gemm::LinearCombination output, const __grid_constant__ CUtensorMap map_a,
                  const __grid_constant__ CUtensorMap map_b) {
    using P = Parts<T, S>;
    extern __shared__ __align__(1024) char shared[];  // stages, then the block's sums
    __shared__ typename P::Mainloop::Barriers barriers;
    const int t = threadIdx.x, role = __shfl_sync(0xffffffffu, t / S::WARPGROUP, 0);
    if (t == S::CONSUMERS * S::WARPGROUP) {
        gemm::ptx::prefetch_tensor_map(map_a);
        gemm::ptx::prefetch_tensor_map(map_b);
        barriers.init(S::CONSUMERS);
    }
    __syncthreads();  // nobody uses an mbarrier before it is one

    typename P::Mainloop mainloop{{shared, map_a, map_b}, {shared, role}, barriers};
    const gemm::Slice work = scheduler.first();
    if (role == S::CONSUMERS) {
        if (t == S::CONSUMERS * S::WARPGROUP) mainloop.load(work);
        return;
    }
    typename P::Mainloop::Sums sums;
    mainloop.template multiply<1>(sums, work, [](int /*k_tile*/) {});
    ClusterSum<T, S>{arguments, output, reinterpret_cast<float*>(shared)}.store(sums, work);
}

// 14c's kernel, for more rows. boxes: map_c is C's.
template <class T, class S, bool DIRECT>
__global__ void __launch_bounds__(S::THREADS, 1)
    hgemm_persistent(gemm::Arguments<T> arguments, gemm::WorkSize size, gemm::LinearCombination output,
                     const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                     const __grid_constant__ CUtensorMap map_c, bool boxes) {
    extern __shared__ __align__(1024) char shared[];
    __shared__ typename gemm::wgmma::persistent::Parts<T, S, DIRECT>::Mainloop::Barriers barriers;
    gemm::wgmma::persistent::compute<T, S, DIRECT>(arguments, size, output, map_a, map_b, map_c, boxes,
                                                   shared, barriers);
}

/// The sizes for few rows. The first that has room for all of them is taken.
template <int ROWS>
using Shape = gemm::wgmma::ShortShape<ROWS, BLOCKS>;
using Lowest = Shape<16>;
using Tallest = Shape<64>;
using Policies = gemm::Policies<Lowest, Shape<32>, Tallest>;
const gemm::Tile tile{Tallest::BM, Tallest::BN, Tallest::BK};

int policy_for(const gemm::Problem& p) {
    return p.M <= 16 ? 0 : p.M <= 32 ? 1 : 2;
}

/// Of a C tile: as few as bring enough bytes on their way, because each slice is a sum more to add. All
/// blocks are on SMs at the same time, and there are more k-tiles than fit the stages of fewer slices.
template <class S>
int slices_for(const gemm::Problem& p) {
    const std::int64_t tiles = std::max<std::int64_t>(1, gemm::ceil_div(p.N, S::BN)),
                       multiprocessors = gemm::multiprocessors(), k_tiles = gemm::ceil_div(p.K, S::BK);
    const std::int64_t slices = std::min(
        {gemm::ceil_div(multiprocessors * IN_FLIGHT * 1024, tiles * S::SHARED),
         multiprocessors * BLOCKS / tiles, gemm::ceil_div(k_tiles, S::STAGES), std::int64_t{MOST_SLICES}});
    return static_cast<int>(std::max<std::int64_t>(1, slices));
}

/// Whether the blocks are hgemm_split_k's. With one slice each, 14c's are as good, unless C has at most 16
/// rows.
bool has_few_rows(const gemm::Problem& p) {
    const auto slices = [&](auto policy) { return slices_for<decltype(policy)>(p); };
    return p.M <= Lowest::BM || (p.M <= Tallest::BM && Policies::with(policy_for(p), slices) > 1);
}

template <class S>
typename Parts<__nv_bfloat16, S>::Scheduler scheduler_for(const gemm::Problem& p, int slices) {
    return {{{gemm::tiles_of(p.M, p.N, S::BM, S::BN), static_cast<int>(gemm::ceil_div(p.K, S::BK))}, slices}};
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    int policy = 0, slices = 1;                    // where there are few rows
    gemm::wgmma::persistent::Chosen of_many = {};  // where there are more
};

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Operands>();
    if (!has_few_rows(p)) {
        plan->of_many = gemm::wgmma::persistent::prepare(*plan, p);
        return plan;
    }
    plan->policy = policy_for(p);
    Policies::with(plan->policy, [&](auto policy) {
        using S = decltype(policy);
        gemm::prepare_operands(*plan, p, S::BM, S::BK);
        plan->slices = slices_for<S>(p);
    });
    return plan;
}

template <class T, class S>
void launch_slices(const gemm::Problem& p, const Operands& operands, cudaStream_t stream) {
    const auto kernel = hgemm_split_k<T, S>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);  // beyond 48 KiB
    cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                         cudaSharedmemCarveoutMaxShared);
    const auto scheduler = scheduler_for<S>(p, operands.slices);
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(operands.slices);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config{dim3(scheduler.blocks()), dim3(S::THREADS), S::SHARED, stream, &cluster,
                                    operands.slices > 1};
    cudaLaunchKernelEx(&config, kernel, gemm::arguments_of<T>(p), scheduler,
                       gemm::LinearCombination{p.alpha, p.beta}, operands.map_a, operands.map_b);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        if (!has_few_rows(p)) {
            return gemm::wgmma::persistent::launch<T>(
                p, operands, operands.of_many, stream, [](auto policy, auto direct) {
                    return hgemm_persistent<T, decltype(policy), decltype(direct)::value>;
                });
        }
        Policies::with(operands.policy,
                       [&](auto policy) { launch_slices<T, decltype(policy)>(p, operands, stream); });
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    if (!has_few_rows(p)) return gemm::wgmma::persistent::owner(p, row, col);
    return Policies::with(policy_for(p), [&](auto policy) -> gemm::Owner {
        using S = decltype(policy);
        const auto scheduler = scheduler_for<S>(p, slices_for<S>(p));
        const auto slices = static_cast<unsigned>(scheduler.slices), y = static_cast<unsigned>(row),
                   x = static_cast<unsigned>(col % S::BN);
        using Sum = ClusterSum<__nv_bfloat16, S>;
        return {{scheduler.block_of(gemm::tile_of(row, col, S::BM, S::BN)) + y % slices, 0, 0},
                {y / slices % Sum::WARPS * 32 + x / Sum::EACH, 0, 0}};
    });
}

const gemm::Constant constants[] = {
    {"WGMMA_M", Tallest::WGMMA_M}, {"WGMMA_N", Tallest::BM}, {"STAGES", Tallest::STAGES}, {"BLOCKS", BLOCKS},
    {"MOST_SLICES", MOST_SLICES},  {"IN_FLIGHT", IN_FLIGHT}, {"CLUSTER", MOST_SLICES}};
const gemm::Configuration configuration{.tile = tile,
                                        .constants = constants,
                                        .block = dim3(Tallest::THREADS),
                                        .dynamic_shared_bytes = Tallest::SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_split_k<__nv_bfloat16, Tallest>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_split_k<__half, Tallest>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration}};

// Several slices of several C tiles, of each height. Fewer k-tiles would be one slice.
const gemm::Reach reaching[] = {
    {.path = "slices of 16 rows", .M = 13, .N = 264, .K = 840, .multiprocessors = 132},
    {.path = "slices of 32 rows", .M = 24, .N = 136, .K = 400, .multiprocessors = 132},
    {.path = "slices of 64 rows", .M = 40, .N = 136, .K = 600, .multiprocessors = 132}};

extern const gemm::Lesson lesson{.name = "15c_wgmma",
                                 .part = 3,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>};

}  // namespace lesson_15c
