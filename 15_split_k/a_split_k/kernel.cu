// 15a split-K — several blocks share a C tile: each multiplies a slice of K and leaves its sums in a
// workspace, and the one that finishes last adds them, in the order of the slices, and writes C.
//
// Changed since 14a: the scheduler, which hands out slices; Reduction, between mainloop and epilogue;
// prepare() works out how many slices pay off, and which of three sizes of C tiles. Where one slice does,
// the kernel does what 14a's does. Should help where C tiles are too few to keep all SMs busy, or leave most
// of them idle in the last wave. A slice costs about as much as 32 steps of K.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>

#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/fma/atom.hpp"
#include "common/parts/fma/epilogue.hpp"
#include "common/parts/fma/loader.hpp"
#include "common/parts/fma/shape.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/multistage.hpp"
#include "common/parts/scheduler.hpp"
#include "common/parts/split_k.hpp"
#include "common/parts/workspace.hpp"
#include "common/ptx/flags.hpp"

namespace lesson_15a {

using Large = gemm::fma::Shape<128, 256, 8, 64, 64, 8, 16, 4>;
using Medium = gemm::fma::Shape<64, 128, 8, 32, 64, 8, 8, 4>;
using Small = gemm::fma::Shape<64, 64, 16, 32, 32, 4, 8, 4>;

// How long an SM takes for a step of K of a C tile of this size, in ns, fitted to times on an H200. Medium
// takes 52 where it has the SM to itself, and 44 each where there are several.
template <class S>
constexpr int STEP_TIME = 160;
template <>
constexpr int STEP_TIME<Medium> = 45;
template <>
constexpr int STEP_TIME<Small> = 29;

constexpr int MOST_SLICES = 16;  // of a C tile; below 256: see arrive()
static_assert(MOST_SLICES < 256);
// What it costs to write a C tile's sums to the workspace, and as much to read them, in steps of K. An SM
// adds 128 products a cycle, and its share of L2 is about 42 bytes, of DRAM 16: a sum's 4 bytes take as long
// as 12 steps, or 32. Most workspaces fit into L2: a bit more than 12.
constexpr int PASS_STEPS = 16;

/// The workspace: where the slices of a C tile leave their sums and are counted.
struct Partials {
    float* sums;        // [slice][C tile][TM·TN][thread]; null where there is one slice
    unsigned* arrived;  // [C tile]: 0 between launches; in one, 256·launch + how many slices have come
    unsigned launch;    // which launch with this workspace it is, counted from 1
};

/// From the sums of slices to those of C tiles. S: the Shape.
template <class S>
struct Reduction {
    using Sums = float[S::TM][S::TN];
    static constexpr int COUNT = S::TM * S::TN;  // a thread's sums
    // How many of them it loads before it adds: the more, the more registers.
    static constexpr int AT_ONCE = std::min(64, COUNT);
    static_assert(COUNT % AT_ONCE == 0);

    const Partials& partials;
    unsigned tiles;  // of C

    /// The block of each slice of a C tile leaves its sums. All but the one that finishes last get false.
    /// That one gets true, and in `sums` what all slices add up to.
    __device__ __forceinline__ bool combine(Sums& sums, const gemm::Slice& work) const {
        if (work.slices == 1) return true;
        leave(sums, work);
        // gap: last
        __syncthreads();  // all of the block's sums are stored before one thread reports it
        const bool last = threadIdx.x == 0 && arrive(work);
        if (!__syncthreads_or(last)) return false;  // now all threads may read what thread 0 may
        // end gap
        add(sums, work);
        return true;
    }

    /// Where the thread's first sum of a slice is; the next one is S::THREADS further.
    __device__ __forceinline__ float* place_of(const gemm::Slice& work, int slice) const {
        const std::int64_t tile = std::int64_t{slice} * tiles + work.number;
        return partials.sums + tile * (COUNT * S::THREADS) + threadIdx.x;
    }

