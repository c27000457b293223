// 15d choose — C tiles of many sizes, thin and flat ones among them, and an estimate that chooses one of them
// and the number of slices of K. The blocks of a C tile may wait for each other, and each adds up a part of
// it.
//
// Changed since 15a: the list of shapes; the loader and the atom, which may keep A's rows; Spread in place of
// Reduction: where all blocks of a launch are resident at once, those of a C tile wait for each other, and
// all of them add, not the one that finishes last; RowStore, which stores rows that are not aligned.
// prepare() asks how many blocks an SM has room for, and estimates how long each shape takes with each number
// of slices. Should help wherever C is small, has few rows, or has few columns.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <iterator>
#include <memory>
#include <type_traits>

#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/fma/epilogue.hpp"
#include "common/parts/fma/row_store.hpp"
#include "common/parts/fma/thin_atom.hpp"
#include "common/parts/fma/thin_loader.hpp"
#include "common/parts/fma/thin_shape.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/multistage.hpp"
#include "common/parts/scheduler.hpp"
#include "common/parts/split_k.hpp"
#include "common/parts/workspace.hpp"
#include "common/ptx/flags.hpp"
#include "common/tma/operands.hpp"

namespace lesson_15d {

template <class... S>
struct List {};
template <int BM, int BN, int BK, int WM, int WN, int TM, int TN, int STAGES, int MIN_BLOCKS,
          bool ROWS = false>
using Shape = gemm::fma::ThinShape<BM, BN, BK, WM, WN, TM, TN, STAGES, MIN_BLOCKS, ROWS>;
using Large = Shape<128, 256, 8, 64, 64, 8, 16, 4, 1>;
using Shapes = List<Shape<8, 128, 16, 8, 64, 4, 4, 4, 6>,          // few rows
                    Shape<16, 128, 16, 16, 32, 4, 4, 4, 5>,        //
                    Shape<16, 256, 16, 16, 64, 4, 8, 4, 3>,        //
                    Shape<32, 256, 16, 32, 64, 8, 8, 4, 3>,        //
                    Shape<128, 16, 32, 32, 16, 4, 4, 3, 3, true>,  // few columns
                    Shape<256, 48, 8, 64, 48, 8, 12, 4, 2, true>,  //
                    Shape<32, 64, 32, 16, 32, 4, 4, 3, 4, true>,   // a small C
                    Shape<64, 32, 32, 16, 32, 4, 4, 3, 4, true>,   //
                    Shape<64, 64, 16, 32, 32, 4, 8, 4, 5, true>,   //
                    Shape<64, 128, 8, 32, 64, 8, 8, 4, 3>,         // a larger one
                    Shape<128, 64, 8, 64, 32, 8, 8, 4, 3>,         //
                    Shape<128, 128, 8, 64, 64, 8, 16, 4, 2>,       //
                    Large>;

/// The parts of a composition. Listed: one of Shapes. ALIGNED_: B and C have four floats together or not at
/// all, and A where Listed::ROWS.
template <class Listed, bool ALIGNED_>
struct Parts {
    static constexpr bool ALIGNED = ALIGNED_;
    using S = std::conditional_t<ALIGNED, Listed, typename Listed::Floats>;
    using Scheduler = gemm::SplitK<gemm::Grouped<8>>;
    using Mainloop = gemm::Multistage<gemm::fma::ThinLoader<S, ALIGNED>, gemm::fma::ThinAtom<S>, S::STAGES>;
    using Epilogue = gemm::fma::Epilogue<S, ALIGNED, gemm::LinearCombination>;
    using Rows = gemm::fma::RowStore<S, gemm::LinearCombination>;
    static_assert(gemm::SliceScheduler<Scheduler> && Rows::SHARED <= Mainloop::SHARED);
};

constexpr int MOST_SLICES = 127;  // of a C tile; half of 255: see meet()
static_assert(2 * MOST_SLICES < 256);

/// The workspace: where the slices of a C tile leave their sums and are counted.
struct Partials {
    float* sums;  // [slice][C tile][BM][BN]; null where there is one slice
    // [C tile]: 0 between launches; in one, 256·launch + how many blocks have come, and have gone on
    unsigned* arrived;
    unsigned launch;    // which launch with this workspace it is, counted from 1
    bool all_resident;  // all blocks of the launch at once: they may wait for each other
};

/// From the sums of slices to C: each block of a C tile writes a part of it. P: Parts.
template <class P>
struct Spread {
    using S = typename P::S;
    static constexpr int FOURS = S::BN / 4;  // in a row of the C tile
    // Loads of four sums that are on their way to a thread at the same time.
    static constexpr int AT_ONCE = S::TM * S::TN >= 64 ? 16 : 8;

