// What <cuda_fp16.h> and <cuda_bf16.h> of the CPU device share: rounding to 16 bits and back. IEEE 754's
// binary16 has 5 bits of exponent and 10 of fraction, bfloat16 8 and 7 (CUDA Math API Reference Manual, "Half
// Precision Intrinsics", "Bfloat16 Precision Intrinsics").
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace cpu_device {

/// The nearest value, ties to even; every NaN becomes 0x7fff, what is too large Inf. (Not inline: its
/// branches would look to the tracer like lanes that part.)
std::uint16_t half_bits(double value);
std::uint16_t bfloat16_bits(double value);

/// Exact; a NaN keeps its sign and its payload.
__forceinline__ float value_of_bfloat16(std::uint16_t bits) {
    return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}
/// Exact; every NaN becomes 0x7fffffff.
__forceinline__ float value_of_half(std::uint16_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffu;
    // As a float's exponent and fraction it is 2^112 times too small, subnormal or not.
    const float value = __builtin_bit_cast(float, magnitude << 13) * 0x1p112f;
    auto wide = __builtin_bit_cast(std::uint32_t, value);
    wide |= (0u - (magnitude >= 0x7c00u)) & 0x7f800000u;
    wide |= static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    wide |= (0u - (magnitude > 0x7c00u)) & 0x7fffffffu;
    wide &= ~((0u - (magnitude > 0x7c00u)) & 0x80000000u);
    return __builtin_bit_cast(float, wide);
}

/// An integer as a double that rounds to 16 bits as the integer itself would: of one that is too long the
/// last bits are replaced by whether any of them was set.
template <class Integer>
double roundable(Integer value) {
    if constexpr (sizeof(Integer) < 8) {
        return static_cast<double>(value);
    } else {
        const bool negative = value < 0;
        const auto bits = static_cast<std::uint64_t>(value);
        const std::uint64_t magnitude = negative ? 0 - bits : bits;
        const std::uint64_t kept = magnitude >> 11 | ((magnitude & 0x7ff) != 0);
        const double result =
            magnitude >> 53 == 0 ? static_cast<double>(magnitude) : static_cast<double>(kept) * 2048.0;
        return negative ? -result : result;
    }
}

}  // namespace cpu_device

/// Operators of a 16-bit type: computed in float, which has more than twice its bits and two more, and
/// rounded again, so that the result is the one that a single rounding gives. Comparisons are there so that a
/// mixture with other types is as ambiguous as with NVIDIA's headers.
#define CPU_DEVICE_NARROW_OPERATOR(T, op)                         \
    __forceinline__ T operator op(const T& a, const T& b) {       \
        return T(static_cast<float>(a) op static_cast<float>(b)); \
    }                                                             \
    __forceinline__ T& operator op##=(T& a, const T& b) {         \
        return a = a op b;                                        \
    }
#define CPU_DEVICE_NARROW_COMPARISON(T, op)                    \
    __forceinline__ bool operator op(const T& a, const T& b) { \
        return static_cast<float>(a) op static_cast<float>(b); \
    }
#define CPU_DEVICE_NARROW_OPERATORS(T)        \
    CPU_DEVICE_NARROW_OPERATOR(T, +)          \
    CPU_DEVICE_NARROW_OPERATOR(T, -)          \
    CPU_DEVICE_NARROW_OPERATOR(T, *)          \
    CPU_DEVICE_NARROW_OPERATOR(T, /)          \
    __forceinline__ T operator-(const T& a) { \
        return T(-static_cast<float>(a));     \
    }                                         \
    CPU_DEVICE_NARROW_COMPARISON(T, ==)       \
    CPU_DEVICE_NARROW_COMPARISON(T, !=)       \
    CPU_DEVICE_NARROW_COMPARISON(T, <)        \
    CPU_DEVICE_NARROW_COMPARISON(T, <=)       \
    CPU_DEVICE_NARROW_COMPARISON(T, >)        \
    CPU_DEVICE_NARROW_COMPARISON(T, >=)