    /// A float at a time, a warp's side by side: four at once would have to be in four registers in a row.
    __device__ __forceinline__ void leave(const Sums& sums, const gemm::Slice& work) const {
        float* const to = place_of(work, work.slice);
#pragma unroll  // sums are in registers, which take no index at run time
        for (int i = 0; i < COUNT; ++i) to[i * S::THREADS] = sums[i / S::TN][i % S::TN];
    }

    /// Whether all slices of the C tile have come, this one among them.
    __device__ __forceinline__ bool arrive(const gemm::Slice& work) const {
        unsigned* const arrived = &partials.arrived[work.number];
        const unsigned none = partials.launch << 8;
        atomicMax(arrived, none);  // from 0, or what an aborted launch has left, to this launch's zero
        const unsigned before = gemm::ptx::add_acquire_release(arrived, 1);
        if (before - none != static_cast<unsigned>(work.slices) - 1) return false;
        *arrived = 0;  // ready for the next launch
        return true;
    }

    /// Slice after slice, whichever finished last: the same bits in every launch.
    __device__ __forceinline__ void add(Sums& sums, const gemm::Slice& work) const {
        // gap: add
#pragma unroll
        for (int first = 0; first < COUNT; first += AT_ONCE) {
            float total[AT_ONCE] = {};
#pragma unroll 1
            for (int slice = 0; slice < work.slices; ++slice) {
                const float* const from = place_of(work, slice) + first * S::THREADS;
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) total[i] += from[i * S::THREADS];
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) sums[(first + i) / S::TN][(first + i) % S::TN] = total[i];
        }
        // end gap
    }
};

/// The parts of a composition. S: its sizes. ALIGNED: B and C have four floats together or not at all.
template <class S, bool ALIGNED>
struct Parts {
    using Scheduler = gemm::SplitK<gemm::Grouped<8>>;
    using Mainloop = gemm::Multistage<gemm::fma::Loader<S, ALIGNED>, gemm::fma::Atom<S>, S::STAGES>;
    using Epilogue = gemm::fma::Epilogue<S, ALIGNED, gemm::LinearCombination>;
    static_assert(gemm::SliceScheduler<Scheduler>);
};

