// One thread an element, for variants that no lesson takes yet: the contract has room for them where this
// goes the way of every lesson, and where its mistakes are found. The same for BF16 and FP16 alone.
#include "tests/check/variants.hpp"

#include <cstring>

#include "common/element.hpp"
#include "tests/check/short_types.hpp"

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

/// MISTAKE: as BF16, with what does not fit cut off.
struct CutOff {
    float value;
};
__device__ __forceinline__ float to_float(CutOff cut) {
    return cut.value;
}
template <>
__device__ __forceinline__ CutOff from_float<CutOff>(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= 0xffff0000u;  // a NaN stays one: what is computed is quiet
    memcpy(&value, &bits, sizeof value);
    return {value};
}

/// How a kernel steps through op(A) and op(B) in memory.
struct Steps {
    std::int64_t a_row, a_k, b_k, b_col;
};

// ROUNDED: what the sum becomes before it is stored as a TC. SUM: what it becomes in every step.
template <class TA, class TB, class TC, class ROUNDED, class SUM>
__global__ void gemm_elements(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const TA* A,
                              const TB* B, Steps steps, float beta, TC* C, std::int64_t ldc) {
    const std::int64_t tiles_n = (N + SIDE - 1) / SIDE;
    const std::int64_t row = blockIdx.x / tiles_n * SIDE + threadIdx.y;
    const std::int64_t col = blockIdx.x % tiles_n * SIDE + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;  // BLAS: alpha == 0 must not read A or B
    for (std::int64_t k = 0; k < k_end; ++k) {
        const float a = to_float(A[row * steps.a_row + k * steps.a_k]);
        acc = to_float(from_float<SUM>(acc + a * to_float(B[k * steps.b_k + col * steps.b_col])));
    }
    TC* c = &C[row * ldc + col];
    const float value = beta == 0.0f ? alpha * acc : alpha * acc + beta * to_float(*c);
    *c = from_float<TC>(to_float(from_float<ROUNDED>(value)));
}

template <class TA, class TB, class TC, class ROUNDED = TC, class SUM = float>
void launch_types(const gemm::Problem& p, gemm::Layout layout, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    gemm::Variant v;
    v.layout = layout;
    const Steps steps{v.a_transposed() ? 1 : p.lda, v.a_transposed() ? p.lda : 1,
                      v.b_transposed() ? 1 : p.ldb, v.b_transposed() ? p.ldb : 1};
    gemm_elements<TA, TB, TC, ROUNDED, SUM><<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
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

using gemm::DType;
using gemm::Layout;
using Bf16 = __nv_bfloat16;

void launch_short(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.variant.C == DType::fp16) return launch_types<__half, __half, __half>(p, Layout::nn, stream);
    launch_types<Bf16, Bf16, Bf16>(p, Layout::nn, stream);
}
void launch_cut_off(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_types<Bf16, Bf16, Bf16, CutOff>(p, Layout::nn, stream);  // MISTAKE
}
void launch_bf16_sum(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_types<Bf16, Bf16, Bf16, Bf16, Bf16>(p, Layout::nn, stream);  // MISTAKE: rounded in every step
}
void launch_taken_for_bf16(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_types<Bf16, Bf16, Bf16>(p, Layout::nn, stream);  // MISTAKE: whatever the type is
}

template <class AB, class C, class ROUNDED = C, class SUM = float>
gemm::Offer offer(DType ab, DType c, Layout layout = Layout::nn) {
    return {.variant = {.A = ab, .B = ab, .C = c, .layout = layout},
            .kernel = reinterpret_cast<const void*>(&gemm_elements<AB, AB, C, ROUNDED, SUM>),
            .architectures = {.from = ab == DType::fp16 ? 75 : 80},
            .configuration = {.tile = tile, .block = block}};
}

const gemm::Offer variants[] = {offer<float, float>(DType::fp32, DType::fp32),
                                offer<float, float>(DType::fp32, DType::fp32, Layout::nt),
                                offer<float, float>(DType::fp32, DType::fp32, Layout::tn),
                                offer<float, float>(DType::fp32, DType::fp32, Layout::tt),
                                offer<Bf16, Bf16>(DType::bf16, DType::bf16, Layout::nt),
                                offer<Bf16, float>(DType::bf16, DType::fp32),
                                offer<Bf16, float>(DType::bf16, DType::fp32, Layout::tn)};
const gemm::Offer short_variants[] = {offer<Bf16, Bf16>(DType::bf16, DType::bf16),
                                      offer<__half, __half>(DType::fp16, DType::fp16)};
const gemm::Offer cut_off_variants[] = {offer<Bf16, Bf16, CutOff>(DType::bf16, DType::bf16)};
const gemm::Offer bf16_sum_variants[] = {offer<Bf16, Bf16, Bf16, Bf16>(DType::bf16, DType::bf16)};
const gemm::Offer taken_for_bf16_variants[] = {offer<Bf16, Bf16>(DType::fp16, DType::fp16)};

template <std::size_t COUNT>
gemm::Lesson lesson(const char* name, const gemm::Offer (&offers)[COUNT],
                    decltype(gemm::Lesson::launch) launch, const char* ladder = "") {
    return {.name = name, .ladder = ladder, .variants = offers, .launch = launch, .owner = owner};
}

}  // namespace

namespace test_variants {

extern const gemm::Lesson right = lesson("variants", variants, launch_right, "variants");
extern const gemm::Lesson ignores_layout =
    lesson("ignores_layout", variants, launch_ignoring_layout, "variants");
extern const gemm::Lesson swaps_layout = lesson("swaps_layout", variants, launch_swapping_layout, "variants");
extern const gemm::Lesson rounds_c = lesson("rounds_c", variants, launch_rounding_c, "variants");
extern const gemm::Lesson wrong_conversion =
    lesson("wrong_conversion", variants, launch_converting_wrongly, "variants");

}  // namespace test_variants

namespace short_types {

extern const gemm::Lesson right = lesson("short_types", short_variants, launch_short);
extern const gemm::Lesson cut_off = lesson("bf16_cut_off", cut_off_variants, launch_cut_off);
extern const gemm::Lesson bf16_sum = lesson("bf16_sum", bf16_sum_variants, launch_bf16_sum);
extern const gemm::Lesson taken_for_bf16 =
    lesson("taken_for_bf16", taken_for_bf16_variants, launch_taken_for_bf16);

}  // namespace short_types
