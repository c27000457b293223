#include "runner/programs/cases.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "common/check/calls.hpp"
#include "common/check/operands.hpp"
#include "common/check/reference.hpp"
#include "common/check/variant.hpp"
#include "common/check/words.hpp"
#include "common/error.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#include "runner/programs/conditions.hpp"
#include "runner/programs/traced.hpp"
#endif

namespace gemm {
namespace {

constexpr std::int64_t kMostTile = 1024;

#ifdef GEMM_CPU_DEVICE
/// Whether what comes before the last launch runs in whole, and not in the case's blocks alone. Where only
/// parts of the matrices are there it could not.
bool in_last_launch(const CheckCase& problem) {
    return !problem.blocks.empty() && problem.shape.stored == Stored::whole;
}
#endif

/// One launch, or two of which the second counts, without a trace.
Verdict judged(const Lesson& lesson, Workload& w, const CheckCase& problem, std::uint64_t seed) {
#ifdef GEMM_CPU_DEVICE
    Conditions conditions(problem.sm, problem.multiprocessors, problem.blocks, problem.schedule);
    if (in_last_launch(problem))
        conditions.only_in_last(problem.blocks, launches_of([&] { run_once(lesson, w); }));
    const std::uint64_t before = cpu_device::steps().launches;
#endif
    const Problem p = w.problem(), first = earlier(p, problem.earlier);
    Plan plan = prepared(lesson, first);
    if (problem.earlier != Earlier::nothing) {
        run_once(lesson, w, first, plan.get());
        w.refill(seed);
        if (needs_own_plan(problem.earlier)) plan = prepared(lesson, p);
    }
    run_once(lesson, w, p, plan.get());
    Elements c = w.download_c();
#ifdef GEMM_CPU_DEVICE
    if (!problem.blocks.empty() && !in_last_launch(problem) && cpu_device::steps().launches - before > 1)
        c = w.host().result(w.shape().variant);
#endif
    return marked(problem, w, std::move(c), w.breach(), lesson.name, &lesson);
}

#ifdef GEMM_CPU_DEVICE

namespace trace = cpu_device::trace;

constexpr double kHangSeconds = 3;
// Of computing, that a step of one element may take untraced: more than twice what lesson 07 needs.
constexpr double kStepSeconds = 60e-9;
constexpr std::size_t kMostFindings = 5;
constexpr std::uint64_t kMostBlocks = 64;  // that are searched for the writer of an element

/// Restores what a launch was told.
struct Restore {
    ~Restore() {
        cpu_device::set_block_filter({});
        cpu_device::set_hang_seconds(60);
    }
};

/// The number of a thread in its block, or of a block in its grid, x first; and the way back.
std::uint64_t linear(uint3 at, const std::array<unsigned, 3>& of) {
    return (std::uint64_t{at.z} * of[1] + at.y) * of[0] + at.x;
}

uint3 place_in(std::uint64_t linear, const std::array<unsigned, 3>& of) {
    return {static_cast<unsigned>(linear % of[0]), static_cast<unsigned>(linear / of[0] % of[1]),
            static_cast<unsigned>(linear / of[0] / of[1])};
}

/// Whether Lesson::owner says of every element that the traced block wrote what the trace says; not where it
/// wrote none. The learner may have spread the threads otherwise.
bool owner_fits(const Lesson& lesson, const Problem& p, const trace::Report& report) {
    if (report.owners.empty()) return false;
    return std::all_of(report.owners.begin(), report.owners.end(), [&](const trace::Owned& o) {
        if (o.matrix != result_of(operands(p)).name) return true;
        const std::optional<Owner> said = owner_of(lesson, p, o.problem, o.row, o.col);
        return said && linear(said->block, report.grid) == report.owners_block &&
               linear(said->thread, report.block) == static_cast<std::uint64_t>(o.thread);
    });
}

/// Who stores C[row][col] of a problem, by tracing block after block; who should have by Lesson::owner where
/// nobody does. Nothing where that would be a guess.
std::optional<Owner> find_owner(const Lesson& lesson, const Problem& p, const void* plan,
                                const trace::Report& report, std::int64_t problem, std::int64_t row,
                                std::int64_t col) {
    std::optional<Owner> said;
    if (owner_fits(lesson, p, report)) said = owner_of(lesson, p, problem, row, col);
    const dim3& block = lesson.block();
    // Launched with other blocks than it says: where a thread is in them would be a guess.
    if (report.block != std::array<unsigned, 3>{block.x, block.y, block.z}) return std::nullopt;

    // The one that should have is tried first.
    std::vector<std::uint64_t> candidates;
    if (said && linear(said->block, report.grid) < report.blocks)
        candidates.push_back(linear(said->block, report.grid));
    for (std::uint64_t b = 0; b < std::min(report.blocks, kMostBlocks); ++b) candidates.push_back(b);
    for (const std::uint64_t candidate : candidates) {
        cpu_device::set_block_filter([&](std::uint64_t b) { return b == candidate; });
        const TracedLaunch alone = launch_traced(lesson, p, plan, kMostKept);
        cpu_device::set_block_filter({});
        for (const trace::Owned& o : alone.report.owners) {
            if (o.matrix != result_of(operands(p)).name || o.problem != problem || o.row != row ||
                o.col != col)
                continue;
            return Owner{place_in(candidate, report.grid),
                         place_in(static_cast<std::uint64_t>(o.thread), report.block)};
        }
    }
    return said;
}

/// What the lesson's prepare() makes. Throws Fault whatever it throws.
Plan plan_of(const Lesson& lesson, const Problem& p) {
    try {
        return prepared(lesson, p);
    } catch (...) {
        throw caught("prepare() of " + std::string(lesson.name) + " threw an exception");
    }
}

/// Adds to each race whether it is there with one tile along K, too. If not, the barrier that is missing
/// stands between one round of the loop over K and the next.
void tell_races_apart(const Lesson& lesson, Problem p, Json& findings) {
    const auto is_race = [](const Json& finding) { return finding["id"] == name_of(FindingId::race); };
    if (std::none_of(findings.begin(), findings.end(), is_race)) return;
    p.K = std::min<std::int64_t>(p.K, lesson.tile().BK);
    for (Group& g : p.groups) g.K = std::min<std::int64_t>(g.K, lesson.tile().BK);
    const Plan plan = plan_of(lesson, p);
    const Json alone = findings_json(launch_traced(lesson, p, plan.get(), kMostKept).report, kMostFindings);
    for (Json& finding : findings) {
        if (!is_race(finding)) continue;
        finding["in_one_tile"] = std::any_of(alone.begin(), alone.end(), [&](const Json& other) {
            return is_race(other) && other["line"] == finding["line"];
        });
    }
}

/// One launch of what would take too long with a trace.
void run_untraced(const Lesson& lesson, Workload& w, const CheckCase& problem, CaseResult& result) {
    const Restore restore;
    const double tile = static_cast<double>(lesson.tile().BM) * lesson.tile().BN;
    const double steps = tile * static_cast<double>(problem.shape.K);
    cpu_device::set_hang_seconds(std::max(kHangSeconds, kStepSeconds * steps));
    result.verdict = judged(lesson, w, problem, result.seed);
}

/// One traced launch, or two of which the second counts, and all that is to be said about it.
TracedLaunch run_on(const Lesson& lesson, Workload& w, CaseResult& result,
                    const trace::Histories& histories = {}) {
    const Restore restore;
    const CheckCase& problem = result.problem;
    Conditions conditions(problem.sm, problem.multiprocessors, problem.blocks, problem.schedule);
    cpu_device::set_hang_seconds(kHangSeconds);
    const Problem p = w.problem();
    const Problem first = earlier(p, problem.earlier);
    Plan plan = plan_of(lesson, first);
    if (in_last_launch(problem)) {
        conditions.only_in_last(problem.blocks, launches_of([&] { launch(lesson, p, plan.get(), nullptr); }));
        w.reset_c();
    }
    TracedLaunch traced = launch_traced(lesson, first, plan.get(), kMostKept, histories);
    if (needs_own_plan(problem.earlier)) plan = plan_of(lesson, p);
    if (problem.earlier != Earlier::nothing && traced.error.empty()) {
        w.refill(result.seed);
        traced = launch_traced(lesson, p, plan.get(), kMostKept, histories);
    }
    Elements c = w.download_c();  // before anything is launched again
    const std::string breach = w.breach();
    result.fault = traced.fault;
    result.error = traced.error;
    result.findings = findings_json(traced.report, kMostFindings);
    if (!problem.blocks.empty() && !in_last_launch(problem) &&
        (traced.report.launches > 1 || traced.report.set_by_host)) {
        // What others were to prepare for the blocks that run is not there: nothing is known of C, nor of
        // reads.
        c = w.host().result(w.shape().variant);
        const auto of_order = [](const Json& finding) {
            return finding["id"] == name_of(FindingId::forbidden_read);
        };
        result.findings.erase(std::remove_if(result.findings.begin(), result.findings.end(), of_order),
                              result.findings.end());
    }
    // What never ends would not end again.
    if (result.ended_by(FaultId::endless_loop)) return traced;
    tell_races_apart(lesson, p, result.findings);
    if (!result.error.empty()) return traced;
    std::int64_t tiles = 0;
    for (const Problem& one : members(p))
        tiles += ceil_div(one.M, lesson.tile().BM) * ceil_div(one.N, lesson.tile().BN);
    const OwnerOf owner = [&](std::int64_t number, std::int64_t row, std::int64_t col) {
        return find_owner(lesson, p, plan.get(), traced.report, number, row, col);
    };
    result.verdict =
        marked(problem, w, c, breach, lesson.name, &lesson, owner,
               traced.report.launches == 1 && traced.report.blocks == static_cast<std::uint64_t>(tiles));
    if (!result.verdict->passed && !problem.blocks.empty() && traced.report.launches > 1) {
        // Several launches may compute a part of C each: they are judged in whole.
        CheckCase whole = problem;
        whole.blocks.clear();
        run_untraced(lesson, w, whole, result);
    }
    if (!result.verdict->passed || !problem.blocks.empty()) return traced;
    if (Json finding = no_kernel_finding(traced.report, p); !finding.is_null()) {
        result.findings.push_back(std::move(finding));
    }
    return traced;
}

#else

void run_on(const Lesson& lesson, Workload& w, CaseResult& result) {
    result.verdict = judged(lesson, w, result.problem, result.seed);
}

#endif

/// Whatever `body` throws is the result's error.
template <class Body>
void guarded(const Lesson& lesson, CaseResult& result, const Body& body) {
    try {
        body();
        return;
    } catch (...) {
        const Fault found = caught("launch() of " + std::string(lesson.name) + " threw an exception");
        result.fault = found.id;
        result.error = found.what();
    }
    // A refused launch is forgotten by asking for it; after a wild access every further call fails.
    (void)cudaGetLastError();
    result.device_lost = cudaDeviceSynchronize() != cudaSuccess;
}

}  // namespace

void require_sound(const Lesson& lesson) {
    if (lesson.name == nullptr || lesson.launch == nullptr) {
        throw Error("The lesson at the end of the file needs a name and a launch function.");
    }
    const Tile& t = lesson.tile();
    for (const int size : {t.BM, t.BN, t.BK}) {
        if (size >= 1 && size <= kMostTile) continue;
        throw Error("BM, BN and BK of " + std::string(lesson.name) + "'s tile must be from 1 to " +
                    std::to_string(kMostTile) + ", and are " + std::to_string(t.BM) + ", " +
                    std::to_string(t.BN) + " and " + std::to_string(t.BK) + ".");
    }
    if (lesson.block().x == 0 || lesson.block().y == 0 || lesson.block().z == 0) {
        throw Error(std::string(lesson.name) + "'s block has no threads: none of its sizes may be 0.");
    }
}

Workload workload_of(const CheckCase& problem, std::uint64_t seed) {
    Workload::Edit edit;
    if (problem.specials) {
        // A row with NaN, one with an infinity that meets only zeros, and one of zeros; in B a column with
        // NaN. What comes of each of them is NaN, in whatever order it is summed up. An infinity at the end
        // of a row, or of a column, makes the results infinite, unless it is multiplied by zero behind the
        // end.
        edit = [](HostMatrices& host, const Shape& s) {
            constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
            const auto a = [&](std::int64_t row, std::int64_t k) { return host.A[s.a_at(row, k)]; };
            const auto b = [&](std::int64_t k, std::int64_t column) { return host.B[s.b_at(k, column)]; };
            a(0, s.K - 1) = kNaN;
            a(s.M / 2, 0) = std::numeric_limits<float>::infinity();
            for (std::int64_t k = 0; k < s.K; ++k) a(s.M - 1, k) = 0.0f;
            for (std::int64_t column = 0; column < s.N; ++column) b(0, column) = 0.0f;
            b(s.K / 2, s.N - 1) = kNaN;
            a(1, s.K - 1) = std::numeric_limits<float>::infinity();
            b(s.K - 1, 1) = std::numeric_limits<float>::infinity();
        };
    } else if (problem.nan_inputs) {
        edit = [](HostMatrices& host, const Shape&) {
            for (Elements* const matrix : {&host.A, &host.B, &host.scales}) {
                if (guard_tells(matrix->dtype())) matrix->fill(std::numeric_limits<float>::quiet_NaN());
            }
        };
    }
    return Workload(problem.shape, problem.earlier != Earlier::nothing ? first_seed(seed) : seed, edit);
}

std::uint64_t first_seed(std::uint64_t seed) {
    return ~seed;
}

Verdict marked(const CheckCase& problem, const Workload& w, Elements c, const std::string& breach,
               const std::string& name, const Lesson* lesson, const OwnerOf& owner, bool a_tile_each) {
    const bool windows =
        problem.shape.stored == Stored::in_rows || problem.shape.stored == Stored::in_columns;
    std::string outside = breach;
    const Verifier verifier(w);
    if (const Reference* const right = verifier.right(); right != nullptr && !problem.blocks.empty()) {
        const Shape& s = w.shape();
        const Elements& before = w.host().result(w.shape().variant);
        const auto is_written = [&](std::size_t i) { return c.bits(i) != before.bits(i); };
        bool idle = a_tile_each;
        for (std::size_t i = 0; i < c.size() && idle; ++i) idle = !is_written(i);
        for (std::int64_t i = 0; i < s.M * s.N; ++i) {
            const std::size_t at = s.result_at(i / s.N, i % s.N);
            const bool written = is_written(at);
            if (idle && (!windows || i / problem.shape.window == 1)) continue;  // it is the second's block
            if (written && windows && i < problem.shape.window && outside.empty()) {
                outside = "Block " + std::to_string(problem.blocks[0]) + " writes " +
                          (problem.shape.stored == Stored::in_rows ? "row " : "column ") + std::to_string(i) +
                          ", which is for block 0.";
            }
            if (!written) c[at] = right->value[static_cast<std::size_t>(i)];
        }
    }
    Verdict verdict = verifier.check(c, windows ? nullptr : lesson, owner);
    if (windows && verdict.first) {  // its place in the whole problem
        std::int64_t& at =
            problem.shape.stored == Stored::in_rows ? verdict.first->row : verdict.first->column;
        at = at / problem.shape.window * problem.shape.apart + at % problem.shape.window;
    }
    fail_outside(verdict, outside, name, w);
    verdict.failure = failure_text(verdict, name, problem.shape, w.seed());
    return verdict;
}

CaseResult run_case(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed) {
    CaseResult result{problem, seed};
    guarded(lesson, result, [&] {
        Workload w = workload_of(problem, seed);
        const Lesson taken = with_variant(lesson, problem.shape.variant);
#ifdef GEMM_CPU_DEVICE
        if (problem.long_run || problem.untraced) return run_untraced(taken, w, problem, result);
#endif
        run_on(taken, w, result);
    });
    return result;
}

Verdict judge_case(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed) {
    Workload w = workload_of(problem, seed);
    return judged(with_variant(lesson, problem.shape.variant), w, problem, seed);
}

#ifdef GEMM_CPU_DEVICE
TracedCase trace_case(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed, int sm,
                      const trace::Histories& histories) {
    TracedCase found{{problem, seed}, {}, {}};
    guarded(lesson, found.result, [&] {
        const Lesson taken = with_variant(lesson, problem.shape.variant);
        Workload w = workload_of(problem, seed);
        TracedLaunch traced = run_on(taken, w, found.result, histories);
        found.json = traced_json(taken, w.shape(), seed, sm, traced);
        if (found.result.verdict) found.json["verdict"] = verdict_json(*found.result.verdict);
        found.report = std::move(traced.report);
    });
    return found;
}
#endif

std::size_t second_half(const std::vector<CheckCase>& cases) {
    const auto is_product = [](const CheckCase& c) { return c.id == "products"; };
    return static_cast<std::size_t>(std::find_if(cases.begin(), cases.end(), is_product) - cases.begin());
}

std::vector<CaseResult> run_cases(const Lesson& lesson, std::uint64_t seed, const Progress& progress,
                                  bool long_k, const Ahead& ahead) {
    const std::vector<CheckCase> cases = check_cases(lesson, seed, long_k);
    const std::size_t half = second_half(cases);
    std::vector<CaseResult> results, passed;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (i == half && ahead) passed = ahead();
        if (progress) progress(results, cases.size(), cases[i]);
        results.push_back(i >= half && !passed.empty() ? passed[i - half] : run_case(lesson, cases[i], seed));
        if (!results.back().passed()) break;
    }
    return results;
}

