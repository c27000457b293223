#include "tests/random_cases.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include "common/measure/device.hpp"

namespace test {
namespace {

using Number = unsigned long long;  // as std::printf() takes it

/// What the device gives. An error, which ends a GPU's context and with it all that follows, says which case
/// it was.
Bytes on_device(const RandomMode& mode, const RandomCase& drawn, std::uint64_t index) {
    try {
        return drawn.on_device();
    } catch (const std::exception& error) {
        throw std::runtime_error(mode.name + ", case " + std::to_string(index) + " (" + drawn.text +
                                 "): " + error.what());
    }
}

/// Lines of 16 bytes, what came and what was expected: those that differ, `most` at most; or all.
void show(const Bytes& got, const Bytes& expected, bool all, std::size_t most) {
    constexpr std::size_t kLine = 16;
    const auto print = [](const Bytes& bytes, std::size_t line) {
        for (std::size_t i = line; i < std::min(line + kLine, bytes.size()); ++i)
            std::printf(" %02x", bytes[i]);
    };
    for (std::size_t line = 0; line < got.size() && most > 0; line += kLine) {
        const auto from = static_cast<std::ptrdiff_t>(line),
                   to = static_cast<std::ptrdiff_t>(std::min(line + kLine, got.size()));
        const bool same = std::equal(got.begin() + from, got.begin() + to, expected.begin() + from);
        if (same && !all) continue;
        --most;
        std::printf("    %6zu:", line);
        print(got, line);
        if (!same) {
            std::printf("  expected");
            print(expected, line);
        }
        std::printf("\n");
    }
}

int dump(const RandomMode& mode, std::uint64_t seed, std::uint64_t index) {
    const RandomCase drawn = mode.draw(seed, index);
    std::printf("%s, case %llu: %s\n", mode.name.c_str(), Number{index}, drawn.text.c_str());
    const Bytes expected = drawn.by_definition(), got = on_device(mode, drawn, index);
    if (!drawn.before.empty()) {
        std::printf("  the memory before\n");
        show(drawn.before, drawn.before, true, ~std::size_t{0});
        std::printf("  and after\n");
    }
    show(got, expected, true, ~std::size_t{0});
    return got == expected ? 0 : 1;
}

/// Whether a case differs.
bool run_mode(const RandomMode& mode, const char* counted, std::uint64_t cases, std::uint64_t seed) {
    std::uint64_t hash = 0xcbf29ce484222325, count = 0, differ = 0;  // FNV-1a
    for (std::uint64_t i = 0; i < cases; ++i) {
        const RandomCase drawn = mode.draw(seed, i);
        const Bytes got = on_device(mode, drawn, i), expected = drawn.by_definition();
        for (const std::uint8_t byte : got) hash = (hash ^ byte) * 0x100000001b3;
        count += got.size() / mode.size;
        if (got == expected || ++differ > 3) continue;
        std::printf("  case %llu differs: %s\n", Number{i}, drawn.text.c_str());
        show(got, expected, false, 6);
    }
    std::printf("%s: %llu cases, %llu %s, hash %016llx, %llu differ\n", mode.name.c_str(), Number{cases},
                Number{count}, counted, Number{hash}, Number{differ});
    return differ > 0;
}

}  // namespace

int run_random_cases(int argc, char** argv, const RandomProgram& program) {
    try {
        const gemm::Device device = gemm::select_device(0, "");
        if (device.sm < 90 || device.sm >= program.end) {
            std::fprintf(stderr, "%s, and this is %s.\n", program.needs, device.name.c_str());
            return 2;
        }
        const auto number = [&](int i, std::uint64_t otherwise) {
            return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
        };
        const std::vector<RandomMode>& modes = program.modes;
        const std::uint64_t cases = number(1, 100), seed = number(2, 1), all = modes.size() + 1;
        const std::uint64_t only = number(3, all);
        if (argc > 5 && std::string(argv[4]) == "--dump") return dump(modes.at(only), seed, number(5, 0));
        int wrong = 0;
        for (std::size_t i = 0; i < modes.size(); ++i) {
            if (only == all || only == i) wrong += run_mode(modes[i], program.counted, cases, seed);
        }
        if (only >= modes.size() || program.with_each_mode) wrong += program.refusals();
        return wrong > 0 ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}

}  // namespace test
