// 15d choose — a trial: many sizes of C tiles, thin ones among them; and where slices of K share a C tile,
// each of their blocks adds up a part of it.
//
// Changed since 15a: shapes of few rows and of few columns; blocks of a C tile wait for each other, so that
// all of them add and store; a launch has slices only where all of its blocks are resident at once.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/fma/epilogue.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/multistage.hpp"
#include "common/parts/scheduler.hpp"
#include "common/parts/split_k.hpp"
#include "common/parts/workspace.hpp"
#include "common/ptx/cp_async.hpp"
#include "common/ptx/flags.hpp"

namespace lesson_15d {

/// ROWS: As keeps A's rows, which come four floats at a time where they are aligned. MIN_BLOCKS: on an SM, as
/// ptxas is to have it.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int TM_, int TN_, int STAGES_, int MIN_BLOCKS_,
          bool ROWS_ = false>
struct Shape {
    static constexpr int BM = BM_, BN = BN_, BK = BK_;  // C tile: rows and columns; steps of a k-tile
    static constexpr int WM = WM_, WN = WN_;            // warp tile: rows and columns of C
    static constexpr int TM = TM_, TN = TN_;            // thread tile: rows and columns of C
    static constexpr int STAGES = STAGES_;              // k-tiles in shared memory
    static constexpr int MIN_BLOCKS = MIN_BLOCKS_;
    static constexpr bool ROWS = ROWS_;
    static constexpr int LANES_M = WM / TM, LANES_N = WN / TN, WARPS_N = BN / WN;
    static constexpr int THREADS = 32 * (BM / WM) * WARPS_N;
    static_assert(LANES_M * LANES_N == 32 && BM % WM == 0 && BN % WN == 0, "warps and lanes tile the block");
    static_assert(LANES_M % 2 == 0 && LANES_N % 2 == 0, "neighbors in pairs");
    static_assert(TM % 4 == 0 && TN % 4 == 0 && BK % 8 == 0, "reads of four floats, copies of eight steps");
    static_assert(THREADS % BK == 0 && BM % (THREADS / BK) == 0 && THREADS / 32 % (BK / 8) == 0,
                  "every thread copies as much of A, float by float");
};

/// How a stage lies in shared memory: As, as A has it, As[BM][BK + 4], or transposed, As[BK][BM + 4]; then
/// Bs[BK][BN]. The padding keeps lanes that read, or store, at the same time in different banks.
template <class S, bool ROWS>
struct Stage {
    static constexpr int A_PITCH = (ROWS ? S::BK : S::BM) + 4;
    static constexpr int BS = 4 * A_PITCH * (ROWS ? S::BM : S::BK);  // where Bs begins, in bytes
    static constexpr int BYTES = BS + 4 * S::BK * S::BN;
};

/// Where a lane's elements are in the C tile: rows y + row_of(i), groups of four columns from x + j·LANES_N
/// on.
struct Place {
    int y, x;
};

template <class S, bool ROWS>
__device__ __forceinline__ Place place_of_thread() {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int lane_m = lane % 2 + lane / 4 % (S::LANES_M / 2) * 2,
              lane_n = lane / 2 % 2 + lane / (2 * S::LANES_M) * 2;
    return {warp / S::WARPS_N * S::WM + lane_m * (ROWS ? 1 : 4), warp % S::WARPS_N * S::WN + lane_n * 4};
}

template <class S, bool ROWS>
constexpr __device__ __forceinline__ int row_of(int i) {
    return ROWS ? i * S::LANES_M : i / 4 * 4 * S::LANES_M + i % 4;
}

/// The thread that has (row, col) of the C tile, for owner().
template <class S>
int thread_of(int row, int col, bool rows) {
    const int lane_m = rows ? row % S::WM % S::LANES_M : row % S::WM / 4 % S::LANES_M;
    const int lane_n = col % S::WN / 4 % S::LANES_N;
    const int lane = lane_m % 2 + lane_n % 2 * 2 + lane_m / 2 * 4 + lane_n / 2 * 2 * S::LANES_M;
    return (row / S::WM * S::WARPS_N + col / S::WN) * 32 + lane;
}

/// Copies k-tiles. ALIGNED: B's rows come four floats at a time, and A's where S::ROWS.
template <class S, bool ALIGNED>
struct Loader {
    static constexpr bool ROWS = ALIGNED && S::ROWS;
    using At = Stage<S, ROWS>;
    static constexpr int BK = S::BK, STAGE = At::BYTES;
    static constexpr int A_WIDTH = ROWS ? 4 : 1, A_ROWS = S::THREADS * A_WIDTH / BK;
    static constexpr int WIDTH = ALIGNED ? 4 : 1, B_COLS = std::min(S::BN, S::THREADS*WIDTH),
                         B_ROWS = std::min(BK, S::THREADS*WIDTH / B_COLS);
    static_assert(S::BM % A_ROWS == 0 && S::BN % B_COLS == 0);
    static_assert(BK % B_ROWS == 0);
    static constexpr bool ALL_COPY_B = B_ROWS * B_COLS == S::THREADS * WIDTH;

