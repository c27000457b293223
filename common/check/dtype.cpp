#include "common/check/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/error.hpp"

namespace gemm {
namespace {

constexpr std::array kTypes{DType::fp32, DType::bf16,  DType::fp16, DType::tf32, DType::e4m3, DType::e5m2,
                            DType::int8, DType::int32, DType::int4, DType::e2m1, DType::e8m0};
constexpr std::array kInfos{
    DTypeInfo{"fp32", "FP32", 32, 8, 24, Beyond::infinity, false, kPoisonBits, kGuardBits},
    DTypeInfo{"bf16", "BF16", 16, 8, 8, Beyond::infinity, false, 0x7fabu, 0x7fb5u},
    DTypeInfo{"fp16", "FP16", 16, 5, 11, Beyond::infinity, false, 0x7c2bu, 0x7c35u},
    DTypeInfo{"tf32", "TF32", 32, 8, 11, Beyond::infinity, false, 0x7fa0a000u, 0x7fa0e000u},
    DTypeInfo{"e4m3", "E4M3", 8, 4, 4, Beyond::nan, true, 0xffu, 0x7fu},
    DTypeInfo{"e5m2", "E5M2", 8, 5, 3, Beyond::infinity, true, 0x7du, 0xfdu},
    DTypeInfo{"int8", "INT8", 8, 0, 7, Beyond::nothing, true, 0x7fu, 0x80u},
    DTypeInfo{"int32", "INT32", 32, 0, 31, Beyond::nothing, true, 0x7fffffffu, 0x80000000u},
    DTypeInfo{"int4", "INT4", 4, 0, 3, Beyond::nothing, true, 0x7u, 0x8u},
    DTypeInfo{"e2m1", "E2M1", 4, 2, 2, Beyond::nothing, true, 0x7u, 0xfu},
    DTypeInfo{"e8m0", "E8M0", 8, 8, 1, Beyond::nan, true, 0xfeu, 0xffu},
};

// The verifier's rounding is its own: sharing common/cpu/ptx/narrow_float.hpp, it would agree with whatever
// the CPU device makes of a kernel's conversions.

constexpr int kDoubleMantissa = 52, kDoubleBias = 1023;

/// Fields of a type. A number without its sign is counted by its `magnitude`, from 0 to `largest`; what lies
/// above that is Beyond.
struct Fields {
    int mantissa, bias;
    int unused;  // bits below the mantissa
    std::uint32_t sign, magnitudes, largest;
    std::uint32_t most;  // that encode() makes of a number
    bool integer, scale;
    Beyond beyond;
};

constexpr Fields fields_of(const DTypeInfo& i) {
    Fields f{};
    f.integer = i.exponent_bits == 0;
    f.mantissa = i.precision - 1;
    f.bias = f.integer ? 0 : (1 << (i.exponent_bits - 1)) - 1;
    const int width = f.integer ? i.precision : i.exponent_bits + f.mantissa;
    f.scale = width == i.bits;  // no room for a sign
    f.unused = f.scale || f.integer ? 0 : i.bits - 1 - width;
    f.sign = f.scale ? 0 : 1u << width;
    f.magnitudes = (1u << width) - 1;
    f.beyond = i.beyond;
    f.largest = f.magnitudes - (f.beyond == Beyond::infinity ? 1u << f.mantissa
                                : f.beyond == Beyond::nan    ? 1u
                                                             : 0u);
    f.most = i.saturates ? f.largest : f.largest + 1;
    return f;
}

constexpr std::array kFields = [] {
    std::array<Fields, kInfos.size()> fields{};
    for (std::size_t i = 0; i < fields.size(); ++i) fields[i] = fields_of(kInfos[i]);
    return fields;
}();

const Fields& fields(DType dtype) {
    return kFields.at(static_cast<std::size_t>(dtype));
}

/// 2^exponent, −1022 ≤ exponent ≤ 1023.
constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleMantissa);
}

/// The value of a magnitude, also of those beyond the largest, were they numbers. Below the normal range it
/// is an integer times the smallest number; the scale has no such range.
double size_of_magnitude(const Fields& f, std::uint32_t magnitude) {
    if (f.integer) return magnitude;
    const auto exponent = static_cast<int>(magnitude >> f.mantissa);
    const std::uint32_t implied = 1u << f.mantissa;
    if (exponent == 0 && !f.scale) return magnitude * power_of_two(1 - f.bias - f.mantissa);
    return ((magnitude & (implied - 1)) | implied) * power_of_two(exponent - f.bias - f.mantissa);
}

