#include "common/check/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace gemm {
namespace {

constexpr std::array kTypes{DType::fp32, DType::bf16, DType::fp16};
constexpr std::array kInfos{DTypeInfo{"fp32", "FP32", 4, 8, 24}, DTypeInfo{"bf16", "BF16", 2, 8, 8},
                            DTypeInfo{"fp16", "FP16", 2, 5, 11}};

/// Fields of a type of two bytes.
struct Fields {
    int mantissa, bias;
    std::uint32_t infinity, quiet, poison, guard;
};

Fields fields_of(DType dtype) {
    const DTypeInfo& i = info(dtype);
    const int mantissa = i.precision - 1;
    const std::uint32_t infinity = ((1u << i.exponent_bits) - 1) << mantissa;
    // The highest bit of the mantissa is that of a quiet NaN; poison and guard leave it 0.
    return {mantissa,         (1 << (i.exponent_bits - 1)) - 1,
            infinity,         1u << (mantissa - 1),
            infinity | 0x2bu, infinity | 0x35u};
}

// The verifier's rounding is its own: sharing common/cpu/ptx/narrow_float.hpp, it would agree with whatever
// the CPU device makes of a kernel's conversions.

/// x divided by 2^shift, rounded to nearest, ties to even.
std::uint32_t shifted(std::uint32_t x, int shift) {
    if (shift == 0) return x;
    if (shift > 31) return 0;
    const std::uint32_t kept = x >> shift, rest = x & ((1u << shift) - 1), half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1u) != 0) ? 1 : 0);
}

}  // namespace

const DTypeInfo& info(DType dtype) {
    return kInfos.at(static_cast<std::size_t>(dtype));
}

std::size_t size_of(DType dtype) {
    return static_cast<std::size_t>(info(dtype).bytes);
}

const char* dtype_name(DType dtype) {
    return info(dtype).name;
}

std::optional<DType> dtype_named(const std::string& name) {
    for (const DType dtype : kTypes) {
        if (name == dtype_name(dtype)) return dtype;
    }
    return std::nullopt;
}

double unit_roundoff(DType dtype) {
    return std::ldexp(1.0, -info(dtype).precision);
}

double half_smallest(DType dtype) {
    const DTypeInfo& i = info(dtype);  // the smallest normal number is 2^(2 − 2^(exponent_bits − 1))
    return std::ldexp(1.0, 2 - (1 << (i.exponent_bits - 1)) - i.precision);
}

double overflow_threshold(DType dtype) {
    const DTypeInfo& i = info(dtype);
    return std::ldexp(2.0 - unit_roundoff(dtype), (1 << (i.exponent_bits - 1)) - 1);
}

std::uint32_t encode(DType dtype, float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    if (dtype == DType::fp32) return word;
    const Fields l = fields_of(dtype);
    if (word == kPoisonBits) return l.poison;
    if (word == kGuardBits) return l.guard;
    const std::uint32_t sign = word >> 16 & 0x8000u, magnitude = word & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {  // NaN: the upper bits of what it carries
        return sign | l.infinity | l.quiet | ((magnitude & 0x7fffffu) >> (23 - l.mantissa));
    }
    if (magnitude == 0x7f800000u) return sign | l.infinity;
    // Exponents of FP32 begin that much lower. Where the result is subnormal, the implied bit is written out
    // and the mantissa goes right; a carry out of it lands in the exponent, where it belongs.
    const int exponent = static_cast<int>(magnitude >> 23) - 127 + l.bias;
    const std::uint32_t implied = magnitude >> 23 != 0 ? 0x800000u : 0;
    const int dropped = 23 - l.mantissa;
    std::uint32_t bits = 0;
    if (exponent <= 0) {
        const int from_lowest = implied != 0 ? 1 - exponent : -exponent;
        bits = shifted((magnitude & 0x7fffffu) | implied, dropped + from_lowest);
    } else {
        bits = shifted((static_cast<std::uint32_t>(exponent) << 23) | (magnitude & 0x7fffffu), dropped);
    }
    return sign | std::min(bits, l.infinity);
}

float decode(DType dtype, std::uint32_t bits) {
    if (dtype == DType::fp32) return std::bit_cast<float>(bits);
    const Fields l = fields_of(dtype);
    bits &= 0xffffu;
    if (bits == l.poison) return std::bit_cast<float>(kPoisonBits);
    if (bits == l.guard) return std::bit_cast<float>(kGuardBits);
    const std::uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    const std::uint32_t mantissa = (magnitude & ((1u << l.mantissa) - 1)) << (23 - l.mantissa);
    if (magnitude >= l.infinity) return std::bit_cast<float>(sign | 0x7f800000u | mantissa);
    const int exponent = static_cast<int>(magnitude >> l.mantissa);
    if (exponent == 0) {  // subnormal: an integer times the smallest number, which FP32 has as well
        const float value = std::ldexp(static_cast<float>(magnitude), 1 - l.bias - l.mantissa);
        return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | (static_cast<std::uint32_t>(exponent - l.bias + 127) << 23) |
                                mantissa);
}

float rounded_to(DType dtype, float x) {
    return dtype == DType::fp32 ? x : decode(dtype, encode(dtype, x));
}

}  // namespace gemm
