// gemm_check: holds a learner's kernel against a ladder of problems, and says where it first goes wrong;
// then, on the CPU device, what its accesses do to memory, and on a GPU how long it takes beside other
// lessons. Its JSON is what ./gemm check shows.
//
// A library with main(): the runner compiles the learner's file and the list below, and links them with it.

#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "common/device.hpp"
#include "common/error.hpp"
#include "common/measure.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "runner/ladder.hpp"
#ifdef GEMM_CPU_DEVICE
#include "runner/traced.hpp"
#endif

/// Ends with a null pointer. [0] is the learner's lesson; those behind it are timed with it (CUDA).
extern const gemm::Lesson* const gemm_checked[];

namespace {

using gemm::Error;
using gemm::Json;
using gemm::Lesson;
using gemm::Shape;

struct Settings {
    std::uint64_t seed = 0;
    std::string like, output;
    std::optional<Shape> goal, time;
    int rounds = 0;
};

/// "128x128x128" → M×N×K.
Shape shape_of(const std::string& option, const std::string& text) {
    std::array<std::int64_t, 3> sizes{};
    std::size_t at = 0, count = 0;
    for (;; ++count) {
        const std::size_t end = std::min(text.find('x', at), text.size());
        if (count == sizes.size()) break;
        sizes[count] = gemm::whole_number("A size in " + option, text.substr(at, end - at), 1,
                                          std::numeric_limits<std::int32_t>::max());
        at = end + 1;
        if (at > text.size()) break;
    }
    if (count != sizes.size() - 1) {
        throw Error(option + " must be MxNxK, such as 128x128x128, and is \"" + text + "\".");
    }
    Shape shape;
    shape.M = sizes[0];
    shape.N = sizes[1];
    shape.K = sizes[2];
    return shape.resolved();
}

std::optional<int> read_options(int argc, char** argv, Settings& s) {
    std::string seed, goal = "128x128x128", time, rounds = "0";
    CLI::App app("Holds one kernel against a ladder of problems, from the easiest on.", "gemm_check");
    app.add_option("--seed", seed, "seed of sizes and inputs [a fresh one]")->type_name("INT");
    if (gemm::kDeviceTimes) {
        app.add_option("--time", time, "the shape to time at, MxNxK [none]")->type_name("SIZE");
        app.add_option("--rounds", rounds, "rounds of timing; 0 chooses by cost [0]")->type_name("INT");
    } else {
        app.add_option("--like", s.like, "whose launch limits hold, such as sm_86 [sm_90]")->type_name("SM");
        app.add_option("--goal", goal, "the shape whose accesses are counted, MxNxK [128x128x128]")
            ->type_name("SIZE");
    }
    app.add_option("--output", s.output, "where the JSON goes [standard output]")->type_name("FILE");
    if (const std::optional<int> status = gemm::parse_options(app, argc, argv)) return status;
    s.seed = seed.empty() ? gemm::fresh_seed() : gemm::seed_number("--seed", seed);
    if (!gemm::kDeviceTimes) s.goal = shape_of("--goal", goal);
    if (!time.empty()) s.time = shape_of("--time", time);
    s.rounds = static_cast<int>(gemm::whole_number("--rounds", rounds, 0, 1000));
    if (!s.output.empty()) gemm::check_writable(s.output);
    return std::nullopt;
}

#ifdef GEMM_CPU_DEVICE

/// The accesses at the goal's shape, and as a case what is wrong there.
std::pair<Json, gemm::CaseResult> trace_goal(const Lesson& lesson, const Shape& shape, std::uint64_t seed,
                                             int sm) {
    gemm::CaseResult result;
    result.problem = {"goal", "the shape whose accesses are counted", shape, false};
    result.seed = seed;
    gemm::Workload w(shape, seed);
    const gemm::Verifier verifier(w);
    const gemm::Problem p = w.problem();
    const gemm::Plan plan = lesson.prepare != nullptr ? lesson.prepare(p) : nullptr;
    const gemm::TracedLaunch traced = gemm::launch_traced(lesson, p, plan.get());
    Json json = gemm::traced_json(lesson, w.shape(), seed, sm, traced);
    result.error = traced.error;
    result.findings = json["findings"];
    if (traced.error.empty()) {
        result.verdict = verifier.check(w.download_c(), &lesson);
        json["verdict"] = gemm::verdict_json(*result.verdict);
    }
    return {std::move(json), std::move(result)};
}

#else

/// The times of all lessons of the list that run here, and as a case what is wrong with the learner's.
std::pair<Json, gemm::CaseResult> time_all(const gemm::Device& device, const Settings& s,
                                           const std::function<void(const std::string&)>& progress) {
    std::vector<const Lesson*> lessons;
    Json times = Json::array();
    for (const Lesson* const* lesson = gemm_checked; *lesson != nullptr; ++lesson) {
        if (const std::string why = gemm::why_skipped(**lesson, device); !why.empty()) {
            std::fprintf(stderr, "%s\n", why.c_str());
            continue;
        }
        lessons.push_back(*lesson);
    }
    gemm::MeasureOptions options;
    options.timing = true;
    options.rounds = s.rounds;
    options.progress = [&](int, const std::string& next) { progress(next); };
    const std::vector<gemm::Outcome> outcomes =
        gemm::Measurer(device).measure(lessons, *s.time, s.seed, options);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const gemm::Outcome& outcome = outcomes[i];
        Json entry = {{"name", lessons[i]->name},
                      {"m", s.time->M},
                      {"n", s.time->N},
                      {"k", s.time->K},
                      {"passed", outcome.passed()},
                      {"failure", outcome.error.empty() ? outcome.verdict.failure : outcome.error}};
        if (outcome.speed) entry.update(gemm::speed_json(*outcome.speed));
        times.push_back(std::move(entry));
    }
    gemm::CaseResult result;
    result.problem = {"time", "the shape that is timed", *s.time, false};
    result.seed = s.seed;
    result.error = outcomes.front().error;
    if (result.error.empty()) result.verdict = outcomes.front().verdict;
    result.device_lost = outcomes.front().device_lost;
    return {std::move(times), std::move(result)};
}

