// Runs random cases of clusters and prints a line for each mode: how many cases, how many bytes they showed,
// their hash, and how many cases differ from what must come of them. A GPU and the CPU device print the same.
//
//     cluster_cases [cases a mode, 100 unless told] [seed, 1 unless told] [a mode's number from 0, all unless
//     told; the one behind the last is launches that are refused]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "common/measure/device.hpp"
#include "tests/device_array.hpp"
#include "tests/ptx/cluster_cases.hpp"

namespace {

/// FNV-1a.
void hash(std::uint64_t& h, const std::vector<std::uint8_t>& bytes) {
    for (const std::uint8_t byte : bytes) h = (h ^ byte) * 0x100000001b3;
}

int run_mode(const test::ClusterMode& mode, std::uint64_t cases, std::uint64_t seed) {
    std::uint64_t h = 0xcbf29ce484222325, bytes = 0, differ = 0;
    for (std::uint64_t i = 0; i < cases; ++i) {
        test::ClusterMode::Shown shown;
        try {
            shown = mode.run(seed, i);
        } catch (const std::exception& error) {
            throw std::runtime_error(std::string(mode.name) + ", case " + std::to_string(i) + ": " +
                                     error.what());
        }
        hash(h, shown.got);
        bytes += shown.got.size();
        if (shown.got == shown.expected) continue;
        std::size_t first = 0, count = 0;
        for (std::size_t b = shown.got.size(); b-- > 0;) {
            if (shown.got[b] == shown.expected[b]) continue;
            first = b;
            ++count;
        }
        if (++differ <= 3)
            std::printf("  case %llu differs in %zu bytes, first at %zu: got %02x, expected %02x; %s\n",
                        static_cast<unsigned long long>(i), count, first, shown.got[first],
                        shown.expected[first], shown.text.c_str());
    }
    std::printf("%s: %llu cases, %llu bytes, hash %016llx, %llu differ\n", mode.name,
                static_cast<unsigned long long>(cases), static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(h), static_cast<unsigned long long>(differ));
    return differ > 0 ? 1 : 0;
}

int run_refusals() {
    int wrong = 0;
    for (const test::ClusterRefusal& r : test::cluster_refusals()) {
        const test::DeviceArray<unsigned> out(std::size_t{r.grid.x} * r.grid.y * r.grid.z *
                                              kernels::kClusterWords);
        const cudaError_t status = kernels::cluster_numbers(r.grid, r.cluster, out.data());
        cudaGetLastError();
        const bool as_expected = (status != cudaSuccess) == r.refused;
        wrong += !as_expected;
        std::printf("grid %ux%ux%u in clusters of %ux%ux%u: %s%s\n", r.grid.x, r.grid.y, r.grid.z,
                    r.cluster.x, r.cluster.y, r.cluster.z, cudaGetErrorName(status),
                    as_expected ? "" : ", and the other answer was expected");
    }
    return wrong > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const gemm::Device device = gemm::select_device(0, "");
        if (device.sm < 90 || device.sm >= 100) {
            std::fprintf(stderr, "These kernels are compiled for compute capability 9.0, and this is %s.\n",
                         device.name.c_str());
            return 2;
        }
        const std::uint64_t cases = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 100;
        const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
        const int only = argc > 3 ? std::atoi(argv[3]) : -1;
        int wrong = 0, number = 0;
        for (const test::ClusterMode& mode : test::cluster_modes()) {
            if (number++ != only && only >= 0) continue;
            wrong |= run_mode(mode, cases, seed);
        }
        if (only < 0 || only == number) wrong |= run_refusals();
        return wrong;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
