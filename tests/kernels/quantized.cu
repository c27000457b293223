// BF16 times INT4: weights of four bits, two a byte, with a BF16 scale for each 128 of them along K.
#include "tests/kernels/elements.hpp"
#include "tests/kernels/kernels.hpp"

namespace slow {
namespace {

constexpr int GROUP = 128;

/// What the kernel does with numbers and places. Mistakes differ in one of these.
struct Right {
    /// The number of an element, which is the low or the high half of a byte.
    static __device__ int number(unsigned byte, bool high) {
        return static_cast<int>((high ? byte >> 4 : byte & 0xf) ^ 8) - 8;
    }
    static __device__ float weight(int number, float scale) { return static_cast<float>(number) * scale; }
    static __device__ std::int64_t group(std::int64_t k, std::int64_t /*K*/) { return k / GROUP; }
    static __device__ std::int64_t of_scale(std::int64_t group, std::int64_t col, std::int64_t /*N*/,
                                            std::int64_t lds) {
        return group * lds + col;
    }
    static __device__ std::int64_t row_bytes(std::int64_t /*N*/, std::int64_t ldb) { return ldb / 2; }
};

struct RoundedWeights : Right {  // to BF16, as tensor cores take them: right, too
    static __device__ float weight(int number, float scale) {
        return bf16(to_bf16(Right::weight(number, scale)));
    }
};
struct UnsignedNumbers : Right {
    static __device__ int number(unsigned byte, bool high) {
        return static_cast<int>(high ? byte >> 4 : byte & 0xf);
    }
};
struct ZeroPointOfEight : Right {
    static __device__ int number(unsigned byte, bool high) {
        return static_cast<int>(high ? byte >> 4 : byte & 0xf) - 8;
    }
};
struct HalvesSwapped : Right {
    static __device__ int number(unsigned byte, bool high) { return Right::number(byte, !high); }
};
struct NoScale : Right {
    static __device__ float weight(int number, float /*scale*/) { return static_cast<float>(number); }
};
struct TwoBitsOfWeights : Right {  // after the first: five significant bits fewer than BF16 has
    static __device__ float weight(int number, float scale) {
        return float_of(bits_of(Right::weight(number, scale)) & 0xffe00000u);
    }
};
struct OneScaleForAll : Right {
    static __device__ std::int64_t group(std::int64_t /*k*/, std::int64_t /*K*/) { return 0; }
};
struct GroupsOf256 : Right {
    static __device__ std::int64_t group(std::int64_t k, std::int64_t /*K*/) { return k / (2 * GROUP); }
};
struct TailInTheGroupBefore : Right {
    static __device__ std::int64_t group(std::int64_t k, std::int64_t K) {
        const std::int64_t whole = K / GROUP;
        return whole == 0 ? 0 : k / GROUP < whole ? k / GROUP : whole - 1;
    }
};
struct ScalesPacked : Right {
    static __device__ std::int64_t of_scale(std::int64_t group, std::int64_t col, std::int64_t N,
                                            std::int64_t /*lds*/) {
        return group * N + col;
    }
};
struct RowsPacked : Right {
    static __device__ std::int64_t row_bytes(std::int64_t N, std::int64_t /*ldb*/) { return (N + 1) / 2; }
};

template <class Rule>
__global__ void gemm_quantized(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                               const std::uint16_t* A, std::int64_t lda, const std::uint8_t* B,
                               std::int64_t ldb, const std::uint16_t* scales, std::int64_t lds, float beta,
                               std::uint16_t* C, std::int64_t ldc) {
    const auto [row, col] = place(N);
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;
    for (std::int64_t k = 0; k < k_end; ++k) {
        const int number = Rule::number(B[k * Rule::row_bytes(N, ldb) + col / 2], col % 2 != 0);
        const float scale = bf16(scales[Rule::of_scale(Rule::group(k, K), col, N, lds)]);
        acc += bf16(A[row * lda + k]) * Rule::weight(number, scale);
    }
    std::uint16_t* c = &C[row * ldc + col];
    *c = to_bf16(beta == 0.0f ? alpha * acc : alpha * acc + beta * bf16(*c));
}

template <class Rule>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    gemm_quantized<Rule><<<gemm::grid_of_tiles(p, kTile), kBlock, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const std::uint16_t*>(p.A), p.lda,
        static_cast<const std::uint8_t*>(p.B), p.ldb, static_cast<const std::uint16_t*>(p.scales), p.lds,
        p.beta, static_cast<std::uint16_t*>(p.C), p.ldc);
}

template <class Rule>
const gemm::Offer kOffer[] = {
    {.variant = {.A = gemm::DType::bf16, .B = gemm::DType::int4, .C = gemm::DType::bf16, .group = GROUP},
     .kernel = reinterpret_cast<const void*>(&gemm_quantized<Rule>),
     .architectures = {.from = 75},
     .configuration = {.tile = kTile, .block = kBlock}}};

template <class Rule>
gemm::Lesson lesson(const char* name) {
    return {.name = name, .ladder = "slow", .variants = kOffer<Rule>, .launch = launch<Rule>, .owner = owner};
}

}  // namespace

const gemm::Lesson quantized = lesson<Right>("slow_quantized");
const gemm::Lesson quantized_rounded = lesson<RoundedWeights>("slow_quantized_rounded");

std::span<const gemm::Lesson> quantized_mistakes() {
    static const gemm::Lesson mistakes[] = {lesson<UnsignedNumbers>("unsigned_numbers"),
                                            lesson<ZeroPointOfEight>("zero_point_of_eight"),
                                            lesson<HalvesSwapped>("halves_swapped"),
                                            lesson<NoScale>("no_scale"),
                                            lesson<TwoBitsOfWeights>("two_bits_of_weights"),
                                            lesson<OneScaleForAll>("one_scale_for_all"),
                                            lesson<GroupsOf256>("groups_of_256"),
                                            lesson<TailInTheGroupBefore>("tail_in_the_group_before"),
                                            lesson<ScalesPacked>("scales_packed"),
                                            lesson<RowsPacked>("rows_packed")};
    return mistakes;
}

}  // namespace slow
