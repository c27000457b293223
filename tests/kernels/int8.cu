// INT8 → INT32: exact. Alpha and beta are whole numbers (Shape::resolved()).
#include "tests/kernels/elements.hpp"
#include "tests/kernels/kernels.hpp"

namespace slow {
namespace {

/// What the kernel does with numbers. Mistakes differ in one of these.
struct Exact {
    static __device__ int input(std::int8_t value) { return value; }
    static __device__ int sum(int acc, int product) { return acc + product; }
    static __device__ int result(int alpha, int acc, int beta, int c) { return alpha * acc + beta * c; }
    static __device__ std::int64_t steps(std::int64_t K) { return K; }
    static constexpr bool reads_c = false;  // also where beta is 0
};

struct UnsignedInputs : Exact {
    static __device__ int input(std::int8_t value) { return static_cast<std::uint8_t>(value); }
};
struct SumOf16Bits : Exact {
    static __device__ int sum(int acc, int product) { return static_cast<std::int16_t>(acc + product); }
};
struct ResultInFp32 : Exact {
    static __device__ int result(int alpha, int acc, int beta, int c) {
        return static_cast<int>(static_cast<float>(alpha) * static_cast<float>(acc) +
                                static_cast<float>(beta) * static_cast<float>(c));
    }
};
struct NoTailOfFour : Exact {
    static __device__ std::int64_t steps(std::int64_t K) { return K / 4 * 4; }
};
struct PaddedToFour : Exact {
    static __device__ std::int64_t steps(std::int64_t K) { return (K + 3) / 4 * 4; }
};
struct ReadsC : Exact {
    static constexpr bool reads_c = true;
};

template <class Rule>
__global__ void gemm_int8(std::int64_t M, std::int64_t N, std::int64_t K, int alpha, const std::int8_t* A,
                          std::int64_t lda, const std::int8_t* B, std::int64_t ldb, int beta, std::int32_t* C,
                          std::int64_t ldc) {
    const auto [row, col] = place(N);
    if (row >= M || col >= N) return;
    int acc = 0;
    const std::int64_t k_end = alpha == 0 ? 0 : Rule::steps(K);
    for (std::int64_t k = 0; k < k_end; ++k) {
        acc = Rule::sum(acc, Rule::input(A[row * lda + k]) * Rule::input(B[k * ldb + col]));
    }
    std::int32_t* c = &C[row * ldc + col];
    *c = Rule::result(alpha, acc, beta, beta != 0 || Rule::reads_c ? *c : 0);
}

template <class Rule>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    gemm_int8<Rule><<<gemm::grid_of_tiles(p, kTile), kBlock, 0, stream>>>(
        p.M, p.N, p.K, static_cast<int>(p.alpha), static_cast<const std::int8_t*>(p.A), p.lda,
        static_cast<const std::int8_t*>(p.B), p.ldb, static_cast<int>(p.beta),
        static_cast<std::int32_t*>(p.C), p.ldc);
}

template <class Rule>
const gemm::Offer kOffer[] = {{.variant = {gemm::DType::int8, gemm::DType::int8, gemm::DType::int32},
                               .kernel = reinterpret_cast<const void*>(&gemm_int8<Rule>),
                               .architectures = {.from = 75},
                               .configuration = {.tile = kTile, .block = kBlock}}};

template <class Rule>
gemm::Lesson lesson(const char* name) {
    return {.name = name, .ladder = "slow", .variants = kOffer<Rule>, .launch = launch<Rule>, .owner = owner};
}

}  // namespace

const gemm::Lesson int8 = lesson<Exact>("slow_int8");

std::span<const gemm::Lesson> int8_mistakes() {
    static const gemm::Lesson mistakes[] = {
        lesson<UnsignedInputs>("unsigned_inputs"), lesson<SumOf16Bits>("sum_of_16_bits"),
        lesson<ResultInFp32>("result_in_fp32"),    lesson<NoTailOfFour>("no_tail_of_four"),
        lesson<PaddedToFour>("padded_to_four"),    lesson<ReadsC>("reads_c")};
    return mistakes;
}

}  // namespace slow
