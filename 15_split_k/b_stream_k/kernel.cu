// 15b stream-K — every SM gets the same number of k-tiles, wherever C tiles begin and end. Of a C tile that
// several blocks have a part of, one adds up what the others leave in a workspace, and writes C.
//
// Changed since 14a: the scheduler, which hands out shares of k-tiles and then whole C tiles; FixUp, between
// mainloop and epilogue; prepare() estimates whether shares pay off, for which C tiles, and of which of three
// sizes. Where they do not, the kernel does what 14a's does. Should help where the last wave idles most SMs.

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
#include "common/parts/stream_k.hpp"
#include "common/parts/workspace.hpp"
#include "common/ptx/flags.hpp"

namespace lesson_15b {

using Large = gemm::fma::Shape<128, 256, 8, 64, 64, 8, 16, 4>;
using Medium = gemm::fma::Shape<64, 128, 16, 32, 64, 8, 8, 4>;
using Small = gemm::fma::Shape<64, 64, 16, 32, 32, 4, 8, 4>;

// What it costs to leave a C tile's sums in the workspace, and as much to fetch them, in steps of K. An SM
// adds 128 products a cycle, and its share of L2 is about 42 bytes, of DRAM 16: a sum's 4 bytes take as long
// as 12 steps, or 32. The workspace fits into L2.
constexpr int PASS_STEPS = 16;
// How long an SM takes for a step of K of a C tile of this size, in ns, fitted to times on an H200. Medium
// takes 52 where it has the SM to itself, and 44 each where there are several.
template <class S>
constexpr int STEP_TIME = 160;
template <>
constexpr int STEP_TIME<Medium> = 45;
template <>
constexpr int STEP_TIME<Small> = 29;

/// The workspace: where blocks leave sums for others.
struct Partials {
    float* sums;      // [block][TM·TN][thread]; the last block leaves none. Null where no C tile is shared
    unsigned* flags;  // [block]: `launch` from when the sums are there until they are fetched, then 0
    unsigned launch;  // odd, and another one in each launch with this workspace
};

/// Puts the pieces of C tiles together. S: the Shape. Scheduler: a PieceScheduler.
///
/// A block waits for blocks with lower numbers, and only for the first piece of each, before which they wait
/// for nobody. Where C tiles are shared there are no more blocks than SMs: unless another kernel that waits
/// has SMs, too, all get their turn, and a wait ends whichever block starts first.
template <class S, class Scheduler>
struct FixUp {
    using Sums = float[S::TM][S::TN];
    static constexpr int COUNT = S::TM * S::TN;  // a thread's sums
    // How many of them it loads before it adds: beside the block's own, they all need registers.
    static constexpr int AT_ONCE = std::min(2048 / COUNT, COUNT);
    static_assert(COUNT % AT_ONCE == 0);

    const Partials& partials;
    const Scheduler& scheduler;

    /// True for the block that has the C tile's last k-tile: `sums` are then those of the whole C tile. The
    /// others leave theirs.
    __device__ __forceinline__ bool combine(Sums& sums, const gemm::Piece& work) const {
        if (!scheduler.ends(work)) {
            leave(sums);
            return false;
        }
        if (work.first_k > 0) fetch(sums, scheduler.others(work));
        return true;
    }

    /// Where the thread's first sum of a block is; the next one is S::THREADS further.
    __device__ __forceinline__ float* place_of(unsigned block) const {
        return partials.sums + std::int64_t{block} * (COUNT * S::THREADS) + threadIdx.x;
    }

    /// A float at a time, a warp's side by side: four at once would have to be in four registers in a row.
    __device__ __forceinline__ void leave(const Sums& sums) const {
        float* const to = place_of(blockIdx.x);
#pragma unroll  // sums are in registers, which take no index at run time
        for (int i = 0; i < COUNT; ++i) to[i * S::THREADS] = sums[i / S::TN][i % S::TN];
        // gap: leave
        __syncthreads();  // all of the block's sums are stored before one thread says so
        if (threadIdx.x == 0) gemm::ptx::store_release(&partials.flags[blockIdx.x], partials.launch);
        // end gap
    }

