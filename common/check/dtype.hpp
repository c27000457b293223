// The types that A, B and C may have: their sizes, their accuracy, and their conversion on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/gemm.hpp"

namespace gemm {

/// What a type is made of: a sign, `exponent_bits`, and `precision` significant bits, of which the first is
/// implied (IEEE 754-2019 §3.4 for FP32 and FP16; BF16 is the upper half of an FP32).
struct DTypeInfo {
    const char* name;  // "fp32", "bf16", "fp16": options and results
    const char* text;  // "FP32", "BF16", "FP16": sentences
    int bytes, exponent_bits, precision;
};
const DTypeInfo& info(DType dtype);

/// Bytes of an element: 4 or 2.
std::size_t size_of(DType dtype);
/// "fp32", "bf16" or "fp16".
const char* dtype_name(DType dtype);
/// The type of that name; nothing where there is none.
std::optional<DType> dtype_named(const std::string& name);

/// Unit round-off u = 2^−precision: rounding to nearest changes a value x in the normal range by at most
/// u·|x|.
double unit_roundoff(DType dtype);
/// Half the smallest positive number: what rounding to nearest changes below the normal range, at most.
double half_smallest(DType dtype);
/// Values from here on round to infinity: halfway between the largest finite number and the next that there
/// would be (IEEE 754-2019 §4.3.1).
double overflow_threshold(DType dtype);

// Each is a signalling NaN of its type: whatever a kernel computes from it comes out quiet, with other bits.

/// Fills C before a kernel runs: an element that still holds these bits was never written.
inline constexpr std::uint32_t kPoisonBits = 0x7fa0beefu;
/// Fills the guard bands and the padding of A and B: read into a result, it spoils it.
inline constexpr std::uint32_t kGuardBits = 0x7fa0fe4du;

/// The bits of x in the type (the lower 16 where it has two bytes), rounded to nearest, ties to even, with
/// subnormal numbers and infinities. kPoisonBits and kGuardBits become the type's own poison and guard; any
/// other NaN becomes a quiet one.
std::uint32_t encode(DType dtype, float x);
/// The value of such bits; the type's poison and guard become kPoisonBits and kGuardBits. A NaN stays one.
float decode(DType dtype, std::uint32_t bits);
/// decode(encode(x)): the nearest value that the type has.
float rounded_to(DType dtype, float x);

}  // namespace gemm
