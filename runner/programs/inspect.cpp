// gemm_inspect: runs one lesson on the CPU device with every access traced, and says what each line of its
// kernel did to memory and what is wrong with it. Its JSON is what ./gemm inspect shows.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/check/calls.hpp"
#include "common/check/variant.hpp"
#include "common/check/verify.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/overruns.hpp"
#include "common/cpu/execution/tolerance.hpp"
#include "common/cpu/trace/trace.hpp"
#include "common/error.hpp"
#include "common/measure/device.hpp"
#include "common/program/batch_options.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/cases.hpp"
#include "runner/programs/history_json.hpp"
#include "runner/programs/inspect.hpp"
#include "runner/programs/traced.hpp"

namespace {

namespace trace = cpu_device::trace;
using gemm::Error;
using gemm::Json;

struct Settings {
    std::optional<gemm::Lesson> lesson;  // with the variant that was asked for
    gemm::Shape shape{.M = 128, .N = 128, .K = 128};
    std::uint64_t seed = gemm::fresh_seed(), schedule = 0;
    std::int64_t blocks = 0;      // 0: all
    std::int64_t history = 0;     // blocks
    std::int64_t patience = 0;    // seconds; 0: the kernel is one that ends
    std::int64_t check_case = 0;  // its number, from 1; 0: the shape above
    bool tolerant = false, in_step = false, least_aligned = false;
    std::string like, before, output;
};

Settings read_options(int argc, char** argv) {
    Settings s;
    std::string lesson, blocks = "all", variant, dtype;
    const gemm::Shape usual = s.shape;
    gemm::BatchOptions batch;
    const bool several = gemm::all_lessons().size() > 1;
    std::vector<gemm::Option> options;
    options.push_back({"--lesson", &lesson, "which, if there are several", "NAME", several});
    options.push_back({"--m", &s.shape.M, "rows of A and C [128]"});
    options.push_back({"--n", &s.shape.N, "columns of B and C [128]"});
    options.push_back({"--k", &s.shape.K, "columns of A, rows of B [128]"});
    options.push_back({"--lda", &s.shape.lda, "elements between rows of A as it is stored [no padding]"});
    options.push_back({"--ldb", &s.shape.ldb, "the same of B [no padding]"});
    options.push_back({"--ldc", &s.shape.ldc, "the same of C [no padding]"});
    for (const gemm::Option& option : batch.options()) options.push_back(option);
    options.push_back({"--alpha", &s.shape.alpha, "C = alpha A B + beta C [1]", "FLOAT"});
    options.push_back({"--beta", &s.shape.beta, "C = alpha A B + beta C [0]", "FLOAT"});
    options.push_back(
        {"--variant", &variant, "types and layout, such as bf16 or bf16.nt [the lesson's first]", "VARIANT"});
    options.push_back({"--dtype", &dtype, "in short: one type, fp32, bf16 or fp16", "TYPE"});
    options.push_back({"--seed", &s.seed, "seed of the inputs [a fresh one]"});
    options.push_back({"--blocks", &blocks, "how many blocks to trace, spread over the grid, or all [all]"});
    options.push_back({"--history", &s.history, "of how many blocks to keep all that they do, in order [0]"});
    options.push_back(
        {"--patience", &s.patience,
         "of a kernel that may not end: seconds that a thread may run without meeting another [60]", "INT",
         false, 1});
    options.push_back({"--tolerant", &s.tolerant,
                       "go on where the manuals leave undefined what a GPU of today lets pass, and say so",
                       ""});
    options.push_back({"--in-step", &s.in_step,
                       "the lanes of a warp go through shared memory together, where none has branched off",
                       ""});
    options.push_back(
        {"--least-aligned", &s.least_aligned,
         "dynamic shared memory begins at a multiple of what the kernels declare and of no more", ""});
    options.push_back({"--case", &s.check_case,
                       "the check's case with that number for the seeds, instead of sizes and scalars [none]",
                       "INT", false, 1});
    options.push_back(gemm::schedule_option(s.schedule));
    options.push_back({"--like", &s.like, "whose launch limits hold, such as sm_86 [sm_90]", "SM"});
    options.push_back(
        {"--before", &s.before, "the lesson to compare with, for who reads the JSON [none]", "NAME"});
    options.push_back({"--output", &s.output, "where the JSON goes [standard output]", "FILE"});
    gemm::parse_options("gemm_inspect", "Traces every access of one lesson's kernel on the CPU device.",
                        options, argc, argv);

    s.lesson = lesson.empty() && !several ? *gemm::all_lessons().front() : gemm::lesson_named(lesson);
    if (const std::optional<gemm::Variant> asked = gemm::variant_option(variant, dtype)) {
        s.lesson = gemm::with_variant(*s.lesson, *asked);
    }
    s.shape.variant = s.lesson->variant();
    s.shape = batch.of(s.shape, usual);
    if (blocks != "all") s.blocks = gemm::whole_number("--blocks", blocks, 1);
    gemm::check_writable(s.output);
    return s;
}

/// While one lives, who calls exit() is the kernel's file: then the program says so.
class OthersCode {
  public:
    OthersCode() {
        static const int registered = std::atexit(told);
        (void)registered;
        runs = true;
    }
    OthersCode(const OthersCode&) = delete;
    OthersCode& operator=(const OthersCode&) = delete;
    ~OthersCode() { runs = false; }

