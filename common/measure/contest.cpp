#include "common/measure/contest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace gemm {
namespace {

constexpr double kClose = 0.03;  // of the best ratio: what so few rounds do not tell apart
constexpr std::size_t kFinalists = 4;
constexpr double kTrialMs = 300.0, kRunoffMs = 400.0;
constexpr int kTrialMost = 5, kRunoffFewest = 3, kRunoffMost = 25;

/// How many rounds of `round_ms` fit into `budget_ms`, at least `fewest` and at most `most`.
int rounds_within(double budget_ms, double round_ms, int fewest, int most) {
    if (!(round_ms * most > budget_ms)) return most;
    return std::max(fewest, static_cast<int>(budget_ms / round_ms));
}

std::vector<Standing> held(const Race& race, const std::vector<std::size_t>& candidates, int rounds) {
    std::vector<Standing> standings = race(candidates, rounds);
    if (standings.size() != candidates.size())
        throw std::invalid_argument("fastest: one standing a candidate");
    return standings;
}

}  // namespace

std::size_t fastest(std::size_t count, double sample_ms, const Race& race) {
    if (count == 0) throw std::invalid_argument("fastest: no candidates");
    if (count == 1) return 0;
    std::vector<std::size_t> all(count);
    std::iota(all.begin(), all.end(), std::size_t{0});
    const double round_ms = sample_ms * static_cast<double>(count);
    const std::vector<Standing> trial = held(race, all, rounds_within(kTrialMs, round_ms, 1, kTrialMost));

    std::vector<std::size_t> finalists = all;
    std::stable_sort(finalists.begin(), finalists.end(),
                     [&](std::size_t a, std::size_t b) { return trial[a].ratio > trial[b].ratio; });
    const double least = (1.0 - kClose) * trial[finalists[0]].ratio;
    const auto behind = std::find_if(finalists.begin(), finalists.end(),
                                     [&](std::size_t i) { return trial[i].ratio < least; });
    finalists.erase(behind, finalists.end());
    finalists.resize(std::min(finalists.size(), kFinalists));
    if (finalists.size() == 1) return finalists[0];

    std::sort(finalists.begin(), finalists.end());
    const double runoff_ms =
        std::accumulate(finalists.begin(), finalists.end(), 0.0,
                        [&](double sum, std::size_t i) { return sum + trial[i].sample_ms; });
    const std::vector<Standing> runoff =
        held(race, finalists, rounds_within(kRunoffMs, runoff_ms, kRunoffFewest, kRunoffMost));
    const auto first = std::max_element(
        runoff.begin(), runoff.end(), [](const Standing& a, const Standing& b) { return a.ratio < b.ratio; });
    return finalists[static_cast<std::size_t>(first - runoff.begin())];
}

}  // namespace gemm