Json case_json(const CaseResult& result) {
    const Shape& s = result.problem.shape;
    const auto operand = [&](const Operand& o) {
        return Json{{"name", o.name},
                    {"pitch_name", o.pitch_name != nullptr ? Json(o.pitch_name) : Json(nullptr)},
                    {"pitch", o.pitch},
                    {"tight", in_whole_bytes(o.type, std::max<std::int64_t>(o.cols, 1))},
                    {"stride", o.stride},
                    {"offset", s.offsets[place_of(o.id)]}};
    };
    return {{"id", result.problem.id},
            {"what", result.problem.what},
            {"m", s.M},
            {"n", s.N},
            {"k", s.K},
            {"lda", s.lda},
            {"ldb", s.ldb},
            {"ldc", s.ldc},
            {"operands", list_json(operands(s.problem()), operand)},
            {"alpha", s.alpha},
            {"beta", s.beta},
            {"variant", text(s.variant)},
            {"batch", s.batch},
            {"groups", groups_json(s)},
            {"seed", result.seed},
            {"schedule", result.problem.schedule},
            {"passed", result.passed()},
            {"error", fault_json(result.fault, result.error)},
            {"verdict", result.verdict ? verdict_json(*result.verdict) : Json(nullptr)},
            {"findings", result.findings}};
}

}  // namespace gemm
