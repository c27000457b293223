#include "tests/ptx/wgmma_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <sstream>

#include "tests/device_array.hpp"
#include "tests/numbers.hpp"
#include "tests/ptx/wgmma.hpp"

namespace test {
namespace {

using gemm::ptx::Major;
using gemm::ptx::WgmmaFields;
using gemm::ptx::WgmmaInput;
using gemm::ptx::WgmmaSwizzle;
using kernels::kWgmmaSteps;
using kernels::kWgmmaThreads;
using kernels::WgmmaCase;
using kernels::WgmmaSum;

/// What a mode's cases have in common.
struct WgmmaMode {
    std::string name;
    WgmmaSwizzle swizzle;  // of A and B
    bool registers;        // A comes from them
    Major major_a = Major::k, major_b = Major::k;
    /// Patterns of the swizzle begin at multiples of 128 bytes, not of their size, and the descriptor's base
    /// offset says so. What a GPU does then nobody has seen yet.
    bool base_offset = false;
    // BF16 stands for BF16 and FP16 by turns.
    WgmmaInput type_a = WgmmaInput::bf16, type_b = WgmmaInput::bf16;
    WgmmaSum sum = WgmmaSum::f32;
    bool low_bits = false;  // TF32: also the 13 bits that it does not read are set
};

struct WgmmaRun {
    WgmmaCase multiplication;
    std::vector<std::uint32_t> shared, registers, before;  // as kernels::wgmma() takes them
    std::string text() const;
};

bool is_plain(const WgmmaCase& c) {
    return kernels::wgmma_is_plain(c.type_a, c.sum);
}

constexpr unsigned kUnit = 16;  // bytes
constexpr unsigned kRow = 32;   // bytes along K that a step takes
constexpr unsigned kStartOfB = kernels::kWgmmaShared / 3 / 1024 * 1024;
constexpr unsigned kNothing = 20 * 1024;  // no A reaches so far
constexpr WgmmaSwizzle kSwizzles[] = {WgmmaSwizzle::none, WgmmaSwizzle::bytes32, WgmmaSwizzle::bytes64,
                                      WgmmaSwizzle::bytes128};

/// Units in a row of the swizzle's pattern.
unsigned units(WgmmaSwizzle swizzle) {
    switch (swizzle) {
        case WgmmaSwizzle::bytes128:
            return 8;
        case WgmmaSwizzle::bytes64:
            return 4;
        case WgmmaSwizzle::bytes32:
            return 2;
        default:
            return 1;
    }
}

std::string swizzle_name(WgmmaSwizzle swizzle) {
    return swizzle == WgmmaSwizzle::none ? "no swizzle" : "swizzle " + std::to_string(units(swizzle) * kUnit);
}

/// Which 2 bytes of shared memory hold element (row, k) of a matrix of 16-bit numbers.
std::size_t wgmma_place(const WgmmaFields& f, Major major, unsigned row, unsigned k) {
    const unsigned side = units(f.swizzle), stride = f.stride / kUnit, leading = f.leading / kUnit;
    unsigned unit = f.start / kUnit, within;
    if (major == Major::k) {  // ((8, n), 2) : ((side, stride), 1), or without swizzle leading for the last
        unit += row % 8 * side + row / 8 * stride + k / 8 * (side == 1 ? leading : 1);
        within = k % 8;
    } else if (side > 1) {  // ((side, n), (8, k)) : ((1, leading), (side, stride))
        unit += row / 8 % side + row / 8 / side * leading + k % 8 * side + k / 8 * stride;
        within = row % 8;
    } else {  // ((1, n), (8, k)) : ((–, stride), (1, leading))
        unit += row / 8 * stride + k % 8 + k / 8 * leading;
        within = row % 8;
    }
    // The pattern: lines of 8 units, of which `side` change places by the line's number.
    const unsigned line = unit / 8 + 8 - f.base_offset;
    unit ^= line % side;
    return std::size_t{unit} * 8 + within;
}

/// Where a matrix of such a mode lies, from `start` on, a multiple of 1024, and how far the second step of 32
/// bytes along K is.
void draw_matrix(const WgmmaMode& mode, Numbers& numbers, Major major, unsigned start, WgmmaFields& f,
                 unsigned& step) {
    const unsigned side = units(mode.swizzle), pattern = 8 * side * kUnit;
    const auto some = [&](unsigned first, unsigned last, unsigned of) {
        return static_cast<unsigned>(numbers.from(first, last)) * of;
    };
    f.swizzle = mode.swizzle;
    f.start = start;
    if (side == 1) {
        f.start += some(0, 15, kUnit);
        f.stride = some(0, 64, kUnit);
        f.leading = some(0, 64, kUnit);
        step = some(0, 32, kUnit);
        return;
    }
    if (mode.base_offset) {
        // (Patterns of 128 bytes' distance: bits 7 … 9 of where they begin.)
        f.base_offset = some(1, side - 1, 1);
        f.start += f.base_offset * 128;
    }
    if (major == Major::k) {
        // Tiles of K = 16 … 64 are walked within the pattern's rows.
        const unsigned steps = side / 2, first = some(0, steps - 1, 1);
        f.start += first * 32;
        f.stride = some(1, 2, pattern);
        f.leading = some(0, 64, kUnit);  // nobody asks for it
        step = first + 1 < steps ? 32 : some(1, 2, pattern);
    } else {
        f.stride = some(1, 2, pattern);
        f.leading = some(1, 4, pattern);
        step = some(1, 2, 2 * f.stride);
    }
}

const char* name(WgmmaInput type) {
    constexpr const char* names[] = {"BF16", "FP16", "TF32", "E4M3", "E5M2", "S8", "U8"};
    return names[static_cast<int>(type)];
}

unsigned bits_of(WgmmaInput type) {
    if (type == WgmmaInput::tf32) return 32;
    return type == WgmmaInput::bf16 || type == WgmmaInput::f16 ? 16 : 8;
}

/// A number of sign, exponent and fraction as IEEE 754 has them, neither infinite nor NaN.
double floating(std::uint32_t bits, int exponents, int fractions) {
    const std::uint32_t exponent = bits >> fractions & ((1u << exponents) - 1);
    const std::uint32_t fraction = bits & ((1u << fractions) - 1);
    const int bias = (1 << (exponents - 1)) - 1;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fractions)
                                           : std::ldexp(fraction + (1u << fractions),
                                                        static_cast<int>(exponent) - bias - fractions);
    return (bits >> (exponents + fractions) & 1) != 0 ? -magnitude : magnitude;
}

double value(WgmmaInput type, std::uint32_t bits) {
    switch (type) {
        case WgmmaInput::tf32:
            return floating(bits >> 13, 8, 10);
        case WgmmaInput::bf16:
            return floating(bits & 0xffff, 8, 7);
        case WgmmaInput::f16:
            return floating(bits & 0xffff, 5, 10);
        case WgmmaInput::e4m3:
            return floating(bits & 0xff, 4, 3);
        case WgmmaInput::e5m2:
            return floating(bits & 0xff, 5, 2);
        case WgmmaInput::s8:
            return static_cast<std::int8_t>(bits);
        default:
            return bits & 0xff;
    }
}

/// Bits of −3 … 3.
std::uint32_t small_number(Numbers& numbers, WgmmaInput type) {
    constexpr std::uint32_t magnitudes[][4] = {{0, 0x3f80, 0x4000, 0x4040},
                                               {0, 0x3c00, 0x4000, 0x4200},
                                               {0, 0x3f800000, 0x40000000, 0x40400000},
                                               {0, 0x38, 0x40, 0x44},
                                               {0, 0x3c, 0x40, 0x42}};
    const auto which = static_cast<std::size_t>(numbers.from(0, 6));
    const std::uint32_t magnitude = magnitudes[static_cast<std::size_t>(type)][which % 4];
    return magnitude | (which > 3 ? 1u << (bits_of(type) - 1) : 0);
}

/// Bits of any number that the type has; of TF32 such that a product of two is normal.
std::uint32_t any_number(Numbers& numbers, WgmmaInput type) {
    const auto bits = static_cast<std::uint32_t>(numbers.next() >> 32);
    switch (type) {
        case WgmmaInput::tf32:
            return (bits & 0x807fe000u) | static_cast<std::uint32_t>(numbers.from(127 - 40, 127 + 40)) << 23;
        case WgmmaInput::f16:
            return (bits & 0x7c00) == 0x7c00 ? bits & 0x83ff : bits & 0xffff;
        case WgmmaInput::e4m3:
            return (bits & 0x7f) == 0x7f ? bits & 0x80 : bits & 0xff;
        case WgmmaInput::e5m2:
            return (bits & 0x7c) == 0x7c ? bits & 0x83 : bits & 0xff;
        default:
            return bits & 0xff;
    }
}

/// What a case's inputs are.
enum class Inputs { small, any, rising, falling };

/// Rising: no product is negative. Falling: none is positive, where a type has a sign.
std::uint32_t draw(Numbers& numbers, const WgmmaMode& mode, WgmmaInput type, Inputs inputs, bool negative) {
    if (inputs == Inputs::rising || inputs == Inputs::falling)
        return static_cast<std::uint32_t>(negative ? numbers.from(-128, 0)
                                                   : numbers.from(0, type == WgmmaInput::s8 ? 127 : 255)) &
               0xff;
    const bool whole = mode.sum == WgmmaSum::s32 || inputs == Inputs::any;
    std::uint32_t bits = whole ? any_number(numbers, type) : small_number(numbers, type);
    if (mode.low_bits) bits |= static_cast<std::uint32_t>(numbers.next() >> 32) & 0x1fff;
    return bits;
}

template <class Draw>
void fill(std::uint32_t* first, std::size_t words, WgmmaInput type, Draw draw) {
    for (std::size_t i = 0; i < words; ++i) {
        first[i] = 0;
        for (unsigned at = 0; at < 32; at += bits_of(type)) first[i] |= draw() << at;
    }
}

std::uint32_t bits_at(const std::vector<std::uint32_t>& words, WgmmaInput type, std::size_t byte) {
    const std::uint64_t word = words[byte / 4];
    return static_cast<std::uint32_t>(word >> byte % 4 * 8 & ((std::uint64_t{1} << bits_of(type)) - 1));
}
void put(std::vector<std::uint32_t>& words, WgmmaInput type, std::size_t byte, std::uint32_t bits) {
    std::memcpy(reinterpret_cast<unsigned char*>(words.data()) + byte, &bits, bits_of(type) / 8);
}

/// Which byte of shared memory holds byte `column` of a row: as numbers of 16 bits lie.
std::size_t byte_of(const WgmmaFields& f, Major major, unsigned row, unsigned column) {
    return wgmma_place(f, major, row, column / 2) * 2 + column % 2;
}
/// Which byte of the registers that kernels::wgmma() takes. (PTX ISA, wgmma, "Register Fragments": lanes hold
/// 32 bits side by side, four of them 16 bytes; then the rows 8 further down, then the next 16 bytes.)
std::size_t byte_in_registers(unsigned step, unsigned row, unsigned column) {
    const unsigned thread = row / 16 * 32 + row % 8 * 4 + column % 16 / 4;
    const unsigned reg = row % 16 / 8 + column / 16 * 2;
    return ((std::size_t{step} * kWgmmaThreads + thread) * 4 + reg) * 4 + column % 4;
}

/// Leaves of A one number a row, in the first step: a sum is one product.
void leave_one(WgmmaRun& run, Numbers& numbers, const WgmmaMode& mode) {
    WgmmaCase& c = run.multiplication;
    std::fill(run.registers.begin(), run.registers.end(), 0u);
    std::fill(run.shared.begin(), run.shared.begin() + kStartOfB / 4, 0u);
    c.step_a = kNothing;
    c.add = false;
    const unsigned each = bits_of(c.type_a) / 8;
    for (unsigned row = 0; row < 64; ++row) {
        const auto column = static_cast<unsigned>(numbers.from(0, kRow / each - 1)) * each;
        // A sum of FP16 holds what is multiplied by one.
        const std::uint32_t one = c.type_a == WgmmaInput::f16    ? 0x3c00
                                  : c.type_a == WgmmaInput::e4m3 ? 0x38
                                                                 : 0x3c;
        const std::uint32_t bits =
            c.sum == WgmmaSum::f16 ? one : draw(numbers, mode, c.type_a, Inputs::any, false);
        if (c.registers) {
            put(run.registers, c.type_a, byte_in_registers(0, row, column), bits);
        } else {
            put(run.shared, c.type_a, byte_of(c.a, c.major_a, row, column), bits);
        }
    }
}

Inputs inputs_of(const WgmmaMode& mode, const WgmmaCase& c, Numbers& numbers) {
    if (is_plain(c)) return Inputs::small;
    if (c.saturate) return numbers.from(0, 1) == 1 ? Inputs::rising : Inputs::falling;
    // Without swizzle rows of A may lie one over the other.
    const bool apart = mode.registers || mode.swizzle != WgmmaSwizzle::none;
    return mode.sum != WgmmaSum::s32 && apart && numbers.from(0, 1) == 1 ? Inputs::any : Inputs::small;
}

/// FP16's bits of a whole number below 2048.
std::uint32_t half_of(std::int64_t whole) {
    if (whole == 0) return 0;
    const auto magnitude = static_cast<std::uint32_t>(whole < 0 ? -whole : whole);
    std::uint32_t exponent = 0;
    while (magnitude >> (exponent + 1) != 0) ++exponent;
    return (whole < 0 ? 0x8000u : 0u) | (exponent + 15) << 10 | (magnitude << (10 - exponent) & 0x3ff);
}

std::uint32_t sum_before(Numbers& numbers, const WgmmaCase& c, Inputs inputs) {
    if (c.sum == WgmmaSum::f32)
        return __builtin_bit_cast(std::uint32_t, static_cast<float>(numbers.from(-100, 100)));
    if (c.sum == WgmmaSum::f16) {
        const std::uint32_t low = half_of(numbers.from(-100, 100));
        return low | half_of(numbers.from(-100, 100)) << 16;
    }
    // Near an end of what 32 bits hold, or anywhere.
    constexpr std::int64_t kEnd = std::int64_t{1} << 31;
    if (inputs == Inputs::rising) return static_cast<std::uint32_t>(numbers.from(kEnd - 1000000, kEnd - 1));
    if (inputs == Inputs::falling) return static_cast<std::uint32_t>(numbers.from(-kEnd, 1000000 - kEnd));
    return static_cast<std::uint32_t>(numbers.next() >> 32);
}

/// Sums as numbers, of the registers' words.
std::vector<double> numbers_of(const std::vector<std::uint32_t>& words, WgmmaSum sum) {
    std::vector<double> all;
    for (const std::uint32_t word : words) {
        if (sum == WgmmaSum::f16) {
            all.push_back(value(WgmmaInput::f16, word & 0xffff) + 0.0);
            all.push_back(value(WgmmaInput::f16, word >> 16) + 0.0);
        } else if (sum == WgmmaSum::s32) {
            all.push_back(static_cast<std::int32_t>(word));
        } else {
            all.push_back(static_cast<double>(__builtin_bit_cast(float, word)) + 0.0);
        }
    }
    return all;
}

double rounded(double sum, const WgmmaCase& c) {
    if (c.sum != WgmmaSum::s32) return sum;
    constexpr double kEnd = 2147483648.0;
    if (c.saturate) return std::fmax(-kEnd, std::fmin(kEnd - 1, sum));
    return sum - std::floor((sum + kEnd) / (2 * kEnd)) * 2 * kEnd;
}

/// Modes of BF16 and FP16.
std::vector<WgmmaMode> wgmma_modes() {
    std::vector<WgmmaMode> all;
    const auto add = [&](WgmmaSwizzle swizzle, bool registers, Major a, Major b, bool base_offset) {
        const auto along = [](Major m) { return m == Major::k ? "K" : "rows"; };
        std::string name = swizzle_name(swizzle);
        name += registers ? ", A from registers" : std::string(", A along ") + along(a);
        name += std::string(", B along ") + along(b) + (base_offset ? ", base offset" : "");
        all.push_back({std::move(name), swizzle, registers, a, b, base_offset});
    };
    for (const WgmmaSwizzle swizzle : kSwizzles) {
        for (const Major b : {Major::k, Major::row}) {
            add(swizzle, false, Major::k, b, false);
            add(swizzle, false, Major::row, b, false);
            add(swizzle, true, Major::k, b, false);
        }
    }
    for (const WgmmaSwizzle swizzle : kSwizzles) {
        if (swizzle == WgmmaSwizzle::none) continue;
        add(swizzle, false, Major::k, Major::k, true);
        add(swizzle, false, Major::row, Major::row, true);
    }
    return all;
}

/// Modes of the others.
std::vector<WgmmaMode> wgmma_type_modes() {
    std::vector<WgmmaMode> all;
    const auto add = [&](WgmmaInput a, WgmmaInput b, WgmmaSum sum, bool low_bits = false) {
        constexpr const char* sums[] = {"FP32", "FP16", "S32"};
        for (const WgmmaSwizzle swizzle : kSwizzles) {
            for (const bool registers : {false, true}) {
                std::string text = name(a) + std::string(" x ") + name(b) + " to " +
                                   sums[static_cast<int>(sum)] + (low_bits ? ", low bits set" : "") + ", " +
                                   swizzle_name(swizzle) + (registers ? ", A from registers" : ", A shared");
                all.push_back({.name = std::move(text),
                               .swizzle = swizzle,
                               .registers = registers,
                               .type_a = a,
                               .type_b = b,
                               .sum = sum,
                               .low_bits = low_bits});
            }
        }
    };
    using enum WgmmaInput;
    add(tf32, tf32, WgmmaSum::f32);
    add(tf32, tf32, WgmmaSum::f32, true);
    add(f16, f16, WgmmaSum::f16);
    for (const WgmmaInput a : {e4m3, e5m2}) {
        for (const WgmmaInput b : {e4m3, e5m2}) {
            add(a, b, WgmmaSum::f32);
            add(a, b, WgmmaSum::f16);
        }
    }
    for (const WgmmaInput a : {s8, u8}) {
        for (const WgmmaInput b : {s8, u8}) add(a, b, WgmmaSum::s32);
    }
    return all;
}

/// Case `index` of the mode; the same on every machine.
WgmmaRun draw_wgmma(const WgmmaMode& mode, std::uint64_t seed, std::uint64_t index) {
    Numbers numbers(mode.name, seed, index);
    WgmmaRun run;
    WgmmaCase& c = run.multiplication;
    c = {};
    const bool half = mode.type_a == WgmmaInput::bf16 && index % 2 == 1;
    c.type_a = half ? WgmmaInput::f16 : mode.type_a;
    c.type_b = half ? WgmmaInput::f16 : mode.type_b;
    c.sum = mode.sum;
    c.n = is_plain(c) ? kernels::kWgmmaN[index / 2 % std::size(kernels::kWgmmaN)]
                      : kernels::kWgmmaTypeN[index / 2 % std::size(kernels::kWgmmaTypeN)];
    c.registers = mode.registers;
    c.major_a = mode.major_a;
    c.major_b = mode.major_b;
    c.saturate = mode.sum == WgmmaSum::s32 && index % 2 == 1;
    const bool along_k = c.major_a == Major::k && c.major_b == Major::k;
    if (along_k && kernels::wgmma_can_negate(c.type_a, c.type_b, c.sum, c.n)) {
        c.minus_a = numbers.from(0, 1) == 1;
        c.minus_b = numbers.from(0, 1) == 1;
    }
    c.add = c.saturate || numbers.from(0, 1) == 1;
    draw_matrix(mode, numbers, c.major_a, 0, c.a, c.step_a);
    draw_matrix(mode, numbers, c.major_b, kStartOfB, c.b, c.step_b);
    c.bytes = kernels::kWgmmaShared;
    const Inputs inputs = inputs_of(mode, c, numbers);
    // What falls is negative on one side.
    const bool falling = inputs == Inputs::falling;
    const bool negative_a = falling && c.type_a == WgmmaInput::s8;
    const bool negative_b = falling && !negative_a && c.type_b == WgmmaInput::s8;
    const auto of_a = [&] { return draw(numbers, mode, c.type_a, inputs, negative_a); };
    const auto of_b = [&] { return draw(numbers, mode, c.type_b, inputs, negative_b); };
    run.shared.resize(c.bytes / 4);
    fill(run.shared.data(), kStartOfB / 4, c.type_a, of_a);
    fill(run.shared.data() + kStartOfB / 4, run.shared.size() - kStartOfB / 4, c.type_b, of_b);
    run.registers.resize(static_cast<std::size_t>(kWgmmaSteps) * kWgmmaThreads * 4);
    fill(run.registers.data(), run.registers.size(), c.type_a, of_a);
    if (inputs == Inputs::any) leave_one(run, numbers, mode);
    run.before.resize(static_cast<std::size_t>(kWgmmaThreads * kernels::wgmma_words(c.n, c.sum)));
    for (std::uint32_t& word : run.before) word = sum_before(numbers, c, inputs);
    return run;
}

std::string WgmmaRun::text() const {
    const WgmmaCase& c = multiplication;
    std::ostringstream out;
    out << name(c.type_a) << " x " << name(c.type_b) << ", N = " << c.n << (c.minus_a ? ", −A" : "")
        << (c.minus_b ? ", −B" : "") << (c.add ? ", added" : "") << (c.saturate ? ", saturated" : "");
    const auto matrix = [&](const char* which, const WgmmaFields& f, unsigned step) {
        out << "; " << which << " at " << f.start << ", LBO " << f.leading << ", SBO " << f.stride
            << ", base offset " << f.base_offset << ", step " << step;
    };
    if (!c.registers) matrix("A", c.a, c.step_a);
    matrix("B", c.b, c.step_b);
    return out.str();
}

/// Sums, thread by thread: of plain cases as the registers hold them, of others as numbers.
Bytes wgmma_on_device(const WgmmaRun& run) {
    const DeviceArray<std::uint32_t> shared(run.shared), registers(run.registers), before(run.before),
        sums(run.before.size());
    kernels::wgmma(run.multiplication, shared.data(), registers.data(), before.data(), sums.data());
    const std::vector<std::uint32_t> words = sums.host();
    return is_plain(run.multiplication) ? bytes_of(words)
                                        : bytes_of(numbers_of(words, run.multiplication.sum));
}

Bytes wgmma_by_definition(const WgmmaRun& run) {
    const WgmmaCase& c = run.multiplication;
    constexpr unsigned kRows = 64;
    const unsigned each = bits_of(c.type_a) / 8, numbers = kRow / each;
    const auto columns = static_cast<unsigned>(c.n);
    const double sign = c.minus_a != c.minus_b ? -1 : 1;
    std::vector<double> sums = numbers_of(run.before, c.sum);
    if (!c.add) std::fill(sums.begin(), sums.end(), 0.0);
    std::vector<double> a(std::size_t{kRows} * numbers), b(std::size_t{columns} * numbers);
    for (unsigned step = 0; step < kWgmmaSteps; ++step) {
        WgmmaFields fa = c.a, fb = c.b;
        fa.start += step * c.step_a;
        fb.start += step * c.step_b;
        for (unsigned k = 0; k < numbers; ++k) {
            for (unsigned m = 0; m < kRows; ++m) {
                const std::size_t at =
                    c.registers ? byte_in_registers(step, m, k * each) : byte_of(fa, c.major_a, m, k * each);
                a[m * numbers + k] =
                    value(c.type_a, bits_at(c.registers ? run.registers : run.shared, c.type_a, at));
            }
            for (unsigned n = 0; n < columns; ++n)
                b[n * numbers + k] =
                    value(c.type_b, bits_at(run.shared, c.type_b, byte_of(fb, c.major_b, n, k * each)));
        }
        for (unsigned i = 0; i < sums.size(); ++i) {
            const unsigned thread = i / (columns / 2), index = i % (columns / 2), lane = thread % 32;
            const unsigned m = thread / 32 * 16 + lane / 4 + ((index & 2) != 0 ? 8 : 0);
            const unsigned n = index / 4 * 8 + lane % 4 * 2 + (index & 1);
            double sum = sums[i];
            for (unsigned k = 0; k < numbers; ++k) sum += sign * a[m * numbers + k] * b[n * numbers + k];
            sums[i] = rounded(sum, c);
        }
    }
    for (double& sum : sums) sum += 0.0;
    return is_plain(c) ? bytes_of(std::vector<float>(sums.begin(), sums.end())) : bytes_of(sums);
}

std::vector<RandomMode> random_of(const std::vector<WgmmaMode>& modes, std::size_t size) {
    std::vector<RandomMode> all;
    for (const WgmmaMode& mode : modes) {
        const auto draw = [mode](std::uint64_t seed, std::uint64_t index) {
            const WgmmaRun run = draw_wgmma(mode, seed, index);
            return RandomCase{run.text(), [run] { return wgmma_on_device(run); },
                              [run] { return wgmma_by_definition(run); }};
        };
        all.push_back({mode.name, draw, size});
    }
    return all;
}

}  // namespace

std::vector<RandomMode> wgmma_random() {
    return random_of(wgmma_modes(), sizeof(float));
}

std::vector<RandomMode> wgmma_type_random() {
    return random_of(wgmma_type_modes(), sizeof(double));
}

}  // namespace test