    const Partials& partials;
    const typename P::Epilogue& epilogue;  // where C has four floats together,
    const typename P::Rows& rows;          // and where it has not
    unsigned tiles;                        // of C

    __device__ __forceinline__ void store(const float (&sums)[S::TM][S::TN], const gemm::Slice& work) const {
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM, col0 = std::int64_t{work.tile.n} * S::BN;
        const std::int64_t left = epilogue.out.M - row0;
        const int height = static_cast<int>(left < S::BM ? left : S::BM);
        if (work.slices == 1) {
            if constexpr (P::ALIGNED) {
                gemm::fma::for_each_four<S>(sums, [&](const float* four, int y, int x) {
                    if (y < height) epilogue.store4(four, row0 + y, col0 + x);
                });
            } else {
                rows.store(sums, work);
            }
            return;
        }
        float* const mine = partials.sums + place_of(work, work.slice);
        gemm::fma::for_each_four<S>(sums, [&](const float* four, int y, int x) {
            if (y >= height) return;
            // Why they are added to 0: see RowStore::store().
            *reinterpret_cast<float4*>(mine + y * S::BN + x) =
                make_float4(four[0] + 0.0f, four[1] + 0.0f, four[2] + 0.0f, four[3] + 0.0f);
        });
        const int fours = height * FOURS;
        if (partials.all_resident) {
            meet(work);
            // gap: part
            const int begin = fours * work.slice / work.slices, end = fours * (work.slice + 1) / work.slices;
            // end gap
            add(work, row0, col0, begin, end);
        } else if (come_last(work)) {
            add(work, row0, col0, 0, fours);
        }
    }

    /// Where a slice's sums of the C tile are, counted in floats.
    __device__ __forceinline__ std::int64_t place_of(const gemm::Slice& work, int slice) const {
        return (std::int64_t{slice} * tiles + work.number) * (S::BM * S::BN);
    }

    /// Of the C tile's blocks.
    __device__ __forceinline__ unsigned* counter_of(const gemm::Slice& work) const {
        return &partials.arrived[work.number];
    }

    /// Until all slices of the C tile have left their sums.
    __device__ __forceinline__ void meet(const gemm::Slice& work) const {
        __syncthreads();  // all of the block's sums are stored before one thread reports it
        if (threadIdx.x == 0) {
            unsigned* const arrived = counter_of(work);
            const unsigned none = partials.launch << 8, all = static_cast<unsigned>(work.slices);
            atomicMax(arrived, none);  // from 0, or what an aborted launch has left, to this launch's zero
            // gap: meeting
            gemm::ptx::add_release(arrived, 1);
            while (gemm::ptx::load_acquire(arrived) - none < all) {
            }
            // end gap
            // Who goes on last leaves it ready for the next launch: nobody reads it any more.
            if (gemm::ptx::add_acquire_release(arrived, 1) - none == 2 * all - 1) *arrived = 0;
        }
        __syncthreads();  // now all threads may read what thread 0 may
    }

    /// Whether the other slices of the C tile had left their sums before.
    __device__ __forceinline__ bool come_last(const gemm::Slice& work) const {
        __syncthreads();  // all of the block's sums are stored before one thread reports it
        bool last = false;
        if (threadIdx.x == 0) {
            unsigned* const arrived = counter_of(work);
            const unsigned none = partials.launch << 8, all = static_cast<unsigned>(work.slices);
            atomicMax(arrived, none);
            last = gemm::ptx::add_acquire_release(arrived, 1) - none == all - 1;
            if (last) *arrived = 0;
        }
        return __syncthreads_or(last);  // now all threads may read what thread 0 may
    }

    /// Some fours of the C tile's rows that exist, slice after slice: the same bits in every launch. Loads
    /// are on their way for several fours, or for many slices, whichever there are.
    __device__ __forceinline__ void add(const gemm::Slice& work, std::int64_t row0, std::int64_t col0,
                                        int begin, int end) const {
        if (end - begin > S::THREADS) {
            add_fours<AT_ONCE / 4>(work, row0, col0, begin, end);
        } else {
            add_fours<1>(work, row0, col0, begin, end);
        }
    }

