// Host loops over all cores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace gemm {

/// Calls body(first, last) on slices of [0, count), each at least `grain` long, on as many threads as the
/// machine has; returns when all are done. body must not throw.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
    const std::int64_t cores = std::max(1u, std::thread::hardware_concurrency());
    const std::int64_t threads = std::clamp<std::int64_t>(count / std::max<std::int64_t>(grain, 1), 1, cores);
    std::vector<std::jthread> running;
    for (std::int64_t t = 1; t < threads; ++t) {
        running.emplace_back([&, t] { body(count * t / threads, count * (t + 1) / threads); });
    }
    if (count > 0) body(std::int64_t{0}, count / threads);
}

}  // namespace gemm
