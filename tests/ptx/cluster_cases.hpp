// Random cases for clusters, and what must come of them, worked out without what the CPU device does it with.
// A test runs a few, and the program cluster_cases runs them all and prints what it saw, on a GPU and on the
// CPU device alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ptx/cluster.hpp"
#include "tests/tma/tma_cases.hpp"

namespace test {

/// What each of so many random cases shows, and what it must show.
struct ClusterMode {
    const char* name;
    struct Shown {
        std::string text;  // of the case
        std::vector<std::uint8_t> got, expected;
    };
    Shown (*run)(std::uint64_t seed, std::uint64_t index);
};
const std::vector<ClusterMode>& cluster_modes();

/// Launches that are refused, and some at the border that are not.
struct ClusterRefusal {
    dim3 grid, cluster;
    bool refused;
};
const std::vector<ClusterRefusal>& cluster_refusals();

}  // namespace test