    /// FOURS_AT_ONCE of a thread's, and of each as many slices as make AT_ONCE loads.
    template <int FOURS_AT_ONCE>
    __device__ __forceinline__ void add_fours(const gemm::Slice& work, std::int64_t row0, std::int64_t col0,
                                              int begin, int end) const {
        constexpr int SLICES_AT_ONCE = AT_ONCE / FOURS_AT_ONCE;
        const std::int64_t pitch = std::int64_t{tiles} * (S::BM * S::BN);  // from a slice to the next
        const float* const sums = partials.sums + place_of(work, 0);
#pragma unroll 1
        for (int of_warp = begin + static_cast<int>(threadIdx.x) / 32 * 32; of_warp < end;
             of_warp += FOURS_AT_ONCE * S::THREADS) {
            const int first = of_warp + static_cast<int>(threadIdx.x) % 32;
            float total[FOURS_AT_ONCE][4] = {};
#pragma unroll 1
            for (int slice = 0; slice < work.slices; slice += SLICES_AT_ONCE) {
                float4 some[FOURS_AT_ONCE][SLICES_AT_ONCE];
#pragma unroll
                for (int f = 0; f < FOURS_AT_ONCE; ++f) {
                    const int four = first + f * S::THREADS;
#pragma unroll
                    for (int i = 0; i < SLICES_AT_ONCE; ++i) {
                        some[f][i] =
                            four < end && slice + i < work.slices
                                ? *reinterpret_cast<const float4*>(sums + 4 * four + (slice + i) * pitch)
                                : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                    }
                }
#pragma unroll
                for (int f = 0; f < FOURS_AT_ONCE; ++f) {
#pragma unroll
                    for (int i = 0; i < SLICES_AT_ONCE; ++i) {
                        total[f][0] += some[f][i].x, total[f][1] += some[f][i].y;
                        total[f][2] += some[f][i].z, total[f][3] += some[f][i].w;
                    }
                }
            }
#pragma unroll
            for (int f = 0; f < FOURS_AT_ONCE; ++f) {
                const int four = first + f * S::THREADS;
                if constexpr (!P::ALIGNED) {
                    rows.store4(total[f], 4 * (of_warp + f * S::THREADS), 4 * end, row0, col0);
                } else if (four < end) {
                    epilogue.store4(total[f], row0 + four / FOURS, col0 + four % FOURS * 4);
                }
            }
        }
    }
};

// A, B, C: see gemm::Arguments. scheduler: C tiles of BM×BN, k-tiles of BK, none where alpha is 0, and
// slices. P: Parts.
template <class P>
__global__ void __launch_bounds__(P::S::THREADS, P::S::MIN_BLOCKS)
    sgemm_choose(gemm::Arguments<float> arguments, typename P::Scheduler scheduler, Partials partials,
                 gemm::LinearCombination output) {
    using S = typename P::S;
    extern __shared__ __align__(16) char shared[];
    typename P::Mainloop mainloop{
        {arguments, shared}, gemm::fma::ThinAtom<S>(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const typename P::Epilogue epilogue{arguments, output};
    const typename P::Rows rows{arguments, output, shared};
    const Spread<P> spread{partials, epilogue, rows, scheduler.size.tiles.m * scheduler.size.tiles.n};

    const gemm::Slice work = scheduler.first();
    mainloop.fill(work);
    typename P::Mainloop::Sums sums = {};
    mainloop.multiply(sums, work);
    spread.store(sums, work);
}

/// What f returns for the Parts that fit the problem, of the shape with this index.
template <class S, class... Rest, class F>
auto with_parts(List<S, Rest...> /*shapes*/, int shape, const gemm::Problem& p, const F& f) {
    if constexpr (sizeof...(Rest) > 0) {
        if (shape > 0) return with_parts(List<Rest...>(), shape - 1, p, f);
    }
    return gemm::aligned<float>(p, S::ROWS) ? f(Parts<S, true>()) : f(Parts<S, false>());
}

template <class... S>
constexpr int count_of(List<S...> /*shapes*/) {
    return sizeof...(S);
}
constexpr int SHAPES = count_of(Shapes());

/// The kernel, told how much shared memory it may have: beyond 48 KiB CUDA wants that. Throws
/// gemm::CudaError.
template <class P>
auto kernel_of() {
    const auto kernel = sgemm_choose<P>;
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, P::Mainloop::SHARED));
    return kernel;
}

// The estimate. Its numbers were fitted to times on an H200.
// How long an SM with many warps takes for a step of K of a C tile, in ns, in the order of Shapes: where four
// floats come at a time,
constexpr double STEP_TIME[] = {7.05, 11.6, 20.2, 35.1, 12.8, 68.1, 10.8,
                                10.8, 22.8, 33.2, 38.8, 71.8, 120.0};
// and where one does.
constexpr double STEP_TIME_FLOATS[] = {12.2, 14.5, 29.9, 43.3, 20.2, 66.4, 12.9,
                                       14.8, 23.6, 37.1, 42.0, 76.9, 137.0};
static_assert(std::size(STEP_TIME) == SHAPES && std::size(STEP_TIME_FLOATS) == SHAPES);
// With w warps on the SM it takes 1 + WAIT / w times as long: a warp that waits has fewer others beside it.
constexpr double WAIT = 1.95;
// After whole waves, the last one takes so much of the time between its blocks' and a whole wave's: blocks do
// not all end together, and an SM that is done takes what is left.
constexpr double UNEVEN = 0.09;
constexpr double LAUNCH = 3600;       // ns, of any launch
constexpr double FILL = 280;          // ns, until the first k-tiles of a wave of blocks are there
constexpr double STORE = 0.106;       // ns an SM takes to write an element of C
constexpr double DRAM = 4160;         // bytes of DRAM that a GPU reads in a ns …
constexpr double FLIGHT = 34 * 1024;  // … with so many on their way to each SM; with fewer, in proportion
constexpr double MEET = 1300;         // ns, for which the blocks of a C tile wait for each other,
constexpr double LAST = 2300;         // or the one that comes last takes to begin to add,
constexpr double MEET_EACH = 46;      // and so many more for each slice
// Bytes of sums that are written and read in a ns, in L2 as a rule: by all blocks at the same time; beside
// blocks that multiply; and where an SM has just one block, whatever others do.
constexpr double SUMS = 4310, SUMS_BESIDE = 6280, SUMS_ALONE = 1410;

/// What the estimate knows of a shape.
struct Candidate {
    std::int64_t tiles;  // of C
    int rows, cols;      // of C in a C tile
    int depth, k_tiles;  // steps of K in a k-tile; k-tiles
    int stages, warps;   // of a block
    int resident;        // blocks that an SM has at once
    int tile_cols;       // of a C tile, whether C has them or not
    double step_time;    // see STEP_TIME
};

/// Whether all blocks of a launch are resident at once.
bool are_resident(const Candidate& c, int slices, int sms) {
    return c.tiles * slices <= std::int64_t{sms} * c.resident;
}

/// How long a launch takes, by estimate, in ns. M, N, c.resident > 0.
double time_of(const gemm::Problem& p, const Candidate& c, int slices, int sms) {
    const auto number = [](std::int64_t n) { return static_cast<double>(n); };
    const double m = number(p.M), n = number(p.N), k = c.k_tiles == 0 ? 0.0 : number(p.K);
    // Products: the SM with the most blocks has so many, in whole waves of `resident` and a last one.
    const std::int64_t blocks = c.tiles * slices, of_sm = gemm::ceil_div(blocks, sms);
    const std::int64_t whole = of_sm / c.resident, rest = of_sm % c.resident;
    const auto step = [&](std::int64_t some) {  // of K, of so many blocks
        return some == 0 ? 0.0 : number(some) * c.step_time * (1.0 + WAIT / number(some * c.warps));
    };
    const double last =
        whole == 0 || rest == 0 ? step(rest) : (1.0 - UNEVEN) * step(rest) + UNEVEN * step(c.resident);
    const double steps = number(gemm::ceil_div(c.k_tiles, slices)) * c.depth;
    const double products = steps * (number(whole) * step(c.resident) + last) +
                            FILL * number(gemm::ceil_div(of_sm, c.resident)) +
                            STORE * number(of_sm) * c.rows * c.cols;
    // Bytes of A, B and C: as fast as DRAM is, if enough of them are on their way (Little's law).
    const double in_flight = number(std::min(blocks, std::int64_t{sms} * c.resident)) / sms * (c.stages - 1) *
                             c.depth * 4 * (c.rows + c.cols);
    const double bytes = 4 * (m * k + k * n + m * n) / (DRAM * std::min(1.0, in_flight / FLIGHT));
    // Slices: each leaves the sums of whole C tiles' columns, and all are read; at the same time as others
    // multiply, or after all have.
    const bool together = are_resident(c, slices, sms);
    const double cols = number(gemm::ceil_div(p.N, c.tile_cols)) * c.tile_cols;
    const double rate = c.resident == 1 ? SUMS_ALONE : together ? SUMS : SUMS_BESIDE;
    const double adding =
        slices == 1 ? 0.0 : (together ? MEET : LAST) + MEET_EACH * slices + 2 * 4 * m * cols * slices / rate;
    return LAUNCH + std::max(products, bytes) + adding;
}

template <class P>
std::int64_t tiles_of(const gemm::Problem& p) {
    return gemm::ceil_div(p.M, P::S::BM) * gemm::ceil_div(p.N, P::S::BN);
}

template <class P>
int k_tiles_of(const gemm::Problem& p) {  // BLAS: alpha == 0 must not read A or B
    return p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, P::S::BK));
}

