// One thread an element, for variants that no lesson takes yet: the contract has room for them where this
// goes the way of every lesson, and where its mistakes are found.
#include "tests/check/variants.hpp"

#include "common/element.hpp"

namespace test_variants {
namespace {

constexpr int SIDE = 16;
const gemm::Tile tile{SIDE, SIDE, 1};
const dim3 block(SIDE, SIDE);

__device__ __forceinline__ float to_float(float value) {
    return value;
}
template <class T>
__device__ __forceinline__ float to_float(T value) {
    return gemm::to_float(value);
}
template <class T>
__device__ __forceinline__ T from_float(float value) {
    return gemm::from_float<T>(value);
}
template <>
__device__ __forceinline__ float from_float<float>(float value) {
    return value;
}

/// How a kernel steps through op(A) and op(B) in memory.
struct Steps {
    std::int64_t a_row, a_k, b_k, b_col;
};

// ROUNDED: what the sum becomes before it is stored as a TC.
template <class TA, class TB, class TC, class ROUNDED>
__global__ void gemm_elements(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const TA* A,
                              const TB* B, Steps steps, float beta, TC* C, std::int64_t ldc) {
    const std::int64_t tiles_n = (N + SIDE - 1) / SIDE;
    const std::int64_t row = blockIdx.x / tiles_n * SIDE + threadIdx.y;
    const std::int64_t col = blockIdx.x % tiles_n * SIDE + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k = 0; k < k_end; ++k) {
        acc +=
            to_float(A[row * steps.a_row + k * steps.a_k]) * to_float(B[k * steps.b_k + col * steps.b_col]);
    }
    TC* c = &C[row * ldc + col];
    const float value = beta == 0.0f ? alpha * acc : alpha * acc + beta * to_float(*c);
    *c = from_float<TC>(to_float(from_float<ROUNDED>(value)));
}

template <class TA, class TB, class TC, class ROUNDED = TC>
void launch_types(const gemm::Problem& p, gemm::Layout layout, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    gemm::Variant v;
    v.layout = layout;
    const Steps steps{v.a_transposed() ? 1 : p.lda, v.a_transposed() ? p.lda : 1,
                      v.b_transposed() ? 1 : p.ldb, v.b_transposed() ? p.ldb : 1};
    gemm_elements<TA, TB, TC, ROUNDED><<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const TA*>(p.A), static_cast<const TB*>(p.B), steps, p.beta,
        static_cast<TC*>(p.C), p.ldc);
}

void launch_as(const gemm::Problem& p, gemm::Layout layout, cudaStream_t stream) {
    if (p.variant.A == gemm::DType::fp32) return launch_types<float, float, float>(p, layout, stream);
    if (p.variant.C == gemm::DType::fp32)
        return launch_types<__nv_bfloat16, __nv_bfloat16, float>(p, layout, stream);
    launch_types<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(p, layout, stream);
}

void launch_right(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_as(p, p.variant.layout, stream);
}
void launch_ignoring_layout(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_as(p, gemm::Layout::nn, stream);  // MISTAKE: whatever the layout is
}
void launch_swapping_layout(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    const gemm::Layout layout = p.variant.layout;  // MISTAKE
    launch_as(p, layout == gemm::Layout::nt ? gemm::Layout::tn : gemm::Layout::nt, stream);
}
void launch_rounding_c(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_types<__nv_bfloat16, __nv_bfloat16, float, __nv_bfloat16>(p, p.variant.layout, stream);  // MISTAKE
}
void launch_converting_wrongly(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_types<__half, __half, float>(p, p.variant.layout, stream);  // MISTAKE: they are BF16
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, SIDE);
    return {{static_cast<unsigned>(row / SIDE * tiles_n + col / SIDE), 0, 0},
            {static_cast<unsigned>(col % SIDE), static_cast<unsigned>(row % SIDE), 0}};
}

template <class AB, class C>
gemm::Offer offer(gemm::DType ab, gemm::DType c, gemm::Layout layout) {
    return {.variant = {.A = ab, .B = ab, .C = c, .layout = layout},
            .kernel = reinterpret_cast<const void*>(&gemm_elements<AB, AB, C, C>),
            .architectures = {.from = 80},
            .configuration = {.tile = tile, .block = block}};
}

using gemm::DType;
using gemm::Layout;
using Bf16 = __nv_bfloat16;

const gemm::Offer variants[] = {offer<float, float>(DType::fp32, DType::fp32, Layout::nn),
                                offer<float, float>(DType::fp32, DType::fp32, Layout::nt),
                                offer<float, float>(DType::fp32, DType::fp32, Layout::tn),
                                offer<float, float>(DType::fp32, DType::fp32, Layout::tt),
                                offer<Bf16, Bf16>(DType::bf16, DType::bf16, Layout::nt),
                                offer<Bf16, float>(DType::bf16, DType::fp32, Layout::nn),
                                offer<Bf16, float>(DType::bf16, DType::fp32, Layout::tn)};

}  // namespace

extern const gemm::Lesson right{
    .name = "variants", .ladder = "variants", .variants = variants, .launch = launch_right, .owner = owner};
extern const gemm::Lesson ignores_layout{.name = "ignores_layout",
                                         .ladder = "variants",
                                         .variants = variants,
                                         .launch = launch_ignoring_layout,
                                         .owner = owner};
extern const gemm::Lesson swaps_layout{.name = "swaps_layout",
                                       .ladder = "variants",
                                       .variants = variants,
                                       .launch = launch_swapping_layout,
                                       .owner = owner};
extern const gemm::Lesson rounds_c{.name = "rounds_c",
                                   .ladder = "variants",
                                   .variants = variants,
                                   .launch = launch_rounding_c,
                                   .owner = owner};
extern const gemm::Lesson wrong_conversion{.name = "wrong_conversion",
                                           .ladder = "variants",
                                           .variants = variants,
                                           .launch = launch_converting_wrongly,
                                           .owner = owner};

}  // namespace test_variants
