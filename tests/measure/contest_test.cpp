// How the baseline is chosen, with races that are made up.
#include "common/measure/contest.hpp"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "tests/catch.hpp"

namespace {

using Numbers = std::vector<std::size_t>;

/// Candidates of which the times are known, and what was asked of them.
struct Field {
    std::vector<double> ms;  // of a launch
    double noise = 0;        // standard deviation of one round's time, as a share of it
    double sample_ms = 10;   // of the first
    std::uint64_t seed = 1;
    std::vector<Numbers> asked{};  // who took part in each race
    std::vector<int> rounds{};     // of each
    double spent_ms = 0;

    std::vector<gemm::Standing> race(const Numbers& candidates, int of_rounds) {
        asked.push_back(candidates);
        rounds.push_back(of_rounds);
        std::mt19937_64 random(seed++);
        std::normal_distribution<double> error(1.0, noise);
        std::vector<gemm::Standing> standings;
        for (const std::size_t i : candidates) {
            std::vector<double> ratios;
            for (int round = 0; round < of_rounds; ++round)
                ratios.push_back(ms[candidates[0]] * error(random) / ms[i]);
            std::sort(ratios.begin(), ratios.end());
            const double sample = sample_ms * ms[i] / ms[0];
            spent_ms += of_rounds * sample;
            standings.push_back({ratios[ratios.size() / 2], sample});
        }
        return standings;
    }
    std::size_t winner() {
        return gemm::fastest(ms.size(), sample_ms,
                             [&](const Numbers& candidates, int n) { return race(candidates, n); });
    }
};

}  // namespace

TEST_CASE("contest: whoever is far ahead wins without a run-off") {
    Field field{.ms = {1.0, 1.2, 0.9, 1.5}};
    CHECK(field.winner() == 2);
    CHECK(field.asked == std::vector<Numbers>{{0, 1, 2, 3}});
    CHECK(field.rounds == std::vector<int>{5});
}

TEST_CASE("contest: those within 3 % meet again, for more rounds") {
    Field field{.ms = {1.0, 1.03, 0.99, 1.5, 0.995}};
    CHECK(field.winner() == 2);
    REQUIRE(field.asked.size() == 2);
    CHECK(field.asked[1] == Numbers{0, 2, 4});  // 1 is 4 % behind
    CHECK(field.rounds[1] > field.rounds[0]);
    CHECK(field.rounds[1] == 13);  // of 30 ms
}

TEST_CASE("contest: four at most are in the run-off, the fastest ones") {
    Field field{.ms = {1.0, 0.998, 0.996, 0.994, 0.992, 0.990}};
    CHECK(field.winner() == 5);
    CHECK(field.asked.at(1) == Numbers{2, 3, 4, 5});
}

TEST_CASE("contest: of equals, the smaller number") {
    Field field{.ms = std::vector<double>(9, 1.0)};
    CHECK(field.winner() == 0);
    CHECK(field.asked.at(1) == Numbers{0, 1, 2, 3});
}

TEST_CASE("contest: it takes about 0.7 s, and few rounds of what takes longer") {
    for (const double sample_ms : {0.0, 1.0, 10.0, 20.0, 60.0, 200.0, 2000.0}) {
        Field field{.ms = std::vector<double>(9, 1.0), .sample_ms = sample_ms};
        INFO(sample_ms << " ms");
        (void)field.winner();
        REQUIRE(field.rounds.size() == 2);
        CHECK(field.rounds[0] >= 1);
        CHECK(field.rounds[1] >= 3);
        CHECK(field.spent_ms <= std::max(700.0, 21 * sample_ms));
    }
}

TEST_CASE("contest: what one round says wrongly, the run-off puts right") {
    // 1 % between the first two, and a round's error is as large: a single look would be wrong in a quarter.
    int right = 0, at_once = 0;
    for (std::uint64_t seed = 1; seed <= 400; seed += 2) {
        Field field{.ms = {1.0, 0.99, 1.06, 1.08}, .noise = 0.007, .seed = 1000 * seed};
        right += field.winner() == 1 ? 1 : 0;
        Field once{.ms = {1.0, 0.99}, .noise = 0.007, .seed = 1000 * seed};
        const auto standings = once.race({0, 1}, 1);
        at_once += standings[1].ratio > standings[0].ratio ? 1 : 0;
    }
    CHECK(right >= 190);  // of 200
    CHECK(at_once < 180);
}

TEST_CASE("contest: a lone candidate needs no race, and without one there is none") {
    Field lone{.ms = {1.0}};
    CHECK(lone.winner() == 0);
    CHECK(lone.asked.empty());
    CHECK_THROWS_AS(Field{}.winner(), std::invalid_argument);
    const auto forgetful = [](const Numbers&, int) { return std::vector<gemm::Standing>(1); };
    CHECK_THROWS_AS(gemm::fastest(2, 1.0, forgetful), std::invalid_argument);
}
