// A plain kernel for BF16 and FP16 without anybody's headers for these types, and three with a mistake each.
// A thread computes an element of C.
#include "tests/check/short_types.hpp"

#include <cstring>

namespace short_types {
namespace {

constexpr int SIDE = 16;
const gemm::Tile tile{SIDE, SIDE, 1};
const dim3 block(SIDE, SIDE);

__device__ float float_of(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
__device__ unsigned bits_of(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// The upper half of an FP32.
struct Bf16 {
    static __device__ float decode(unsigned bits) { return float_of(bits << 16); }
    static __device__ unsigned encode(float value) {
        const unsigned bits = bits_of(value);
        if (value != value) return 0x7fff;
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    }
};

/// MISTAKE: what does not fit is cut off.
struct Bf16CutOff : Bf16 {
    static __device__ unsigned encode(float value) { return value != value ? 0x7fff : bits_of(value) >> 16; }
};

/// 1 sign, 5 exponent, 10 mantissa bits.
struct Fp16 {
    static __device__ float decode(unsigned bits) {
        const unsigned magnitude = bits & 0x7fff;
        float value = 0.0f;
        if (magnitude >= 0x7c00) {
            value = float_of(0x7f800000 | (magnitude & 0x3ff) << 13);
        } else if (magnitude < 0x400) {
            value = static_cast<float>(magnitude) * 0x1p-24f;
        } else {
            value = float_of((magnitude << 13) + (112u << 23));  // exponents count from 15 and from 127
        }
        return (bits & 0x8000) != 0 ? -value : value;
    }
    static __device__ unsigned encode(float value) {
        const unsigned bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
        if (value != value) return 0x7fff;
        if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and up
        if (magnitude < 0x38800000) {  // below 2⁻¹⁴, where a step is 2⁻²⁴, as behind 0.5
            return sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f));
        }
        return sign | (((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10));
    }
};

struct Fp32Sum {
    static __device__ float add(float sum, float product) { return sum + product; }
};

/// MISTAKE: the sum is rounded to BF16 in every step.
struct Bf16Sum {
    static __device__ float add(float sum, float product) {
        return Bf16::decode(Bf16::encode(sum + product));
    }
};

template <class Type, class Sum>
__global__ void gemm_short(std::int64_t M, std::int64_t N, std::int64_t K, float alpha,
                           const std::uint16_t* A, std::int64_t lda, const std::uint16_t* B, std::int64_t ldb,
                           float beta, std::uint16_t* C, std::int64_t ldc) {
    const std::int64_t tiles_n = (N + SIDE - 1) / SIDE;
    const std::int64_t row = blockIdx.x / tiles_n * SIDE + threadIdx.y;
    const std::int64_t col = blockIdx.x % tiles_n * SIDE + threadIdx.x;
    if (row >= M || col >= N) return;
    float acc = 0.0f;
    const std::int64_t k_end = alpha == 0.0f ? 0 : K;
    for (std::int64_t k = 0; k < k_end; ++k) {
        acc = Sum::add(acc, Type::decode(A[row * lda + k]) * Type::decode(B[k * ldb + col]));
    }
    std::uint16_t* c = &C[row * ldc + col];
    const float value = beta == 0.0f ? alpha * acc : alpha * acc + beta * Type::decode(*c);
    *c = static_cast<std::uint16_t>(Type::encode(value));
}

template <class Type, class Sum>
void launch_as(const gemm::Problem& p, cudaStream_t stream) {
    if (p.M == 0 || p.N == 0) return;
    gemm_short<Type, Sum><<<gemm::grid_of_tiles(p, tile), block, 0, stream>>>(
        p.M, p.N, p.K, p.alpha, static_cast<const std::uint16_t*>(p.A), p.lda,
        static_cast<const std::uint16_t*>(p.B), p.ldb, p.beta, static_cast<std::uint16_t*>(p.C), p.ldc);
}

void launch_right(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    p.variant.C == gemm::DType::fp16 ? launch_as<Fp16, Fp32Sum>(p, stream)
                                     : launch_as<Bf16, Fp32Sum>(p, stream);
}
void launch_cut_off(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_as<Bf16CutOff, Fp32Sum>(p, stream);
}
void launch_bf16_sum(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_as<Bf16, Bf16Sum>(p, stream);
}
void launch_taken_for_bf16(const gemm::Problem& p, const void* /*plan*/, cudaStream_t stream) {
    launch_as<Bf16, Fp32Sum>(p, stream);  // MISTAKE: whatever the type is
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, SIDE);
    return {{static_cast<unsigned>(row / SIDE * tiles_n + col / SIDE), 0, 0},
            {static_cast<unsigned>(col % SIDE), static_cast<unsigned>(row % SIDE), 0}};
}

template <class Type, class Sum>
const void* address() {
    return reinterpret_cast<const void*>(&gemm_short<Type, Sum>);
}

}  // namespace

const gemm::Offer right_variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                       .kernel = address<Bf16, Fp32Sum>(),
                                       .architectures = {.from = 80},
                                       .configuration = {.tile = tile, .block = block}},
                                      {.variant = gemm::of_type(gemm::DType::fp16),
                                       .kernel = address<Fp16, Fp32Sum>(),
                                       .architectures = {.from = 75},
                                       .configuration = {.tile = tile, .block = block}}};
extern const gemm::Lesson right{
    .name = "short_types", .variants = right_variants, .launch = launch_right, .owner = owner};
const gemm::Offer cut_off_variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                         .kernel = address<Bf16CutOff, Fp32Sum>(),
                                         .architectures = {.from = 80},
                                         .configuration = {.tile = tile, .block = block}}};
extern const gemm::Lesson cut_off{
    .name = "bf16_cut_off", .variants = cut_off_variants, .launch = launch_cut_off, .owner = owner};
const gemm::Offer bf16_sum_variants[] = {{.variant = gemm::of_type(gemm::DType::bf16),
                                          .kernel = address<Bf16, Bf16Sum>(),
                                          .architectures = {.from = 80},
                                          .configuration = {.tile = tile, .block = block}}};
extern const gemm::Lesson bf16_sum{
    .name = "bf16_sum", .variants = bf16_sum_variants, .launch = launch_bf16_sum, .owner = owner};
const gemm::Offer taken_for_bf16_variants[] = {{.variant = gemm::of_type(gemm::DType::fp16),
                                                .kernel = address<Bf16, Fp32Sum>(),
                                                .architectures = {.from = 75},
                                                .configuration = {.tile = tile, .block = block}}};
extern const gemm::Lesson taken_for_bf16{.name = "taken_for_bf16",
                                         .variants = taken_for_bf16_variants,
                                         .launch = launch_taken_for_bf16,
                                         .owner = owner};

}  // namespace short_types
