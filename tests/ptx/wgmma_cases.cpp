#include "tests/ptx/wgmma_cases.hpp"

#include <sstream>

#include "tests/device_array.hpp"

namespace test {
namespace {

using gemm::ptx::Major;
using gemm::ptx::WgmmaFields;
using gemm::ptx::WgmmaSwizzle;
using kernels::kWgmmaSteps;
using kernels::kWgmmaThreads;

constexpr unsigned kUnit = 16;  // bytes

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

}  // namespace

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

namespace {

struct WgmmaRun {
    kernels::WgmmaCase multiplication;
    std::vector<std::uint32_t> shared;
    std::vector<std::uint32_t> registers;  // as kernels::wgmma() takes them
    std::vector<float> before;
    std::string text() const;
};

float value(const WgmmaRun& run, std::size_t element) {
    const auto bits = static_cast<std::uint16_t>(run.shared[element / 2] >> element % 2 * 16);
    // Small whole numbers: both types are exact in float.
    if (!run.multiplication.half) return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
    const std::uint32_t exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    if (exponent == 0) return 0.0f;
    const std::uint32_t wide = (bits & 0x8000u) << 16 | (exponent + 112) << 23 | fraction << 13;
    return __builtin_bit_cast(float, wide);
}

/// −3 … 3 in BF16 or FP16.
std::uint16_t small_number(Numbers& numbers, bool half) {
    constexpr std::uint16_t halfs[] = {0, 0x3c00, 0x4000, 0x4200}, bfloats[] = {0, 0x3f80, 0x4000, 0x4040};
    const auto which = static_cast<std::size_t>(numbers.from(0, 6));
    const std::uint16_t magnitude = (half ? halfs : bfloats)[which % 4];
    return static_cast<std::uint16_t>(magnitude | (which > 3 ? 0x8000 : 0));
}

}  // namespace

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

namespace {

const std::vector<WgmmaMode>& wgmma_modes() {
    static const std::vector<WgmmaMode> modes = [] {
        std::vector<WgmmaMode> all;
        const auto add = [&](WgmmaSwizzle swizzle, bool registers, Major a, Major b, bool base_offset) {
            const auto along = [](Major m) { return m == Major::k ? "K" : "rows"; };
            std::string name = swizzle == WgmmaSwizzle::none
                                   ? "no swizzle"
                                   : "swizzle " + std::to_string(units(swizzle) * kUnit);
            name += registers ? ", A from registers" : std::string(", A along ") + along(a);
            name += std::string(", B along ") + along(b) + (base_offset ? ", base offset" : "");
            all.push_back({std::move(name), swizzle, registers, a, b, base_offset});
        };
        constexpr WgmmaSwizzle swizzles[] = {WgmmaSwizzle::none, WgmmaSwizzle::bytes32, WgmmaSwizzle::bytes64,
                                             WgmmaSwizzle::bytes128};
        for (const WgmmaSwizzle swizzle : swizzles) {
            for (const Major b : {Major::k, Major::row}) {
                add(swizzle, false, Major::k, b, false);
                add(swizzle, false, Major::row, b, false);
                add(swizzle, true, Major::k, b, false);
            }
        }
        for (const WgmmaSwizzle swizzle : swizzles) {
            if (swizzle == WgmmaSwizzle::none) continue;
            add(swizzle, false, Major::k, Major::k, true);
            add(swizzle, false, Major::row, Major::row, true);
        }
        return all;
    }();
    return modes;
}

/// Case `index` of the mode; the same on every machine.
WgmmaRun draw_wgmma(const WgmmaMode& mode, std::uint64_t seed, std::uint64_t index) {
    Numbers numbers(mode.name, seed, index);
    WgmmaRun run;
    kernels::WgmmaCase& c = run.multiplication;
    c = {};
    c.half = index % 2 == 1;
    c.n = kernels::kWgmmaN[index / 2 % std::size(kernels::kWgmmaN)];
    c.registers = mode.registers;
    c.major_a = mode.major_a;
    c.major_b = mode.major_b;
    if (c.n == 64 && mode.major_b == Major::k && (mode.registers || mode.major_a == Major::k)) {
        c.minus_a = numbers.from(0, 1) == 1;
        c.minus_b = numbers.from(0, 1) == 1;
    }
    c.add = numbers.from(0, 1) == 1;
    draw_matrix(mode, numbers, c.major_a, 0, c.a, c.step_a);
    draw_matrix(mode, numbers, c.major_b, kernels::kWgmmaShared / 3 / 1024 * 1024, c.b, c.step_b);
    c.bytes = kernels::kWgmmaShared;
    run.shared.resize(c.bytes / 4);
    for (std::uint32_t& word : run.shared) {
        const std::uint32_t low = small_number(numbers, c.half), high = small_number(numbers, c.half);
        word = low | high << 16;
    }
    run.registers.resize(static_cast<std::size_t>(kWgmmaSteps) * kWgmmaThreads * 4);
    for (std::uint32_t& word : run.registers) {
        const std::uint32_t low = small_number(numbers, c.half), high = small_number(numbers, c.half);
        word = low | high << 16;
    }
    run.before.resize(static_cast<std::size_t>(kWgmmaThreads * c.n / 2));
    for (float& sum : run.before) sum = static_cast<float>(numbers.from(-100, 100));
    return run;
}

std::string WgmmaRun::text() const {
    const kernels::WgmmaCase& c = multiplication;
    std::ostringstream out;
    out << (c.half ? "FP16" : "BF16") << ", N = " << c.n << (c.minus_a ? ", −A" : "")
        << (c.minus_b ? ", −B" : "") << (c.add ? ", added" : "");
    const auto matrix = [&](const char* name, const WgmmaFields& f, unsigned step) {
        out << "; " << name << " at " << f.start << ", LBO " << f.leading << ", SBO " << f.stride
            << ", base offset " << f.base_offset << ", step " << step;
    };
    if (!c.registers) matrix("A", c.a, c.step_a);
    matrix("B", c.b, c.step_b);
    return out.str();
}

std::vector<float> wgmma_on_device(const WgmmaRun& run) {
    const DeviceArray<std::uint32_t> shared(run.shared), registers(run.registers);
    const DeviceArray<float> before(run.before), sums(run.before.size());
    kernels::wgmma(run.multiplication, shared.data(), registers.data(), before.data(), sums.data());
    return sums.host();
}

std::vector<float> wgmma_by_definition(const WgmmaRun& run) {
    const kernels::WgmmaCase& c = run.multiplication;
    constexpr unsigned kRows = 64, kDepth = 16 * kWgmmaSteps;
    const auto columns = static_cast<unsigned>(c.n);
    std::vector<float> a(std::size_t{kRows} * kDepth), b(std::size_t{columns} * kDepth);
    for (unsigned k = 0; k < kDepth; ++k) {
        WgmmaFields fa = c.a, fb = c.b;
        fa.start += k / 16 * c.step_a;
        fb.start += k / 16 * c.step_b;
        for (unsigned m = 0; m < kRows && !c.registers; ++m)
            a[m * kDepth + k] = value(run, wgmma_place(fa, c.major_a, m, k % 16));
        for (unsigned n = 0; n < columns; ++n)
            b[n * kDepth + k] = value(run, wgmma_place(fb, c.major_b, n, k % 16));
    }
    if (c.registers) {
        WgmmaRun held;
        held.multiplication = c;
        held.shared = run.registers;
        for (unsigned i = 0; i < run.registers.size() * 2; ++i) {
            const unsigned reg = i / 2 % 4, thread = i / 8 % kWgmmaThreads, step = i / 8 / kWgmmaThreads;
            const unsigned lane = thread % 32, warp = thread / 32;
            const unsigned m = warp * 16 + lane / 4 + (reg & 1) * 8, k = lane % 4 * 2 + i % 2 + reg / 2 * 8;
            a[m * kDepth + step * 16 + k] = value(held, i);
        }
    }
    const float sign = c.minus_a != c.minus_b ? -1.0f : 1.0f;
    std::vector<float> sums = run.before;
    for (unsigned i = 0; i < sums.size(); ++i) {
        const unsigned thread = i / (columns / 2), index = i % (columns / 2), lane = thread % 32;
        const unsigned m = thread / 32 * 16 + lane / 4 + ((index & 2) != 0 ? 8 : 0);
        const unsigned n = index / 4 * 8 + lane % 4 * 2 + (index & 1);
        float sum = c.add ? sums[i] : 0.0f;
        for (unsigned k = 0; k < kDepth; ++k) sum += sign * a[m * kDepth + k] * b[n * kDepth + k];
        sums[i] = sum;
    }
    return sums;
}

}  // namespace

std::vector<RandomMode> wgmma_random() {
    std::vector<RandomMode> all;
    for (const WgmmaMode& mode : wgmma_modes()) {
        const auto draw = [&mode](std::uint64_t seed, std::uint64_t index) {
            const WgmmaRun run = draw_wgmma(mode, seed, index);
            return RandomCase{run.text(), [run] { return bytes_of(wgmma_on_device(run)); },
                              [run] { return bytes_of(wgmma_by_definition(run)); }};
        };
        all.push_back({mode.name, draw, sizeof(float)});
    }
    return all;
}

}  // namespace test
