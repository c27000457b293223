// gemm_bench: verifies every lesson at every size and times those that are right against cuBLAS, in one
// process: lessons with one variant together, against the baseline of that variant. Its JSON is what ./gemm
// chart records, or the one lesson that took the device down or did not end ("lost"). Progress goes to stderr
// as lines "progress <done> <total> <text>". The list of lessons is linked to it: the course's, or the
// variants that ./gemm autotune makes.

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/check/variant.hpp"
#include "common/check/workload.hpp"
#include "common/error.hpp"
#include "common/measure/device.hpp"
#include "common/measure/measure.hpp"
#include "common/measure/stats.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#ifndef GEMM_CPU_DEVICE
#include "common/measure/nvml.hpp"
#endif

namespace {

using gemm::Error;
using gemm::Json;
using gemm::Lesson;
using gemm::Shape;

// Of a lesson, its choice included. Each has a workspace for every copy of the problem, all at the same time.
constexpr std::size_t kMostWays = 31;
constexpr const char* kDefaultSizes = gemm::kDeviceTimes ? "256,512,1024,2048,4096" : "64,100x77x51";

struct Settings {
    std::vector<Lesson> lessons;  // in course order, each with the variant that it runs with chosen
    std::vector<Lesson> others;   // the same lessons with every other variant that they take
    std::vector<Shape> sizes;
    std::vector<Shape> variant_sizes;  // of `sizes`, where `others` are measured
    std::size_t large = 0;             // so many sizes at the end are for fast lessons alone
    std::uint64_t seed = gemm::fresh_seed(), schedule = 0;
    int device = 0, rounds = 0;
    std::int64_t batch = -1;                 // problems, of variants that are batches; else as usual
    std::int64_t lda = 0, ldb = 0, ldc = 0;  // 0: no padding
    std::optional<int> patience;             // for every size; else by size
    bool verify_only = false, energy = false, brief = false, ways = false;
    std::string like, output, so_far;
};

/// "01_naive,03_smem" → those lessons; empty → all of them, or all that take `variant` (none: each its
/// first).
std::vector<Lesson> chosen_lessons(const std::string& text, const std::optional<gemm::Variant>& variant) {
    const auto chosen_of = [&](const Lesson& lesson) {
        return variant ? gemm::with_variant(lesson, *variant) : lesson;
    };
    std::vector<Lesson> chosen;
    if (text.empty()) {
        for (const Lesson* lesson : gemm::all_lessons()) {
            if (!variant || gemm::offers(*lesson, *variant)) chosen.push_back(chosen_of(*lesson));
        }
        if (chosen.empty()) throw Error("No lesson takes " + gemm::text(*variant) + ".");
        return chosen;
    }
    for (const std::string& name : gemm::comma_separated("--lessons", text)) {
        const Lesson& lesson = gemm::lesson_named(name);
        if (std::any_of(chosen.begin(), chosen.end(), [&](const Lesson& l) { return name == l.name; })) {
            throw Error("--lessons names " + name + " twice.");
        }
        chosen.push_back(chosen_of(lesson));
    }
    return chosen;
}

bool same_size(const Shape& a, const Shape& b) {
    return a.M == b.M && a.N == b.N && a.K == b.K;
}

/// Each lesson with each variant that it takes beside the one that is chosen.
std::vector<Lesson> other_variants(const std::vector<Lesson>& lessons) {
    std::vector<Lesson> others;
    for (const Lesson& lesson : lessons) {
        for (std::size_t i = 0; i < lesson.variants.size(); ++i) {
            if (i == lesson.chosen) continue;
            others.push_back(lesson);
            others.back().chosen = i;
        }
    }
    return others;
}

/// Throws Error where nothing that is measured is a batch.
void require_batch(const Settings& s) {
    const auto is_batch = [](const Lesson& lesson) { return lesson.variant().batch != gemm::Batch::one; };
    if (std::any_of(s.lessons.begin(), s.lessons.end(), is_batch) ||
        std::any_of(s.others.begin(), s.others.end(), is_batch))
        return;
    throw Error(
        "--batch is for variants that are batches, and no lesson here runs with one; add "
        "--variant, such as --variant bf16.strided.");
}

/// Throws Error where one of the lessons divides every problem in the same way, or does not say how else.
void require_choosing(const std::vector<Lesson>& lessons) {
    for (const Lesson& lesson : lessons) {
        if (lesson.choosing == nullptr)
            throw Error(std::string("--ways is for lessons that choose how to divide a problem, such as "
                                    "15c_wgmma and 15d_choose, and ") +
                        lesson.name + " does not.");
    }
}

/// "4096,1000x77x513" → 4096×4096×4096 and 1000×77×513 (M×N×K), added to `sizes`, which has none of them.
void add_sizes(const std::string& option, const std::string& text, std::vector<Shape>& sizes) {
    for (const std::string& size : gemm::comma_separated(option, text)) {
        const std::vector<std::int64_t> numbers = gemm::sizes("A size in " + option, size);
        if (numbers.size() != 1 && numbers.size() != 3) {
            throw Error("A size in " + option + " is one number or MxNxK, and not \"" + size + "\".");
        }
        Shape shape;
        shape.M = numbers.front();
        shape.N = numbers.size() == 3 ? numbers[1] : numbers.front();
        shape.K = numbers.back();
        (void)shape.resolved();  // an Error where it is none; pitches are the variant's business
        const auto same = [&](const Shape& s) { return same_size(s, shape); };
        if (std::any_of(sizes.begin(), sizes.end(), same)) {
            throw Error(option + " names " + shape.text() +
                        (option == "--large-sizes" ? " again." : " twice."));
        }
        sizes.push_back(shape);
    }
}

Settings read_options(int argc, char** argv) {
    Settings s;
    std::string lessons, sizes = kDefaultSizes, large, variant_sizes, variant, dtype;
    std::vector<gemm::Option> options;
    options.push_back({"--lessons", &lessons, "which, separated by commas [all]", "NAMES"});
    options.push_back({"--sizes", &sizes,
                       std::string("each one number or MxNxK, separated by commas [") + kDefaultSizes + "]",
                       "SIZES"});
    options.push_back({"--large-sizes", &large,
                       "more sizes, for lessons of which a launch takes at most 0.1 s there, going by their "
                       "time at the largest of --sizes [none]",
                       "SIZES"});
    options.push_back({"--variant-sizes", &variant_sizes,
                       "those of --sizes at which each lesson is measured with every variant that it takes, "
                       "not with its first alone [none]",
                       "SIZES"});
    options.push_back({"--variant", &variant,
                       "such as bf16 or bf16.nt, and only lessons that take it [each lesson's first]",
                       "VARIANT"});
    options.push_back({"--dtype", &dtype, "in short: one type, fp32, bf16 or fp16", "TYPE"});
    options.push_back(
        {"--batch", &s.batch, "how many problems, of variants that are batches [3, or 4 that are grouped]"});
    for (const auto& [name, pitch] :
         {std::pair("--lda", &s.lda), std::pair("--ldb", &s.ldb), std::pair("--ldc", &s.ldc)})
        options.push_back({name, pitch, "elements between the rows of that matrix [no padding]"});
    options.push_back({"--rounds", &s.rounds, "rounds of timing; 0 chooses by cost [0]"});
    options.push_back({"--seed", &s.seed, "seed of the inputs [a fresh one]"});
    options.push_back({"--verify-only", &s.verify_only, "do not time"});
    options.push_back(
        {"--ways", &s.ways,
         "also measure other ways in which each lesson could divide the problem, the 30 that it "
         "takes for the fastest; only for lessons that choose"});
    options.push_back({"--device", &s.device, "which device, counted from 0 [0]"});
    if (gemm::kDeviceTimes) {  // the CPU device finds out itself
        options.push_back(
            {"--patience", &s.patience, "seconds until a kernel is given up; 0: never [by size]"});
        options.push_back(
            {"--energy", &s.energy,
             "time loops of more than a second, 20 rounds, and say what a launch takes in joules"});
        options.push_back(
            {"--brief", &s.brief,
             "shorter samples, of 1.5 ms and not 10, for many sizes, of which the device draws and checks "
             "large ones; those that do not fit are left out"});
    } else {
        options.push_back(gemm::schedule_option(s.schedule));
        options.push_back({"--like", &s.like, "whose launch limits hold, such as sm_86 [sm_90]", "SM"});
    }
    options.push_back({"--output", &s.output, "where the JSON goes [standard output]", "FILE"});
    options.push_back({"--so-far", &s.so_far,
                       "where the JSON of the sizes that are finished is while others are measured [nowhere]",
                       "FILE"});
    gemm::parse_options("gemm_bench",
                        "Verifies every lesson at every size, and times those that are right against "
                        "cuBLAS, interleaved.",
                        options, argc, argv);
    if (s.energy && s.verify_only) throw Error("--energy needs times; leave --verify-only out.");
    if (s.energy && s.brief) throw Error("--energy times long loops; leave --brief out.");
    if (s.ways && !(large.empty() && variant_sizes.empty()))
        throw Error("--ways measures at --sizes alone; leave --large-sizes and --variant-sizes out.");
    if (s.brief && !large.empty())
        throw Error("--large-sizes are for lessons that whole samples show to be fast; leave --brief out.");
    s.lessons = chosen_lessons(lessons, gemm::variant_option(variant, dtype));
    add_sizes("--sizes", sizes, s.sizes);
    const std::size_t ordinary = s.sizes.size();
    if (!large.empty()) add_sizes("--large-sizes", large, s.sizes);
    s.large = s.sizes.size() - ordinary;
    if (!variant_sizes.empty()) {
        if (!variant.empty() || !dtype.empty())
            throw Error("--variant-sizes is for every variant; leave --variant and --dtype out.");
        s.others = other_variants(s.lessons);
        add_sizes("--variant-sizes", variant_sizes, s.variant_sizes);
        for (const Shape& shape : s.variant_sizes) {
            if (std::any_of(s.sizes.begin(), s.sizes.begin() + static_cast<std::ptrdiff_t>(ordinary),
                            [&](const Shape& other) { return same_size(shape, other); }))
                continue;
            throw Error("--variant-sizes names " + shape.text() + ", which is none of --sizes.");
        }
    }
    if (s.batch >= 0) require_batch(s);
    if (s.ways) require_choosing(s.lessons);
    gemm::check_writable(s.output);
    gemm::check_writable(s.so_far, "--so-far");
    return s;
}

/// What a block of the lesson takes; null where the device cannot give it, which its launch will say.
Json resources_or_null(const Lesson& lesson) {
    try {
        return gemm::resources_json(gemm::resources(lesson));
    } catch (const Error&) {
        (void)cudaGetLastError();
        return nullptr;
    }
}

/// What came of a lesson at one size.
struct Measured {
    const Lesson* lesson;
    gemm::Outcome outcome;
};

/// Lessons with one variant: what is measured together.
struct Group {
    gemm::Variant variant;
    std::vector<const Lesson*> lessons;
    std::vector<const Lesson*> others;  // that have another variant chosen than what they usually run with
    std::vector<std::vector<Lesson>> ways;  // of each size: lessons that divide it as they would not choose
    // Of each size, in the order of `lessons`, then `others`, then `ways`.
    std::vector<std::vector<Measured>> measured;
};

/// Those that are measured at the size with that index, which is not for fast lessons alone.
std::vector<const Lesson*> lessons_at(const Settings& s, const Group& group, std::size_t size) {
    std::vector<const Lesson*> here = group.lessons;
    if (std::any_of(s.variant_sizes.begin(), s.variant_sizes.end(),
                    [&](const Shape& other) { return same_size(s.sizes[size], other); }))
        here.insert(here.end(), group.others.begin(), group.others.end());
    for (const Lesson& lesson : group.ways[size]) here.push_back(&lesson);
    return here;
}

/// At which size and batch something was measured.
Json shape_json(const Shape& shape) {
    Json json = {{"m", shape.M}, {"n", shape.N}, {"k", shape.K}};
    if (shape.variant.batch != gemm::Batch::one) json["batch"] = shape.batch;
    if (!shape.groups.empty()) json["groups"] = gemm::groups_json(shape);
    return json;
}

/// The size as that group has it.
Shape shape_of(const Settings& s, const Shape& size, const gemm::Variant& variant) {
    Shape shape = size;
    shape.variant = variant;
    shape.lda = s.lda;
    shape.ldb = s.ldb;
    shape.ldc = s.ldc;
    shape.batch = gemm::usual_batch(variant);
    if (variant.batch != gemm::Batch::one && s.batch >= 0) shape.batch = s.batch;
    return shape.resolved();
}

/// Of a lesson that was told how to divide the problem.
Json way_json(const gemm::Way& way) {
    return {{"kernel", way.kernel}, {"slices", way.slices}};
}

/// Of a lesson that did not pass.
Json failed_json(const Lesson& lesson, const Shape& shape, const gemm::Outcome& outcome) {
    Json json = {{"lesson", lesson.name},
                 {"variant", gemm::text(lesson.variant())},
                 {"ran", outcome.error.empty()},
                 {"failure", outcome.error.empty() ? outcome.verdict.failure : outcome.error}};
    json.update(shape_json(shape));
    if (lesson.way) json["way"] = way_json(*lesson.way);  // asks nothing of a device that may be lost
    return json;
}

/// What a finished size adds to runs and failed.
void add(Json& runs, Json& failed, const Lesson& lesson, const Shape& shape, const gemm::Outcome& outcome) {
    const gemm::Verdict& v = outcome.verdict;
    if (!outcome.passed()) {
        failed.push_back(failed_json(lesson, shape, outcome));
        return;
    }
    Json run = {{"lesson", lesson.name},    {"variant", gemm::text(lesson.variant())},
                {"alpha", shape.alpha},     {"beta", shape.beta},
                {"checked", v.checked},     {"error_over_bound", v.error_over_bound},
                {"rms_error", v.rms_error}, {"rms_limit", v.rms_limit}};
    run.update(shape_json(shape));
    if (const auto tiling = gemm::tiling_of(lesson, shape.problem()))
        run["tiling"] = gemm::tiling_json(*tiling);
    if (lesson.way) run["way"] = way_json(*lesson.way);
    if (outcome.speed) run.update(gemm::speed_json(*outcome.speed));
    runs.push_back(std::move(run));
}

/// Of a lesson that ended the measuring, in the place of results.
Json lost(Json failed) {
    return {{"schema", 2}, {"lost", std::move(failed)}};
}

/// Of one that hangs on the GPU. "ran": nothing refused it.
Json hung_json(const std::string& lesson, const Shape& shape, const std::string& said) {
    Json json = {
        {"lesson", lesson}, {"variant", gemm::text(shape.variant)}, {"ran", true}, {"failure", said}};
    json.update(shape_json(shape));
    return json;
}

/// Ways of the group's lessons, but for the first, which each chooses itself.
void add_ways(const Settings& s, Group& group) {
    for (std::size_t i = 0; i < s.sizes.size(); ++i) {
        const gemm::Problem p = shape_of(s, s.sizes[i], group.variant).problem();
        if (gemm::flop_of(p) == 0.0) continue;
        for (const Lesson* lesson : group.lessons) {
            const std::vector<gemm::Way> ways = lesson->choosing->ways(p);
            for (std::size_t way = 1; way < std::min(ways.size(), kMostWays); ++way)
                group.ways[i].emplace_back(*lesson).way = ways[way];
        }
    }
}

/// The lessons that run here, by variant; those that do not, and what is known of the others, into result.
std::vector<Group> groups_of(const Settings& s, const gemm::Device& device, Json& result) {
    Json skipped = Json::array(), resources = Json::object(), lessons = Json::object();
    std::vector<Group> groups;  // in the order of their first lessons
    const auto group_of = [&](const Lesson& lesson) -> Group& {
        auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const Group& g) { return g.variant == lesson.variant(); });
        if (group == groups.end()) {
            group = groups.insert(groups.end(), Group{lesson.variant(), {}, {}, {}, {}});
            group->measured.resize(s.sizes.size());
            group->ways.resize(s.sizes.size());
        }
        return *group;
    };
    for (const Lesson& lesson : s.lessons) {
        if (const std::string why = gemm::why_skipped(lesson, device); !why.empty()) {
            std::fprintf(stderr, "%s\n", why.c_str());
            skipped.push_back({{"lesson", lesson.name}, {"reason", why}});
            continue;
        }
        resources[lesson.name] = resources_or_null(lesson);
        lessons[lesson.name] = gemm::lesson_json(lesson);
        group_of(lesson).lessons.push_back(&lesson);
    }
    for (const Lesson& lesson : s.others) {
        if (const std::string why = gemm::why_skipped(lesson, device); !why.empty()) {
            if (lessons.contains(lesson.name)) std::fprintf(stderr, "%s\n", why.c_str());
        } else {
            group_of(lesson).others.push_back(&lesson);
        }
    }
    if (s.ways) {
        for (Group& group : groups) add_ways(s, group);
    }
    result["lessons"] = std::move(lessons);
    result["resources"] = std::move(resources);
    result["skipped"] = std::move(skipped);
    return groups;
}

