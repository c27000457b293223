// A strided batch of BF16 products, into C or, where the variant has one, into a D of FP32.
#include "tests/kernels/elements.hpp"
#include "tests/kernels/kernels.hpp"

namespace slow {
namespace {

struct Sizes {
    std::int64_t M, N, K, lda, ldb, ldc, ldd, batch, stride_a, stride_b, stride_c, stride_d;
};

/// What the kernel does with problems and places. Mistakes differ in one of these.
struct Right {
    static __device__ std::int64_t of_a(std::int64_t problem, const Sizes& s) { return problem * s.stride_a; }
    static __device__ std::int64_t of_b(std::int64_t problem, const Sizes& s) { return problem * s.stride_b; }
    static __device__ std::int64_t of_c(std::int64_t problem, const Sizes& s) { return problem * s.stride_c; }
    static __device__ std::int64_t of_d(std::int64_t problem, const Sizes& s) { return problem * s.stride_d; }
    static std::int64_t count(std::int64_t batch) { return batch; }
    static constexpr bool in_y = false;  // blocks of the problem of that number along y
};

struct FirstAlone : Right {
    static std::int64_t count(std::int64_t batch) { return batch < 1 ? batch : 1; }
};
struct LastMissing : Right {
    static std::int64_t count(std::int64_t batch) { return batch > 1 ? batch - 1 : batch; }
};
struct OneAtLeast : Right {  // also of a batch of none
    static std::int64_t count(std::int64_t batch) { return batch < 1 ? 1 : batch; }
};
struct InputsOfFirst : Right {
    static __device__ std::int64_t of_a(std::int64_t, const Sizes&) { return 0; }
    static __device__ std::int64_t of_b(std::int64_t, const Sizes&) { return 0; }
};
struct BOfFirst : Right {
    static __device__ std::int64_t of_b(std::int64_t, const Sizes&) { return 0; }
};
struct BOfFirstInTwoDimensions : BOfFirst {
    static constexpr bool in_y = true;
};
struct APacked : Right {
    static __device__ std::int64_t of_a(std::int64_t problem, const Sizes& s) {
        return problem * s.M * s.lda;
    }
};
struct CPacked : Right {
    static __device__ std::int64_t of_c(std::int64_t problem, const Sizes& s) {
        return problem * s.M * s.ldc;
    }
};
struct StrideOfAForB : Right {
    static __device__ std::int64_t of_b(std::int64_t problem, const Sizes& s) { return problem * s.stride_a; }
};
struct StrideOfCForD : Right {
    static __device__ std::int64_t of_d(std::int64_t problem, const Sizes& s) { return problem * s.stride_c; }
};
struct StrideInBytes : Right {
    static __device__ std::int64_t of_a(std::int64_t problem, const Sizes& s) {
        return problem * s.stride_a * 2;
    }
};
struct StrideOf32Bits : Right {
    static __device__ std::int64_t of_a(std::int64_t problem, const Sizes& s) {
        return static_cast<int>(static_cast<unsigned>(problem) * static_cast<unsigned>(s.stride_a));
    }
};

template <class Rule>
__global__ void gemm_strided(Sizes s, float alpha, const std::uint16_t* A, const std::uint16_t* B, float beta,
                             std::uint16_t* C, float* D) {
    const Place in_tile = place(s.N);
    const auto [problem, row, col] =
        Rule::in_y ? PlaceInBatch{blockIdx.y, in_tile.row, in_tile.col} : place_in_batch(s.M, s.N);
    if (row >= s.M || col >= s.N) return;
    A += Rule::of_a(problem, s);
    B += Rule::of_b(problem, s);
    C += Rule::of_c(problem, s);
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : s.K;
    for (std::int64_t k = 0; k < k_end; ++k) acc += bf16(A[row * s.lda + k]) * bf16(B[k * s.ldb + col]);
    float x = alpha * acc;
    if (beta != 0.0f) x += beta * bf16(C[row * s.ldc + col]);
    if (D != nullptr) {
        D[Rule::of_d(problem, s) + row * s.ldd + col] = x;
    } else {
        C[row * s.ldc + col] = to_bf16(x);
    }
}

template <class Rule>
void launch(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    const std::int64_t count = Rule::count(p.batch);
    if (p.M == 0 || p.N == 0 || count == 0) return;
    const dim3 grid = Rule::in_y ? dim3(gemm::grid_of_tiles(p, kTile).x, static_cast<unsigned>(count))
                                 : grid_of_batch(p, count);
    gemm_strided<Rule><<<grid, kBlock, 0, stream>>>(
        Sizes{p.M, p.N, p.K, p.lda, p.ldb, p.ldc, p.ldd, p.batch, p.stride_a, p.stride_b, p.stride_c,
              p.stride_d},
        p.alpha, static_cast<const std::uint16_t*>(p.A), static_cast<const std::uint16_t*>(p.B), p.beta,
        static_cast<std::uint16_t*>(p.C), static_cast<float*>(p.D));
}

constexpr gemm::Variant kVariant{
    .A = gemm::DType::bf16, .B = gemm::DType::bf16, .C = gemm::DType::bf16, .batch = gemm::Batch::strided};
constexpr gemm::Variant with_d() {
    gemm::Variant variant = kVariant;
    variant.D = gemm::DType::fp32;
    return variant;
}

template <class Rule>
gemm::Offer offer_of(const gemm::Variant& variant) {
    return {.variant = variant,
            .kernel = reinterpret_cast<const void*>(&gemm_strided<Rule>),
            .architectures = {.from = 75},
            .configuration = {.tile = kTile, .block = kBlock}};
}
template <class Rule>
const gemm::Offer kOffers[] = {offer_of<Rule>(kVariant), offer_of<Rule>(with_d())};

template <class Rule>
gemm::Lesson lesson(const char* name) {
    return {.name = name,
            .ladder = "slow",
            .variants = kOffers<Rule>,
            .launch = launch<Rule>,
            .owner_in_batch = owner_in_batch};
}

}  // namespace

const gemm::Lesson strided = lesson<Right>("slow_strided");

std::span<const gemm::Lesson> strided_mistakes() {
    static const gemm::Lesson mistakes[] = {lesson<FirstAlone>("first_alone"),
                                            lesson<LastMissing>("last_missing"),
                                            lesson<OneAtLeast>("one_at_least"),
                                            lesson<InputsOfFirst>("inputs_of_first"),
                                            lesson<BOfFirst>("b_of_first"),
                                            lesson<BOfFirstInTwoDimensions>("b_of_first_in_two_dimensions"),
                                            lesson<APacked>("a_packed"),
                                            lesson<CPacked>("c_packed"),
                                            lesson<StrideOfAForB>("stride_of_a_for_b"),
                                            lesson<StrideOfCForD>("stride_of_c_for_d"),
                                            lesson<StrideInBytes>("stride_in_bytes"),
                                            lesson<StrideOf32Bits>("stride_of_32_bits")};
    return mistakes;
}

}  // namespace slow
