// 14b parts, mma.sync — lesson 09f's kernel, put together from parts. The mainloop is 14a's: only what it is
// made of has changed.
//
// Changed since 14a: another loader, another atom, another epilogue; another scheduler, whose blocks stay.
// Should be as fast as 09f: every part is inlined, and the loop has the same loads, products and barriers.

#include "common/element.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"
#include "common/parts/arguments.hpp"
#include "common/parts/linear_combination.hpp"
#include "common/parts/mma/atom.hpp"
#include "common/parts/mma/epilogue.hpp"
#include "common/parts/mma/loader.hpp"
#include "common/parts/mma/shape.hpp"
#include "common/parts/multistage.hpp"
#include "common/parts/scheduler.hpp"

namespace lesson_14b {

// With BK = 64 the stages take 144 KiB, with 32 half as much, for GPUs whose blocks may have only 99.
using Deep = gemm::mma::Shape<256, 128, 64, 64, 64, 3>;
using Shallow = gemm::mma::Shape<256, 128, 32, 64, 64, 3>;

/// The parts of a composition. S: its sizes. ALIGNED: eight elements of a row exist together or not at all.
template <class T, class S, bool ALIGNED>
struct Parts {
    using Scheduler = gemm::Persistent<gemm::Grouped<8>>;
    using Mainloop = gemm::Multistage<gemm::mma::Loader<T, S, ALIGNED>, gemm::mma::Atom<T, S>, S::STAGES>;
    using Epilogue = gemm::mma::Epilogue<T, S, ALIGNED, gemm::LinearCombination>;
    static_assert(gemm::TileScheduler<Scheduler>);
};

// A, B, C: see gemm::Arguments. size: C tiles of BM×BN, k-tiles of BK, none where alpha is 0.
template <class T, class S, bool ALIGNED>
__global__ void __launch_bounds__(S::THREADS, 1)
    hgemm_of_parts(gemm::Arguments<T> arguments, gemm::WorkSize size, gemm::LinearCombination output) {
    using P = Parts<T, S, ALIGNED>;
    extern __shared__ __align__(128) char shared[];  // stages, then results
    typename P::Scheduler scheduler{size};
    typename P::Mainloop mainloop{
        {arguments, shared}, gemm::mma::Atom<T, S>(shared), static_cast<int>((arguments.K - 1) % S::BK) + 1};
    const typename P::Epilogue epilogue{arguments, output, shared};

    gemm::Work work = scheduler.first();
    mainloop.fill(work);
#pragma unroll 1
    for (;;) {
        typename P::Mainloop::Sums sums = {};
        mainloop.multiply(sums, work);
        // gap: next
        const gemm::Work done = work;
        const bool more = scheduler.next(work);
        if (more) mainloop.fill(work);  // its copies are on their way while these sums are stored
        // end gap
        epilogue.store(sums, done);
        if (!more) return;
    }
}

const gemm::Tile tile{Deep::BM, Deep::BN, Deep::BK};

gemm::Tiles tiles_of(const gemm::Problem& p) {
    return gemm::tiles_of(p.M, p.N, Deep::BM, Deep::BN);
}

/// What a launch needs of the device: how many SMs it has, and whether its blocks have room for BK = 64.
struct Here {
    unsigned multiprocessors;
    bool deep;
};

Here here() {
    int device = 0;
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return {static_cast<unsigned>(properties.multiProcessorCount),
            properties.sharedMemPerBlockOptin >= std::size_t{Deep::SHARED}};
}

gemm::Plan prepare(const gemm::Problem& /*p*/) {
    return std::make_shared<Here>(here());
}

template <class T, class S>
void launch_shape(const gemm::Problem& p, unsigned multiprocessors, cudaStream_t stream) {
    using Scheduler = typename Parts<T, S, true>::Scheduler;
    const auto kernel = gemm::aligned<T>(p, true) ? hgemm_of_parts<T, S, true> : hgemm_of_parts<T, S, false>;
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
    const gemm::Tiles all = tiles_of(p);
    // BLAS: alpha == 0 must not read A or B
    const int k_tiles = p.alpha == 0.0f ? 0 : static_cast<int>(gemm::ceil_div(p.K, S::BK));
    kernel<<<Scheduler::blocks_of(all, multiprocessors), S::THREADS, S::SHARED, stream>>>(
        gemm::arguments_of<T>(p), gemm::WorkSize{all, k_tiles}, gemm::LinearCombination{p.alpha, p.beta});
}

template <class T>
void launch_type(const gemm::Problem& p, const Here& device, cudaStream_t stream) {
    device.deep ? launch_shape<T, Deep>(p, device.multiprocessors, stream)
                : launch_shape<T, Shallow>(p, device.multiprocessors, stream);
}

void launch(const gemm::Problem& p, const void* plan, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error
    const Here& device = *static_cast<const Here*>(plan);
    p.variant.C == gemm::DType::bf16 ? launch_type<__nv_bfloat16>(p, device, stream)
                                     : launch_type<__half>(p, device, stream);
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    using Scheduler = Parts<__nv_bfloat16, Deep, true>::Scheduler;
    const gemm::Tiles all = tiles_of(p);
    const unsigned block = Scheduler::block_of(gemm::tile_of(row, col, Deep::BM, Deep::BN), all,
                                               Scheduler::blocks_of(all, here().multiprocessors));
    const int thread =
        gemm::mma::thread_of<Deep>(static_cast<int>(row % Deep::BM), static_cast<int>(col % Deep::BN));
    return {{block, 0, 0}, {static_cast<unsigned>(thread), 0, 0}};
}

const gemm::Constant constants[] = {{"WM", Deep::WM},       {"WN", Deep::WN},       {"MMA_M", Deep::MMA_M},
                                    {"MMA_N", Deep::MMA_N}, {"MMA_K", Deep::MMA_K}, {"STAGES", Deep::STAGES}};
const gemm::Configuration configuration{
    .tile = tile, .constants = constants, .block = dim3(Deep::THREADS), .dynamic_shared_bytes = Deep::SHARED};

const gemm::Offer variants[] = {
    {.variant = gemm::of_type(gemm::DType::bf16),
     .kernel = reinterpret_cast<const void*>(&hgemm_of_parts<__nv_bfloat16, Deep, true>),
     .architectures = {.from = 80},
     .configuration = configuration},
    {.variant = gemm::of_type(gemm::DType::fp16),
     .kernel = reinterpret_cast<const void*>(&hgemm_of_parts<__half, Deep, true>),
     .architectures = {.from = 80},
     .configuration = configuration}};

const gemm::Reach reaching[] = {
    {.path = "the second group of block tiles", .M = 2301, .N = 8, .K = 8},
    {.path = "32 steps along K, 16 bytes at once", .M = 40, .N = 72, .K = 136, .sm = 86, .every_type = true},
    {.path = "32 steps along K, two by two", .M = 41, .N = 71, .K = 135, .sm = 86, .every_type = true}};

extern const gemm::Lesson lesson{.name = "14b_mma",
                                 .part = 3,
                                 .ladder = "tensorcore",
                                 .variants = variants,
                                 .reaching = reaching,
                                 .prepare = prepare,
                                 .launch = launch,
                                 .owner = owner};

}  // namespace lesson_14b
