// BF16 with a bias, GELU and a residual, into a D of FP32: D = gelu(alpha·A·B + beta·C + bias) + residual.
#include "tests/kernels/elements.hpp"
#include "tests/kernels/kernels.hpp"

namespace slow {
namespace {

struct Sizes {
    std::int64_t M, N, K, lda, ldb, ldc, ldr, ldd;
};

__device__ float gelu_with(float x, float factor) {
    return 0.5f * x * (1.0f + tanhf(factor * (x + 0.044715f * x * x * x)));
}

/// What the kernel does with numbers and places. Mistakes differ in one of these.
struct Right {
    /// x = alpha·Σab + beta·c0.
    static __device__ float result(float x, float bias, float residual) {
        return gelu_with(x + bias, 0.79788456f) + residual;
    }
    static __device__ std::int64_t of_bias(std::int64_t /*row*/, std::int64_t col) { return col; }
    static __device__ std::int64_t of_residual(std::int64_t row, std::int64_t col, const Sizes& s) {
        return row * s.ldr + col;
    }
    static __device__ std::int64_t of_d(std::int64_t row, std::int64_t col, const Sizes& s) {
        return row * s.ldd + col;
    }
    static constexpr bool reads_c = false;   // also where beta is 0
    static constexpr bool without_k = true;  // the epilogue is there where nothing is multiplied, too
};

struct NoBias : Right {
    static __device__ float result(float x, float /*bias*/, float residual) {
        return Right::result(x, 0.0f, residual);
    }
};
struct BiasAfterGelu : Right {
    static __device__ float result(float x, float bias, float residual) {
        return Right::result(x, 0.0f, residual) + bias;
    }
};
struct BiasByRow : Right {
    static __device__ std::int64_t of_bias(std::int64_t row, std::int64_t col) {
        return row < col ? row : col;
    }
};
struct ResidualBeforeGelu : Right {
    static __device__ float result(float x, float bias, float residual) {
        return Right::result(x, bias + residual, 0.0f);
    }
};
struct GeluWithErf : Right {
    static __device__ float result(float x, float bias, float residual) {
        const float y = x + bias;
        return 0.5f * y * (1.0f + erff(y * 0.70710678f)) + residual;
    }
};
struct GeluWithSigmoid : Right {  // x·σ(1.702·x), which is another function
    static __device__ float result(float x, float bias, float residual) {
        const float y = x + bias;
        return y / (1.0f + expf(-1.702f * y)) + residual;
    }
};
struct Relu : Right {
    static __device__ float result(float x, float bias, float residual) {
        const float y = x + bias;
        return (y > 0.0f ? y : y != y ? y : 0.0f) + residual;
    }
};
struct ThroughBf16 : Right {
    static __device__ float result(float x, float bias, float residual) {
        const unsigned bits = bits_of(Right::result(x, bias, residual));
        return float_of((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16);
    }
};
struct ResidualByLdd : Right {
    static __device__ std::int64_t of_residual(std::int64_t row, std::int64_t col, const Sizes& s) {
        return row * s.ldd + col;
    }
};
struct DByLdc : Right {
    static __device__ std::int64_t of_d(std::int64_t row, std::int64_t col, const Sizes& s) {
        return row * s.ldc + col;
    }
};
struct NothingWithoutK : Right {
    static constexpr bool without_k = false;
};
struct ReadsCAnyway : Right {
    static constexpr bool reads_c = true;
};

template <class Rule>
__global__ void gemm_fused(Sizes s, float alpha, const std::uint16_t* A, const std::uint16_t* B, float beta,
                           const std::uint16_t* C, const std::uint16_t* bias, const std::uint16_t* residual,
                           float* D) {
    const auto [row, col] = place(s.N);
    if (row >= s.M || col >= s.N) return;
    if (!Rule::without_k && (s.K == 0 || alpha == 0.0f)) return;
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : s.K;
    for (std::int64_t k = 0; k < k_end; ++k) acc += bf16(A[row * s.lda + k]) * bf16(B[k * s.ldb + col]);
    float x = alpha * acc;
    if (beta != 0.0f || Rule::reads_c) x += beta * bf16(C[row * s.ldc + col]);
    D[Rule::of_d(row, col, s)] =
        Rule::result(x, bf16(bias[Rule::of_bias(row, col)]), bf16(residual[Rule::of_residual(row, col, s)]));
}

template <class Rule>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    const auto of_bf16 = [](const void* data) { return static_cast<const std::uint16_t*>(data); };
    gemm_fused<Rule><<<gemm::grid_of_tiles(p, kTile), kBlock, 0, stream>>>(
        Sizes{p.M, p.N, p.K, p.lda, p.ldb, p.ldc, p.ldr, p.ldd}, p.alpha, of_bf16(p.A), of_bf16(p.B), p.beta,
        of_bf16(p.C), of_bf16(p.bias), of_bf16(p.residual), static_cast<float*>(p.D));
}

template <class Rule>
const gemm::Offer kOffer[] = {{.variant = {.A = gemm::DType::bf16,
                                           .B = gemm::DType::bf16,
                                           .C = gemm::DType::bf16,
                                           .bias = true,
                                           .activation = gemm::Activation::gelu,
                                           .residual = true,
                                           .D = gemm::DType::fp32},
                               .kernel = reinterpret_cast<const void*>(&gemm_fused<Rule>),
                               .architectures = {.from = 75},
                               .configuration = {.tile = kTile, .block = kBlock}}};

template <class Rule>
gemm::Lesson lesson(const char* name) {
    return {.name = name, .ladder = "slow", .variants = kOffer<Rule>, .launch = launch<Rule>, .owner = owner};
}

}  // namespace

const gemm::Lesson fused = lesson<Right>("slow_fused");

std::span<const gemm::Lesson> fused_mistakes() {
    static const gemm::Lesson mistakes[] = {lesson<NoBias>("no_bias"),
                                            lesson<BiasAfterGelu>("bias_after_gelu"),
                                            lesson<BiasByRow>("bias_by_row"),
                                            lesson<ResidualBeforeGelu>("residual_before_gelu"),
                                            lesson<GeluWithErf>("gelu_with_erf"),
                                            lesson<GeluWithSigmoid>("gelu_with_sigmoid"),
                                            lesson<Relu>("relu"),
                                            lesson<ThroughBf16>("through_bf16"),
                                            lesson<ResidualByLdd>("residual_by_ldd"),
                                            lesson<DByLdc>("d_by_ldc"),
                                            lesson<NothingWithoutK>("nothing_without_k"),
                                            lesson<ReadsCAnyway>("reads_c_anyway")};
    return mistakes;
}

}  // namespace slow
