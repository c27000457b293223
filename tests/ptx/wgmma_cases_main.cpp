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
#include <vector>

#include "common/measure/device.hpp"
#include "tests/ptx/wgmma_cases.hpp"
#include "tests/ptx/wgmma_type_cases.hpp"

namespace {

/// FNV-1a.
template <class Sum>
void hash(std::uint64_t& h, const std::vector<Sum>& sums) {
    for (const Sum sum : sums) {
        unsigned char bytes[sizeof sum];
        std::memcpy(bytes, &sum, sizeof sum);
        for (const unsigned char byte : bytes) h = (h ^ byte) * 0x100000001b3;
    }
}

/// Modes of one kind: BF16 and FP16 with sums of FP32, or all others.
struct Plain {
    using Mode = test::WgmmaMode;
    static const std::vector<Mode>& modes() { return test::wgmma_modes(); }
    static const std::string& name(const Mode& mode) { return mode.name; }
    static auto draw(const Mode& mode, std::uint64_t seed, std::uint64_t i) {
        return test::draw_wgmma(mode, seed, i);
    }
    static auto on_device(const test::WgmmaRun& drawn) { return test::wgmma_on_device(drawn); }
    static auto by_definition(const test::WgmmaRun& drawn) { return test::wgmma_by_definition(drawn); }
};
struct Types {
    using Mode = test::WgmmaTypeMode;
    static const std::vector<Mode>& modes() { return test::wgmma_type_modes(); }
    static const std::string& name(const Mode& mode) { return mode.layout.name; }
    static auto draw(const Mode& mode, std::uint64_t seed, std::uint64_t i) {
        return test::draw_wgmma_types(mode, seed, i);
    }
    static auto on_device(const test::WgmmaTypeRun& drawn) { return test::wgmma_types_on_device(drawn); }
    static auto by_definition(const test::WgmmaTypeRun& drawn) {
        return test::wgmma_types_by_definition(drawn);
    }
};

/// An error, which ends a GPU's context and with it all that follows, says which case it was.
template <class Kind, class Drawn>
auto on_device(const typename Kind::Mode& mode, const Drawn& drawn, std::uint64_t index) {
    try {
        return Kind::on_device(drawn);
    } catch (const std::exception& error) {
        throw std::runtime_error(Kind::name(mode) + ", case " + std::to_string(index) + " (" + drawn.text() +
                                 "): " + error.what());
    }
}

/// The first sums that differ.
template <class Sum>
void show(int n, const std::vector<Sum>& got, const std::vector<Sum>& expected) {
    const auto each = static_cast<std::size_t>(n / 2);
    int shown = 0;
    for (std::size_t i = 0; i < got.size() && shown < 6; ++i) {
        if (got[i] == expected[i]) continue;
        ++shown;
        std::printf("    thread %zu, sum %zu: got %.10g, expected %.10g\n", i / each, i % each,
                    static_cast<double>(got[i]), static_cast<double>(expected[i]));
    }
}

/// `number` counts the modes of all kinds. Returns how many are wrong.
template <class Kind>
int run(std::uint64_t cases, std::uint64_t seed, int only, int& number) {
    int wrong = 0;
    for (const typename Kind::Mode& mode : Kind::modes()) {
        if (number++ != only && only >= 0) continue;
        std::uint64_t h = 0xcbf29ce484222325, sums = 0, differ = 0;
        for (std::uint64_t i = 0; i < cases; ++i) {
            const auto drawn = Kind::draw(mode, seed, i);
            const auto got = on_device<Kind>(mode, drawn, i);
            const auto expected = Kind::by_definition(drawn);
            hash(h, got);
            sums += got.size();
            if (got == expected || ++differ > 3) continue;
            std::printf("  case %llu differs: %s\n", static_cast<unsigned long long>(i),
                        drawn.text().c_str());
            show(drawn.multiplication.n, got, expected);
        }
        wrong += differ > 0;
        std::printf("%s: %llu cases, %llu sums, hash %016llx, %llu differ\n", Kind::name(mode).c_str(),
                    static_cast<unsigned long long>(cases), static_cast<unsigned long long>(sums),
                    static_cast<unsigned long long>(h), static_cast<unsigned long long>(differ));
    }
    return wrong;
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
        const std::uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
        const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
        const int only = argc > 3 ? std::atoi(argv[3]) : -1;
        int number = 0;
        const int wrong = run<Plain>(cases, seed, only, number) + run<Types>(cases, seed, only, number);
        return wrong > 0 ? 1 : 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