/// The magnitude of the number next to x ≥ 0, which is no NaN; f.most at most.
std::uint32_t magnitude_of(const Fields& f, double x) {
    x = std::min(x, power_of_two(f.bias + 2));  // beyond all magnitudes
    const auto raw = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> kDoubleMantissa);
    const int exponent = std::max(raw - kDoubleBias, f.scale ? -f.bias : 1 - f.bias);
    // In steps of the numbers that are here. The implied bit is among them and counts as 1 in the exponent's
    // field, as does a carry.
    const double steps = x * power_of_two(f.mantissa - exponent);
    if (f.scale) {
        const std::uint32_t up = steps > 1.0 ? 1u : 0u;
        return std::min(static_cast<std::uint32_t>(exponent + f.bias) + up, f.most);
    }
    const auto whole = static_cast<std::uint32_t>(std::nearbyint(steps));  // ties to even
    return std::min((static_cast<std::uint32_t>(exponent + f.bias - 1) << f.mantissa) + whole, f.most);
}

/// Bits of an integer in two's complement.
std::uint32_t integer_bits(const Fields& f, double x) {
    if (std::isnan(x)) return 0;
    const auto most = static_cast<double>(f.largest);
    const auto whole = static_cast<std::int64_t>(std::nearbyint(std::clamp(x, -most - 1.0, most)));
    return static_cast<std::uint32_t>(whole) & (f.sign | f.magnitudes);
}

/// A NaN of IEEE 754's kind keeps its sign and the upper bits of what it carries, and becomes quiet; the
/// other types have one that is what NVIDIA's conversions make.
std::uint32_t nan_bits(const Fields& f, double x) {
    if (f.most == f.largest) return f.magnitudes;
    const auto word = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t carried =
        (word & ((std::uint64_t{1} << kDoubleMantissa) - 1)) >> (kDoubleMantissa - f.mantissa);
    return (word >> 63 != 0 ? f.sign : 0u) | (f.largest + 1) | (1u << (f.mantissa - 1)) |
           static_cast<std::uint32_t>(carried);
}

// Matrices have up to a billion elements, and most that do are BF16 or FP16. So the two have shortcuts below,
// with the same results.
constexpr bool has_two_bytes(DType dtype) {
    return dtype == DType::bf16 || dtype == DType::fp16;
}

/// The nearest BF16, ties to even, of a number that is no NaN: its upper half. A carry leads to infinity.
std::uint32_t upper_half(std::uint32_t word) {
    return (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
}

}  // namespace

const DTypeInfo& info(DType dtype) {
    return kInfos.at(static_cast<std::size_t>(dtype));
}

std::span<const DType> all_dtypes() {
    return kTypes;
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

std::size_t size_of(DType dtype) {
    const DTypeInfo& i = info(dtype);
    if (i.bits % 8 != 0) throw Error(std::string("Two elements of ") + i.text + " share a byte.");
    return static_cast<std::size_t>(i.bits / 8);
}

std::size_t bytes_of(DType dtype, std::size_t count) {
    const auto bits = static_cast<std::size_t>(info(dtype).bits);
    return bits % 8 == 0 ? count * (bits / 8) : count / 2 + count % 2;
}

std::uint32_t load_bits(DType dtype, const void* memory, std::size_t element) {
    const auto* const bytes = static_cast<const unsigned char*>(memory);
    if (has_two_bytes(dtype)) {
        std::uint16_t both = 0;
        std::memcpy(&both, bytes + element * sizeof both, sizeof both);
        return both;
    }
    if (info(dtype).bits == 4) return bytes[element / 2] >> (element % 2 * 4) & 0xfu;
    const std::size_t size = size_of(dtype);
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes + element * size, size);
    return bits;
}