double multiply_adds(const Shape& s) {
    return static_cast<double>(s.M) * static_cast<double>(s.N) * static_cast<double>(s.K);
}

/// Indices of the sizes, the largest first: one that does not fit is refused before minutes have gone into
/// the others. Sizes for fast lessons come when it is known which these are.
std::vector<std::size_t> order_of(const Settings& s) {
    const std::size_t ordinary = s.sizes.size() - s.large;
    std::vector<std::size_t> order(ordinary), large(s.large);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::iota(large.begin(), large.end(), ordinary);
    const auto elements = [&](std::size_t i) {
        const Shape& shape = s.sizes[i];
        const auto of = [](std::int64_t rows, std::int64_t cols) {
            return static_cast<double>(rows) * static_cast<double>(cols);
        };
        return of(shape.M, shape.K) + of(shape.K, shape.N) + of(shape.M, shape.N);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return elements(a) > elements(b); });
    order.insert(order.begin() + 1, large.begin(), large.end());
    return order;
}

/// The group's lessons that are fast enough for a large size, by what came of them at the size `before`. Says
/// which are not.
std::vector<const Lesson*> fast_lessons(const Settings& s, const Group& group, std::size_t before,
                                        const Shape& large) {
    std::vector<const Lesson*> fast;
    std::string others;
    for (const Measured& m : group.measured[before]) {
        if (std::find(group.lessons.begin(), group.lessons.end(), m.lesson) == group.lessons.end()) continue;
        const double ms = m.outcome.speed ? m.outcome.speed->timing.ms_median : 0.0;
        if (gemm::fast_enough(ms, multiply_adds(large) / multiply_adds(s.sizes[before]))) {
            fast.push_back(m.lesson);
        } else {
            others += (others.empty() ? "" : ", ") + std::string(m.lesson->name);
        }
    }
    if (!others.empty())
        std::fprintf(stderr, "%s is for fast lessons alone; left out: %s.\n", large.text().c_str(),
                     others.c_str());
    return fast;
}