    const gemm::Arguments<float>& in;
    int a_k, a_row, b_k, b_col;
    char *a_write, *b_write;  // in stage 0
    const float *a, *b;       // in the k-tile that is copied next
    int rows, cols;  // from the thread's first row of A, and column of B, to the last, at most BM, BN

    __device__ __forceinline__ Loader(const gemm::Arguments<float>& arguments, char* shared) : in(arguments) {
        const int t = threadIdx.x, warp = t / 32, lane = t % 32;
        // Where a row has fewer than 128 bytes, eight lanes copy 32 of each of four rows whose banks differ.
        if constexpr (ROWS && BK == 8) {
            a_k = lane % 2 * 4, a_row = lane % 8 / 2 * 2 + lane / 8 % 2 + lane / 16 * 8 + warp * 16;
            a_write = shared + 4 * (a_row * At::A_PITCH + a_k);
        } else if constexpr (ROWS && BK == 16) {
            a_k = lane % 2 * 4 + lane / 16 * 8, a_row = lane % 8 / 2 * 2 + lane / 8 % 2 + warp * 8;
            a_write = shared + 4 * (a_row * At::A_PITCH + a_k);
        } else if constexpr (ROWS) {
            static_assert(BK == 32);
            a_k = t % (BK / 4) * 4, a_row = t / (BK / 4);
            a_write = shared + 4 * (a_row * At::A_PITCH + a_k);
        } else {  // a warp 8 steps of 4 rows
            a_k = t % 8 + warp % (BK / 8) * 8, a_row = lane / 8 + warp / (BK / 8) * 4;
            a_write = shared + 4 * (a_k * At::A_PITCH + a_row);
        }
        b_k = t * WIDTH / B_COLS, b_col = t * WIDTH % B_COLS;
        b_write = shared + At::BS + 4 * (b_k * S::BN + b_col);
    }

    __device__ __forceinline__ void start(const gemm::Work& work) {
        // Steps of K before the first k-tile: k-tile 0 is the partial one.
        const std::int64_t k0 =
            work.first_k == 0 ? 0 : (in.K - 1) % BK + 1 + std::int64_t{work.first_k - 1} * BK;
        const std::int64_t row = std::int64_t{work.tile.m} * S::BM + a_row,
                           col = std::int64_t{work.tile.n} * S::BN + b_col;
        rows = static_cast<int>(in.M - row < S::BM ? in.M - row : S::BM);
        cols = static_cast<int>(in.N - col < S::BN ? in.N - col : S::BN);
        a = in.A + row * in.lda + k0 + a_k;
        b = in.B + (k0 + b_k) * in.ldb + col;
    }

    __device__ __forceinline__ void copy(int stage, int steps) {
        const float* from = a;
        const std::int64_t down = A_ROWS * in.lda;
#pragma unroll
        for (int i = 0; i < S::BM; i += A_ROWS) {
            gemm::ptx::cp_async_or_zero<4 * A_WIDTH>(a_write + stage + 4 * i * (ROWS ? At::A_PITCH : 1), from,
                                                     a_k < steps && i < rows);
            from += down;
        }
        if (ALL_COPY_B || b_k < B_ROWS) {
#pragma unroll
            for (int i = 0; i < BK; i += B_ROWS) {
#pragma unroll
                for (int j = 0; j < S::BN; j += B_COLS) {
                    gemm::ptx::cp_async_or_zero<4 * WIDTH>(b_write + stage + 4 * (i * S::BN + j),
                                                           b + i * in.ldb + j, b_k + i < steps && j < cols);
                }
            }
        }
        a += steps;
        b += steps * in.ldb;
    }
};

/// A k-step is one step of K, or two where As has rows: of each it is read as many floats as lie together.
template <class S, bool ROWS>
struct Atom {
    using At = Stage<S, ROWS>;
    static constexpr int DEPTH = ROWS ? 2 : 1, STEPS = S::BK / DEPTH;
    struct Fragments {
        float a[S::TM][DEPTH], b[DEPTH][S::TN];
    };
    using Sums = float[S::TM][S::TN];