// A, B, C: see gemm::Arguments. scheduler: C tiles of BM×BN, k-tiles of BK, none where alpha is 0, and
// slices. One block an SM at least, where rows are aligned: as in 14a.
template <class S, bool ALIGNED>
__global__ void __launch_bounds__(S::THREADS, ALIGNED ? 1 : 0)
    sgemm_split_k(gemm::Arguments<float> arguments, typename Parts<S, ALIGNED>::Scheduler scheduler,
                  Partials partials, gemm::LinearCombination output) {
    using P = Parts<S, ALIGNED>;
    extern __shared__ __align__(16) char shared[];
    typename P::Mainloop mainloop{
        {arguments, shared}, gemm::fma::Atom<S>(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const Reduction<S> reduction{partials, scheduler.size.tiles.m * scheduler.size.tiles.n};
    const typename P::Epilogue epilogue{arguments, output};

    gemm::Slice work = scheduler.first();
    mainloop.fill(work);
    for (;;) {
        typename P::Mainloop::Sums sums = {};
        mainloop.multiply(sums, work);
        const gemm::Slice done = work;
        const bool more = scheduler.next(work);
        if (more) mainloop.fill(work);  // its copies are on their way while these sums are stored
        if (reduction.combine(sums, done)) epilogue.store(sums, done);
        if (!more) return;
    }
}

const gemm::Tile tile{Large::BM, Large::BN, Large::BK};

int multiprocessors() {
    int device = 0, count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

template <class S>
std::int64_t tiles_of(const gemm::Problem& p) {
    return gemm::ceil_div(p.M, S::BM) * gemm::ceil_div(p.N, S::BN);
}

template <class S>
int k_tiles_of(const gemm::Problem& p) {  // BLAS: alpha == 0 must not read A or B
    return p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, S::BK));
}

/// How many steps of K a launch takes, by estimate. The SM with the most blocks has ceil(tiles·slices / SMs)
/// of them, one after another or together. Each writes its sums, and as many are read: all those of a C tile
/// by one block.
template <class S>
std::int64_t steps_of(const gemm::Problem& p, int slices, int sms) {
    const std::int64_t blocks = gemm::ceil_div(tiles_of<S>(p) * slices, sms);
    const std::int64_t products = blocks * gemm::ceil_div(k_tiles_of<S>(p), slices) * S::BK;
    if (slices == 1) return products;
    return products + PASS_STEPS * (blocks + std::max<std::int64_t>(blocks, slices));
}

/// Of a C tile. More slices, and more workspace, have to be worth 1 %.
template <class S>
int slices_for(const gemm::Problem& p, int sms) {
    int best = 1;
    for (int slices = 2; slices <= std::min(MOST_SLICES, k_tiles_of<S>(p)); ++slices) {
        if (100 * steps_of<S>(p, slices, sms) < 99 * steps_of<S>(p, best, sms)) best = slices;
    }
    return best;
}

/// How long a launch takes with the best number of slices, by estimate, in ns.
template <class S>
std::int64_t time_of(const gemm::Problem& p, int sms) {
    return STEP_TIME<S> * steps_of<S>(p, slices_for<S>(p, sms), sms);
}

/// What f returns for the shape with the shortest time; the larger one where two take as long.
template <class F>
auto with_fastest(const gemm::Problem& p, int sms, const F& f) {
    const std::int64_t large = time_of<Large>(p, sms), medium = time_of<Medium>(p, sms),
                       small = time_of<Small>(p, sms);
    if (large <= std::min(medium, small)) return f(Large());
    return medium <= small ? f(Medium()) : f(Small());
}

/// What a problem needs before its launch. Launches with one of them must not overlap: they share a
/// workspace.
struct Division {
    void (*launch)(const gemm::Problem&, const Division&, cudaStream_t) = nullptr;
    int slices = 1;
    gemm::Workspace sums, arrived;
    mutable std::atomic<unsigned> launches = 0;
};

/// Bytes of a slice's sums of all C tiles.
template <class S>
std::size_t bytes_of_slice(const gemm::Problem& p) {
    return static_cast<std::size_t>(tiles_of<S>(p)) * S::BM * S::BN * sizeof(float);
}

template <class S>
void divide(Division& plan, const gemm::Problem& p, int sms) {
    plan.slices = slices_for<S>(p, sms);
    if (plan.slices == 1) return;
    const std::size_t bytes = static_cast<std::size_t>(plan.slices) * bytes_of_slice<S>(p);
    plan.sums = gemm::Workspace(bytes);
    plan.arrived = gemm::Workspace::of_zeros(static_cast<std::size_t>(tiles_of<S>(p)) * sizeof(unsigned));
    if (plan.sums.data() != nullptr && plan.arrived.data() != nullptr) return;
    std::fprintf(stderr,
                 "15a_split_k: the GPU has no room for a workspace of %zu bytes, for %d slices of K; each C "
                 "tile is computed in one piece.\n",
                 bytes, plan.slices);
    plan.slices = 1;
    plan.sums = gemm::Workspace();
    plan.arrived = gemm::Workspace();
}

template <class S>
typename Parts<S, true>::Scheduler scheduler_for(const gemm::Problem& p, int slices) {
    return {{gemm::tiles_of(p.M, p.N, S::BM, S::BN), k_tiles_of<S>(p)}, slices};
}

template <class S>
void launch_shape(const gemm::Problem& p, const Division& plan, cudaStream_t stream) {
    const auto kernel = gemm::aligned<float>(p, false) ? sgemm_split_k<S, true> : sgemm_split_k<S, false>;
    constexpr int bytes = Parts<S, true>::Mainloop::SHARED;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    const auto scheduler = scheduler_for<S>(p, plan.slices);
    const Partials partials{static_cast<float*>(plan.sums.data()),
                            static_cast<unsigned*>(plan.arrived.data()), ++plan.launches};
    kernel<<<scheduler.blocks(), S::THREADS, bytes, stream>>>(
        gemm::arguments_of<float>(p), scheduler, partials, gemm::LinearCombination{p.alpha, p.beta});
}

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Division>();
    const int sms = multiprocessors();
    with_fastest(p, sms, [&]<class S>(S) {
        plan->launch = launch_shape<S>;
        divide<S>(*plan, p, sms);
    });
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Division& division = *static_cast<const Division*>(plan);
    division.launch(p, division, stream);
}

