// The rates that a GPU reaches in kernels that do one thing alone: the ceilings under which GEMM lies. Only
// in CUDA builds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/measure/device.hpp"
#include "common/measure/timer.hpp"

namespace gemm {

struct Ceiling {
    std::string name;        // "DRAM copy"
    std::string unit;        // "TB/s" or "TFLOP/s", 10¹² a second
    std::string how;         // in a few words
    double work = 0;         // bytes or FLOP of one launch
    double theoretical = 0;  // in `unit`, at the clock that was sampled; 0 where no attribute tells
    Timing timing;

    /// `work` in `ms` milliseconds, in `unit`.
    double rate(double ms) const { return work / ms * 1e-9; }
};

/// Measures, interleaved on the current device: "DRAM copy" (bytes read and written), "L2 read", "shared
/// memory read", "FFMA" and "FFMA, 8×16 outer product" (2 FLOP an FFMA). A rate is that of the median sample.
/// What each kernel's last timed launch left is compared with what the host computes. Throws Error where it
/// differs, and where a launch fails or memory is not enough.
std::vector<Ceiling> measure_ceilings(
    const Device& device,
    const std::function<void(int done, int total, const std::string& ceiling)>& progress);

}  // namespace gemm