  private:
    static void told() {
        if (!runs) return;
        (void)std::fflush(nullptr);  // what the file's code has said comes first, on lines of its own
        const std::string call = cpu_device::last_failed_call();
        std::fprintf(stderr, "\ngemm_inspect: The file's own code ended the program by exit(); %s.\n",
                     (call.empty() ? "no CUDA call had failed" : "the last CUDA call that failed was " + call)
                         .c_str());
        std::_Exit(gemm::kCouldNotRun);
    }
    static inline bool runs = false;
};

/// `count` blocks of `total`: the first, the last, and others at even distances.
std::set<std::uint64_t> spread(std::uint64_t count, std::uint64_t total) {
    std::set<std::uint64_t> chosen;
    for (std::uint64_t i = 0; i < count; ++i) chosen.insert(count == 1 ? 0 : i * (total - 1) / (count - 1));
    return chosen;
}

/// A case of the check, as the check runs it.
int run_case(const Settings& s, int sm, gemm::TraceNumbered trace_numbered) {
    if (trace_numbered == nullptr) throw Error("--case is for a program that has the cases of a check.");
    cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
    gemm::TracedCase found =
        trace_numbered(*s.lesson, s.check_case, s.seed, sm, {.blocks = static_cast<std::size_t>(s.history)});
    if (found.json.is_null()) throw Error(found.result.error);
    found.json["before"] = nullptr;
    gemm::deliver(s.output, gemm::to_text_with(found.json, gemm::history_json(found.report)));
    return found.result.passed() ? gemm::kRight : gemm::kWrong;
}

int run(const Settings& s, gemm::TraceNumbered trace_numbered) {
    const gemm::Device device = gemm::select_device(0, s.like, s.schedule);
    if (const std::string why = gemm::why_skipped(*s.lesson, device); !why.empty()) throw Error(why);
    if (s.check_case > 0) return run_case(s, device.sm, trace_numbered);
    std::fprintf(stderr, "progress 0 100 inputs and reference\n");
    if (s.patience > 0) cpu_device::set_hang_seconds(static_cast<double>(s.patience));
    gemm::Workload w(s.shape, s.seed);
    std::optional<gemm::Verifier> verifier;
    if (s.blocks == 0) verifier.emplace(w);

    const gemm::Problem p = w.problem();
    std::optional<OthersCode> others(std::in_place);
    const gemm::Plan plan = gemm::prepared(*s.lesson, p);
    std::set<std::uint64_t> chosen;
    if (s.blocks > 0) {
        // How many blocks the grid has is the lesson's business: a launch without any of them tells.
        cpu_device::set_block_filter([](std::uint64_t) { return false; });
        trace::begin({});
        gemm::launch(*s.lesson, p, plan.get(), nullptr);
        const std::uint64_t total = trace::end().blocks;
        chosen = spread(std::min(static_cast<std::uint64_t>(s.blocks), total), total);
        cpu_device::set_block_filter([&](std::uint64_t block) { return chosen.contains(block); });
    }
    cpu_device::set_progress([](std::uint64_t done, std::uint64_t total) {
        std::fprintf(stderr, "progress %d 100 tracing\n", static_cast<int>(100 * done / total));
    });

    cpu_device::set_tolerant(s.tolerant);
    cpu_device::set_lanes_in_step(s.in_step);
    cpu_device::set_least_aligned(s.least_aligned);
    const trace::Histories histories{.blocks = static_cast<std::size_t>(s.history), .among = chosen};
    const std::size_t most_steps = s.patience > 0 ? gemm::kMostKept : std::numeric_limits<std::size_t>::max();
    const gemm::TracedLaunch traced = gemm::launch_traced(*s.lesson, p, plan.get(), most_steps, histories);
    others.reset();
    cpu_device::set_block_filter({});
    cpu_device::set_progress({});

    Json json = gemm::traced_json(*s.lesson, w.shape(), s.seed, device.sm, traced);
    json["before"] = s.before.empty() ? Json(nullptr) : Json(s.before);
    if (s.tolerant) {
        Json& overruns = json["overruns"] = Json::array();
        for (const cpu_device::Overrun& o : cpu_device::overruns())
            overruns.push_back({{"file", o.file},
                                {"line", o.line},
                                {"column", o.column},
                                {"array", o.array},
                                {"index", o.index ? Json(*o.index) : Json(nullptr)},
                                {"where", o.where},
                                {"count", o.count}});
        json["block_dim"] = traced.report.block;
        Json& undefined = json["undefined"] = Json::array();
        for (const cpu_device::Tolerated& t : cpu_device::tolerated())
            undefined.push_back({{"id", name_of(t.id)}, {"text", t.text}, {"count", t.count}});
    }
    bool right = traced.error.empty() && traced.report.findings.empty();
    if (verifier && traced.error.empty()) {
        const gemm::Verdict verdict = verifier->check(w.download_c(), &*s.lesson);
        json["verdict"] = gemm::verdict_json(verdict);
        right = right && verdict.passed;
    }
    std::fprintf(stderr, "progress 100 100 done\n");
    gemm::deliver(s.output, s.history > 0 ? gemm::to_text_with(json, gemm::history_json(traced.report))
                                          : gemm::to_text(json));
    return right ? gemm::kRight : gemm::kWrong;
}

}  // namespace

int gemm::inspect_main(int argc, char** argv, TraceNumbered trace_numbered) {
    return run_program("gemm_inspect", [&] { return run(read_options(argc, argv), trace_numbered); });
}