template <class S>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col, int sms) {
    const auto scheduler = scheduler_for<S>(p, slices_for<S>(p, sms));
    const int thread = gemm::fma::thread_of<S>(static_cast<int>(row % S::BM), static_cast<int>(col % S::BN));
    return {{scheduler.block_of(gemm::tile_of(row, col, S::BM, S::BN)), 0, 0},
            {static_cast<unsigned>(thread), 0, 0}};
}

/// Of several slices the block that finishes last writes: this names the last slice's, if there is room.
gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const int sms = multiprocessors();
    return with_fastest(p, sms, [&]<class S>(S) { return owner_in<S>(p, row, col, sms); });
}

gemm::Tiling tiling(const gemm::Problem& p) {
    const int sms = multiprocessors();
    return with_fastest(p, sms, [&]<class S>(S) -> gemm::Tiling {
        const int slices = slices_for<S>(p, sms);
        const auto kernel = gemm::aligned<float>(p, false) ? sgemm_split_k<S, true> : sgemm_split_k<S, false>;
        return {{S::BM, S::BN, S::BK},
                slices,
                scheduler_for<S>(p, slices).blocks(),
                reinterpret_cast<const void*>(kernel),
                dim3(S::THREADS),
                Parts<S, true>::Mainloop::SHARED};
    });
}

const gemm::Constant constants[] = {{"WM", Large::WM},         {"WN", Large::WN},
                                    {"TM", Large::TM},         {"TN", Large::TN},
                                    {"STAGES", Large::STAGES}, {"MOST_SLICES", MOST_SLICES},
                                    {"PASS_STEPS", PASS_STEPS}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_split_k<Large, true>),
     .architectures = {.from = 80},
     .configuration = {.tile = tile,
                       .constants = constants,
                       .block = dim3(Large::THREADS),
                       .dynamic_shared_bytes = Parts<Large, true>::Mainloop::SHARED}}};

// Slices of which some have one k-tile more. Two launches are enough of one shape of C tiles.
const gemm::Reach reaching[] = {
    {.path = "slices of small C tiles, four floats at once",
     .M = 60,
     .N = 200,
     .K = 540,
     .multiprocessors = 48,
     .again = true},
    {.path = "slices of small C tiles, float by float",
     .M = 61,
     .N = 131,
     .K = 585,
     .multiprocessors = 72,
     .again = true},
    {.path = "slices of medium C tiles, four floats at once",
     .M = 60,
     .N = 200,
     .K = 497,
     .multiprocessors = 4},
    {.path = "slices of medium C tiles, float by float", .M = 61, .N = 131, .K = 513, .multiprocessors = 4},
    {.path = "slices of large C tiles, four floats at once",
     .M = 125,
     .N = 252,
     .K = 889,
     .multiprocessors = 2},
    {.path = "slices of large C tiles, float by float", .M = 125, .N = 251, .K = 889, .multiprocessors = 2}};

extern const gemm::Lesson lesson{.name = "15a_split_k",
                                 .part = 3,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner,
                                 .tiling = tiling};

}  // namespace lesson_15a