template <class P>
Candidate candidate_of(const gemm::Problem& p, int shape) {
    using S = typename P::S;
    int resident = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, reinterpret_cast<const void*>(kernel_of<P>()), S::THREADS, P::Mainloop::SHARED));
    return {.tiles = tiles_of<P>(p),
            .rows = static_cast<int>(std::min<std::int64_t>(p.M, S::BM)),
            .cols = static_cast<int>(std::min<std::int64_t>(p.N, S::BN)),
            .depth = S::BK,
            .k_tiles = k_tiles_of<P>(p),
            .stages = S::STAGES,
            .warps = S::THREADS / 32,
            .resident = resident,
            .tile_cols = S::BN,
            .step_time = P::ALIGNED ? STEP_TIME[shape] : STEP_TIME_FLOATS[shape]};
}

/// Throws gemm::Error where no shape was estimated, which no GPU from 8.0 on comes to.
void require_one(double best) {
    if (best == 0.0) throw gemm::Error("15d_choose: an SM of this GPU has no room for any of its blocks.");
}

/// The shape and the number of slices with the shortest time, by estimate, among shapes of which an SM has
/// room for a block; a choice that comes later has to be faster by 1 %. Throws gemm::Error.
gemm::Way choose(const gemm::Problem& p) {
    gemm::Way choice;
    if (p.M == 0 || p.N == 0) return choice;
    double best = 0.0;
    const int sms = gemm::multiprocessors();
    for (int shape = 0; shape < SHAPES; ++shape) {
        const Candidate c =
            with_parts(Shapes(), shape, p, [&]<class P>(P) { return candidate_of<P>(p, shape); });
        const int most = c.resident == 0 ? 0 : std::max(1, std::min(c.k_tiles, MOST_SLICES));
        for (int slices = 1; slices <= most; ++slices) {
            const double time = time_of(p, c, slices, sms);
            if (best > 0.0 && time >= 0.99 * best) continue;
            best = time;
            choice = {shape, slices};
        }
    }
    require_one(best);
    return choice;
}

