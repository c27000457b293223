// Runs random boxes through the copy engine and prints a line for each mode: how many cases, how many bytes
// they showed, their hash, and how many cases differ from what the definition says. A GPU and the CPU device
// print the same.
//
//     tma_cases [cases a mode, 100 unless told] [seed, 1 unless told] [a mode's number from 0, all unless
//     told] [--dump CASE]
//
// Of the first cases that differ in a mode it shows the first bytes that do; with --dump all of one case.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "common/measure/device.hpp"
#include "tests/tma/tma_cases.hpp"

namespace {

using test::TmaMode;
using test::TmaRun;

/// FNV-1a.
void hash(std::uint64_t& h, const std::vector<std::uint8_t>& bytes) {
    for (const std::uint8_t byte : bytes) h = (h ^ byte) * 0x100000001b3;
}

/// What the device gives; an error, which ends a GPU's context and with it all that follows, says which case
/// it was.
std::vector<std::uint8_t> on_device(const TmaMode& mode, const TmaRun& drawn, std::uint64_t index) {
    try {
        return test::tma_on_device(mode, drawn);
    } catch (const std::exception& error) {
        throw std::runtime_error(std::string(mode.name) + ", case " + std::to_string(index) + " (" +
                                 drawn.text() + "): " + error.what());
    }
}

/// Lines of 16 bytes, what came and what was expected: those that differ, `most` at most; or all.
void show(const std::vector<std::uint8_t>& got, const std::vector<std::uint8_t>& expected, bool all,
          std::size_t most) {
    constexpr std::size_t kLine = 16;
    const auto print = [](const std::vector<std::uint8_t>& bytes, std::size_t line) {
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

int dump(std::uint64_t seed, int number, std::uint64_t index) {
    const TmaMode& mode = test::tma_modes().at(static_cast<std::size_t>(number));
    const TmaRun drawn = test::draw_tma(mode, seed, index);
    std::printf("%s, case %llu: %s\n", mode.name, static_cast<unsigned long long>(index),
                drawn.text().c_str());
    const std::vector<std::uint8_t> expected = test::tma_by_definition(mode, drawn);
    const std::vector<std::uint8_t> got = on_device(mode, drawn, index);
    if (mode.store) {
        std::printf("  the tensor's memory before\n");
        show(drawn.tensor, drawn.tensor, true, ~std::size_t{0});
        std::printf("  and after\n");
    }
    show(got, expected, true, ~std::size_t{0});
    return got == expected ? 0 : 1;
}

int run(std::uint64_t cases, std::uint64_t seed, int only) {
    int wrong = 0, number = 0;
    for (const TmaMode& mode : test::tma_modes()) {
        if (number++ != only && only >= 0) continue;
        std::uint64_t h = 0xcbf29ce484222325, bytes = 0, differ = 0;
        for (std::uint64_t i = 0; i < cases; ++i) {
            const TmaRun drawn = test::draw_tma(mode, seed, i);
            const std::vector<std::uint8_t> got = on_device(mode, drawn, i);
            const std::vector<std::uint8_t> expected = test::tma_by_definition(mode, drawn);
            hash(h, got);
            bytes += got.size();
            if (got == expected) continue;
            std::size_t first = 0, count = 0;
            for (std::size_t b = got.size(); b-- > 0;) {
                if (got[b] == expected[b]) continue;
                first = b;
                ++count;
            }
            if (++differ <= 3) {
                std::printf("  case %llu differs in %zu bytes, first at %zu: got %02x, expected %02x; %s\n",
                            static_cast<unsigned long long>(i), count, first, got[first], expected[first],
                            drawn.text().c_str());
                show(got, expected, false, 6);
            }
        }
        wrong += differ > 0;
        std::printf("%s: %llu cases, %llu bytes, hash %016llx, %llu differ\n", mode.name,
                    static_cast<unsigned long long>(cases), static_cast<unsigned long long>(bytes),
                    static_cast<unsigned long long>(h), static_cast<unsigned long long>(differ));
    }
    for (const test::TmaRefusal& r : test::tma_refusals()) {
        CUtensorMap map;
        const CUresult status = gemm::encode(r.fields, &map);
        const bool as_expected = (status == CUDA_ERROR_INVALID_VALUE) == r.refused;
        wrong += !as_expected;
        std::printf("tensor map with %s: %d%s\n", r.name, static_cast<int>(status),
                    as_expected ? "" : ", and the other answer was expected");
    }
    return wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const gemm::Device device = gemm::select_device(0, "");
        if (device.sm < 90) {
            std::fprintf(stderr, "The copy engine needs compute capability 9.0, and this is %s.\n",
                         device.name.c_str());
            return 2;
        }
        const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
        const int mode = argc > 3 ? std::atoi(argv[3]) : -1;
        if (argc > 5 && std::string(argv[4]) == "--dump")
            return dump(seed, mode, std::strtoull(argv[5], nullptr, 10));
        return run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100, seed, mode);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
