// Instructions of asm statements that compute a register from registers: integers, bits, floats and
// conversions (PTX ISA, "Integer Arithmetic Instructions", "Logic and Shift Instructions", "Floating Point
// Instructions", "Half Precision Floating Point Instructions", "Data Movement and Conversion Instructions").
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "common/cpu/ptx/inline_ptx_text.hpp"

namespace cpu_device::inline_ptx {

/// An instruction by its name, `Name::view`. Registers are bits; what is narrower lies in the lowest.
template <class Name>
struct Arithmetic {
    static constexpr std::string_view kName = Name::view;
    static constexpr bool kWide = kName.ends_with("64");

    static constexpr bool is(std::string_view begin) { return kName.starts_with(begin); }
    static constexpr bool of(std::string_view part) { return has(kName, part); }

    static constexpr bool kSigned = of("s32") || of("s64");
    static constexpr bool kFloat = kName.ends_with(".f32") && !is("cvt.");
    static constexpr bool kPair = kName.ends_with(".f16x2") && !is("cvt.");
    static constexpr bool kInteger = kSigned || of("u32") || of("u64");
    static constexpr bool kFour = is("add.") || is("sub.") || is("mul.") || is("min.") || is("max.");
    static constexpr bool kBits = is("and.") || is("or.") || is("xor.") || is("not.b") || is("shl.b") ||
                                  is("shr.") || is("lop3.b32") || kName == "prmt.b32";
    static constexpr bool kOfIntegers =
        kInteger && !is("cvt.") && (kFour ? !of("hi") && !of("wide") : is("mad.lo."));
    static constexpr bool kOfFloats = (kFloat && (kFour || is("fma.rn.") || is("ex2.approx.") ||
                                                  is("rcp.approx.") || is("neg.") || is("abs."))) ||
                                      (kPair && (is("add.") || is("sub.") || is("mul.") || is("fma.rn.")));
    static constexpr bool kConverts =
        is("cvt.rna.tf32.f32") || kName == "cvt.rn.f16x2.f32" || kName == "cvt.rn.bf16x2.f32" ||
        kName == "cvt.rn.f16.f32" || kName == "cvt.f32.f16" || kName == "cvt.rn.bf16.f32" ||
        kName == "cvt.u64.u32" || kName == "cvt.u32.u64" || kName == "cvt.s64.s32";
    static constexpr bool kCompares = is("setp.") && (kInteger || kName.ends_with(".b32")) && !of("and");
    static constexpr bool kKnown = kBits || kOfIntegers || kOfFloats || kConverts || kCompares || is("selp.");

    static std::uint64_t cut(std::uint64_t bits) { return kWide ? bits : static_cast<std::uint32_t>(bits); }
    static std::int64_t signed_of(std::uint64_t bits) {
        return kWide ? static_cast<std::int64_t>(bits) : static_cast<std::int32_t>(bits);
    }
    static float float_of(std::uint64_t bits) {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
    }
    static std::uint64_t bits_of_float(float value) { return __builtin_bit_cast(std::uint32_t, value); }
    static std::uint64_t pair(std::uint16_t low, std::uint16_t high) {
        return low | static_cast<std::uint32_t>(high) << 16;
    }

    __forceinline__ static std::uint64_t of_inputs(std::uint64_t a, std::uint64_t b, std::uint64_t c,
                                                   std::uint64_t d) {
        if constexpr (kBits) {
            return bits(a, b, c, d);
        } else if constexpr (kOfIntegers) {
            return integers(a, b, c);
        } else if constexpr (kOfFloats) {
            return kPair ? pairs(a, b, c) : bits_of_float(floats(float_of(a), float_of(b), float_of(c)));
        } else if constexpr (kConverts) {
            return converted(a, b);
        } else if constexpr (kCompares) {
            return compared(a, b);
        } else {
            return c != 0 ? a : b;  // selp
        }
    }

