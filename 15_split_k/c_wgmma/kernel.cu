// 15c split-K, wgmma — where A has few rows, the blocks of a cluster share a C tile: each multiplies a slice
// of K, and all of them add up the sums, which they read in each other's shared memory.
//
// Changed since 14c: eleven more sizes of C tiles, an estimate that takes one of them or 14c's kernel, a
// scheduler for clusters, and ClusterSum in place of the epilogue. Should be as fast as B comes from DRAM.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

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
#include "common/tma/tensor_map.hpp"

namespace lesson_15c {

constexpr int BLOCKS = 2;       // on an SM, of C tiles 128 columns wide, up to 80 rows
constexpr int MOST_SLICES = 8;  // of a C tile: blocks of a cluster, of which every GPU with clusters takes 8

/// Each block of the cluster writes every so many-th row of the C tile: to each element it adds up the sums
/// of all slices in their order, so that every launch gives the same bits. By the consumers alone; other
/// threads of the block have returned or will, without a barrier. S: a ShortShape.
template <class T, class S>
struct ClusterSum {
    using Sums = float[S::BM / 2];  // of a thread: a piece of Cᵀ, 64×BM
    static constexpr int THREADS = S::CONSUMERS * S::WARPGROUP;
    static constexpr int EACH = 4;                 // columns of a thread: it reads a float4 of each slice
    static constexpr int ACROSS = S::BN / EACH;    // threads that have a row of the C tile
    static constexpr int ROWS = THREADS / ACROSS;  // that the block has at the same time

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
        if (work.slices == 1) {
            add<1, 4>(work);
        } else if (work.slices == 2) {
            add<2, 8>(work);
        } else if (work.slices <= 4) {
            add<4, 4>(work);
        } else {
            add<MOST_SLICES, 2>(work);
        }
        if (work.slices > 1) gemm::ptx::cluster_wait();  // shared memory lives as long as its block
    }

  private:
    /// The pitch has a warp's 32 elements in 32 banks: 4 pairs of rows, 8 columns.
    __device__ __forceinline__ void leave(const Sums& sums) const {
        const unsigned t = threadIdx.x % S::WARPGROUP, first = threadIdx.x / S::WARPGROUP * S::WGMMA_M;
#pragma unroll
        for (int e = 0; e < S::BM / 2; ++e) {
            const gemm::ptx::WgmmaPlace at = gemm::ptx::wgmma_sum(t, e);  // of Cᵀ
            tile[at.column * S::PITCH + first + at.row] = sums[e];
        }
    }

