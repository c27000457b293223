#include "common/measure/energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "common/measure/stats.hpp"

namespace gemm {
namespace {

constexpr double kSettleMs = 200.0, kShortestMs = 300.0;

}  // namespace

Draw draw_of(const std::vector<Reading>& loop) {
    const Reading* first = nullptr;  // the first step of the counter that is seen, and the last
    const Reading* last = nullptr;
    double before = 0.0, mhz = 0.0;
    int clocks = 0;
    for (const Reading& r : loop) {
        const bool stepped = before > 0.0 && r.joules > before;
        before = r.joules;
        if (r.ms < kSettleMs) continue;
        if (stepped) {
            if (first == nullptr) first = &r;
            last = &r;
        }
        if (r.mhz > 0.0) {
            mhz += r.mhz;
            ++clocks;
        }
    }
    Draw draw;
    if (clocks > 0) draw.mhz = mhz / clocks;
    if (first != nullptr && last->ms - first->ms >= kShortestMs)
        draw.watts = 1000.0 * (last->joules - first->joules) / (last->ms - first->ms);
    return draw;
}

int launches_per_loop(double ms) {
    constexpr double kMost = 1e6;  // a kernel that takes no time at all still ends
    if (!(ms > kLoopMs / kMost)) return static_cast<int>(kMost);
    return std::max(1, static_cast<int>(std::ceil(kLoopMs / ms)));
}

Spread spread_of(const std::vector<double>& values) {
    return {median(values), quantile(values, 0.1), quantile(values, 0.9)};
}

Energy energy_of(const std::vector<double>& ms, const std::vector<Draw>& loops) {
    if (ms.size() != loops.size()) throw std::invalid_argument("energy_of: one loop per round");
    std::vector<double> joules, megacycles, watts;
    for (std::size_t round = 0; round < ms.size(); ++round) {
        const auto& [power, mhz] = loops[round];
        if (power > 0.0) {
            joules.push_back(power * ms[round] / 1000.0);
            watts.push_back(power);
        }
        if (mhz > 0.0) megacycles.push_back(mhz * ms[round] / 1000.0);
    }
    return {spread_of(joules), spread_of(megacycles), median(watts)};
}

}  // namespace gemm