void store_bits(DType dtype, void* memory, std::size_t element, std::uint32_t bits) {
    auto* const bytes = static_cast<unsigned char*>(memory);
    if (has_two_bytes(dtype)) {
        const auto both = static_cast<std::uint16_t>(bits);
        std::memcpy(bytes + element * sizeof both, &both, sizeof both);
        return;
    }
    if (info(dtype).bits == 4) {
        const std::size_t shift = element % 2 * 4;
        unsigned char& both = bytes[element / 2];
        both = static_cast<unsigned char>((both & ~(0xfu << shift)) | (bits & 0xfu) << shift);
        return;
    }
    const std::size_t size = size_of(dtype);
    std::memcpy(bytes + element * size, &bits, size);
}

double largest(DType dtype) {
    return size_of_magnitude(fields(dtype), fields(dtype).largest);
}

double overflow_threshold(DType dtype) {
    const Fields& f = fields(dtype);
    return f.scale ? largest(dtype) : (largest(dtype) + size_of_magnitude(f, f.largest + 1)) / 2;
}

double infinite_from(DType dtype) {
    return dtype == DType::fp32 ? static_cast<double>(std::numeric_limits<float>::max())
                                : overflow_threshold(dtype);
}

double unit_roundoff(DType dtype) {
    const Fields& f = fields(dtype);
    return f.integer ? 0.0 : power_of_two(f.scale ? 0 : -info(dtype).precision);
}

double half_smallest(DType dtype) {
    const Fields& f = fields(dtype);
    return f.integer ? 0.5 : power_of_two(-f.bias - f.mantissa);
}

Range inputs(DType dtype) {
    const Fields& f = fields(dtype);
    if (f.scale) return {0.125, 8.0};
    const double most = f.integer ? std::min(largest(dtype), 0x1p24) : 6.0;
    return {-most, most};
}

bool poison_tells(DType dtype) {
    const std::uint32_t poison = info(dtype).poison;
    const double value = exact_value(dtype, poison);
    return std::isnan(value) && encode(dtype, value) != poison;
}

bool guard_tells(DType dtype) {
    return std::isnan(exact_value(dtype, info(dtype).guard));
}

double exact_value(DType dtype, std::uint32_t bits) {
    if (dtype == DType::bf16) return static_cast<double>(std::bit_cast<float>(bits << 16));
    const Fields& f = fields(dtype);
    const std::uint32_t magnitude = bits >> f.unused & f.magnitudes;
    const bool negative = (bits >> f.unused & f.sign) != 0;
    const double size = magnitude <= f.largest ? size_of_magnitude(f, magnitude)
                        : f.beyond == Beyond::infinity && magnitude == f.largest + 1
                            ? std::numeric_limits<double>::infinity()
                            : std::numeric_limits<double>::quiet_NaN();
    if (!negative) return size;
    return f.integer ? size - static_cast<double>(f.sign) : -size;
}

std::uint32_t encode(DType dtype, double x) {
    const Fields& f = fields(dtype);
    if (f.integer) return integer_bits(f, x);
    if (std::isnan(x)) return nan_bits(f, x) << f.unused;
    return ((std::signbit(x) ? f.sign : 0u) | magnitude_of(f, std::fabs(x))) << f.unused;
}

std::uint32_t encode(DType dtype, float x) {
    const auto word = std::bit_cast<std::uint32_t>(x);
    if (dtype == DType::fp32) return word;
    if (word == kPoisonBits) return info(dtype).poison;
    if (word == kGuardBits) return info(dtype).guard;
    if (dtype == DType::bf16 && !std::isnan(x)) return upper_half(word);
    return encode(dtype, static_cast<double>(x));
}

float decode(DType dtype, std::uint32_t bits) {
    if (dtype == DType::fp32) return std::bit_cast<float>(bits);
    const double value = exact_value(dtype, bits);
    if (!std::isnan(value)) return static_cast<float>(value);
    const Fields& f = fields(dtype);
    const std::uint32_t pattern = bits >> f.unused & (f.sign | f.magnitudes);
    if (pattern << f.unused == info(dtype).poison) return std::bit_cast<float>(kPoisonBits);
    if (pattern << f.unused == info(dtype).guard) return std::bit_cast<float>(kGuardBits);
    // All others carry something: FP32's mantissa has it in its upper bits.
    const std::uint32_t sign = (pattern & f.sign) != 0 ? 0x80000000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u |
                                (pattern & ((1u << f.mantissa) - 1)) << (23 - f.mantissa));
}

float rounded_to(DType dtype, float x) {
    return dtype == DType::fp32 ? x : decode(dtype, encode(dtype, x));
}

}  // namespace gemm
