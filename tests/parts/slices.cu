// Compositions of common/parts that compute C slice by slice of K. No lesson before 15 has work that begins
// behind the first k-tile.
#include "tests/parts/slices.hpp"

#include <algorithm>
#include <memory>

#include "common/element.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/fma/atom.hpp"
#include "common/parts/fma/epilogue.hpp"
#include "common/parts/fma/loader.hpp"
#include "common/parts/fma/shape.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/mma/atom.hpp"
#include "common/parts/mma/epilogue.hpp"
#include "common/parts/mma/loader.hpp"
#include "common/parts/mma/shape.hpp"
#include "common/parts/multistage.hpp"
#include "common/parts/scheduler.hpp"
#include "common/parts/warp_specialized.hpp"
#include "common/parts/wgmma/atom.hpp"
#include "common/parts/wgmma/epilogue.hpp"
#include "common/parts/wgmma/loader.hpp"
#include "common/parts/wgmma/shape.hpp"
#include "common/tma/launch.hpp"

namespace test_slices {
namespace {

/// A scheduler's work, from a k-tile on. WorkSize counts the slice's k-tiles.
template <class Base>
struct FromTile : Base {
    int first_k;

    __device__ __forceinline__ FromTile(const gemm::WorkSize& size, int first) : Base{size}, first_k(first) {}
    __device__ __forceinline__ gemm::Work first() {
        gemm::Work work = Base::first();
        work.first_k = first_k;
        return work;
    }
};

using Order = gemm::Grouped<2>;
using FmaShape = gemm::fma::Shape<64, 64, 16, 32, 32, 4, 8, 4>;
using MmaShape = gemm::mma::Shape<256, 128, 32, 64, 64, 3>;
using WgmmaShape = gemm::wgmma::Shape<64, 1>;

template <class Mainloop, class Epilogue, class Scheduler>
__device__ __forceinline__ void multiply_slice(Mainloop& mainloop, const Epilogue& epilogue,
                                               Scheduler& scheduler) {
    gemm::Work work = scheduler.first();
    mainloop.fill(work);
    for (;;) {
        typename Mainloop::Sums sums = {};
        mainloop.multiply(sums, work);
        const gemm::Work done = work;
        const bool more = scheduler.next(work);
        if (more) mainloop.fill(work);
        epilogue.store(sums, done);
        if (!more) return;
    }
}

__global__ void __launch_bounds__(FmaShape::THREADS)
    slice_fma(gemm::Arguments<float> arguments, gemm::WorkSize size, gemm::LinearCombination output,
              int first) {
    using S = FmaShape;
    using Atom = gemm::fma::Atom<S>;
    using Mainloop = gemm::Multistage<gemm::fma::Loader<S, false>, Atom, S::STAGES>;
    extern __shared__ __align__(16) char shared[];
    FromTile<gemm::OneTileEach<Order>> scheduler(size, first);
    Mainloop mainloop{{arguments, shared}, Atom(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const gemm::fma::Epilogue<S, false, gemm::LinearCombination> epilogue{arguments, output};
    multiply_slice(mainloop, epilogue, scheduler);
}

template <class T>
__global__ void __launch_bounds__(MmaShape::THREADS, 1)
    slice_mma(gemm::Arguments<T> arguments, gemm::WorkSize size, gemm::LinearCombination output, int first) {
    using S = MmaShape;
    using Atom = gemm::mma::Atom<T, S>;
    using Mainloop = gemm::Multistage<gemm::mma::Loader<T, S, false>, Atom, S::STAGES>;
    extern __shared__ __align__(128) char shared128[];
    FromTile<gemm::Persistent<Order>> scheduler(size, first);
    Mainloop mainloop{
        {arguments, shared128}, Atom(shared128), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const gemm::mma::Epilogue<T, S, false, gemm::LinearCombination> epilogue{arguments, output, shared128};
    multiply_slice(mainloop, epilogue, scheduler);
}

// By threads: TMA would not add to C.
template <class T>
__global__ void __launch_bounds__(WgmmaShape::THREADS, 1)
    slice_wgmma(gemm::Arguments<T> arguments, gemm::WorkSize size, gemm::LinearCombination output, int first,
                const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b) {
    using S = WgmmaShape;
    using Mainloop = gemm::WarpSpecialized<gemm::wgmma::Loader<S>, gemm::wgmma::Atom<T, S>, S::STAGES>;
    extern __shared__ __align__(1024) char shared1024[];
    __shared__ typename Mainloop::Barriers barriers;
    const int t = threadIdx.x, role = __shfl_sync(0xffffffffu, t / S::WARPGROUP, 0);
    if (t == 0) barriers.init(S::CONSUMERS);
    __syncthreads();
    FromTile<gemm::PersistentFewest<Order>> scheduler(size, first);
    Mainloop mainloop{{shared1024, map_a, map_b}, {shared1024, role}, barriers};
    gemm::Work work = scheduler.first();
    if (role == S::CONSUMERS) {
        gemm::ptx::fewer_registers<S::PRODUCER_REGISTERS>();
        if (t != S::CONSUMERS * S::WARPGROUP) return;
        do {
            mainloop.load(work);
        } while (scheduler.next(work));
    } else {
        gemm::ptx::more_registers<S::CONSUMER_REGISTERS>();
        gemm::wgmma::Epilogue<T, S, true, gemm::LinearCombination> epilogue{arguments, output,     map_a,
                                                                            false,     shared1024, role};
        typename Mainloop::Sums sums;
        do {
            mainloop.template multiply<1>(sums, work, [](int) {});
            epilogue.take(sums, work);
        } while (scheduler.next(work));
    }
}

/// launch(first, k_tiles, beta) for each slice of K; one without k-tiles where K or alpha is 0.
template <class Launch>
void for_each_slice(const gemm::Problem& p, int depth, const Launch& launch) {
    const int all = p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, depth));
    launch(0, std::min(all, kSlice), p.beta);
    for (int first = kSlice; first < all; first += kSlice) {
        launch(first, std::min(all - first, kSlice), 1.0f);
    }
}

void launch_fma(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    using S = FmaShape;
    if (p.M == 0 || p.N == 0) return;
    const gemm::Tiles all = gemm::tiles_of(p.M, p.N, S::BM, S::BN);
    for_each_slice(p, S::BK, [&](int first, int k_tiles, float beta) {
        slice_fma<<<all.m * all.n, S::THREADS, S::STAGES * S::STAGE, stream>>>(
            gemm::arguments_of<float>(p), gemm::WorkSize{all, k_tiles},
            gemm::LinearCombination{p.alpha, beta}, first);
    });
}

template <class T>
void launch_mma_of(const gemm::Problem& p, cudaStream_t stream) {
    using S = MmaShape;
    cudaFuncSetAttribute(slice_mma<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
    const gemm::Tiles all = gemm::tiles_of(p.M, p.N, S::BM, S::BN);
    for_each_slice(p, S::BK, [&](int first, int k_tiles, float beta) {
        slice_mma<T><<<std::min(all.m * all.n, 3u), S::THREADS, S::SHARED, stream>>>(
            gemm::arguments_of<T>(p), gemm::WorkSize{all, k_tiles}, gemm::LinearCombination{p.alpha, beta},
            first);
    });
}

void launch_mma(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    p.variant.C == gemm::DType::bf16 ? launch_mma_of<__nv_bfloat16>(p, stream)
                                     : launch_mma_of<__half>(p, stream);
}

gemm::Plan prepare_wgmma(const gemm::Problem& p) {
    const auto plan = std::make_shared<gemm::TmaOperands>();
    gemm::prepare_operands(*plan, p, WgmmaShape::BM, WgmmaShape::BK);
    return plan;
}

void launch_wgmma(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    using S = WgmmaShape;
    if (p.M == 0 || p.N == 0) return;
    const auto& operands = *static_cast<const gemm::TmaOperands*>(plan);
    gemm::launch_behind_copies(p, operands, stream, [&](auto zero) {
        using T = decltype(zero);
        cudaFuncSetAttribute(slice_wgmma<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
        const gemm::Tiles all = gemm::tiles_of(p.M, p.N, S::BM, S::BN);
        const unsigned blocks = gemm::PersistentFewest<Order>::blocks_of(all, 4);
        for_each_slice(p, S::BK, [&](int first, int k_tiles, float beta) {
            slice_wgmma<T><<<blocks, S::THREADS, S::SHARED, stream>>>(
                gemm::arguments_of<T>(p), gemm::WorkSize{all, k_tiles},
                gemm::LinearCombination{p.alpha, beta}, first, operands.map_a, operands.map_b);
        });
    });
}

gemm::Owner nobody(const gemm::Problem& /*p*/, std::int64_t /*row*/, std::int64_t /*col*/) {
    return {{0, 0, 0}, {0, 0, 0}};
}

const gemm::Configuration of_fma{.tile = {FmaShape::BM, FmaShape::BN, FmaShape::BK},
                                 .block = dim3(FmaShape::THREADS),
                                 .dynamic_shared_bytes = FmaShape::STAGES * FmaShape::STAGE};
const gemm::Configuration of_mma{.tile = {MmaShape::BM, MmaShape::BN, MmaShape::BK},
                                 .block = dim3(MmaShape::THREADS),
                                 .dynamic_shared_bytes = MmaShape::SHARED};
const gemm::Configuration of_wgmma{.tile = {WgmmaShape::BM, WgmmaShape::BN, WgmmaShape::BK},
                                   .block = dim3(WgmmaShape::THREADS),
                                   .dynamic_shared_bytes = WgmmaShape::SHARED};

const gemm::Offer fma_offers[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                   .kernel = reinterpret_cast<const void*>(&slice_fma),
                                   .architectures = {.from = 80},
                                   .configuration = of_fma}};
const gemm::Offer mma_offers[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                   .kernel = reinterpret_cast<const void*>(&slice_mma<__nv_bfloat16>),
                                   .architectures = {.from = 80},
                                   .configuration = of_mma},
                                  {.variant = gemm::of_type(gemm::DType::fp16),
                                   .kernel = reinterpret_cast<const void*>(&slice_mma<__half>),
                                   .architectures = {.from = 80},
                                   .configuration = of_mma}};
const gemm::Offer wgmma_offers[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                     .kernel = reinterpret_cast<const void*>(&slice_wgmma<__nv_bfloat16>),
                                     .architectures = {.exactly = "90a"},
                                     .configuration = of_wgmma},
                                    {.variant = gemm::of_type(gemm::DType::fp16),
                                     .kernel = reinterpret_cast<const void*>(&slice_wgmma<__half>),
                                     .architectures = {.exactly = "90a"},
                                     .configuration = of_wgmma}};

}  // namespace

extern const gemm::Lesson fma{.name = "slices_fma",
                              .part = 3,
                              .ladder = "fp32",
                              .variants = fma_offers,
                              .launch = launch_fma,
                              .owner = nobody};
extern const gemm::Lesson mma{.name = "slices_mma",
                              .part = 3,
                              .ladder = "tensorcore",
                              .variants = mma_offers,
                              .launch = launch_mma,
                              .owner = nobody};
extern const gemm::Lesson wgmma{.name = "slices_wgmma",
                                .part = 3,
                                .ladder = "tensorcore",
                                .variants = wgmma_offers,
                                .prepare = prepare_wgmma,
                                .launch = launch_wgmma,
                                .owner = nobody};

}  // namespace test_slices