    /// Adds what so many blocks before this one have left, in the order of K: the same bits in every launch.
    __device__ __forceinline__ void fetch(Sums& sums, unsigned others) const {
        const unsigned first = blockIdx.x - others;
        // gap: fetch
        if (threadIdx.x == 0) {
            for (unsigned block = first; block < blockIdx.x; ++block) {
                while (gemm::ptx::load_acquire(&partials.flags[block]) != partials.launch) {
                }
                partials.flags[block] = 0;  // as it was
            }
        }
        __syncthreads();  // now all threads may read what thread 0 may
                          // end gap
#pragma unroll
        for (int begin = 0; begin < COUNT; begin += AT_ONCE) {
            float total[AT_ONCE] = {};
#pragma unroll 1
            for (unsigned block = first; block < blockIdx.x; ++block) {
                const float* const from = place_of(block) + begin * S::THREADS;
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) total[i] += from[i * S::THREADS];
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; ++i) sums[(begin + i) / S::TN][(begin + i) % S::TN] += total[i];
        }
    }
};

/// The parts of a composition. S: its sizes. ALIGNED: B and C have four floats together or not at all.
template <class S, bool ALIGNED>
struct Parts {
    using Scheduler = gemm::StreamK<gemm::Grouped<8>>;
    using Mainloop = gemm::Multistage<gemm::fma::Loader<S, ALIGNED>, gemm::fma::Atom<S>, S::STAGES>;
    using Epilogue = gemm::fma::Epilogue<S, ALIGNED, gemm::LinearCombination>;
    static_assert(gemm::PieceScheduler<Scheduler>);
};

// Told nothing, ptxas takes 20 to 30 registers more than in 14a: it keeps what each turn of the loop begins
// with.
template <class S>
constexpr int MOST_REGISTERS = 214;
template <>
constexpr int MOST_REGISTERS<Medium> = 184;
template <>
constexpr int MOST_REGISTERS<Small> = 120;