    /// All loads of several rows, from all blocks, come before the first addition. MOST: slices. AT_ONCE:
    /// rows of a thread whose sums are on their way together: the more, the more registers.
    template <int MOST, int AT_ONCE>
    __device__ __forceinline__ void add(const gemm::Slice& work) const {
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM,
                           col = std::int64_t{work.tile.n} * S::BN + threadIdx.x % ACROSS * EACH;
        const int rows = out.M - row0 < S::BM ? static_cast<int>(out.M - row0) : S::BM;
        const int x = threadIdx.x % ACROSS * EACH, step = work.slices * ROWS,
                  first = static_cast<int>(threadIdx.x / ACROSS) * work.slices + work.slice;
        for (int y = first; y < rows; y += AT_ONCE * step) {
            // Zeros of slices that there are not.
            float4 parts[AT_ONCE][MOST] = {};
            // gap: read
#pragma unroll
            for (int s = 0; s < MOST; ++s) {
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
                for (int s = 1; s < MOST; ++s) {
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

/// The sizes whose C tiles are computed by a cluster each: low, narrow and tall ones.
template <int ROWS, int COLS, int EACH>
using Shape = gemm::wgmma::ShortShape<ROWS, COLS, EACH>;
using Usual = Shape<64, 128, BLOCKS>;
using Lowest = Shape<16, 128, BLOCKS>;
using Policies = gemm::Policies<Lowest, Usual, Shape<80, 128, BLOCKS>, Shape<32, 64, 1>, Shape<64, 64, 1>,
                                Shape<64, 192, 1>, Shape<144, 128, 1>, Shape<96, 192, 1>, Shape<128, 64, 1>,
                                Shape<128, 192, 1>, Shape<160, 192, 1>>;
const gemm::Tile tile{Usual::BM, Usual::BN, Usual::BK};

// ---- which size, and how many slices: those that take the shortest time, by estimate ----

// Fitted to times of an H200. In cycles, where no unit is named.
constexpr double LAUNCH = 3600, GHZ = 1.9;  // ns of every launch, and cycles in one
constexpr double DRAM = 4190;               // bytes in a ns
constexpr double LOAD = 107, SHARE = 64;    // bytes to an SM in a cycle: of a few SMs, and of all
constexpr double TWO_LINES =
    1.84;                         // times as long, where rows of k-tiles begin in the middle of a line of L2
constexpr double LATENCY = 1740;  // from a k-tile's request to its arrival
constexpr double BEGIN = 1600;    // until products begin, and after the last: of blocks that run together
constexpr double NEXT = 400;      // from a C tile of 14c's kernel to the next one
constexpr double STORE = 0.088;   // of a byte of C
constexpr double MEET = 1000, SUM = 0.042;  // until slices' sums are there, and of a byte of them
constexpr double SLICE = 0.024;             // by so much each slice beyond the first has to be faster

/// In ns. BM, BN: of C tiles. stages: of an SM. blocks: at the same time. k_tiles: that an SM has one after
/// the other. ends: cycles without products.
double estimate(const gemm::Problem& p, int BM, int BN, int stages, std::int64_t blocks, std::int64_t k_tiles,
                double ends) {
    const auto sms = static_cast<double>(gemm::multiprocessors()),
               busy = std::min(sms, static_cast<double>(blocks));
    // Of a copy for TMA, which pitches need that are no multiples of 8, rows begin with a line.
    const auto lines = [](std::int64_t pitch) {
        return pitch % gemm::kTmaBox == 0 || pitch % 8 != 0 ? 1.0 : TWO_LINES;
    };
    const double products = 1.17 * BM * BN / 32 + 70,  // of a k-tile
        load = 128 * (BM * lines(p.lda) + BN * lines(p.ldb)) / std::min(LOAD, SHARE * sms / busy);
    const double on_sm = static_cast<double>(k_tiles) * std::max({products, load, LATENCY / stages}) / GHZ;
    const auto m = static_cast<double>(p.M), n = static_cast<double>(p.N), k = static_cast<double>(p.K);
    const double from_dram = 2 * (m * k + k * n + m * n) / DRAM;
    // Where both take as long, neither hides all of the other.
    return LAUNCH + std::cbrt(std::pow(on_sm, 3) + std::pow(from_dram, 3)) + ends / GHZ;
}

/// Whether half of a C tile or more would be empty, where there are smaller ones. (With up to 64 columns, not
/// its rows: the three narrow sizes compete by their times.)
template <class S>
bool is_too_large(const gemm::Problem& p) {
    return (S::BN > 64 && S::BN >= 2 * p.N) || (S::BM > 16 && S::BM >= 2 * p.M && p.N > 64);
}

/// Of hgemm_split_k. Infinite where C tiles are too large, or clearly more clusters are needed than fit at
/// the same time. A cluster's blocks are on SMs of one group (a GPC); counting on 16 SMs in each is about
/// right: an H200 has room for 30 clusters of four with one block on an SM, not for 32. One that finds no
/// room comes after others, which takes longer and can't hang: blocks wait only for those of their own
/// cluster.
template <class S>
double time_of(const gemm::Problem& p, int slices) {
    const std::int64_t tiles = gemm::ceil_div(p.M, S::BM) * gemm::ceil_div(p.N, S::BN),
                       sms = gemm::multiprocessors(), clusters = sms / 16 * (16 * S::BLOCKS / slices);
    if (is_too_large<S>(p) || (slices > 1 && tiles > clusters))
        return std::numeric_limits<double>::infinity();
    const std::int64_t of_sm = gemm::ceil_div(tiles * slices, sms),
                       together = std::min<std::int64_t>(of_sm, S::BLOCKS);
    const auto elements = static_cast<double>(std::min<std::int64_t>(p.M, S::BM) * S::BN);
    const double end = slices == 1 ? STORE * 2 * elements : MEET + SUM * 4 * elements;
    return estimate(p, S::BM, S::BN, S::STAGES * static_cast<int>(together), tiles * slices,
                    of_sm * gemm::ceil_div(gemm::ceil_div(p.K, S::BK), slices),
                    static_cast<double>(gemm::ceil_div(of_sm, together)) * (BEGIN + end)) *
           (1 + SLICE * (slices - 1));
}

/// Of 14c's kernel.
double time_of_persistent(const gemm::Problem& p) {
    return gemm::wgmma::persistent::with_size(p, [&](auto policy, unsigned rounds) {
        using S = decltype(policy);
        const std::int64_t tiles = gemm::ceil_div(p.M, S::BM) * gemm::ceil_div(p.N, S::BN);
        return estimate(p, S::BM, S::BN, S::STAGES, tiles, rounds * gemm::ceil_div(p.K, S::BK),
                        NEXT * rounds);
    });
}

/// A size of Policies, or −1 for 14c's kernel.
gemm::Way choose(const gemm::Problem& p) {
    gemm::Way choice{-1, 1};
    if (p.M == 0 || p.N == 0 || p.K == 0) return choice;
    double best = time_of_persistent(p);
    for (int policy = 0; policy < Policies::COUNT; ++policy) {
        for (int slices = 1; slices <= std::min<std::int64_t>(MOST_SLICES, gemm::ceil_div(p.K, Usual::BK));
             ++slices) {
            const double time =
                Policies::with(policy, [&](auto size) { return time_of<decltype(size)>(p, slices); });
            if (time >= best) continue;
            best = time;
            choice = {policy, slices};
        }
    }
    return choice;
}

template <class S>
typename Parts<__nv_bfloat16, S>::Scheduler scheduler_for(const gemm::Problem& p, int slices) {
    return {{{gemm::tiles_of(p.M, p.N, S::BM, S::BN), static_cast<int>(gemm::ceil_div(p.K, S::BK))}, slices}};
}

/// What a problem needs before its launch.
struct Operands : gemm::TmaOperands {
    gemm::Way choice{-1, 1};
    gemm::wgmma::persistent::Chosen persistent = {};  // where 14c's kernel is chosen
};

/// B's map, but where a line is not in L2, DRAM sends that line alone and not its neighbor, too. With 16 rows
/// and one slice nearly all the time is B's way from DRAM, and on an H200 it was up to 6 % shorter.
CUtensorMap map_of_lines(const gemm::Problem& p, const gemm::TmaMatrix& b) {
    return gemm::tensor_map({.type = p.variant.B == gemm::DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                                      : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                             .address = b.address,
                             .sizes = {static_cast<cuuint64_t>(p.N), static_cast<cuuint64_t>(p.K)},
                             .strides = {static_cast<cuuint64_t>(2 * b.pitch)},
                             .box = {gemm::kTmaBox, Lowest::BK},
                             .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                             .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_128B});
}

gemm::Plan prepare_in(const gemm::Problem& p, const gemm::Way& way) {
    const auto plan = std::make_shared<Operands>();
    plan->choice = way;
    if (way.kernel < 0) {
        plan->persistent = gemm::wgmma::persistent::prepare(*plan, p);
        return plan;
    }
    Policies::with(way.kernel, [&](auto policy) {
        using S = decltype(policy);
        gemm::prepare_operands(*plan, p, S::BM, S::BK);
        if (std::is_same_v<S, Lowest> && way.slices == 1 && plan->b.address != nullptr)
            plan->map_b = map_of_lines(p, plan->b);
    });
    return plan;
}

gemm::Plan prepare(const gemm::Problem& p) {
    return prepare_in(p, choose(p));
}

template <class T, class S>
void launch_slices(const gemm::Problem& p, const Operands& operands, cudaStream_t stream) {
    const auto kernel = hgemm_split_k<T, S>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);  // beyond 48 KiB
    cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                         cudaSharedmemCarveoutMaxShared);
    const int slices = operands.choice.slices;
    const auto scheduler = scheduler_for<S>(p, slices);
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = static_cast<unsigned>(slices);
    cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config{
        dim3(scheduler.blocks()), dim3(S::THREADS), S::SHARED, stream, &cluster, slices > 1};
    cudaLaunchKernelEx(&config, kernel, gemm::arguments_of<T>(p), scheduler,
                       gemm::LinearCombination{p.alpha, p.beta}, operands.map_a, operands.map_b);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Operands& operands = *static_cast<const Operands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        if (operands.choice.kernel < 0) {
            return gemm::wgmma::persistent::launch<T>(
                p, operands, operands.persistent, stream, [](auto policy, auto direct) {
                    return hgemm_persistent<T, decltype(policy), decltype(direct)::value>;
                });
        }
        Policies::with(operands.choice.kernel,
                       [&](auto policy) { launch_slices<T, decltype(policy)>(p, operands, stream); });
    });
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const gemm::Way choice = choose(p);
    if (choice.kernel < 0) return gemm::wgmma::persistent::owner(p, row, col);
    return Policies::with(choice.kernel, [&](auto policy) -> gemm::Owner {
        using S = decltype(policy);
        using Sum = ClusterSum<__nv_bfloat16, S>;
        const auto slices = static_cast<unsigned>(choice.slices), y = static_cast<unsigned>(row % S::BM),
                   x = static_cast<unsigned>(col % S::BN);
        const unsigned first =
            scheduler_for<S>(p, choice.slices).block_of(gemm::tile_of(row, col, S::BM, S::BN));
        return {{first + y % slices, 0, 0}, {y / slices % Sum::ROWS * Sum::ACROSS + x / Sum::EACH, 0, 0}};
    });
}

/// FP16's kernels are like BF16's.
gemm::Tiling tiling_in(const gemm::Problem& p, const gemm::Way& way) {
    if (way.kernel < 0) {
        return gemm::wgmma::persistent::tiling(
            p, [](auto policy) { return hgemm_persistent<__nv_bfloat16, decltype(policy), false>; });
    }
    return Policies::with(way.kernel, [&](auto policy) -> gemm::Tiling {
        using S = decltype(policy);
        return {{S::BM, S::BN, S::BK},
                way.slices,
                scheduler_for<S>(p, way.slices).blocks(),
                reinterpret_cast<const void*>(&hgemm_split_k<__nv_bfloat16, S>),
                dim3(S::THREADS),
                S::SHARED};
    });
}

gemm::Tiling tiling(const gemm::Problem& p) {
    return tiling_in(p, choose(p));
}

/// The choice, then all others by their estimates; but for 14c's kernel only with the size that 14c takes.
std::vector<gemm::Way> ways(const gemm::Problem& p) {
    const gemm::Way chosen = choose(p);
    std::vector<std::pair<double, gemm::Way>> others;
    if (chosen.kernel >= 0) others.emplace_back(time_of_persistent(p), gemm::Way{-1, 1});
    const auto most = std::min<std::int64_t>(MOST_SLICES, gemm::ceil_div(p.K, Usual::BK));
    for (gemm::Way way; way.kernel < Policies::COUNT; ++way.kernel) {
        for (way.slices = 1; way.slices <= most; ++way.slices) {
            const double time =
                Policies::with(way.kernel, [&](auto size) { return time_of<decltype(size)>(p, way.slices); });
            if (std::isfinite(time) && way != chosen) others.emplace_back(time, way);
        }
    }
    return gemm::fastest_first(chosen, others);
}

const gemm::Choosing choosing{ways, prepare_in, tiling_in};

const gemm::Constant constants[] = {{"WGMMA_M", Usual::WGMMA_M},  {"WGMMA_N", Usual::BM},
                                    {"STAGES", Usual::STAGES},    {"BLOCKS", BLOCKS},
                                    {"MOST_SLICES", MOST_SLICES}, {"CLUSTER", MOST_SLICES}};
const gemm::Configuration configuration{.tile = tile,
                                        .constants = constants,
                                        .block = dim3(Usual::THREADS),
                                        .dynamic_shared_bytes = Usual::SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_split_k<__nv_bfloat16, Usual>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_split_k<__half, Usual>),
     .architectures = {.exactly = "90a"},
     .configuration = configuration}};

// Several slices of several C tiles, and one slice of 16 rows, whose map of B is its own. Larger sizes take
// larger problems: mistakes.toml forces them.
const gemm::Reach reaching[] = {
    {.path = "slices of 16 rows", .M = 10, .N = 71, .K = 952, .every_type = true, .multiprocessors = 100},
    {.path = "16 rows in one slice", .M = 3, .N = 136, .K = 200, .every_type = true, .multiprocessors = 1},
    {.path = "slices of 64 columns", .M = 20, .N = 72, .K = 736, .multiprocessors = 112},
    {.path = "slices of 80 rows", .M = 212, .N = 72, .K = 1544, .multiprocessors = 17}};

extern const gemm::Lesson lesson{.name = "15c_wgmma",
                                 .part = 3,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = gemm::owner_or_scale<owner>,
                                 .tiling = tiling,
                                 .choosing = &choosing};

}  // namespace lesson_15c
