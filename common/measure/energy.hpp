// What loops of launches take of a GPU: energy and SM cycles, from what its counters said meanwhile. No CUDA
// in it, so that it is tested without a GPU.
#pragma once

#include <vector>

namespace gemm {

/// What the GPU said at one moment of a loop.
struct Reading {
    double ms = 0;      // since the loop began
    double joules = 0;  // since the driver was loaded, by its counter; 0: it has none
    double mhz = 0;     // SM clock; 0: not known
};

/// Of one loop, averages; 0: not known.
struct Draw {
    double watts = 0, mhz = 0;
};

/// Averages over the loop without its first 200 ms, in which the GPU still sees what ran before. The counter
/// advances in steps, so that power is taken from one step to another, which are at least 0.3 s apart.
/// Readings in the order of their times.
Draw draw_of(const std::vector<Reading>& loop);

/// How long a loop is to last: a second remains when the GPU has settled.
inline constexpr double kLoopMs = 1300.0;

/// How many launches of `ms` milliseconds make a loop.
int launches_per_loop(double ms);

/// Over rounds. All 0: not known.
struct Spread {
    double median = 0, p10 = 0, p90 = 0;
};
Spread spread_of(const std::vector<double>& values);

/// A launch's.
struct Energy {
    Spread joules, megacycles;  // 10⁶ SM cycles: clock × time of the same loop
    double power_w = 0;         // the median of the loops' averages; 0: not known
};

/// ms: of a launch, by round; loops: in the same rounds. What a round does not know does not count. Throws
/// std::invalid_argument when the lengths differ.
Energy energy_of(const std::vector<double>& ms, const std::vector<Draw>& loops);

}  // namespace gemm