// A, B, C: see gemm::Arguments. scheduler: C tiles of BM×BN, k-tiles of BK, none where alpha is 0, and
// shares. SHARED: some C tiles are; else there is a block for each, as in 14a, and none waits.
template <class S, bool ALIGNED, bool SHARED>
__global__ void __maxnreg__(MOST_REGISTERS<S>)
    sgemm_stream_k(gemm::Arguments<float> arguments, typename Parts<S, ALIGNED>::Scheduler scheduler,
                   Partials partials, gemm::LinearCombination output) {
    using P = Parts<S, ALIGNED>;
    extern __shared__ __align__(16) char shared[];
    typename P::Mainloop mainloop{
        {arguments, shared}, gemm::fma::Atom<S>(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const FixUp<S, typename P::Scheduler> fix_up{partials, scheduler};
    const typename P::Epilogue epilogue{arguments, output};

    gemm::Piece work = scheduler.first();
    mainloop.fill(work);
    for (;;) {
        typename P::Mainloop::Sums sums = {};
        mainloop.multiply(sums, work);
        if (!SHARED || fix_up.combine(sums, work)) epilogue.store(sums, work);
        if (!SHARED || !scheduler.next(work)) return;
        mainloop.fill(work);
    }
}

const gemm::Tile tile{Large::BM, Large::BN, Large::BK};

template <class S>
auto kernel_for(const gemm::Problem& p, bool shared) {
    if (shared)
        return gemm::aligned<float>(p, false) ? sgemm_stream_k<S, true, true>
                                              : sgemm_stream_k<S, false, true>;
    return gemm::aligned<float>(p, false) ? sgemm_stream_k<S, true, false> : sgemm_stream_k<S, false, false>;
}

int multiprocessors() {
    int device = 0, count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

template <class S>
gemm::WorkSize size_of(const gemm::Problem& p) {  // BLAS: alpha == 0 must not read A or B
    return {gemm::tiles_of(p.M, p.N, S::BM, S::BN),
            p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, S::BK))};
}

/// How the work is divided, and how many steps of K it takes, by estimate.
struct Division {
    unsigned workers, shared;
    std::int64_t steps;
};

/// A block for each C tile, as 14a has it. The SM with the most of them computes one after another.
template <class S>
Division in_whole_tiles(const gemm::WorkSize& size, unsigned sms) {
    const unsigned tiles = size.tiles.m * size.tiles.n;
    return {tiles, 0, gemm::ceil_div(tiles, sms) * size.k_tiles * S::BK};
}

/// The first `shared` C tiles in equal shares, the others as a whole. A worker leaves a part of one C tile at
/// most, and fetches what others have of another: as many as begin within it.
template <class S>
Division in_shares(const gemm::WorkSize& size, unsigned workers, unsigned shared) {
    const std::int64_t all = std::int64_t{shared} * size.k_tiles,
                       whole = size.tiles.m * size.tiles.n - shared;
    const std::int64_t passes = 1 + gemm::ceil_div(size.k_tiles - 1, all / workers);
    return {workers, shared,
            (gemm::ceil_div(all, workers) + whole / workers * size.k_tiles) * S::BK + PASS_STEPS * passes};
}

/// The fastest by estimate. Shares have to gain 1 %.
template <class S>
Division divide(const gemm::WorkSize& size, unsigned sms) {
    const unsigned tiles = size.tiles.m * size.tiles.n;
    const Division whole = in_whole_tiles<S>(size, sms);
    Division best = whole;
    const auto take = [&](const Division& other) {
        if (other.steps < best.steps && 100 * other.steps < 99 * whole.steps) best = other;
    };
    if (size.k_tiles == 0) return best;
    if (tiles >= sms) {  // a share of one to two C tiles for each SM, and whole waves
        if (tiles % sms > 0) take(in_shares<S>(size, sms, sms + tiles % sms));
        return best;
    }
    const std::int64_t most = std::min<std::int64_t>(sms, std::int64_t{tiles} * size.k_tiles);
    for (unsigned workers = tiles + 1; workers <= most; ++workers) take(in_shares<S>(size, workers, tiles));
    return best;
}

/// How long a launch takes, by estimate, in ns.
template <class S>
std::int64_t time_of(const gemm::Problem& p, unsigned sms) {
    return STEP_TIME<S> * divide<S>(size_of<S>(p), sms).steps;
}

/// What f returns for the shape with the shortest time; the larger one where two take as long.
template <class F>
auto with_fastest(const gemm::Problem& p, unsigned sms, const F& f) {
    const std::int64_t large = time_of<Large>(p, sms), medium = time_of<Medium>(p, sms),
                       small = time_of<Small>(p, sms);
    if (large <= std::min(medium, small)) return f(Large());
    return medium <= small ? f(Medium()) : f(Small());
}

/// What a problem needs before its launch. Launches with one of them must not overlap, since they share a
/// workspace; nor should those with two, which could wait for each other's SMs.
struct Prepared {
    void (*launch)(const gemm::Problem&, const Prepared&, cudaStream_t) = nullptr;
    Division division = {};
    gemm::Workspace sums, flags;
    mutable std::atomic<unsigned> launches = 0;
};

template <class S>
void prepare_shape(Prepared& plan, const gemm::Problem& p, unsigned sms) {
    const gemm::WorkSize size = size_of<S>(p);
    plan.division = divide<S>(size, sms);
    if (plan.division.shared == 0) return;
    // The last worker leaves nothing: its share ends with a C tile.
    const std::size_t bytes = std::size_t{plan.division.workers - 1} * S::BM * S::BN * sizeof(float);
    plan.sums = gemm::Workspace(bytes);
    plan.flags = gemm::Workspace::of_zeros(plan.division.workers * sizeof(unsigned));
    if (plan.sums.data() != nullptr && plan.flags.data() != nullptr) return;
    std::fprintf(
        stderr,
        "15b_stream_k: the GPU has no room for a workspace of %zu bytes, for sums of shared C tiles; "
        "each C tile is computed by one block.\n",
        bytes);
    plan.division = in_whole_tiles<S>(size, sms);
    plan.sums = gemm::Workspace();
    plan.flags = gemm::Workspace();
}

template <class S>
typename Parts<S, true>::Scheduler scheduler_for(const gemm::Problem& p, const Division& division) {
    return Parts<S, true>::Scheduler::over(size_of<S>(p), division.workers, division.shared);
}

template <class S>
void launch_shape(const gemm::Problem& p, const Prepared& plan, cudaStream_t stream) {
    const auto kernel = kernel_for<S>(p, plan.division.shared > 0);
    constexpr int bytes = Parts<S, true>::Mainloop::SHARED;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    const auto scheduler = scheduler_for<S>(p, plan.division);
    const Partials partials{static_cast<float*>(plan.sums.data()), static_cast<unsigned*>(plan.flags.data()),
                            2 * plan.launches++ + 1};
    kernel<<<scheduler.blocks(), S::THREADS, bytes, stream>>>(
        gemm::arguments_of<float>(p), scheduler, partials, gemm::LinearCombination{p.alpha, p.beta});
}

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Prepared>();
    const unsigned sms = multiprocessors();
    with_fastest(p, sms, [&]<class S>(S) {
        plan->launch = launch_shape<S>;
        prepare_shape<S>(*plan, p, sms);
    });
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Prepared& prepared = *static_cast<const Prepared*>(plan);
    prepared.launch(p, prepared, stream);
}

