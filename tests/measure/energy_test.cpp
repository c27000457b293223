// Energy and cycles of loops, from readings that are made up.
#include "common/measure/energy.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "common/program/report.hpp"
#include "tests/catch.hpp"

namespace {

/// A loop at a constant power on a GPU whose counter advances every `step` ms, read every `every` ms. What
/// ran before drew `watts_before`, and the counter is a step late.
std::vector<gemm::Reading> loop(double watts, double watts_before, double step, double every = 5.0,
                                double length = gemm::kLoopMs) {
    std::vector<gemm::Reading> readings;
    for (double ms = 0.0; ms <= length; ms += every) {
        const double known = std::floor((ms + 17.0) / step) * step - 17.0;  // up to when it is counted
        const double joules = 5000.0 + (known > 0 ? watts : watts_before) * known / 1000.0;
        readings.push_back({ms, joules, 1500.0 + (ms < 200.0 ? 400.0 : ms < 750.0 ? 10.0 : -10.0)});
    }
    return readings;
}

}  // namespace

TEST_CASE("energy: a loop's power is the counter's, from step to step") {
    for (const double step : {20.0, 50.0, 100.0}) {
        INFO(step << " ms");
        const gemm::Draw draw = gemm::draw_of(loop(690.0, 120.0, step));
        CHECK(std::abs(draw.watts - 690.0) < 0.007 * 690.0);  // ±5 ms of a second
        CHECK(std::abs(draw.mhz - 1500.0) < 2.0);             // and not the clock in front of the loop
    }
}

TEST_CASE("energy: where the counter says too little, there is no figure") {
    CHECK(gemm::draw_of({}).watts == 0.0);
    CHECK(gemm::draw_of({}).mhz == 0.0);
    std::vector<gemm::Reading> none = loop(690.0, 120.0, 20.0);
    for (gemm::Reading& r : none) r.joules = 0.0;
    CHECK(gemm::draw_of(none).watts == 0.0);
    CHECK(gemm::draw_of(none).mhz > 0.0);
    CHECK(gemm::draw_of(loop(690.0, 120.0, 1000.0)).watts == 0.0);            // one step
    CHECK(gemm::draw_of(loop(690.0, 120.0, 20.0, 5.0, 400.0)).watts == 0.0);  // 0.2 s of the loop
    std::vector<gemm::Reading> stands = loop(690.0, 120.0, 20.0);
    for (gemm::Reading& r : stands) r.joules = 5000.0;
    CHECK(gemm::draw_of(stands).watts == 0.0);
}

TEST_CASE("energy: joules and cycles of a launch") {
    // The second round ran at a lower clock; the third knows no energy, the fourth nothing.
    const gemm::Energy energy =
        gemm::energy_of({0.2, 0.25, 0.2, 0.2}, {{700.0, 1500.0}, {600.0, 1200.0}, {0.0, 1520.0}, {}});
    CHECK(std::abs(energy.joules.median - 0.145) < 1e-12);  // 0.14 and 0.15
    CHECK(std::abs(energy.joules.p10 - 0.141) < 1e-12);
    CHECK(std::abs(energy.joules.p90 - 0.149) < 1e-12);
    CHECK(std::abs(energy.megacycles.median - 0.3) < 1e-12);  // 0.3, 0.3 and 0.304
    CHECK(energy.power_w == 650.0);
    const gemm::Energy unknown = gemm::energy_of({0.2}, {{}});
    CHECK((unknown.joules.median == 0.0 && unknown.megacycles.p90 == 0.0 && unknown.power_w == 0.0));
    CHECK_THROWS_AS(gemm::energy_of({0.2}, {}), std::invalid_argument);
}

TEST_CASE("energy: JSON has null where the GPU does not tell") {
    gemm::Speed speed;
    speed.timing.ms_median = 0.2;
    CHECK_FALSE(gemm::speed_json(speed).contains("energy"));
    speed.timing.energy.emplace();
    speed.timing.energy->megacycles = {0.3, 0.29, 0.31};
    speed.baseline_timing.energy.emplace();
    speed.baseline_timing.energy->joules = {0.14, 0.13, 0.15};
    speed.baseline_timing.energy->power_w = 700.0;
    const gemm::Json json = gemm::speed_json(speed);
    CHECK(json.at("energy").at("ms").at("median") == 0.2);
    CHECK(json.at("energy").at("joules").is_null());
    CHECK(json.at("energy").at("power_w").is_null());
    CHECK(json.at("energy").at("megacycles").at("p10") == 0.29);
    CHECK(json.at("baseline_energy").at("joules").at("p90") == 0.15);
    CHECK(json.at("baseline_energy").at("power_w") == 700.0);
}

TEST_CASE("energy: launches of a loop") {
    CHECK(gemm::launches_per_loop(0.13) == 10000);
    CHECK(gemm::launches_per_loop(1.3) == 1000);
    CHECK(gemm::launches_per_loop(5000.0) == 1);
    CHECK(gemm::launches_per_loop(0.0) == 1000000);
}
