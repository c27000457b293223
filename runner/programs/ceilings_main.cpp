// gemm_ceilings: measures what a GPU can do at most. Its JSON is what ./gemm doctor --measure shows and
// records; progress goes to stderr as lines "progress <done> <total> <text>".

#include <cstdio>
#include <string>
#include <vector>

#include "common/measure/nvml.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/ceilings.hpp"

namespace {

using gemm::Json;

Json known(double value) {
    return value > 0.0 ? Json(value) : Json(nullptr);
}

Json ceiling_json(const gemm::Ceiling& c) {
    return {{"value", c.rate(c.timing.ms_median)},
            {"p10", c.rate(c.timing.ms_p90)},  // the slowest samples
            {"p90", c.rate(c.timing.ms_p10)},
            {"unit", c.unit},
            {"theoretical", known(c.theoretical)},
            {"how", c.how},
            {"work", c.work},
            {"ms_median", c.timing.ms_median},
            {"rounds", c.timing.rounds},
            {"launches_per_sample", c.timing.launches_per_sample},
            {"sm_clock_mhz", known(c.timing.sm_clock_mhz)},
            {"power_w", known(c.timing.power_w)}};
}

int run(int argc, char** argv) {
    int ordinal = 0;
    std::string output;
    gemm::parse_options(
        "gemm_ceilings",
        "Measures the bandwidths of DRAM, L2 and shared memory and the rate of FFMA; prints JSON.",
        {{"--device", &ordinal, "which device, counted from 0 [0]"},
         {"--output", &output, "where the JSON goes [standard output]", "FILE"}},
        argc, argv);
    const gemm::Device device = gemm::select_device(ordinal, "");
    gemm::check_writable(output);
    Json device_object = gemm::device_json(device);
    device_object["power_limit_w"] = known(gemm::Nvml().power_limit_w());
    Json figures = Json::object();
    const auto progress = [](int done, int total, const std::string& ceiling) {
        std::fprintf(stderr, "progress %d %d %s\n", done, total, ceiling.c_str());
    };
    for (const gemm::Ceiling& c : gemm::measure_ceilings(device, progress)) figures[c.name] = ceiling_json(c);
    gemm::deliver(output, gemm::to_text({{"schema", 1}, {"device", device_object}, {"figures", figures}}));
    return gemm::kRight;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_ceilings", [&] { return run(argc, argv); });
}