/// What a problem needs before its launch. Launches with one of them must not overlap, since they share a
/// workspace.
struct Division {
    void (*launch)(const gemm::Problem&, const Division&, cudaStream_t) = nullptr;
    int slices = 1;
    bool all_resident = true;  // or else no block may wait for another
    gemm::Workspace sums, arrived;
    mutable std::atomic<unsigned> launches = 0;
};

template <class P>
typename P::Scheduler scheduler_for(const gemm::Problem& p, int slices) {
    return {{gemm::tiles_of(p.M, p.N, P::S::BM, P::S::BN), k_tiles_of<P>(p)}, slices};
}

template <class P>
void launch_parts(const gemm::Problem& p, const Division& plan, cudaStream_t stream) {
    const auto scheduler = scheduler_for<P>(p, plan.slices);
    const Partials partials{static_cast<float*>(plan.sums.data()),
                            static_cast<unsigned*>(plan.arrived.data()), ++plan.launches, plan.all_resident};
    // Only where all blocks are resident may they wait: a cooperative launch begins when all find room.
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = plan.all_resident;
    const cudaLaunchConfig_t config{
        dim3(scheduler.blocks()), dim3(P::S::THREADS), P::Mainloop::SHARED, stream, &together, 1};
    cudaLaunchKernelEx(&config, kernel_of<P>(), gemm::arguments_of<float>(p), scheduler, partials,
                       gemm::LinearCombination{p.alpha, p.beta});
}