/// Steps of progress that a group takes at a size, at most.
int steps_of(const Settings& s, const Group& group, std::size_t size, bool timing) {
    const std::size_t lessons = lessons_at(s, group, size).size();
    const Shape shape = shape_of(s, s.sizes[size], group.variant);
    return lessons == 0 ? 0 : gemm::Measurer::steps(lessons, shape, timing);
}

/// `result` with what came of the sizes that are finished, in the order in which they were asked for.
Json finished_json(const Settings& s, const std::vector<Group>& groups, Json result) {
    Json runs = Json::array(), failed = Json::array();
    for (std::size_t i = 0; i < s.sizes.size(); ++i) {
        for (const Group& group : groups) {
            const Shape shape = shape_of(s, s.sizes[i], group.variant);
            for (const Measured& m : group.measured[i]) add(runs, failed, *m.lesson, shape, m.outcome);
        }
    }
    result["runs"] = std::move(runs);
    result["failed"] = std::move(failed);
    return result;
}

/// Measures every group at every size; what came of it has the order of the sizes. Sizes that were left out,
/// since they do not fit, go into `result`.
void measure(const Settings& s, const gemm::Device& device, std::vector<Group>& groups, Json& result) {
    const bool timing = gemm::kDeviceTimes && !s.verify_only;
    int total = 0, finished = 0;
    for (const Group& group : groups) {
        for (std::size_t i = 0; i < s.sizes.size(); ++i) total += steps_of(s, group, i, timing);
    }
    const auto progress = [&](int done, const std::string& text) {
        std::fprintf(stderr, "progress %d %d %s\n", done, total, text.c_str());
        std::fflush(stderr);
    };

    gemm::Measurer measurer(device);
    const std::vector<std::size_t> order = order_of(s);
    for (const std::size_t i : order) {
        for (Group& group : groups) {
            const Shape shape = shape_of(s, s.sizes[i], group.variant);
            const bool large = i >= s.sizes.size() - s.large;
            const std::vector<const Lesson*> lessons =
                large ? fast_lessons(s, group, order[0], shape) : lessons_at(s, group, i);
            gemm::MeasureOptions options;
            options.timing = timing;
            options.rounds = s.rounds;
            options.energy = s.energy;
            options.brief = s.brief;
            options.patience = s.patience.value_or(gemm::patience_of(shape));
            options.hangs = [&](const std::string& lesson, const std::string& said) {
                // (To a stream that others may hold it could not be written.)
                if (!s.output.empty())
                    gemm::write_file(s.output, gemm::to_text(lost(hung_json(lesson, shape, said))));
            };
            options.progress = [&](int done, const std::string& next) { progress(finished + done, next); };
            std::vector<gemm::Outcome> outcomes;
            try {
                if (!lessons.empty()) outcomes = measurer.measure(lessons, shape, s.seed, options);
            } catch (const gemm::TooLarge& error) {
                if (!large && !s.brief) throw;
                std::fprintf(stderr, "%s It is left out.\n", error.what());
                Json left_out = shape_json(shape);
                left_out["reason"] = error.what();
                result["left_out"].push_back(std::move(left_out));
            }
            for (const gemm::Outcome& outcome : outcomes) {  // of all lessons alike
                if (outcome.untimed.empty()) continue;
                std::fprintf(stderr, "%s: %s\n", shape.text().c_str(), outcome.untimed.c_str());
                break;
            }
            for (std::size_t j = 0; j < outcomes.size(); ++j)
                group.measured[i].push_back({lessons[j], std::move(outcomes[j])});
            if (!outcomes.empty() && group.measured[i].back().outcome.device_lost) {
                const auto& [lesson, outcome] = group.measured[i].back();
                gemm::deliver(s.output, gemm::to_text(lost(failed_json(*lesson, shape, outcome))));
                throw Error(std::string(lesson->name) + " at " + shape.text() +
                            " took the device down, so nothing was measured: " + outcome.error);
            }
            finished += steps_of(s, group, i, timing);
        }
        if (!s.so_far.empty()) gemm::write_file(s.so_far, gemm::to_text(finished_json(s, groups, result)));
    }
    progress(total, "done");
}

int run(const Settings& s) {
    const gemm::Device device = gemm::select_device(s.device, s.like, s.schedule);
    Json device_object = gemm::device_json(device);
#ifndef GEMM_CPU_DEVICE
    const double limit = gemm::Nvml().power_limit_w();
    device_object["power_limit_w"] = limit > 0.0 ? Json(limit) : Json(nullptr);
#endif

    Json result = {{"schema", 2}, {"device", std::move(device_object)}, {"seed", s.seed}};
    std::vector<Group> groups = groups_of(s, device, result);
    measure(s, device, groups, result);

    result = finished_json(s, groups, std::move(result));
    gemm::deliver(s.output, gemm::to_text(result));
    return result["failed"].empty() ? gemm::kRight : gemm::kWrong;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_bench", [&] { return run(read_options(argc, argv)); });
}
