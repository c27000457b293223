#include "common/measure/stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace gemm {
namespace {

constexpr int kMaxLaunches = 20000;  // a kernel that takes no time at all still ends
constexpr double kSlow = 3.0;        // budgets: five samples that take longer become three
constexpr double kLargeMs = 100.0;   // a launch at a size where only fast lessons are timed
constexpr int kFewest = 5, kFewestSlow = 3;

}  // namespace

double quantile(std::vector<double> values, double q) {
    if (values.empty()) return 0.0;
    std::sort(values.begin(), values.end());
    const double at = q * static_cast<double>(values.size() - 1);
    const std::size_t below = static_cast<std::size_t>(at);
    if (below + 1 >= values.size()) return values.back();
    return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

double median_ratio(const std::vector<double>& baseline_ms, const std::vector<double>& ms) {
    if (baseline_ms.size() != ms.size()) throw std::invalid_argument("median_ratio: one entry per round");
    std::vector<double> ratios;
    for (std::size_t r = 0; r < ms.size(); ++r) {
        if (baseline_ms[r] > 0.0 && ms[r] > 0.0) ratios.push_back(baseline_ms[r] / ms[r]);
    }
    return median(std::move(ratios));
}

int launches_per_sample(double ms, double sample_ms) {
    if (!(ms > sample_ms / kMaxLaunches)) return kMaxLaunches;
    return std::max(1, static_cast<int>(std::ceil(sample_ms / ms)));
}

int affordable_rounds(double sample_ms, const Budget& budget) {
    if (kFewest * sample_ms > kSlow * budget.ms) return kFewestSlow;
    if (!(sample_ms > budget.ms / budget.most)) return budget.most;
    return std::max(kFewest, static_cast<int>(budget.ms / sample_ms));
}

bool fast_enough(double ms, double growth) {
    return ms > 0.0 && growth > 0.0 && ms * growth <= kLargeMs;
}

bool Schedule::takes_part(int contender, int round) const {
    const std::int64_t n = samples.at(static_cast<std::size_t>(contender));
    // The share of samples that is due after this round grows by one: so they are spread, and the last is due
    // in the last round.
    return (round + 1) * n / rounds > round * n / rounds;
}

int Schedule::total() const {
    return std::accumulate(samples.begin(), samples.end(), 0);
}

Schedule make_schedule(const std::vector<double>& sample_ms, int rounds, const Budget& budget) {
    if (sample_ms.empty()) throw std::invalid_argument("make_schedule: no contenders");
    if (rounds < 0) throw std::invalid_argument("make_schedule: rounds must be 0 or more");
    Schedule schedule;
    for (const double ms : sample_ms)
        schedule.samples.push_back(rounds > 0 ? rounds : affordable_rounds(ms, budget));
    schedule.rounds = *std::max_element(schedule.samples.begin(), schedule.samples.end());
    schedule.samples[0] = schedule.rounds;
    return schedule;
}

int copies_for_cold_cache(std::int64_t bytes, std::int64_t l2_bytes, int limit) {
    if (bytes <= 0 || l2_bytes <= 0) return 1;
    return static_cast<int>(std::clamp<std::int64_t>(3 * l2_bytes / bytes + 1, 1, std::max(1, limit)));
}

}  // namespace gemm