    const char *as, *bs;  // where the lane reads in stage 0

    __device__ __forceinline__ explicit Atom(const char* shared) {
        const Place at = place_of_thread<S, ROWS>();
        as = shared + 4 * at.y * (ROWS ? At::A_PITCH : 1);
        bs = shared + At::BS + 4 * at.x;
    }

    __device__ __forceinline__ void read(Fragments& to, int stage, int step) const {
        if constexpr (ROWS) {
#pragma unroll
            for (int i = 0; i < S::TM; ++i) {
                const float2 two = *reinterpret_cast<const float2*>(
                    as + stage + 4 * (i * S::LANES_M * At::A_PITCH + 2 * step));
                to.a[i][0] = two.x, to.a[i][1] = two.y;
            }
        } else {
#pragma unroll
            for (int i = 0; i < S::TM; i += 4) {
                *reinterpret_cast<float4*>(&to.a[i][0]) =
                    *reinterpret_cast<const float4*>(as + stage + 4 * (step * At::A_PITCH + i * S::LANES_M));
            }
        }
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
#pragma unroll
            for (int j = 0; j < S::TN; j += 4) {
                *reinterpret_cast<float4*>(&to.b[k][j]) = *reinterpret_cast<const float4*>(
                    bs + stage + 4 * ((DEPTH * step + k) * S::BN + j * S::LANES_N));
            }
        }
    }

    /// Down a column and up the next, so that each sum shares a factor with the one before, which stays in
    /// the reuse cache.
    __device__ __forceinline__ void multiply(Sums& sums, const Fragments& with, int step) const {
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
#pragma unroll
            for (int j = 0; j < S::TN; ++j) {
#pragma unroll
                for (int e = 0; e < S::TM; ++e) {
                    const int i = (j + step * DEPTH + k) % 2 == 0 ? e : S::TM - 1 - e;
                    sums[i][j] += with.a[i][k] * with.b[k][j];
                }
            }
        }
    }
};

constexpr int MOST_SLICES = 127;  // of a C tile: their blocks are counted as they come, and as they go
static_assert(2 * MOST_SLICES < 256);

/// The workspace: where the slices of a C tile leave their sums and are counted.
struct Partials {
    float* sums;  // [slice][C tile][BM][BN]; null where there is one slice
    unsigned*
        arrived;      // [C tile]: 0 between launches; in one, 256·launch + how many blocks have come or gone
    unsigned launch;  // which launch with this workspace it is, counted from 1
};

/// From the sums of slices to C. All blocks of the launch are resident: each waits for the others of its
/// tile.
template <class S, bool ALIGNED>
struct Spread {
    static constexpr bool ROWS = ALIGNED && S::ROWS;
    static constexpr int UNITS = S::BN / 4;  // four floats, in a row of the C tile
    static constexpr int AT_ONCE = 8;        // slices, of which a unit is loaded before it is added
    using Epilogue = gemm::fma::Epilogue<S, ALIGNED, gemm::LinearCombination>;

    const Partials& partials;
    const Epilogue& epilogue;
    unsigned tiles;  // of C

