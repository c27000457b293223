#include "common/cpu/ptx/narrow_float.hpp"

#include <algorithm>
#include <bit>

namespace cpu_device {
namespace {

/// IEEE 754 rounding of the nearest kind, on the bits of the double.
template <int FRACTION, int EXPONENT>
std::uint16_t rounded(double value) {
    constexpr int kLeast = 2 - (1 << (EXPONENT - 1));  // exponent of the smallest normal number
    constexpr std::uint64_t kInfinity = ((std::uint64_t{1} << EXPONENT) - 1) << FRACTION;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 48 & 0x8000u);
    if (value != value) return 0x7fff;
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    const std::uint64_t significand = (bits & 0xfffffffffffffu) | std::uint64_t{1} << 52;
    const int dropped = 52 - FRACTION + std::max(0, kLeast - exponent);
    if (dropped > 53) return sign;  // less than half of the smallest subnormal number
    std::uint64_t kept = significand >> dropped;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
    kept += rest > half || (rest == half && (kept & 1) != 0);
    // `kept` has its leading bit, which counts as 1 in the exponent's field; a carry goes there too.
    const std::uint64_t code =
        kept + (static_cast<std::uint64_t>(std::max(0, exponent - kLeast)) << FRACTION);
    return static_cast<std::uint16_t>(sign | std::min(code, kInfinity));
}

}  // namespace

std::uint16_t half_bits(double value) {
    return rounded<10, 5>(value);
}
std::uint16_t bfloat16_bits(double value) {
    return rounded<7, 8>(value);
}

}  // namespace cpu_device
