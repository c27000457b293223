#include "common/program/harness.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <utility>

#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/facts.hpp"
#include "common/measure/device.hpp"
#include "common/measure/measure.hpp"
#include "common/program/batch_options.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"

namespace gemm {
namespace {

struct Settings {
    Shape shape;
    std::uint64_t seed = fresh_seed(), schedule = 0;
    int device = 0, rounds = 0, patience = 0;
    std::string like, describe, folder, architectures;
    bool verify_only = false, json = false;
};

/// Throws Error.
Settings read_options(int argc, char** argv, const Lesson& lesson) {
    Settings s;
    s.shape.M = s.shape.N = s.shape.K = kDeviceTimes ? 4096 : 256;
    const std::string size = std::to_string(s.shape.M);
    std::string variant, dtype;
    const Shape usual = s.shape;
    BatchOptions batch;
    std::optional<int> patience;
    std::vector<Option> options;
    options.push_back({"--m", &s.shape.M, "rows of A and C [" + size + "]"});
    options.push_back({"--n", &s.shape.N, "columns of B and C [" + size + "]"});
    options.push_back({"--k", &s.shape.K, "columns of A, rows of B [" + size + "]"});
    options.push_back(
        {"--lda", &s.shape.lda, "row pitch of A in elements, at least K (M where A is transposed) [that]"});
    options.push_back(
        {"--ldb", &s.shape.ldb, "row pitch of B in elements, at least N (K where B is transposed) [that]"});
    options.push_back({"--ldc", &s.shape.ldc, "row pitch of C in elements, at least N [N]"});
    const auto any = [&](const auto& has) {
        return std::any_of(lesson.variants.begin(), lesson.variants.end(),
                           [&](const Offer& offer) { return has(offer.variant); });
    };
    if (any([](const Variant& v) { return v.group != 0; }))
        options.push_back({"--lds", &s.shape.lds, "row pitch of the scales in elements, at least N [N]"});
    if (any([](const Variant& v) { return v.residual; }))
        options.push_back({"--ldr", &s.shape.ldr, "row pitch of the residual in elements, at least N [N]"});
    if (any([](const Variant& v) { return v.D.has_value(); }))
        options.push_back({"--ldd", &s.shape.ldd, "row pitch of D in elements, at least N [N]"});
    if (any([](const Variant& v) { return v.batch != Batch::one; }))
        for (const Option& option : batch.options()) options.push_back(option);
    if (any([](const Variant& v) { return v.batch == Batch::strided; })) {
        options.push_back(
            {"--stride-a", &s.shape.stride_a, "elements from one A to the next [lda times its rows]"});
        options.push_back(
            {"--stride-b", &s.shape.stride_b, "elements from one B to the next [ldb times its rows]"});
        options.push_back({"--stride-c", &s.shape.stride_c, "elements from one C to the next [M*ldc]"});
        options.push_back({"--stride-d", &s.shape.stride_d, "elements from one D to the next [M*ldd]"});
    }
    options.push_back({"--alpha", &s.shape.alpha, "factor of A*B [1]", "FLOAT"});
    options.push_back({"--beta", &s.shape.beta, "factor of the old C; 0 does not read it [0]", "FLOAT"});
    options.push_back(
        {"--variant", &variant,
         "types, layout and what is fused, of " + offered(lesson) + " [" + text(lesson.variant()) + "]",
         "VARIANT"});
    options.push_back({"--dtype", &dtype, "in short: one type for A, B and C", "TYPE"});
    options.push_back({"--seed", &s.seed, "seed of the inputs [a fresh one]"});
    options.push_back({"--device", &s.device, "which device, counted from 0 [0]"});
    if (!kDeviceTimes) {
        options.push_back({"--like", &s.like, "whose launch limits hold, such as sm_86 [sm_90]", "SM"});
        options.push_back(schedule_option(s.schedule));
    }
    options.push_back({"--rounds", &s.rounds, "rounds of timing; 0 chooses by cost [0]"});
    if (kDeviceTimes) {  // the CPU device finds out itself
        options.push_back(
            {"--patience", &patience, "seconds until a kernel is given up; 0: never [by size]"});
    }
    options.push_back({"--verify-only", &s.verify_only, "do not time"});
    options.push_back({"--json", &s.json, "print one JSON object"});
    // For the build, which makes lessons.json of it.
    options.push_back(
        {"--describe", &s.describe, "only write what the descriptor says there, as JSON", "FILE"});
    options.push_back({"--folder", &s.folder, "with --describe: where the lesson's files are", "FOLDER"});
    options.push_back({"--architectures", &s.architectures,
                       "with --describe: what the kernel was compiled for, where that is one alone", "SM"});
    parse_options(
        lesson.name,
        std::string(lesson.name) +
            ": C = alpha*op(A)*op(B) + beta*C, op(A) MxK, op(B) KxN, C MxN, row-major; verified" +
            (kDeviceTimes ? ", and timed against cuBLAS." : " on the CPU device, which does not time."),
        options, argc, argv);

    s.shape.variant = variant_option(variant, dtype).value_or(lesson.variant());
    (void)with_variant(lesson, s.shape.variant);  // which it takes, or an Error before that of a pitch
    s.shape = batch.of(s.shape, usual);
    if (kDeviceTimes) s.patience = patience.value_or(patience_of(s.shape));
    return s;
}

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, pattern);
    std::vsnprintf(text, sizeof text, pattern, arguments);
    va_end(arguments);
    return text;
}

