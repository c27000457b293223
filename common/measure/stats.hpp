// The arithmetic of the timer: how many launches, how many rounds, and what is made of the samples. No CUDA
// in it, so that it is tested without a GPU.
#pragma once

#include <cstdint>
#include <vector>

namespace gemm {

/// The q-quantile, 0 ≤ q ≤ 1, interpolated linearly between order statistics (the "type 7" of Hyndman and
/// Fan, Sample Quantiles in Statistical Packages, 1996; numpy's default). 0 for no values.
double quantile(std::vector<double> values, double q);

/// quantile(values, 0.5).
double median(std::vector<double> values);

/// Median over the rounds of baseline_ms[r] / ms[r]: above 1 means faster than the baseline. Both hold one
/// entry per round; a round in which either has no sample (≤ 0) does not count. 0 when no round counts.
/// Throws std::invalid_argument when the lengths differ.
double median_ratio(const std::vector<double>& baseline_ms, const std::vector<double>& ms);

/// Milliseconds that a sample is to last. It must last at least 1 ms; ten times that are aimed at, because
/// the estimate was taken while the clocks were still rising. Of many sizes in a row, each is estimated on a
/// GPU that has just been at work, so that less will do.
inline constexpr double kSampleMs = 10.0, kBriefSampleMs = 1.5, kBriefWarmMs = 10.0;

/// How many launches of `ms` milliseconds make one sample of `sample_ms`.
int launches_per_sample(double ms, double sample_ms = kSampleMs);

/// How long the samples of one contender may take together, about, and how many there are at most.
struct Budget {
    double ms;
    int most;
};
inline constexpr Budget kBudget{2000.0, 25}, kBriefBudget{300.0, 15};

/// How many rounds a contender takes part in when one of its samples lasts `sample_ms`: the budget's worth, 5
/// at least; 3 when five would take more than three times the budget.
int affordable_rounds(double sample_ms, const Budget& budget = kBudget);

/// Whether a lesson is timed at a large size: where a launch will take a tenth of a second at most, `ms`
/// being its time at a size with 1/growth as many multiply-adds. Neither may be 0 or less.
bool fast_enough(double ms, double growth);

/// Who takes part in which round.
struct Schedule {
    int rounds = 0;
    std::vector<int> samples;  // of each contender; samples[0] == rounds, the baseline being in all of them

    /// True when `contender` takes part in `round`, 0 ≤ round < rounds. Its samples are spread evenly over
    /// the rounds, and everybody is in the last one.
    bool takes_part(int contender, int round) const;
    /// Samples of all contenders together.
    int total() const;
};

/// sample_ms: how long one sample of each contender lasts, the baseline first. rounds: 0 to choose by cost,
/// else the number that every contender takes part in. Throws std::invalid_argument without contenders or for
/// rounds < 0.
Schedule make_schedule(const std::vector<double>& sample_ms, int rounds, const Budget& budget = kBudget);

/// How many copies of a problem that occupies `bytes` take more than three times `l2_bytes` together: 1 when
/// it exceeds that alone, at most `limit`. 1 when either figure is not positive.
int copies_for_cold_cache(std::int64_t bytes, std::int64_t l2_bytes, int limit);

}  // namespace gemm
