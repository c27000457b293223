// A lesson's speed at one size: the timer over rotating copies of a verified workload. Only in CUDA builds
// (its types are harmless elsewhere).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/gemm.hpp"
#include "common/measure/device.hpp"
#include "common/measure/timer.hpp"

namespace gemm {

class Baseline;

/// How fast a lesson is, and what it is held against.
struct Speed {
    Timing timing;
    double tflops = 0;  // 2·M·N·K / median time / 10¹²
    std::string baseline, baseline_kernel;
    Timing baseline_timing;
    bool cold = false;  // the copies take more than three times the L2 together
};

struct SpeedOptions {
    int rounds = 0;       // as TimingOptions::rounds
    bool energy = false;  // as TimingOptions::energy
    bool brief = false;   // samples of kBriefSampleMs, on a GPU that has just been at work; 5 … 15 rounds
    /// Before every sample: how many are done, of how many, and whose comes next.
    std::function<void(int done, int total, const std::string& lesson)> progress;
};

/// What came of timing one lesson: either a speed, or why its result was wrong after the timing.
struct TimedLesson {
    std::optional<Speed> speed;
    Verdict after;  // of the C that the last timed launches left
};

/// Times `lessons` and the baseline, interleaved, on copies of the workload, the workload itself being the
/// first; its shape has alpha = 1, beta = 0 and M, N, K ≥ 1. Every lesson has passed verification on it.
/// Afterwards C, as the timed launches left it, is verified again. The result has the order of `lessons`.
/// Throws NoBaseline when cuBLAS takes no such problem, and Error when a launch fails, or when cuBLAS's own
/// result is wrong: then there is nothing to hold a lesson against.
std::vector<TimedLesson> time_lessons(const std::vector<const Lesson*>& lessons, Workload& w,
                                      const Check& check, const Device& device, Baseline& baseline,
                                      const SpeedOptions& options);

}  // namespace gemm
