// E4M3 → BF16, with B as N×K: sums in FP32. Conversions are this file's own, without anybody's headers.
#include "tests/kernels/elements.hpp"
#include "tests/kernels/kernels.hpp"

namespace slow {
namespace {

/// 1 sign, `EXPONENT` exponent bits with the bias, the rest mantissa. No infinity.
template <int EXPONENT, int BIAS>
__device__ float decoded(unsigned bits) {
    constexpr int MANTISSA = 7 - EXPONENT;
    const unsigned magnitude = bits & 0x7f;
    const float value = magnitude >> MANTISSA == 0
                            ? static_cast<float>(magnitude) * float_of((128u - BIAS - MANTISSA) << 23)
                            : float_of((magnitude << (23 - MANTISSA)) + ((127u - BIAS) << 23));
    return (bits & 0x80) != 0 ? -value : value;
}

__device__ unsigned bf16_of(float value) {
    const unsigned bits = bits_of(value);
    if (value != value) return 0x7fff;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// What the kernel does with numbers and places. Mistakes differ in one of these.
struct Right {
    static __device__ float input(unsigned bits) {
        return (bits & 0x7f) == 0x7f ? float_of(0x7fffffff) : decoded<4, 7>(bits);
    }
    static __device__ float sum(float acc, float product) { return acc + product; }
    static __device__ unsigned output(float value) { return bf16_of(value); }
    static __device__ std::int64_t steps(std::int64_t K) { return K; }
    static __device__ std::int64_t of_b(std::int64_t k, std::int64_t col, std::int64_t ldb) {
        return col * ldb + k;
    }
};

struct TakenForE5m2 : Right {
    static __device__ float input(unsigned bits) { return decoded<5, 15>(bits); }
};
struct BiasOfEight : Right {
    static __device__ float input(unsigned bits) { return decoded<4, 8>(bits); }
};
struct NoSubnormals : Right {
    static __device__ float input(unsigned bits) { return (bits & 0x78) == 0 ? 0.0f : Right::input(bits); }
};
struct NanIs480 : Right {
    static __device__ float input(unsigned bits) { return decoded<4, 7>(bits); }
};
struct SumInBf16 : Right {
    static __device__ float sum(float acc, float product) { return float_of(bf16_of(acc + product) << 16); }
};
struct CutOff : Right {
    static __device__ unsigned output(float value) { return value != value ? 0x7fff : bits_of(value) >> 16; }
};
struct PaddedToSixteen : Right {
    static __device__ std::int64_t steps(std::int64_t K) { return (K + 15) / 16 * 16; }
};
struct BAsKxN : Right {
    static __device__ std::int64_t of_b(std::int64_t k, std::int64_t col, std::int64_t ldb) {
        return k * ldb + col;
    }
};

template <class Rule>
__global__ void gemm_fp8(std::int64_t M, std::int64_t N, std::int64_t K, float alpha, const std::uint8_t* A,
                         std::int64_t lda, const std::uint8_t* B, std::int64_t ldb, float beta,
                         std::uint16_t* C, std::int64_t ldc) {
    const auto [row, col] = place(N);
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : Rule::steps(K);
    for (std::int64_t k = 0; k < k_end; ++k) {
        acc = Rule::sum(acc, Rule::input(A[row * lda + k]) * Rule::input(B[Rule::of_b(k, col, ldb)]));
    }
    std::uint16_t* c = &C[row * ldc + col];
    const float value =
        beta == 0.0f ? alpha * acc : alpha * acc + beta * float_of(static_cast<unsigned>(*c) << 16);
    *c = static_cast<std::uint16_t>(Rule::output(value));
}

template <class Rule>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    gemm_fp8<Rule><<<gemm::grid_of_tiles(p, kTile), kBlock, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const std::uint8_t*>(p.A), p.lda,
        static_cast<const std::uint8_t*>(p.B), p.ldb, p.beta, static_cast<std::uint16_t*>(p.C), p.ldc);
}

template <class Rule>
const gemm::Offer kOffer[] = {
    {.variant = {gemm::DType::e4m3, gemm::DType::e4m3, gemm::DType::bf16, gemm::Layout::nt},
     .kernel = reinterpret_cast<const void*>(&gemm_fp8<Rule>),
     .architectures = {.from = 75},
     .configuration = {.tile = kTile, .block = kBlock}}};

template <class Rule>
gemm::Lesson lesson(const char* name) {
    return {.name = name, .ladder = "slow", .variants = kOffer<Rule>, .launch = launch<Rule>, .owner = owner};
}

}  // namespace

const gemm::Lesson fp8 = lesson<Right>("slow_fp8");

std::span<const gemm::Lesson> fp8_mistakes() {
    static const gemm::Lesson mistakes[] = {
        lesson<TakenForE5m2>("taken_for_e5m2"),  lesson<BiasOfEight>("bias_of_eight"),
        lesson<NoSubnormals>("no_subnormals"),   lesson<NanIs480>("nan_is_480"),
        lesson<SumInBf16>("sum_in_bf16"),        lesson<CutOff>("cut_off"),
        lesson<PaddedToSixteen>("padded_to_16"), lesson<BAsKxN>("b_as_kxn")};
    return mistakes;
}

}  // namespace slow