    static std::uint64_t bits(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
        if constexpr (is("and.")) return a & b;
        if constexpr (is("or.")) return a | b;
        if constexpr (is("xor.")) return a ^ b;
        if constexpr (is("not.")) return cut(~a);
        if constexpr (is("shl.") || is("shr.")) {
            const std::uint64_t by = static_cast<std::uint32_t>(b), most = kWide ? 63 : 31;
            if constexpr (kSigned)
                return cut(static_cast<std::uint64_t>(signed_of(a) >> (by < most ? by : most)));
            return by > most ? 0 : is("shl.") ? cut(a << by) : cut(a) >> by;
        }
        if constexpr (is("lop3.")) {
            std::uint64_t result = 0;
            for (int row = 0; row < 8; ++row) {
                if ((d >> row & 1) == 0) continue;
                result |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
            }
            return cut(result);
        }
        std::uint64_t result = 0;  // prmt: bytes of b:a, chosen by c, or their sign
        const std::uint64_t bytes = static_cast<std::uint32_t>(a) | b << 32;
        for (unsigned i = 0; i < 4; ++i) {
            const std::uint64_t choice = c >> 4 * i & 15;
            std::uint64_t byte = bytes >> 8 * (choice & 7) & 0xff;
            if (choice & 8) byte = byte & 0x80 ? 0xff : 0;
            result |= byte << 8 * i;
        }
        return result;
    }
    static std::uint64_t integers(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        const bool less = kSigned ? signed_of(a) < signed_of(b) : cut(a) < cut(b);
        if constexpr (is("add.")) return cut(a + b);
        if constexpr (is("sub.")) return cut(a - b);
        if constexpr (is("mul.")) return cut(a * b);
        if constexpr (is("mad.")) return cut(a * b + c);
        return is("min.") == less ? cut(a) : cut(b);
    }
    static float floats(float a, float b, float c) {
        if constexpr (is("add.")) return a + b;
        if constexpr (is("sub.")) return a - b;
        if constexpr (is("mul.")) return a * b;
        if constexpr (is("fma.")) return fmaf(a, b, c);
        if constexpr (is("min.")) return fminf(a, b);
        if constexpr (is("max.")) return fmaxf(a, b);
        if constexpr (is("ex2.")) return exp2f(a);
        if constexpr (is("rcp.")) return 1.0f / a;
        return is("neg.") ? -a : fabsf(a);
    }
    static std::uint16_t half(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        const auto value = [](std::uint64_t bits) {
            return static_cast<double>(value_of_half(static_cast<std::uint16_t>(bits)));
        };
        if constexpr (is("add.")) return half_bits(value(a) + value(b));
        if constexpr (is("sub.")) return half_bits(value(a) - value(b));
        if constexpr (is("mul.")) return half_bits(value(a) * value(b));
        return half_bits(value(a) * value(b) + value(c));
    }
    static std::uint64_t pairs(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        return pair(half(a, b, c), half(a >> 16, b >> 16, c >> 16));
    }
    static std::uint64_t converted(std::uint64_t a, std::uint64_t b) {
        const auto wide = [](std::uint64_t bits) { return static_cast<double>(float_of(bits)); };
        if constexpr (is("cvt.rna.tf32")) return (a + 0x1000) & 0xffffe000;
        if constexpr (of("f16x2")) return pair(half_bits(wide(b)), half_bits(wide(a)));
        if constexpr (of("bf16x2")) return pair(bfloat16_bits(wide(b)), bfloat16_bits(wide(a)));
        if constexpr (is("cvt.rn.f16")) return half_bits(wide(a));
        if constexpr (is("cvt.rn.bf16")) return bfloat16_bits(wide(a));
        if constexpr (is("cvt.f32")) return bits_of_float(value_of_half(static_cast<std::uint16_t>(a)));
        if constexpr (is("cvt.s64")) return static_cast<std::uint64_t>(static_cast<std::int32_t>(a));
        return static_cast<std::uint32_t>(a);
    }
    static std::uint64_t compared(std::uint64_t a, std::uint64_t b) {
        const bool less = kSigned ? signed_of(a) < signed_of(b) : cut(a) < cut(b), equal = cut(a) == cut(b);
        if constexpr (is("setp.eq.")) return equal;
        if constexpr (is("setp.ne.")) return !equal;
        if constexpr (is("setp.lt.") || is("setp.lo.")) return less;
        if constexpr (is("setp.le.") || is("setp.ls.")) return less || equal;
        if constexpr (is("setp.gt.") || is("setp.hi.")) return !less && !equal;
        return !less;  // ge, hs
    }
};

}  // namespace cpu_device::inline_ptx
