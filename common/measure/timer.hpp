// Times lessons and the baseline against each other: CUDA events, interleaved rounds, medians. Only in CUDA
// builds (its types are harmless elsewhere).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/gemm.hpp"
#include "common/measure/energy.hpp"
#include "common/measure/stats.hpp"

namespace gemm {

/// One thing to time: enqueues one launch over the given problem, the `copy`-th of those handed to
/// time_interleaved.
struct Contender {
    std::string name;
    std::function<void(const Problem&, std::size_t copy, cudaStream_t)> launch;
};

/// What was measured for one contender. Times are milliseconds per launch.
struct Timing {
    std::string name;
    int rounds = 0, launches_per_sample = 0;
    double ms_median = 0, ms_p10 = 0, ms_p90 = 0;
    // Over the rounds: (baseline's time / this one's) in the same round; above 1 is faster than the baseline.
    double ratio = 0;                      // the median
    double sm_clock_mhz = 0, power_w = 0;  // medians sampled while it ran; 0 where NVML does not answer
    std::optional<Energy> energy;          // where it was asked for
};

struct TimingOptions {
    int rounds = 0;  // 0: chosen by cost, within `budget`
    Budget budget = kBudget;
    std::uint64_t seed = 0;  // shuffles the order within each round
    // Of launches of contenders[0] in front of the first sample: they bring the clocks to where they stay.
    double warm_ms = 100.0;
    double sample_ms = kSampleMs;  // that a sample is to last, unless a launch lasts longer
    /// Samples are loops of more than a second, 20 rounds of them unless `rounds` says otherwise, and what
    /// they take of the GPU is read off its counters.
    bool energy = false;
    // What a launch of each takes, about: spares the estimates, with which code is loaded. 0: not known.
    double launch_ms = 0.0;
    /// Before the first launches of each, before every sample and after the last one (then with an empty
    /// name); may be empty.
    std::function<void(int done, int total, const std::string& contender)> progress;
    /// Around each contender's last sample, both with the device idle: the copy is the one that the sample's
    /// last launch writes. What after_last finds in its C was written by launches that were timed. May be
    /// empty.
    std::function<void(std::size_t contender, std::size_t copy)> before_last, after_last;
};

/// Interleaved rounds: in each, every contender once, order shuffled; slow contenders sit out some rounds,
/// the baseline none. contenders[0] is the baseline. `problems` are copies of one problem in different
/// memory; launches rotate over them (more than three times the L2 together means that a launch finds little
/// of its own in it). A sample is one or more launches between two events and lasts at least 1 ms. The result
/// has the order of `contenders`. Throws CudaError.
std::vector<Timing> time_interleaved(const std::vector<Contender>& contenders,
                                     const std::vector<Problem>& problems, const TimingOptions& options);

}  // namespace gemm