/// Why there is no time; empty when there is one or none was asked for.
std::string why_no_time(const Settings& s, const Outcome& outcome) {
    if (!outcome.untimed.empty()) return outcome.untimed;
    if (!kDeviceTimes) return "The CPU device verifies; it does not time.";
    if (s.verify_only) return "";
    return "Nothing to time: there is no multiply-add in it.";
}

/// How the kernel divides the problem.
std::string tiling_line(const Tiling& t) {
    return format("tiles  %dx%d of C, K in %d slice%s, in steps of %d; %u blocks, %d per SM\n", t.tile.BM,
                  t.tile.BN, t.slices, t.slices == 1 ? "" : "s", t.tile.BK, t.blocks,
                  blocks_per_sm(t.kernel, t.block, t.dynamic_shared_bytes));
}

/// What a person reads.
std::string report(const Lesson& lesson, const Settings& s, const Device& device, const Outcome& outcome) {
    const Verdict& v = outcome.verdict;
    std::string text = std::string(lesson.name) + "  " + s.shape.text() + "  on " + device.name + "\n";
    if (!v.passed) {
        text += "WRONG  " + v.failure;  // names the seed
        return text.back() == '\n' ? text : text + "\n";
    }
    text += format("right  %" PRId64
                   " elements checked, error at most %.3g of the bound, RMS %.3g (limit %.3g), seed %" PRIu64
                   "\n",
                   v.checked, v.error_over_bound, v.rms_error, v.rms_limit, s.seed);
    if (outcome.speed) {
        const Speed& speed = *outcome.speed;
        const Timing& t = speed.timing;
        text += format("time   %.4g ms (p10 %.4g, p90 %.4g; %d rounds, %s cache): %.4g TFLOP/s", t.ms_median,
                       t.ms_p10, t.ms_p90, t.rounds, speed.cold ? "cold" : "warm", speed.tflops);
        if (!timeable(s.shape)) text += ", with alpha = 1, beta = 0";
        text += format("\nratio  %.4g of %s (%.4g ms, ", t.ratio, speed.baseline.c_str(),
                       speed.baseline_timing.ms_median) +
                speed.baseline_kernel + ")\n";
        if (t.sm_clock_mhz > 0.0) text += format("clock  %.0f MHz", t.sm_clock_mhz);
        if (t.sm_clock_mhz > 0.0 && t.power_w > 0.0) text += format(", %.0f W", t.power_w);
        if (t.sm_clock_mhz > 0.0) text += "\n";
    } else if (const std::string why = why_no_time(s, outcome); !why.empty()) {
        text += "time   " + why + "\n";
    }
    if (const auto tiling = tiling_of(lesson, s.shape.problem())) text += tiling_line(*tiling);
    const Resources r = resources(lesson);
    text += format("block  %d threads", r.threads_per_block);
    if (r.registers >= 0) text += format(", %d registers a thread", r.registers);
    if (r.local_bytes > 0) text += format(" and %d bytes of local memory", r.local_bytes);
    text += format(", %zu bytes of shared memory", r.static_shared_bytes + r.dynamic_shared_bytes);
    if (r.blocks_per_sm >= 0) text += format(", %d blocks per SM", r.blocks_per_sm);
    return text + "\n";
}

