// Random cases for clusters, and what must come of them, worked out without what the CPU device does it with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ptx/cluster.hpp"
#include "tests/tma/tma_cases.hpp"

namespace test {

std::vector<RandomMode> cluster_random();

/// Launches that are refused, and some at the border that are not.
struct ClusterRefusal {
    dim3 grid, cluster;
    bool refused;
};
const std::vector<ClusterRefusal>& cluster_refusals();

}  // namespace test