    __device__ __forceinline__ void store(const float (&sums)[S::TM][S::TN], const gemm::Slice& work) const {
        const Place at = place_of_thread<S, ROWS>();
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM, col0 = std::int64_t{work.tile.n} * S::BN;
        float* const mine = partials.sums + place_of(work, work.slice);
#pragma unroll  // sums are in registers, which take no index at run time
        for (int i = 0; i < S::TM; ++i) {
            const int y = at.y + row_of<S, ROWS>(i);
            if (row0 + y >= epilogue.out.M) break;
#pragma unroll
            for (int j = 0; j < S::TN; j += 4) {
                const int x = at.x + j * S::LANES_N;
                if (work.slices == 1) {
                    epilogue.store4(&sums[i][j], row0 + y, col0 + x);
                } else {
                    *reinterpret_cast<float4*>(mine + y * S::BN + x) =
                        make_float4(sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
                }
            }
        }
        if (work.slices == 1) return;
        meet(work);
        add(work);
    }

    /// Where a slice's sums of the C tile are.
    __device__ __forceinline__ std::int64_t place_of(const gemm::Slice& work, int slice) const {
        return (std::int64_t{slice} * tiles + work.number) * (S::BM * S::BN);
    }

    /// Until all slices of the C tile have left their sums.
    __device__ __forceinline__ void meet(const gemm::Slice& work) const {
        __syncthreads();  // all of the block's sums are stored before one thread reports it
        if (threadIdx.x == 0) {
            unsigned* const arrived = &partials.arrived[work.number];
            const unsigned none = partials.launch << 8, all = static_cast<unsigned>(work.slices);
            atomicMax(arrived, none);  // from 0, or what an aborted launch has left, to this launch's zero
            gemm::ptx::add_release(arrived, 1);
            while (gemm::ptx::load_acquire(arrived) - none < all) {
            }
            // Who goes last leaves it ready for the next launch.
            if (gemm::ptx::add_acquire_release(arrived, 1) - none == 2 * all - 1) *arrived = 0;
        }
        __syncthreads();  // now all threads may read what thread 0 may
    }

    /// The block's share of the C tile's rows, slice after slice: the same bits in every launch.
    __device__ __forceinline__ void add(const gemm::Slice& work) const {
        const std::int64_t row0 = std::int64_t{work.tile.m} * S::BM, col0 = std::int64_t{work.tile.n} * S::BN;
        const std::int64_t left = epilogue.out.M - row0;
        const int units = static_cast<int>(left < S::BM ? left : S::BM) * UNITS;
        const int begin = units * work.slice / work.slices, end = units * (work.slice + 1) / work.slices;
        const std::int64_t pitch = std::int64_t{tiles} * (S::BM * S::BN);
        for (int unit = begin + static_cast<int>(threadIdx.x); unit < end; unit += S::THREADS) {
            const std::int64_t col = col0 + unit % UNITS * 4;
            if (col >= epilogue.out.N) continue;
            const float* const from = partials.sums + place_of(work, 0) + 4 * unit;
            float total[4] = {};
#pragma unroll 1
            for (int slice = 0; slice < work.slices; slice += AT_ONCE) {
                float4 some[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    some[i] = slice + i < work.slices
                                  ? *reinterpret_cast<const float4*>(from + (slice + i) * pitch)
                                  : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                }
#pragma unroll
                for (int i = 0; i < AT_ONCE; ++i) {
                    total[0] += some[i].x, total[1] += some[i].y;
                    total[2] += some[i].z, total[3] += some[i].w;
                }
            }
            epilogue.store4(total, row0 + unit / UNITS, col);
        }
    }
};

/// The parts of a composition. S: its sizes. ALIGNED: B and C have four floats together or not at all, and A
/// where S::ROWS.
template <class S, bool ALIGNED>
struct Parts {
    static constexpr bool ROWS = ALIGNED && S::ROWS;
    using Scheduler = gemm::SplitK<gemm::Grouped<8>>;
    using Mainloop = gemm::Multistage<Loader<S, ALIGNED>, Atom<S, ROWS>, S::STAGES>;
};

// A, B, C: see gemm::Arguments. scheduler: C tiles of BM×BN, k-tiles of BK, none where alpha is 0, and
// slices.
template <class S, bool ALIGNED>
__global__ void __launch_bounds__(S::THREADS, ALIGNED ? S::MIN_BLOCKS : std::max(1, S::MIN_BLOCKS - 1))
    sgemm_choose(gemm::Arguments<float> arguments, typename Parts<S, ALIGNED>::Scheduler scheduler,
                 Partials partials, gemm::LinearCombination output) {
    using P = Parts<S, ALIGNED>;
    extern __shared__ __align__(16) char shared[];
    typename P::Mainloop mainloop{
        {arguments, shared}, Atom<S, P::ROWS>(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const typename Spread<S, ALIGNED>::Epilogue epilogue{arguments, output};
    const Spread<S, ALIGNED> spread{partials, epilogue, scheduler.size.tiles.m * scheduler.size.tiles.n};

    const gemm::Slice work = scheduler.first();
    mainloop.fill(work);
    typename P::Mainloop::Sums sums = {};
    mainloop.multiply(sums, work);
    spread.store(sums, work);
}

// ---- which shape, and how many slices ----

template <class... S>
struct List {};
using Large = Shape<128, 256, 8, 64, 64, 8, 16, 4, 1>;
using Shapes = List<Shape<8, 128, 16, 8, 64, 4, 4, 4, 6>,           //  0
                    Shape<16, 128, 16, 16, 32, 4, 4, 4, 5>,         //  1
                    Shape<16, 256, 16, 16, 64, 4, 8, 4, 3>,         //  2
                    Shape<32, 128, 16, 32, 32, 8, 4, 4, 4>,         //  3
                    Shape<32, 256, 16, 32, 64, 8, 8, 4, 3>,         //  4
                    Shape<64, 64, 16, 32, 32, 4, 8, 4, 4>,          //  5
                    Shape<64, 128, 16, 32, 64, 8, 8, 4, 3>,         //  6
                    Shape<128, 128, 8, 64, 64, 8, 16, 4, 2>,        //  7
                    Large,                                          //  8
                    Shape<128, 64, 16, 32, 64, 8, 8, 4, 3, true>,   //  9
                    Shape<128, 32, 16, 32, 32, 8, 4, 4, 4>,         // 10
                    Shape<128, 32, 32, 32, 32, 8, 4, 3, 3, true>,   // 11
                    Shape<128, 16, 32, 32, 16, 4, 4, 3, 3, true>,   // 12
                    Shape<256, 32, 16, 64, 32, 8, 8, 3, 3, true>,   // 13
                    Shape<64, 64, 16, 32, 32, 4, 8, 4, 4, true>,    // 14
                    Shape<64, 128, 16, 32, 64, 8, 8, 4, 3, true>,   // 15
                    Shape<64, 32, 32, 16, 32, 4, 4, 3, 4, true>,    // 16
                    Shape<32, 64, 32, 16, 32, 4, 4, 3, 4, true>,    // 17
                    Shape<512, 32, 8, 128, 32, 16, 8, 3, 2, true>,  // 18
                    Shape<256, 64, 8, 64, 64, 8, 16, 4, 2, true>,   // 19
                    Shape<256, 48, 8, 64, 48, 8, 12, 4, 2, true>>;  // 20

template <class First, class... Rest, class F>
auto with_shape(List<First, Rest...>, int index, const F& f) {
    if constexpr (sizeof...(Rest) > 0) {
        if (index > 0) return with_shape(List<Rest...>(), index - 1, f);
    }
    return f(First());
}
template <class... S>
constexpr int count_of(List<S...>) {
    return sizeof...(S);
}

int multiprocessors() {
    int device = 0, count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

template <class S>
bool is_aligned(const gemm::Problem& p) {
    return gemm::aligned<float>(p, S::ROWS);
}

/// The kernel, told how much shared memory it may have: beyond 48 KiB CUDA wants that.
template <class S>
auto kernel_for(const gemm::Problem& p, int& bytes) {
    const bool aligned = is_aligned<S>(p);
    bytes = aligned ? Parts<S, true>::Mainloop::SHARED : Parts<S, false>::Mainloop::SHARED;
    const auto kernel = aligned ? sgemm_choose<S, true> : sgemm_choose<S, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    return kernel;
}

/// Blocks that an SM has at once.
template <class S>
int resident_of(const gemm::Problem& p) {
    int bytes = 0, blocks = 0;
    const auto kernel = kernel_for<S>(p, bytes);
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reinterpret_cast<const void*>(kernel),
                                                             S::THREADS, static_cast<std::size_t>(bytes)));
    return blocks;
}

template <class S>
std::int64_t tiles_of(const gemm::Problem& p) {
    return gemm::ceil_div(p.M, S::BM) * gemm::ceil_div(p.N, S::BN);
}

template <class S>
int k_tiles_of(const gemm::Problem& p) {  // BLAS: alpha == 0 must not read A or B
    return p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, S::BK));
}