std::string json_report(const Lesson& lesson, const Settings& s, const Device& device,
                        const Outcome& outcome) {
    const Shape& shape = s.shape;
    Json json = {{"lesson", lesson.name},
                 {"variant", text(lesson.variant())},
                 {"device", device_json(device)},
                 {"m", shape.M},
                 {"n", shape.N},
                 {"k", shape.K}};
    for (const Operand& o : operands(shape.problem())) {
        if (o.pitch_name != nullptr) json[o.pitch_name] = o.pitch;
        if (o.stride_name != nullptr) json[o.stride_name] = o.stride;
    }
    json["batch"] = shape.batch;
    json["groups"] = groups_json(shape);
    json["alpha"] = shape.alpha;
    json["beta"] = shape.beta;
    json["seed"] = s.seed;
    json["verdict"] = verdict_json(outcome.verdict);
    const auto tiling = tiling_of(lesson, shape.problem());
    if (tiling) json["tiling"] = tiling_json(*tiling);
    json["resources"] = resources_json(resources(lesson));
    json["time"] = outcome.speed ? speed_json(*outcome.speed) : Json(nullptr);
    return to_text(json);
}

/// Writes what lessons.json says of the lesson. Throws Error where CMakeLists.txt has it compiled for other
/// architectures than its descriptor names.
void describe(const Lesson& lesson, const Settings& s) {
    for (const Offer& offer : lesson.variants) {
        const std::string exactly = offer.architectures.exactly != nullptr ? offer.architectures.exactly : "";
        if (exactly == s.architectures) continue;
        const auto named = [](const std::string& sm) {
            return sm.empty() ? "no architecture alone" : "sm_" + sm;
        };
        throw Error(std::string(lesson.name) + "'s descriptor names " + named(exactly) + " for " +
                    text(offer.variant) + ", and gemm_lesson() in CMakeLists.txt " + named(s.architectures) +
                    "; make them the same.");
    }
    Json json = lesson_json(lesson);
    json["folder"] = s.folder;
    write_file(s.describe, to_text(json));
}

/// Verification of what was asked for, and the timing.
Outcome measure(const Lesson& lesson, const Settings& s, const Device& device) {
    // One line that overwrites itself, for a person who waits; gone before the report.
    const bool show = !s.json && isatty(STDERR_FILENO) == 1;
    MeasureOptions options;
    options.timing = !s.verify_only;
    options.rounds = s.rounds;
    options.patience = s.patience;
    if (show) {
        options.progress = [](int, const std::string& next) {
            std::fprintf(stderr, "\r\033[K%s …", next.c_str());
            std::fflush(stderr);
        };
    }
    struct ClearLine {
        bool shown;
        ~ClearLine() {
            if (shown) std::fputs("\r\033[K", stderr);
        }
    } const clear{show};

    Measurer measurer(device);
    Outcome outcome = measurer.measure({&lesson}, s.shape, s.seed, options).front();
    Shape plain = s.shape;
    plain.alpha = 1.0f;
    plain.beta = 0.0f;
    const bool missing = outcome.passed() && !outcome.speed && outcome.untimed.empty();
    if (missing && options.timing && kDeviceTimes && timeable(plain)) {
        // Times are taken with alpha = 1, beta = 0, on inputs of their own that are verified as well.
        Outcome timed = measurer.measure({&lesson}, plain, s.seed, options).front();
        if (!timed.passed()) return timed;
        outcome.speed = std::move(timed.speed);
        outcome.untimed = std::move(timed.untimed);
    }
    return outcome;
}

}  // namespace

int lesson_main(int argc, char** argv, const Lesson& offered_lesson) {
    return run_program(offered_lesson.name, [&]() -> int {
        const Settings settings = read_options(argc, argv, offered_lesson);
        if (!settings.describe.empty()) {
            describe(offered_lesson, settings);
            return kRight;
        }
        const Lesson lesson = with_variant(offered_lesson, settings.shape.variant);
        const Device device = select_device(settings.device, settings.like, settings.schedule);
        if (const std::string why = why_skipped(lesson, device); !why.empty()) throw Error(why);
        const Outcome outcome = measure(lesson, settings, device);
        if (!outcome.error.empty()) throw Fault(outcome.fault, outcome.error);
        print((settings.json ? json_report : report)(lesson, settings, device, outcome));
        return outcome.verdict.passed ? kRight : kWrong;
    });
}

}  // namespace gemm