template <class S>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col, unsigned sms) {
    const Division division = divide<S>(size_of<S>(p), sms);
    const auto scheduler = scheduler_for<S>(p, division);
    const int thread = gemm::fma::thread_of<S>(static_cast<int>(row % S::BM), static_cast<int>(col % S::BN));
    return {{scheduler.block_of(gemm::tile_of(row, col, S::BM, S::BN)), 0, 0},
            {static_cast<unsigned>(thread), 0, 0}};
}

/// As divided where there is room for a workspace.
gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const unsigned sms = multiprocessors();
    return with_fastest(p, sms, [&]<class S>(S) { return owner_in<S>(p, row, col, sms); });
}

const gemm::Constant constants[] = {{"WM", Large::WM}, {"WN", Large::WN},         {"TM", Large::TM},
                                    {"TN", Large::TN}, {"STAGES", Large::STAGES}, {"PASS_STEPS", PASS_STEPS}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_stream_k<Large, true, true>),
     .architectures = {.from = 80},
     .configuration = {.tile = tile,
                       .constants = constants,
                       .block = dim3(Large::THREADS),
                       .dynamic_shared_bytes = Parts<Large, true>::Mainloop::SHARED}}};

// Shares of more and of less than a C tile, the latter with blocks that have neither its beginning nor its
// end.
const gemm::Reach reaching[] = {
    {.path = "shares of small C tiles, four floats at once",
     .M = 60,
     .N = 132,
     .K = 540,
     .multiprocessors = 48,
     .again = true},
    {.path = "shares of small C tiles, float by float",
     .M = 61,
     .N = 131,
     .K = 553,
     .multiprocessors = 48,
     .again = true},
    {.path = "medium C tiles, four floats at once", .M = 60, .N = 200, .K = 100, .multiprocessors = 2},
    {.path = "medium C tiles, float by float", .M = 61, .N = 201, .K = 100, .multiprocessors = 2},
    {.path = "shares of medium C tiles, four floats at once",
     .M = 60,
     .N = 200,
     .K = 197,
     .multiprocessors = 3},
    {.path = "shares of medium C tiles, float by float", .M = 61, .N = 201, .K = 197, .multiprocessors = 3},
    {.path = "shares of large C tiles and whole ones, four floats at once",
     .M = 600,
     .N = 256,
     .K = 497,
     .multiprocessors = 2},
    {.path = "shares of large C tiles, float by float", .M = 322, .N = 201, .K = 497, .multiprocessors = 2}};

extern const gemm::Lesson lesson{.name = "15b_stream_k",
                                 .part = 3,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_15b