/// The workspace for so many sums and C tiles, or one slice where there is no room for it.
void divide(Division& plan, int slices, std::size_t sums, std::size_t tiles) {
    if (slices == 1) return;
    plan.sums = gemm::Workspace(sums * sizeof(float));
    plan.arrived = gemm::Workspace::of_zeros(tiles * sizeof(unsigned));
    if (plan.sums.data() != nullptr && plan.arrived.data() != nullptr) {
        plan.slices = slices;
        return;
    }
    std::fprintf(stderr,
                 "15d_choose: the GPU has no room for a workspace of %zu bytes, for %d slices of K; each C "
                 "tile is computed in one piece.\n",
                 sums * sizeof(float), slices);
    plan.sums = gemm::Workspace();
    plan.arrived = gemm::Workspace();
}

std::shared_ptr<Division> prepare_in(const gemm::Problem& p, const gemm::Way& way) {
    const auto plan = std::make_shared<Division>();
    with_parts(Shapes(), way.kernel, p, [&]<class P>(P) {
        const Candidate c = candidate_of<P>(p, way.kernel);
        plan->launch = launch_parts<P>;
        plan->all_resident = way.slices > 1 && are_resident(c, way.slices, gemm::multiprocessors());
        divide(*plan, way.slices, static_cast<std::size_t>(way.slices * c.tiles) * P::S::BM * P::S::BN,
               static_cast<std::size_t>(c.tiles));
    });
    return plan;
}

gemm::Plan prepare(const gemm::Problem& p) {
    return prepare_in(p, choose(p));
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Division& division = *static_cast<const Division*>(plan);
    division.launch(p, division, stream);
}

template <class P>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col, const gemm::Way& choice) {
    using S = typename P::S;
    const auto scheduler = scheduler_for<P>(p, choice.slices);
    unsigned block = scheduler.block_of(gemm::tile_of(row, col, S::BM, S::BN));  // of the last slice
    const auto in_block = [](unsigned at, int thread) {
        return gemm::Owner{{at, 0, 0}, {static_cast<unsigned>(thread), 0, 0}};
    };
    const int y = static_cast<int>(row % S::BM), x = static_cast<int>(col % S::BN);
    if (choice.slices == 1) {
        const int thread = gemm::fma::thread_of_thin<S>(y, x);
        return in_block(block, P::ALIGNED ? thread : thread / 32 * 32 + P::Rows::lane_of(y, x));
    }
    constexpr int FOURS = Spread<P>::FOURS;
    const int fours = static_cast<int>(std::min<std::int64_t>(S::BM, p.M - (row - y))) * FOURS;
    const int four = y * FOURS + x / 4;
    int slice = 0, begin = 0;  // where the last block adds, it adds all
    if (are_resident(candidate_of<P>(p, choice.kernel), choice.slices, gemm::multiprocessors())) {
        while (fours * (slice + 1) / choice.slices <= four) ++slice;
        block -= static_cast<unsigned>(tiles_of<P>(p)) * static_cast<unsigned>(choice.slices - 1 - slice);
        begin = fours * slice / choice.slices;
    }
    const int thread = (four - begin) % S::THREADS;
    const int place = 4 * (four - begin) + x % 4;  // counted in elements, which RowStore hands out
    return in_block(block, P::ALIGNED ? thread : thread / 32 * 32 + place % 32);
}

/// As divided where there is room for a workspace. Where the block that comes last adds, this names the last
/// slice's.
gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const gemm::Way choice = choose(p);
    return with_parts(Shapes(), choice.kernel, p,
                      [&]<class P>(P) { return owner_in<P>(p, row, col, choice); });
}

gemm::Tiling tiling_in(const gemm::Problem& p, const gemm::Way& way) {
    return with_parts(Shapes(), way.kernel, p, [&]<class P>(P) -> gemm::Tiling {
        using S = typename P::S;
        return {{S::BM, S::BN, S::BK},
                way.slices,
                scheduler_for<P>(p, way.slices).blocks(),
                reinterpret_cast<const void*>(kernel_of<P>()),
                dim3(S::THREADS),
                P::Mainloop::SHARED};
    });
}