#endif

int run(const Settings& s) {
    const auto start = std::chrono::steady_clock::now();
    const Lesson& lesson = *gemm_checked[0];
    gemm::require_sound(lesson);
    const gemm::Device device = gemm::select_device(0, s.like);
    if (const std::string why = gemm::why_skipped(lesson, device); !why.empty()) throw Error(why);

    int done = 0, total = 1;
    const auto progress = [&](const std::string& next) {
        std::fprintf(stderr, "progress %d %d %s\n", done, total, next.c_str());
        std::fflush(stderr);
    };
    const bool more = s.goal || s.time;
    std::vector<gemm::CaseResult> results =
        gemm::climb(lesson, s.seed, [&](int finished, int of, const std::string& next) {
            done = finished;
            total = of + (more ? 1 : 0);
            progress(next);
        });
    bool passed = results.back().passed();
    Json traced, times;
    if (passed && more) {
        ++done;
#ifdef GEMM_CPU_DEVICE
        progress("counting accesses at " + s.goal->text());
        auto [json, result] = trace_goal(lesson, *s.goal, s.seed, device.sm);
        traced = std::move(json);
#else
        auto [json, result] = time_all(device, s, progress);
        times = std::move(json);
#endif
        passed = result.passed();
        if (!passed) results.push_back(std::move(result));
    }
    done = total;
    progress("done");

    Json cases = Json::array();
    for (const gemm::CaseResult& result : results) cases.push_back(gemm::case_json(result));
    const Json json = {
        {"schema", 1},
        {"name", lesson.name},
        {"device", device.kind},
        {"device_name", device.name},
        {"seed", s.seed},
        {"like", "sm_" + std::to_string(device.sm)},
        {"tile", {{"BM", lesson.tile.BM}, {"BN", lesson.tile.BN}, {"BK", lesson.tile.BK}}},
        {"cases", std::move(cases)},
        {"passed", passed},
        {"trace", std::move(traced)},
        {"times", std::move(times)},
        {"seconds", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()}};
    if (s.output.empty()) {
        gemm::print(gemm::to_text(json));
    } else {
        gemm::write_file(s.output, gemm::to_text(json));
    }
    return passed ? gemm::kRight : gemm::kWrong;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_check", [&]() -> int {
        Settings settings;
        if (const std::optional<int> status = read_options(argc, argv, settings)) return *status;
        return run(settings);
    });
}
