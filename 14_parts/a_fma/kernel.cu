// 14a parts, FP32 — lesson 08b's kernel, put together from parts: a tile scheduler says what is next, a
// mainloop turns k-tiles into sums, an epilogue turns sums into C. Each can be exchanged for another.
//
// Changed since 08b: where things are, and nothing else. The mainloop is in common/parts/multistage.hpp, with
// a loader and an atom from common/parts/fma/; this file has the composition.
// Should be as fast as 08b: every part is inlined, and the loop has the same loads, products and barriers.

#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/fma/atom.hpp"
#include "common/parts/fma/epilogue.hpp"
#include "common/parts/fma/loader.hpp"
#include "common/parts/fma/shape.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/multistage.hpp"
#include "common/parts/scheduler.hpp"

namespace lesson_14a {

using Large = gemm::fma::Shape<128, 256, 8, 64, 64, 8, 16, 4>;
using Small = gemm::fma::Shape<64, 64, 16, 32, 32, 4, 8, 4>;  // where Large has few blocks: see is_large()

/// The parts of a composition. S: its sizes. ALIGNED: B and C have four floats together or not at all.
template <class S, bool ALIGNED>
struct Parts {
    using Scheduler = gemm::OneTileEach<gemm::Grouped<8>>;
    using Mainloop = gemm::Multistage<gemm::fma::Loader<S, ALIGNED>, gemm::fma::Atom<S>, S::STAGES>;
    using Epilogue = gemm::fma::Epilogue<S, ALIGNED, gemm::LinearCombination>;
    static_assert(gemm::TileScheduler<Scheduler>);
};

// A, B, C: see gemm::Arguments. size: C tiles of BM×BN, k-tiles of BK, none where alpha is 0.
// One block an SM at least, where rows are aligned: told nothing (0), ptxas gives Small there 96 registers on
// sm_90, of which five blocks have room, and spills one; so it takes 103, and 08b has 105. Where they are
// not, it takes 114 of its own accord, as 08b does, and would take 128.
template <class S, bool ALIGNED>
__global__ void __launch_bounds__(S::THREADS, ALIGNED ? 1 : 0)
    sgemm_of_parts(gemm::Arguments<float> arguments, gemm::WorkSize size, gemm::LinearCombination output) {
    using P = Parts<S, ALIGNED>;
    extern __shared__ __align__(16) char shared[];
    const typename P::Scheduler scheduler{size};
    typename P::Mainloop mainloop{
        {arguments, shared}, gemm::fma::Atom<S>(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const typename P::Epilogue epilogue{arguments, output};

    // gap: loop
    gemm::Work work = scheduler.first();
    mainloop.fill(work);
    for (;;) {
        typename P::Mainloop::Sums sums = {};
        mainloop.multiply(sums, work);
        const gemm::Work done = work;
        const bool more = scheduler.next(work);
        if (more) mainloop.fill(work);  // its copies are on their way while these sums are stored
        epilogue.store(sums, done);
        if (!more) return;
    }
    // end gap
}

const gemm::Tile tile{Large::BM, Large::BN, Large::BK};

template <class S>
gemm::Tiles tiles_of(const gemm::Problem& p) {
    return gemm::tiles_of(p.M, p.N, S::BM, S::BN);
}

bool is_large(const gemm::Problem& p) {
    return gemm::ceil_div(p.M, Large::BM) * gemm::ceil_div(p.N, Large::BN) >= 100;
}

template <class S>
void launch_shape(const gemm::Problem& p, cudaStream_t stream) {
    using P = Parts<S, true>;
    const auto kernel = gemm::aligned<float>(p, false) ? sgemm_of_parts<S, true> : sgemm_of_parts<S, false>;
    constexpr int bytes = P::Mainloop::SHARED;  // beyond 48 KiB CUDA wants to be told
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    const gemm::Tiles all = tiles_of<S>(p);
    // BLAS: alpha == 0 must not read A or B
    const int k_tiles = p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, S::BK));
    kernel<<<P::Scheduler::blocks_of(all, 0), S::THREADS, bytes, stream>>>(
        gemm::arguments_of<float>(p), gemm::WorkSize{all, k_tiles}, gemm::LinearCombination{p.alpha, p.beta});
}

void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    is_large(p) ? launch_shape<Large>(p, stream) : launch_shape<Small>(p, stream);
}

template <class S>
gemm::Owner owner_in(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    using Scheduler = typename Parts<S, true>::Scheduler;
    const unsigned block = Scheduler::block_of(gemm::tile_of(row, col, S::BM, S::BN), tiles_of<S>(p), 0);
    const int thread = gemm::fma::thread_of<S>(static_cast<int>(row % S::BM), static_cast<int>(col % S::BN));
    return {{block, 0, 0}, {static_cast<unsigned>(thread), 0, 0}};
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return is_large(p) ? owner_in<Large>(p, row, col) : owner_in<Small>(p, row, col);
}

const gemm::Constant constants[] = {
    {"WM", Large::WM}, {"WN", Large::WN}, {"TM", Large::TM}, {"TN", Large::TN}, {"STAGES", Large::STAGES}};
const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32),
     .kernel = reinterpret_cast<const void*>(&sgemm_of_parts<Large, true>),
     .architectures = {.from = 80},
     .configuration = {.tile = tile,
                       .constants = constants,
                       .block = dim3(Large::THREADS),
                       .dynamic_shared_bytes = Parts<Large, true>::Mainloop::SHARED}}};

const gemm::Reach reaching[] = {{.path = "Large, four floats at once", .M = 12677, .N = 4, .K = 37},
                                {.path = "Large, float by float", .M = 5, .N = 25347, .K = 37},
                                {.path = "Small's second group of block tiles", .M = 573, .N = 68, .K = 9}};

extern const gemm::Lesson lesson{.name = "14a_fma",
                                 .part = 3,
                                 .ladder = "fp32",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_14a
