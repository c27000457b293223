// gemm_timeline: runs one instrumented kernel (runner/programs/stamps.hpp) on the GPU, once to warm up and
// once to be read, and writes as JSON what its first block wrote down. The runner compiles the kernel and
// links it.

#include <cstdint>
#include <string>
#include <vector>

#include "common/check/variant.hpp"
#include "common/check/verify.hpp"
#include "common/error.hpp"
#include "common/measure/device.hpp"
#include "common/measure/launch_watch.hpp"
#include "common/measure/measure.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/timeline.hpp"

namespace {

using gemm::Error;
using gemm::Json;
using gemm::timeline::Stamp;
using gemm::timeline::Warp;

struct Settings {
    gemm::Lesson lesson;
    gemm::Shape shape;
    std::uint64_t seed = gemm::fresh_seed();
    std::string output;
};

Settings read_options(int argc, char** argv) {
    Settings s;
    gemm::parse_options("gemm_timeline", "Records when the warps of a kernel's first block do what.",
                        {{"--m", &s.shape.M, "rows of A and C", "INT", true, 1},
                         {"--n", &s.shape.N, "columns of B and C", "INT", true, 1},
                         {"--k", &s.shape.K, "columns of A, rows of B", "INT", true, 1},
                         {"--seed", &s.seed, "seed of the inputs [a fresh one]"},
                         {"--output", &s.output, "where the JSON goes", "FILE", true}},
                        argc, argv);
    s.lesson = *gemm::all_lessons().front();
    s.shape.variant = s.lesson.variant();
    s.shape = s.shape.resolved();
    gemm::check_writable(s.output);
    return s;
}

/// A warp's stamps: [site, begin, end, detail], clocks from the block's first one on. Unsigned, so that a
/// clock whose lower word begins again is right, too.
Json warp_json(const Warp& warp, std::uint32_t first) {
    Json stamps = Json::array();
    for (const Stamp& s : warp.stamps) stamps.push_back({s.site, s.begin - first, s.end - first, s.detail});
    return {{"wanted", warp.wanted}, {"stamps", std::move(stamps)}};
}

int run(const Settings& s) {
    const gemm::Device device = gemm::select_device(0, "");
    if (const std::string why = gemm::why_skipped(s.lesson, device); !why.empty()) throw Error(why);
    gemm::Workload w(s.shape, s.seed);
    const gemm::Verifier verifier(w);
    {
        const gemm::LaunchWatch watch(s.lesson.name, gemm::patience_of(s.shape));
        gemm::run_once(s.lesson, w);
        if (const gemm::Verdict verdict = gemm::verify(s.lesson, w, verifier); !verdict.passed)
            throw Error("The instrumented kernel is wrong: " + verdict.failure);
    }
    const std::vector<Warp> warps = gemm::timeline::read_stamps();
    if (warps.empty()) throw Error(std::string(s.lesson.name) + " has left no stamps.");

    std::uint32_t first = warps.front().stamps.front().begin;
    for (const Warp& warp : warps) {
        if (const std::uint32_t begin = warp.stamps.front().begin; begin - first >= 1u << 31) first = begin;
    }
    const Json json = {
        {"schema", 1},
        {"lesson", s.lesson.name},
        {"device", gemm::device_json(device)},
        {"variant", gemm::text(s.lesson.variant())},
        {"m", s.shape.M},
        {"n", s.shape.N},
        {"k", s.shape.K},
        {"seed", s.seed},
        {"warps", gemm::list_json(warps, [&](const Warp& warp) { return warp_json(warp, first); })}};
    gemm::write_file(s.output, gemm::to_text(json));
    return gemm::kRight;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_timeline", [&] { return run(read_options(argc, argv)); });
}