struct Choice {
    int shape = 0, slices = 1;
};

/// `blocks`: on an SM, at most.
template <class S>
int most_slices(const gemm::Problem& p, int blocks) {
    const std::int64_t room = std::int64_t{multiprocessors()} * std::min(blocks, resident_of<S>(p));
    if (p.M == 0 || p.N == 0) return 1;
    const std::int64_t most = room / tiles_of<S>(p);
    return static_cast<int>(std::clamp<std::int64_t>(most, 1, std::clamp(k_tiles_of<S>(p), 1, MOST_SLICES)));
}

// Time of a step of K of a C tile on an SM with several of them, in ns, by the shapes' order: 5, 6 and 8 as
// 15a has it on an H200, the others by arithmetic (products by 128 a cycle and instruction share, and passes
// through shared memory). To be fitted.
constexpr double STEP_TIME[] = {10,   17.4, 29.5, 27.8, 45.9, 29,   45,   81.9, 160,  45.3, 32.4,
                                26.6, 16.5, 47,   26.2, 45.3, 15.5, 15.5, 145,  81.9, 62};
static_assert(static_cast<int>(std::size(STEP_TIME)) == count_of(Shapes()));
constexpr double LAUNCH = 2000, FILL = 700;  // ns: of a launch; before the products of a wave of blocks begin
constexpr double MEET = 2500;                // ns: until blocks know of each other, and have the first sums
constexpr double DRAM = 4130, L2 = 4000;     // bytes per ns
constexpr double ON_THEIR_WAY = 70 * 1024;  // bytes an SM has to wait for at a time to have its share of DRAM
constexpr double ALONE = 1.18;              // how much longer steps take where an SM has one block

