// Runs random multiplications of a warpgroup and prints a line for each mode: how many cases, how many sums
// they showed, their hash, and how many cases differ from what the definition says. A GPU of compute
// capability 9.0 and the CPU device print the same.
//
//     wgmma_cases [cases a mode, 100 unless told] [seed, 1 unless told] [a mode's number from 0, all unless
//     told]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "common/device.hpp"
#include "tests/wgmma_cases.hpp"

namespace {

using test::WgmmaMode;
using test::WgmmaRun;

/// FNV-1a.
void hash(std::uint64_t& h, const std::vector<float>& sums) {
    for (const float sum : sums) {
        std::uint32_t bits;
        std::memcpy(&bits, &sum, sizeof bits);
        for (int byte = 0; byte < 4; ++byte) h = (h ^ (bits >> 8 * byte & 0xff)) * 0x100000001b3;
    }
}

/// An error, which ends a GPU's context and with it all that follows, says which case it was.
std::vector<float> on_device(const WgmmaMode& mode, const WgmmaRun& drawn, std::uint64_t index) {
    try {
        return test::wgmma_on_device(drawn);
    } catch (const std::exception& error) {
        throw std::runtime_error(mode.name + ", case " + std::to_string(index) + " (" + drawn.text() +
                                 "): " + error.what());
    }
}

/// The first sums that differ.
void show(const WgmmaRun& drawn, const std::vector<float>& got, const std::vector<float>& expected) {
    const auto each = static_cast<std::size_t>(drawn.multiplication.n / 2);
    int shown = 0;
    for (std::size_t i = 0; i < got.size() && shown < 6; ++i) {
        if (got[i] == expected[i]) continue;
        ++shown;
        std::printf("    thread %zu, sum %zu: got %g, expected %g, before %g\n", i / each, i % each,
                    static_cast<double>(got[i]), static_cast<double>(expected[i]),
                    static_cast<double>(drawn.before[i]));
    }
}

int run(std::uint64_t cases, std::uint64_t seed, int only) {
    int wrong = 0, number = 0;
    for (const WgmmaMode& mode : test::wgmma_modes()) {
        if (number++ != only && only >= 0) continue;
        std::uint64_t h = 0xcbf29ce484222325, sums = 0, differ = 0;
        for (std::uint64_t i = 0; i < cases; ++i) {
            const WgmmaRun drawn = test::draw_wgmma(mode, seed, i);
            const std::vector<float> got = on_device(mode, drawn, i);
            const std::vector<float> expected = test::wgmma_by_definition(drawn);
            hash(h, got);
            sums += got.size();
            if (got == expected || ++differ > 3) continue;
            std::printf("  case %llu differs: %s\n", static_cast<unsigned long long>(i),
                        drawn.text().c_str());
            show(drawn, got, expected);
        }
        wrong += differ > 0;
        std::printf("%s: %llu cases, %llu sums, hash %016llx, %llu differ\n", mode.name.c_str(),
                    static_cast<unsigned long long>(cases), static_cast<unsigned long long>(sums),
                    static_cast<unsigned long long>(h), static_cast<unsigned long long>(differ));
    }
    return wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const gemm::Device device = gemm::select_device(0, "");
        if (device.sm < 90 || device.sm >= 100) {
            std::fprintf(stderr, "wgmma is for compute capability 9.0 alone, and this is %s.\n",
                         device.name.c_str());
            return 2;
        }
        return run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100,
                   argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1, argc > 3 ? std::atoi(argv[3]) : -1);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
