// Between host_api.cpp, which checks a launch, and scheduler.cpp, which runs it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/cpu/device.hpp"

namespace cpu_device {

struct Grid {
    const char* kernel;
    dim3 grid, block;
    std::size_t dynamic_shared_bytes;
    const std::vector<SharedArray>* shared;
    Call call;
    const void* context;
};

struct RunOptions {
    std::function<void(std::uint64_t, std::uint64_t)> progress;
    std::function<bool(std::uint64_t)> filter;
    double hang_seconds = 60;
};

/// Runs every block of a valid grid on worker threads; throws gemm::Error for the first block that went
/// wrong.
void run_grid(const Grid& grid, const RunOptions& options);

}  // namespace cpu_device