/// How long a launch takes, by estimate, in ns.
template <class S>
double time_of(const gemm::Problem& p, double step_time, int slices, int sms, int resident) {
    const auto number = [](std::int64_t n) { return static_cast<double>(n); };
    const std::int64_t of_sm = gemm::ceil_div(tiles_of<S>(p) * slices, sms),
                       waves = gemm::ceil_div(of_sm, resident);
    const std::int64_t together = std::min<std::int64_t>(of_sm, resident);
    const double steps = number(gemm::ceil_div(gemm::ceil_div(p.K, S::BK), slices) * S::BK);
    const double products = number(of_sm) * steps * step_time * (together == 1 ? ALONE : 1.0);
    const double bytes =
        4 * (number(p.M) * number(p.K) + number(p.K) * number(p.N) + number(p.M) * number(p.N));
    const double in_flight =
        number(together * (S::STAGES - 1) * S::BK) *
        number(4 * (std::min<std::int64_t>(p.M, S::BM) + std::min<std::int64_t>(p.N, S::BN)));
    const double from_dram = bytes / (DRAM * std::min(1.0, in_flight / ON_THEIR_WAY));
    const double sums = 4 * number(p.M) * number(p.N) * slices;
    return LAUNCH + number(waves) * FILL + std::max(products, from_dram) +
           (slices > 1 ? MEET + 2 * sums / L2 : 0.0);
}

/// GEMM_TRIAL="shape,slices", "shape,bBLOCKS" (of an SM, at most) or "shape,h" (half as many slices as with
/// b1); or else the shortest time.
Choice choice_for(const gemm::Problem& p) {
    Choice choice;
    if (const char* const trial = std::getenv("GEMM_TRIAL"); trial != nullptr && *trial != '\0') {
        choice.shape = std::clamp(std::atoi(trial), 0, count_of(Shapes()) - 1);
        const char* const comma = std::strchr(trial, ',');
        if (comma == nullptr) return choice;
        const bool blocks = comma[1] == 'b';
        const int number = std::atoi(comma + (blocks ? 2 : 1));
        with_shape(Shapes(), choice.shape, [&]<class S>(S) {
            const int most = most_slices<S>(p, blocks ? number : 1 << 20);
            choice.slices = blocks ? most : std::clamp(number, 1, most);
            if (comma[1] == 'h') choice.slices = std::max(1, most_slices<S>(p, 1) / 2);
        });
        return choice;
    }
    double best = 0.0;
    const int sms = multiprocessors();
    for (int shape = 0; shape < count_of(Shapes()); ++shape) {
        with_shape(Shapes(), shape, [&]<class S>(S) {
            const int most = most_slices<S>(p, 1 << 20), resident = resident_of<S>(p);
            for (int slices = 1; slices <= most; ++slices) {
                const double time = time_of<S>(p, STEP_TIME[shape], slices, sms, resident);
                if (best > 0.0 && time >= 0.99 * best) continue;
                best = time;
                choice = {shape, slices};
            }
        });
    }
    return choice;
}

/// What a problem needs before its launch. Launches with one of them must not overlap, since they share a
/// workspace; nor should those with two, which could wait for each other's SMs.
struct Division {
    void (*launch)(const gemm::Problem&, const Division&, cudaStream_t) = nullptr;
    int slices = 1;
    gemm::Workspace sums, arrived;
    mutable std::atomic<unsigned> launches = 0;
};