gemm::Tiling tiling(const gemm::Problem& p) {
    return tiling_in(p, choose(p));
}

/// The choice, then each shape with 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15 … slices, by their estimates.
std::vector<gemm::Way> ways(const gemm::Problem& p) {
    const gemm::Way chosen = choose(p);
    std::vector<std::pair<double, gemm::Way>> others;
    for (gemm::Way way; way.kernel < SHAPES; ++way.kernel) {
        const Candidate c =
            with_parts(Shapes(), way.kernel, p, [&]<class P>(P) { return candidate_of<P>(p, way.kernel); });
        const int most = c.resident == 0 ? 0 : std::max(1, std::min(c.k_tiles, MOST_SLICES));
        for (way.slices = 1; way.slices <= most; way.slices += std::max(1, way.slices / 4)) {
            if (way != chosen) others.emplace_back(time_of(p, c, way.slices, gemm::multiprocessors()), way);
        }
    }
    return gemm::fastest_first(chosen, others);
}

/// As prepare(), or gemm::Error where there is no room for the slices of this way.
gemm::Plan prepare_way(const gemm::Problem& p, const gemm::Way& way) {
    const auto plan = prepare_in(p, way);
    if (plan->slices != way.slices) throw gemm::Error("There is no room for a workspace.");
    return plan;
}

const gemm::Choosing choosing{ways, prepare_way, tiling_in};

const gemm::Tile tile{Large::BM, Large::BN, Large::BK};
const gemm::Constant constants[] = {{"WM", Large::WM},         {"WN", Large::WN},
                                    {"TM", Large::TM},         {"TN", Large::TN},
                                    {"STAGES", Large::STAGES}, {"MOST_SLICES", MOST_SLICES}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_choose<Parts<Large, true>>),
     .architectures = {.from = 80},
     .configuration = {.tile = tile,
                       .constants = constants,
                       .block = dim3(Large::THREADS),
                       .dynamic_shared_bytes = Parts<Large, true>::Mainloop::SHARED}}};

