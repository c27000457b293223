// The timer's arithmetic, which needs no GPU.
#include "common/measure/stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"

namespace {

bool close(double value, double expected) {
    return std::fabs(value - expected) <= 1e-12 * std::fabs(expected);
}

}  // namespace

TEST_CASE("stats: quantiles and medians") {
    CHECK(gemm::median({}) == 0.0);
    CHECK(gemm::median({3.0}) == 3.0);
    CHECK(gemm::median({9.0, 1.0, 5.0}) == 5.0);
    CHECK(close(gemm::median({9.0, 1.0, 5.0, 2.0}), 3.5));
    const std::vector<double> values{10, 0, 9, 1, 8, 2, 7, 3, 6, 4, 5};  // 0 … 10
    CHECK(gemm::quantile(values, 0.0) == 0.0);
    CHECK(close(gemm::quantile(values, 0.1), 1.0));
    CHECK(close(gemm::quantile(values, 0.9), 9.0));
    CHECK(gemm::quantile(values, 1.0) == 10.0);
    CHECK(close(gemm::quantile({1.0, 2.0}, 0.1), 1.1));
    CHECK(gemm::quantile({4.0}, 0.9) == 4.0);
    CHECK(gemm::median({1, 1, 1, 1, 1000}) == 1.0);  // an outlier is nothing to it
}

TEST_CASE("stats: the ratio is a median over rounds and not a ratio of medians") {
    // The clock halves in the last two rounds: within each round the lesson takes twice the baseline's time.
    CHECK(close(gemm::median_ratio({1, 1, 1, 2, 2}, {2, 2, 2, 4, 4}), 0.5));
    CHECK(close(gemm::median_ratio({1, 2, 3}, {1, 1, 1}), 2.0));
    CHECK(close(gemm::median_ratio({3, 1, 8}, {1, 2, 4}), 2.0));  // medians alone would say 3/2
    CHECK(close(gemm::median_ratio({1, 0, 4}, {2, 1, 0}), 0.5));  // rounds that someone sat out
    CHECK(gemm::median_ratio({1, 1}, {0, 0}) == 0.0);
    CHECK(gemm::median_ratio({}, {}) == 0.0);
    CHECK_THROWS_AS(gemm::median_ratio({1.0}, {1.0, 2.0}), std::invalid_argument);
}

TEST_CASE("stats: launches per sample") {
    for (const double ms : {1e-4, 0.0013, 0.02, 0.37, 1.0, 4.0, 9.99, 10.0, 11.0, 5000.0}) {
        const int launches = gemm::launches_per_sample(ms);
        INFO(ms << " ms");
        CHECK(launches >= 1);
        CHECK(launches * ms >= 1.0);
        if (launches > 1) CHECK((launches - 1) * ms < 10.0);  // no more than needed
    }
    CHECK(gemm::launches_per_sample(20.0) == 1);
    CHECK(gemm::launches_per_sample(2.5, gemm::kBriefSampleMs) == 1);
    CHECK(gemm::launches_per_sample(0.01, gemm::kBriefSampleMs) == 150);
    CHECK(gemm::launches_per_sample(2.5) == 4);
    CHECK(gemm::launches_per_sample(0.0) >= 1);  // no time at all still ends
    CHECK(gemm::launches_per_sample(std::numeric_limits<double>::quiet_NaN()) >= 1);
}

TEST_CASE("stats: affordable rounds") {
    CHECK(gemm::affordable_rounds(10.0) == 25);
    CHECK(gemm::affordable_rounds(0.0) == 25);
    CHECK(gemm::affordable_rounds(100.0) == 20);
    CHECK(gemm::affordable_rounds(400.0) == 5);
    CHECK(gemm::affordable_rounds(1000.0) == 5);
    CHECK(gemm::affordable_rounds(1201.0) == 3);
    CHECK(gemm::affordable_rounds(1.5, gemm::kBriefBudget) == 15);
    CHECK(gemm::affordable_rounds(30.0, gemm::kBriefBudget) == 10);
    CHECK(gemm::affordable_rounds(170.0, gemm::kBriefBudget) == 5);
    CHECK(gemm::affordable_rounds(181.0, gemm::kBriefBudget) == 3);
    int before = 25;
    for (double ms = 1.0; ms < 5000.0; ms *= 1.1) {
        const int rounds = gemm::affordable_rounds(ms);
        CHECK(rounds <= before);
        CHECK(rounds >= 3);
        before = rounds;
    }
}

TEST_CASE("stats: who is timed at a large size") {
    CHECK(gemm::fast_enough(1.4, 8.0));
    CHECK(gemm::fast_enough(12.5, 8.0));
    CHECK_FALSE(gemm::fast_enough(12.6, 8.0));
    CHECK_FALSE(gemm::fast_enough(2200.0, 8.0));
    CHECK_FALSE(gemm::fast_enough(0.0, 8.0));  // no time is known
    CHECK_FALSE(gemm::fast_enough(1.0, 0.0));
}

TEST_CASE("stats: a schedule spreads the samples and everybody is in the last round") {
    const gemm::Schedule s = gemm::make_schedule({400.0, 10.0, 100.0, 2000.0}, 0);
    REQUIRE(s.samples.size() == 4);
    CHECK(s.rounds == 25);
    CHECK(s.samples[0] == 25);  // the baseline sits out nothing, whatever it costs
    CHECK(s.samples[1] == 25);
    CHECK(s.samples[2] == 20);
    CHECK(s.samples[3] == 3);
    CHECK(s.total() == 73);
    for (int contender = 0; contender < 4; ++contender) {
        int count = 0, last = -1, widest = 0;
        for (int round = 0; round < s.rounds; ++round) {
            if (!s.takes_part(contender, round)) continue;
            ++count;
            widest = std::max(widest, round - last);
            last = round;
        }
        INFO("contender " << contender);
        CHECK(count == s.samples[static_cast<std::size_t>(contender)]);
        CHECK(last == s.rounds - 1);
        CHECK(widest <= (s.rounds + count - 1) / count);
    }
    const gemm::Schedule asked = gemm::make_schedule({5000.0, 1.0}, 7);
    CHECK(asked.rounds == 7);
    CHECK(asked.total() == 14);
    CHECK_THROWS_AS(gemm::make_schedule({}, 0), std::invalid_argument);
    CHECK_THROWS_AS(gemm::make_schedule({1.0}, -1), std::invalid_argument);
}

TEST_CASE("stats: copies for a cold cache") {
    constexpr std::int64_t MiB = 1 << 20;
    CHECK(gemm::copies_for_cold_cache(200 * MiB, 60 * MiB, 16) == 1);
    CHECK(gemm::copies_for_cold_cache(180 * MiB, 60 * MiB, 16) == 2);  // exactly three times is not more
    CHECK(gemm::copies_for_cold_cache(12 * MiB, 60 * MiB, 64) == 16);
    CHECK(gemm::copies_for_cold_cache(1, 60 * MiB, 8) == 8);
    CHECK(gemm::copies_for_cold_cache(0, 60 * MiB, 8) == 1);
    CHECK(gemm::copies_for_cold_cache(MiB, 0, 8) == 1);
    for (std::int64_t bytes = 1000; bytes < 400 * MiB; bytes *= 3) {
        const int copies = gemm::copies_for_cold_cache(bytes, 60 * MiB, 1 << 30);
        CHECK(copies * bytes > 180 * MiB);
        CHECK((copies - 1) * bytes <= 180 * MiB);
    }
}