template <class S>
void divide(Division& plan, const gemm::Problem& p, int slices) {
    plan.slices = slices;
    if (slices == 1) return;
    const std::size_t tiles = static_cast<std::size_t>(tiles_of<S>(p)),
                      bytes = static_cast<std::size_t>(slices) * tiles * S::BM * S::BN * sizeof(float);
    plan.sums = gemm::Workspace(bytes);
    plan.arrived = gemm::Workspace::of_zeros(tiles * sizeof(unsigned));
    if (plan.sums.data() != nullptr && plan.arrived.data() != nullptr) return;
    std::fprintf(stderr,
                 "15d_choose: the GPU has no room for a workspace of %zu bytes, for %d slices of K; each C "
                 "tile is computed in one piece.\n",
                 bytes, slices);
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
    int bytes = 0;
    const auto kernel = kernel_for<S>(p, bytes);
    const auto scheduler = scheduler_for<S>(p, plan.slices);
    const Partials partials{static_cast<float*>(plan.sums.data()),
                            static_cast<unsigned*>(plan.arrived.data()), ++plan.launches};
    kernel<<<scheduler.blocks(), S::THREADS, bytes, stream>>>(
        gemm::arguments_of<float>(p), scheduler, partials, gemm::LinearCombination{p.alpha, p.beta});
}

gemm::Plan prepare(const gemm::Problem& p) {
    const auto plan = std::make_shared<Division>();
    const Choice choice = choice_for(p);
    with_shape(Shapes(), choice.shape, [&]<class S>(S) {
        plan->launch = launch_shape<S>;
        divide<S>(*plan, p, choice.slices);
        if (std::getenv("GEMM_TRIAL_SAY") != nullptr) {
            const char* const trial = std::getenv("GEMM_TRIAL");
            std::fprintf(stderr, "15d %lldx%lldx%lld %s shape %d %dx%d slices %d blocks %lld resident %d\n",
                         static_cast<long long>(p.M), static_cast<long long>(p.N),
                         static_cast<long long>(p.K), trial != nullptr ? trial : "chosen", choice.shape,
                         S::BM, S::BN, plan->slices, static_cast<long long>(tiles_of<S>(p) * plan->slices),
                         resident_of<S>(p));
        }
    });
    return plan;
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Division& division = *static_cast<const Division*>(plan);
    division.launch(p, division, stream);
}

template <class S>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col, int slices) {
    const auto scheduler = scheduler_for<S>(p, slices);
    const unsigned block = scheduler.block_of(gemm::tile_of(row, col, S::BM, S::BN));
    const int y = static_cast<int>(row % S::BM), x = static_cast<int>(col % S::BN);
    if (slices == 1) {
        const int thread = thread_of<S>(y, x, S::ROWS && is_aligned<S>(p));
        return {{block, 0, 0}, {static_cast<unsigned>(thread), 0, 0}};
    }
    constexpr int UNITS = S::BN / 4;
    const int units = static_cast<int>(std::min<std::int64_t>(S::BM, p.M - row / S::BM * S::BM)) * UNITS;
    const int unit = y * UNITS + x / 4;
    int slice = 0;
    while (units * (slice + 1) / slices <= unit) ++slice;
    const unsigned tiles = static_cast<unsigned>(tiles_of<S>(p));
    const int thread = (unit - units * slice / slices) % S::THREADS;
    return {{block - tiles * static_cast<unsigned>(slices - 1 - slice), 0, 0},
            {static_cast<unsigned>(thread), 0, 0}};
}

/// As divided where there is room for a workspace.
gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const Choice choice = choice_for(p);
    return with_shape(Shapes(), choice.shape,
                      [&]<class S>(S) { return owner_in<S>(p, row, col, choice.slices); });
}

const gemm::Tile tile{Large::BM, Large::BN, Large::BK};
const gemm::Constant constants[] = {{"WM", Large::WM},         {"WN", Large::WN},
                                    {"TM", Large::TM},         {"TN", Large::TN},
                                    {"STAGES", Large::STAGES}, {"MOST_SLICES", MOST_SLICES}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_choose<Large, true>),
     .architectures = {.from = 80},
     .configuration = {.tile = tile,
                       .constants = constants,
                       .block = dim3(Large::THREADS),
                       .dynamic_shared_bytes = Parts<Large, true>::Mainloop::SHARED}}};

extern const gemm::Lesson lesson{.name = "15d_choose",
                                 .part = 3,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_15d