// Of each shape, but for slices of 16×256 and 128×128, which small problems have not. Only slices of 32×64
// are added up in each way, and launched twice.
const gemm::Reach reaching[] = {
    {.path = "slices of 8×128, four floats at a time", .M = 2, .N = 4, .K = 145, .multiprocessors = 4},
    {.path = "slices of 8×128, a float at a time", .M = 1, .N = 1, .K = 97, .multiprocessors = 3},
    {.path = "slices of 16×128, four floats at a time", .M = 9, .N = 4, .K = 145, .multiprocessors = 6},
    {.path = "slices of 16×128, a float at a time", .M = 10, .N = 1, .K = 113, .multiprocessors = 3},
    {.path = "slices of 32×256, four floats at a time", .M = 25, .N = 480, .K = 204, .multiprocessors = 7},
    {.path = "slices of 32×256, a float at a time", .M = 17, .N = 211, .K = 130, .multiprocessors = 3},
    {.path = "slices of 128×16, four floats at a time", .M = 65, .N = 4, .K = 132, .multiprocessors = 6},
    {.path = "slices of 128×16, a float at a time", .M = 67, .N = 1, .K = 97, .multiprocessors = 4},
    {.path = "slices of 256×48, four floats at a time", .M = 204, .N = 36, .K = 164, .multiprocessors = 1},
    {.path = "slices of 256×48, a float at a time", .M = 199, .N = 34, .K = 65, .multiprocessors = 3},
    {.path = "slices of 32×64, four floats at a time",
     .M = 17,
     .N = 96,
     .K = 152,
     .multiprocessors = 12,
     .again = true},
    {.path = "larger parts of slices of 32×64, four floats at a time",
     .M = 28,
     .N = 8,
     .K = 148,
     .multiprocessors = 3},
    {.path = "slices beyond what is resident of 32×64, four floats at a time",
     .M = 406,
     .N = 44,
     .K = 372,
     .multiprocessors = 2,
     .again = true},
    {.path = "slices of 32×64, a float at a time",
     .M = 1,
     .N = 1,
     .K = 97,
     .multiprocessors = 5,
     .again = true},
    {.path = "larger parts of slices of 32×64, a float at a time",
     .M = 18,
     .N = 77,
     .K = 163,
     .multiprocessors = 4},
    {.path = "slices beyond what is resident of 32×64, a float at a time",
     .M = 385,
     .N = 57,
     .K = 469,
     .multiprocessors = 4,
     .again = true},
    {.path = "slices of 64×32, four floats at a time", .M = 33, .N = 4, .K = 116, .multiprocessors = 4},
    {.path = "slices of 64×32, a float at a time", .M = 33, .N = 1, .K = 97, .multiprocessors = 4},
    {.path = "slices of 64×64, four floats at a time", .M = 43, .N = 40, .K = 228, .multiprocessors = 5},
    {.path = "slices of 64×64, a float at a time", .M = 41, .N = 33, .K = 97, .multiprocessors = 7},
    {.path = "slices of 64×128, four floats at a time", .M = 51, .N = 100, .K = 164, .multiprocessors = 3},
    {.path = "slices of 64×128, a float at a time", .M = 54, .N = 98, .K = 99, .multiprocessors = 3},
    {.path = "slices of 128×64, four floats at a time", .M = 109, .N = 36, .K = 133, .multiprocessors = 3},
    {.path = "slices of 128×64, a float at a time", .M = 101, .N = 35, .K = 161, .multiprocessors = 3},
    {.path = "slices of 128×256, four floats at a time", .M = 103, .N = 196, .K = 164, .multiprocessors = 3},
    {.path = "slices of 128×256, a float at a time", .M = 106, .N = 197, .K = 113, .multiprocessors = 3},
    {.path = "whole 8×128, four floats at a time", .M = 1, .N = 4, .K = 1, .multiprocessors = 4},
    {.path = "whole 8×128, a float at a time", .M = 15, .N = 3, .K = 1, .multiprocessors = 24},
    {.path = "whole 16×128, four floats at a time", .M = 9, .N = 4, .K = 1, .multiprocessors = 1},
    {.path = "whole 16×128, a float at a time", .M = 9, .N = 1, .K = 1, .multiprocessors = 1},
    {.path = "whole 16×256, four floats at a time", .M = 9, .N = 132, .K = 1, .multiprocessors = 1},
    {.path = "whole 16×256, a float at a time", .M = 14, .N = 129, .K = 1, .multiprocessors = 1},
    {.path = "whole 32×256, four floats at a time", .M = 17, .N = 132, .K = 1, .multiprocessors = 1},
    {.path = "whole 32×256, a float at a time", .M = 19, .N = 129, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×16, four floats at a time", .M = 65, .N = 4, .K = 12, .multiprocessors = 1},
    {.path = "whole 128×16, a float at a time", .M = 65, .N = 1, .K = 9, .multiprocessors = 1},
    {.path = "whole 256×48, four floats at a time", .M = 129, .N = 4, .K = 4, .multiprocessors = 1},
    {.path = "whole 256×48, a float at a time", .M = 129, .N = 1, .K = 1, .multiprocessors = 1},
    {.path = "whole 32×64, four floats at a time", .M = 17, .N = 4, .K = 20, .multiprocessors = 1},
    {.path = "whole 32×64, a float at a time", .M = 1, .N = 1, .K = 17, .multiprocessors = 5},
    {.path = "whole 64×32, four floats at a time", .M = 33, .N = 4, .K = 12, .multiprocessors = 1},
    {.path = "whole 64×32, a float at a time", .M = 33, .N = 1, .K = 17, .multiprocessors = 1},
    {.path = "whole 64×64, four floats at a time", .M = 33, .N = 36, .K = 12, .multiprocessors = 1},
    {.path = "whole 64×64, a float at a time", .M = 33, .N = 1, .K = 9, .multiprocessors = 1},
    {.path = "whole 64×128, four floats at a time", .M = 17, .N = 4, .K = 1, .multiprocessors = 1},
    {.path = "whole 64×128, a float at a time", .M = 17, .N = 1, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×64, four floats at a time", .M = 65, .N = 4, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×64, a float at a time", .M = 65, .N = 1, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×128, four floats at a time", .M = 65, .N = 68, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×128, a float at a time", .M = 67, .N = 65, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×256, four floats at a time", .M = 50, .N = 132, .K = 1, .multiprocessors = 1},
    {.path = "whole 128×256, a float at a time", .M = 56, .N = 129, .K = 1, .multiprocessors = 1}};

extern const gemm::Lesson lesson{.name = "15d_choose",
                                 .part = 3,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner,
                                 .tiling = tiling,
                                 .choosing = &choosing};

}  // namespace lesson_15d
