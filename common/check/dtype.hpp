// The types that operands may have, one codec for all of them: their sizes, their accuracy, and their
// conversion on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "common/gemm.hpp"

namespace gemm {

/// What the patterns above a type's largest number stand for.
enum class Beyond {
    infinity,  // an infinity and NaNs, as in IEEE 754
    nan,       // one pattern (two with the sign): NaN, and there is no infinity
    nothing,   // there are none: every pattern is a number
};

/// What a type is made of; all else follows. An element takes `bits` in memory. From the highest bit on these
/// are a sign, where there is room for one, `exponent_bits` with the bias 2^(exponent_bits − 1) − 1, and
/// `precision` significant bits, of which the first is implied; bits below them (TF32 has 13) are 0, and not
/// looked at. Without exponent bits it is an integer in two's complement.
/// Sources: FP32 and FP16: IEEE 754-2019 §3.4. BF16: the upper half of an FP32. TF32: PTX ISA, "Alternate
/// floating-point data formats". E4M3 and E5M2: OCP 8-bit Floating Point Specification, and cuda_fp8.h. E2M1
/// and E8M0: OCP Microscaling Formats Specification, cuda_fp4.h and cuda_fp8.h.
struct DTypeInfo {
    const char* name;  // "fp32", "e4m3": options and results
    const char* text;  // "FP32", "E4M3": sentences
    int bits, exponent_bits, precision;
    Beyond beyond;
    bool saturates;               // encode() makes the largest number of what is too large, not infinity
    std::uint32_t poison, guard;  // see below
};
const DTypeInfo& info(DType dtype);
/// Whether its values are whole numbers in two's complement.
inline bool is_integer(DType dtype) {
    return info(dtype).exponent_bits == 0;
}

/// All types, in the order of their declaration.
std::span<const DType> all_dtypes();
/// "fp32", "bf16", "e4m3" …
const char* dtype_name(DType dtype);
/// The type of that name; nothing where there is none.
std::optional<DType> dtype_named(const std::string& name);

/// Bytes of an element: 4, 2 or 1. Throws Error where two elements share a byte (int4, e2m1).
std::size_t size_of(DType dtype);

/// Bytes of `count` elements that lie side by side from the start of a byte on. Half of the last is not used
/// where an odd number of elements of 4 bits lie in it.
std::size_t bytes_of(DType dtype, std::size_t count);
/// The least number of elements, from `count` on, that ends with a whole byte.
inline std::int64_t in_whole_bytes(DType dtype, std::int64_t count) {
    return info(dtype).bits < 8 ? count + count % 2 : count;
}
/// The bits of an element among those that begin at `memory`, and the way back. Bytes are little-endian, and
/// of two elements in a byte the first is in the lower half, as in cuda_fp4.h's __nv_fp4x2_storage_t.
std::uint32_t load_bits(DType dtype, const void* memory, std::size_t element);
void store_bits(DType dtype, void* memory, std::size_t element, std::uint32_t bits);

/// The largest finite number; of an integer 2^(bits − 1) − 1.
double largest(DType dtype);
/// Values from here on become infinity or, in a type that saturates, stay behind by more than half a step:
/// halfway between the largest finite number and the next that there would be (IEEE 754-2019 §4.3.1). E8M0,
/// which rounds upwards, has the largest itself: beyond it, values stay behind.
double overflow_threshold(DType dtype);
/// From which number on a result becomes infinite: the same, and of FP32, which nothing is rounded to, its
/// largest.
double infinite_from(DType dtype);
/// Rounding a value x that is below overflow_threshold() changes it by at most u·|x| in the normal range, u
/// being this, and by half_smallest() below it. u = 2^−precision for rounding to nearest. E8M0 rounds up to
/// the next power of two, and has 1. Integers have 0: all that they may err by is half_smallest().
double unit_roundoff(DType dtype);
/// Half the smallest positive number, which rounding to nearest changes a value below the normal range by, at
/// most; of integers ½. E8M0 has neither 0 nor a sign: 2^−127, by which what is smaller goes up.
double half_smallest(DType dtype);

/// Numbers from `lowest` to `highest`, both included.
struct Range {
    double lowest, highest;
};
/// Where a workload's inputs lie. Types with a sign and an exponent get normal deviates of variance 1, and
/// those that are made of 24 random bits lie within ±√(48·ln 2) = ±5.8: E2M1 has up to ±6, and none
/// saturates. Integers are uniform: without their lowest number, which is the guard, so that no sum of inputs
/// holds it; and INT32, which is only ever added to sums (beta·C), within ±2^24, so that a float has it and
/// sums of INT8's products have room. E8M0, a scale, is a power of two from ⅛ to 8: products of two scales
/// leave sums of such inputs within what FP16 holds.
Range inputs(DType dtype);

// An element that a kernel never wrote, and one beyond an edge that it read, are made visible by what lies
// there before it runs: a type's poison and its guard.
//
// In FP32, TF32, BF16, FP16 and E5M2 each is a signalling NaN: whatever a kernel computes from it comes out
// quiet, with other bits. E5M2 has one of them, with either sign. E4M3 has one NaN, with either sign, and
// NVIDIA's conversions make the positive one (cuda_fp8.hpp, "Canonical NaN"; that is the host's code, and no
// GPU was asked). So the negative is the poison, the positive the guard.
//
// The other types have no pattern to spare, so that nothing in one result tells what was never written
// (poison_tells()). There, two launches do: with C full of poison before the first and of guard before the
// second, which are different bits in every type, an element that holds both in turn was never written; no
// kernel that writes the same results twice leaves that. Reads beyond an edge that meet a guard are seen
// where it is NaN (guard_tells()), E8M0's included. An integer's guard is its lowest number, which is not
// among the inputs: a sum of whole numbers that takes it in is wrong by whole numbers, and the check of
// integers is exact. E2M1's are 6 and −6: the same two launches, with A's and B's padding full of the one and
// of the other, must end in the same bits.

/// Fills C before a kernel runs: an element that still holds these bits was never written.
inline constexpr std::uint32_t kPoisonBits = 0x7fa0beefu;
/// Fills the guard bands and the padding of A and B: read into a result, it spoils it.
inline constexpr std::uint32_t kGuardBits = 0x7fa0fe4du;

/// Whether no computation leaves the type's poison, so that one launch tells what was never written.
bool poison_tells(DType dtype);
/// Whether the type's guard is NaN, so that it spoils what it is read into.
bool guard_tells(DType dtype);

/// The value of such bits: exact for every type, which is why it is a double: an INT32 has 31 significant
/// bits, a float 24. Reference values are float64, too. Bits above the type's are not looked at.
double exact_value(DType dtype, std::uint32_t bits);
/// The bits of x in the type, rounded to nearest, ties to even, with subnormal numbers. What is too large
/// becomes infinity in FP32, TF32, BF16 and FP16; the others have NVIDIA's __NV_SATFINITE, infinities
/// included. A NaN becomes a quiet one; in FP8 that is 0x7f, in E8M0 0xff, in E2M1 its largest number (what
/// cuda_fp8.h and cuda_fp4.h make of it) and in an integer 0 (PTX ISA, cvt). E8M0 has |x|, rounded up to a
/// power of two (NVIDIA's cudaRoundPosInf, which __nv_fp8_e8m0 takes: rounded down, a scale would leave its
/// elements too large), and no less than 2^−127.
std::uint32_t encode(DType dtype, double x);

/// The same of a float, but kPoisonBits and kGuardBits become the type's own poison and guard, and an FP32
/// keeps all its bits.
std::uint32_t encode(DType dtype, float x);
/// The value as a float, which holds those of every type but INT32, whose are rounded. The type's poison and
/// guard become kPoisonBits and kGuardBits where they are NaN. A NaN stays one.
float decode(DType dtype, std::uint32_t bits);
/// decode(encode(x)): the nearest value that the type has.
float rounded_to(DType dtype, float x);

}  // namespace gemm
