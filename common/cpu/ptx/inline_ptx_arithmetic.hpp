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
    static constexpr bool kDouble = kName.ends_with(".f64") && !is("cvt.");
    static constexpr bool kPair = (kName.ends_with(".f16x2") || kName.ends_with(".bf16x2")) && !is("cvt.");
    static constexpr bool kOne = (kName.ends_with(".f16") || kName.ends_with(".bf16")) && !is("cvt.");
    static constexpr bool kBrain = of("bf16") || of("bf16x2");
    static constexpr bool kInteger = kSigned || of("u32") || of("u64");
    static constexpr bool kFour = is("add.") || is("sub.") || is("mul.") || is("min.") || is("max.");
    static constexpr bool kBits = is("and.") || is("or.") || is("xor.") || is("not.") || is("shl.b") ||
                                  is("shr.") || is("lop3.b32") || kName == "prmt.b32" || is("popc.b") ||
                                  is("clz.b") || kName == "brev.b32" || is("bfe.u") || is("bfi.b");
    static constexpr bool kOfIntegers =
        kInteger && !is("cvt.") &&
        (kFour ? !of("hi")
               : (is("mad.") && !of("hi")) || is("div.") || is("rem.") || is("neg.") || is("abs."));
    static constexpr bool kApproximate = is("ex2.approx") || is("rcp.") || is("lg2.approx") || is("sqrt.") ||
                                         is("rsqrt.approx") || is("sin.approx") || is("cos.approx") ||
                                         is("tanh.approx") || is("div.");
    static constexpr bool kExact =
        (kFour || is("fma.rn.") || is("neg.") || is("abs.")) && !of("relu") && !of("sat") && !of("NaN");
    static constexpr bool kOfFloats = (kFloat && (kExact || kApproximate)) || (kDouble && kExact) ||
                                      ((kPair || kOne) && (kExact || is("ex2.approx") || is("tanh.approx")));
    static constexpr bool kConverts =
        is("cvt.rna.tf32.f32") || is("cvt.rn.tf32.f32") || kName == "cvt.rn.f16x2.f32" ||
        kName == "cvt.rn.bf16x2.f32" || kName == "cvt.rn.f16.f32" || kName == "cvt.f32.f16" ||
        kName == "cvt.rn.bf16.f32" || kName == "cvt.f32.bf16" || kName == "cvt.u64.u32" ||
        kName == "cvt.u32.u64" || kName == "cvt.s64.s32" || kName == "cvt.u32.u16" ||
        kName == "cvt.u16.u32" || kName == "cvt.rn.f32.s32" || kName == "cvt.rn.f32.u32" ||
        kName == "cvt.rzi.s32.f32" || kName == "cvt.rni.s32.f32" || kName == "cvt.rn.f32.f64" ||
        kName == "cvt.f64.f32";
    static constexpr bool kCompares =
        is("setp.") && (kInteger || kFloat || kName.ends_with(".b32") || kName.ends_with(".b64")) &&
        (!kFloat || is("setp.eq.") || is("setp.ne.") || is("setp.lt.") || is("setp.le.") || is("setp.gt.") ||
         is("setp.ge.")) &&
        !of("and") && !of("or") && !of("xor");
    static constexpr bool kKnown = kBits || kOfIntegers || kOfFloats || kConverts || kCompares || is("selp.");

    static std::uint64_t cut(std::uint64_t bits) { return kWide ? bits : static_cast<std::uint32_t>(bits); }
    static std::int64_t signed_of(std::uint64_t bits) {
        return kWide ? static_cast<std::int64_t>(bits) : static_cast<std::int32_t>(bits);
    }
    static float float_of(std::uint64_t bits) {
        return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
    }
    static double double_of(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }
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
            return kPair  ? pairs(a, b, c)
                   : kOne ? narrow(a, b, c)
                   : kDouble
                       ? __builtin_bit_cast(std::uint64_t, exact(double_of(a), double_of(b), double_of(c)))
                       : bits_of_float(floats(float_of(a), float_of(b), float_of(c)));
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
        if constexpr (kName == "not.pred") return a == 0;
        if constexpr (is("not.")) return cut(~a);
        if constexpr (is("shl.") || is("shr.")) {
            const std::uint64_t by = static_cast<std::uint32_t>(b), most = kWide ? 63 : 31;
            if constexpr (kSigned)
                return cut(static_cast<std::uint64_t>(signed_of(a) >> (by < most ? by : most)));
            return by > most ? 0 : is("shl.") ? cut(a << by) : cut(a) >> by;
        }
        if constexpr (is("popc.")) return static_cast<std::uint64_t>(__builtin_popcountll(cut(a)));
        if constexpr (is("clz."))
            return cut(a) == 0 ? (kWide ? 64 : 32)
                               : static_cast<std::uint64_t>(__builtin_clzll(cut(a)) - (kWide ? 0 : 32));
        if constexpr (is("brev.")) {
            std::uint64_t reversed = 0;
            for (int i = 0; i < 32; ++i) reversed |= (a >> i & 1) << (31 - i);
            return reversed;
        }
        if constexpr (is("bfe.")) {
            const std::uint64_t from = b & 255, count = c & 255;
            const std::uint64_t field = from > 63 ? 0 : cut(a) >> from;
            return count > 63 ? field : field & ((std::uint64_t{1} << count) - 1);
        }
        if constexpr (is("bfi.")) {  // a into b, from bit c on, d bits
            const std::uint64_t from = c & 255, count = d & 255;
            if (from > (kWide ? 63 : 31) || count == 0) return cut(b);
            const std::uint64_t field = (count > 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1)
                                        << from;
            return cut((b & ~field) | (a << from & field));
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
        if constexpr (of("wide")) {  // factors of half as many bits
            const std::uint64_t product =
                of("s32") ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(a)} *
                                                       static_cast<std::int32_t>(b))
                          : std::uint64_t{static_cast<std::uint32_t>(a)} * static_cast<std::uint32_t>(b);
            return is("mad.") ? product + c : product;
        }
        const bool less = kSigned ? signed_of(a) < signed_of(b) : cut(a) < cut(b);
        if constexpr (is("div.") || is("rem.")) {
            if (cut(b) == 0) return cut(~std::uint64_t{0});  // not specified
            if (kSigned && signed_of(b) == -1) return is("div.") ? cut(0 - a) : 0;
            if constexpr (kSigned)
                return cut(static_cast<std::uint64_t>(is("div.") ? signed_of(a) / signed_of(b)
                                                                 : signed_of(a) % signed_of(b)));
            return is("div.") ? cut(a) / cut(b) : cut(a) % cut(b);
        }
        if constexpr (is("neg.")) return cut(0 - a);
        if constexpr (is("abs.")) return signed_of(a) < 0 ? cut(0 - a) : cut(a);
        if constexpr (is("add.")) return cut(a + b);
        if constexpr (is("sub.")) return cut(a - b);
        if constexpr (is("mul.")) return cut(a * b);
        if constexpr (is("mad.")) return cut(a * b + c);
        return is("min.") == less ? cut(a) : cut(b);
    }
    /// Rounded once, in float and in double.
    template <class T>
    static T exact(T a, T b, T c) {
        if constexpr (is("add.")) return a + b;
        if constexpr (is("sub.")) return a - b;
        if constexpr (is("mul.")) return a * b;
        if constexpr (is("fma.")) return std::fma(a, b, c);
        if constexpr (is("min.")) return std::fmin(a, b);
        if constexpr (is("max.")) return std::fmax(a, b);
        return is("neg.") ? -a : std::fabs(a);
    }
    static float floats(float a, float b, float c) {
        if constexpr (kExact) return exact(a, b, c);
        if constexpr (is("ex2.")) return exp2f(a);
        if constexpr (is("lg2.")) return log2f(a);
        if constexpr (is("rcp.")) return 1.0f / a;
        if constexpr (is("div.")) return a / b;
        if constexpr (is("sqrt.")) return sqrtf(a);
        if constexpr (is("rsqrt.")) return static_cast<float>(1.0 / sqrt(static_cast<double>(a)));
        if constexpr (is("sin.")) return sinf(a);
        return is("cos.") ? cosf(a) : tanhf(a);
    }
    /// Of 16 bits: products are exact in double.
    static std::uint16_t narrow(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        const auto value = [](std::uint64_t bits) {
            const auto low = static_cast<std::uint16_t>(bits);
            return static_cast<double>(kBrain ? value_of_bfloat16(low) : value_of_half(low));
        };
        const double x = is("ex2.")    ? exp2(value(a))
                         : is("tanh.") ? tanh(value(a))
                                       : exact(value(a), value(b), value(c));
        return kBrain ? bfloat16_bits(x) : half_bits(x);
    }
    static std::uint64_t pairs(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
        return pair(narrow(a, b, c), narrow(a >> 16, b >> 16, c >> 16));
    }
    static std::uint64_t converted(std::uint64_t a, std::uint64_t b) {
        const auto wide = [](std::uint64_t bits) { return static_cast<double>(float_of(bits)); };
        if constexpr (is("cvt.rna.tf32")) return (a + 0x1000) & 0xffffe000;
        if constexpr (is("cvt.rn.tf32")) return (a + 0xfff + (a >> 13 & 1)) & 0xffffe000;
        if constexpr (of("f16x2")) return pair(half_bits(wide(b)), half_bits(wide(a)));
        if constexpr (of("bf16x2")) return pair(bfloat16_bits(wide(b)), bfloat16_bits(wide(a)));
        if constexpr (is("cvt.rn.f16")) return half_bits(wide(a));
        if constexpr (is("cvt.rn.bf16")) return bfloat16_bits(wide(a));
        if constexpr (is("cvt.rn.f32.f64")) return bits_of_float(static_cast<float>(double_of(a)));
        if constexpr (is("cvt.f64.f32")) return __builtin_bit_cast(std::uint64_t, wide(a));
        if constexpr (is("cvt.rn.f32.s32"))
            return bits_of_float(static_cast<float>(static_cast<std::int32_t>(a)));
        if constexpr (is("cvt.rn.f32.u32"))
            return bits_of_float(static_cast<float>(static_cast<std::uint32_t>(a)));
        if constexpr (is("cvt.rzi.s32") || is("cvt.rni.s32"))
            return cut(static_cast<std::uint64_t>(
                int_of(is("cvt.rzi") ? truncf(float_of(a)) : nearbyintf(float_of(a)))));
        if constexpr (is("cvt.u32.u16") || is("cvt.u16.u32")) return static_cast<std::uint16_t>(a);
        if constexpr (is("cvt.f32.bf16"))
            return bits_of_float(value_of_bfloat16(static_cast<std::uint16_t>(a)));
        if constexpr (is("cvt.f32")) return bits_of_float(value_of_half(static_cast<std::uint16_t>(a)));
        if constexpr (is("cvt.s64")) return static_cast<std::uint64_t>(static_cast<std::int32_t>(a));
        return static_cast<std::uint32_t>(a);
    }
    static std::uint64_t compared(std::uint64_t a, std::uint64_t b) {
        if constexpr (kFloat) {
            const float x = float_of(a), y = float_of(b);
            if constexpr (is("setp.eq.")) return x == y;
            if constexpr (is("setp.ne.")) return x < y || x > y;
            if constexpr (is("setp.lt.")) return x < y;
            if constexpr (is("setp.le.")) return x <= y;
            return is("setp.gt.") ? x > y : x >= y;
        }
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
