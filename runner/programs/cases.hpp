// The cases that a learner's kernel is checked with: problems of which each has one difficulty more than
// those before. The first that comes out wrong says what the kernel cannot do yet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/gemm.hpp"
#include "common/program/report.hpp"
#include "runner/programs/earlier.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/trace/trace.hpp"
#endif

namespace gemm {

/// One problem of a check.
struct CheckCase {
    std::string id;           // of the difficulty: several cases may share it
    std::string what;         // the difficulty, as a noun: "K that is no multiple of BK"
    Shape shape;              // resolved
    bool nan_inputs = false;  // A and B hold NaN, where their types have it: whoever reads them is found out
    bool specials = false;    // some of A and B are NaN, infinite or 0
    Earlier earlier = Earlier::nothing;  // launched with this before
    int sm = 0;               // under the limits of this compute capability (CPU device); 0: the usual ones
    int multiprocessors = 0;  // of the device (CPU device); 0: as usual
    std::vector<std::uint64_t> blocks = {};  // that run, and no others (CPU device); none: all
    bool untraced = false;                   // its accesses are others' already
    bool long_run = false;       // takes seconds (CPU device): it has more of them, and is not traced
    std::uint64_t schedule = 0;  // seed of what a GPU leaves open (CPU device)
};

/// The cases for a kernel with the lesson's tiles, types and paths, from the easiest on: each difficulty
/// alone, then what may go wrong where several meet. Their sizes are drawn from the seed; at most some three
/// tiles in each direction. On the CPU device each has a schedule of its own, counted from schedule_seed() on
/// unless that is 0. long_k: also a K beyond 65536 where that takes seconds, at which offsets along K
/// that have 16 bits run over. (cases.cpp)
std::vector<CheckCase> check_cases(const Lesson& lesson, std::uint64_t seed, bool long_k = false);

/// What decides a grade beside those: every remainder of M, N and K by the tile, each number of k-tiles up to
/// twice the ring's, each number of steps behind them, and one K beyond 1024. All of them for each seed, so
/// that nobody passes by handing in again.
std::vector<CheckCase> remainder_cases(const Lesson& lesson, std::uint64_t seed);

/// Its matrices on the device, C as it is before a kernel runs; for the first launch, where there are two.
Workload workload_of(const CheckCase& problem, std::uint64_t seed);
/// Of the numbers of the first of two launches; the second has those of `seed`.
std::uint64_t first_seed(std::uint64_t seed);

/// c and breach, which the workload said after the launch, held against what should have come out. Where only
/// some blocks ran, what was not written is not looked at: which block computes what is the kernel's affair.
/// But block 524288 must not do the work of block 0, nor, where there is a block for each tile, none at all
/// (`a_tile_each`). name, lesson, owner: as in Verifier::check().
Verdict marked(const CheckCase& problem, const Workload& w, Elements c, const std::string& breach,
               const std::string& name, const Lesson* lesson, const OwnerOf& owner = {},
               bool a_tile_each = false);

/// What came of one case.
struct CaseResult {
    CheckCase problem;
    std::uint64_t seed = 0;               // of the inputs
    FaultId fault = FaultId::other;       // why there is no result, where `error` is not empty
    std::string error = {};               // the same as one sentence; else empty
    std::optional<Verdict> verdict = {};  // none after an error
    Json findings = Json::array();        // the tracer's first five (CPU device)
    bool device_lost = false;             // the error has made the device unusable for this process

    bool ended_by(FaultId id) const { return !error.empty() && fault == id; }
    bool passed() const { return error.empty() && findings.empty() && verdict && verdict->passed; }
};

/// Throws Error, in one sentence, unless a kernel can be launched and each of its BM, BN, BK is from 1 to
/// 1024.
void require_sound(const Lesson& lesson);

/// Runs one case; on the CPU device it is traced. An endless loop in its kernel ends after three seconds, or
/// six if it has a barrier; one in launch() does not end. Does not throw what the lesson's code throws.
CaseResult run_case(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed);

/// The verdict alone, on either device without a trace, so that the kernel need not be compiled for one.
/// Throws Error where there is none, and what the lesson's code throws.
Verdict judge_case(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed);

#ifdef GEMM_CPU_DEVICE
/// A case, and all that was traced of it.
struct TracedCase {
    CaseResult result;
    cpu_device::trace::Report report;
    Json json;  // as traced_json() writes it, with the verdict; null after an error before the launch
};
/// As run_case(). sm: whose launch limits hold; histories: as launch_traced() takes them.
TracedCase trace_case(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed, int sm,
                      const cpu_device::trace::Histories& histories = {});
#endif

/// Told before every case: what came of those before, how many there are, and which one comes next.
using Progress =
    std::function<void(const std::vector<CaseResult>& done, std::size_t total, const CheckCase& next)>;

/// Where the second half of the cases begins: behind what is difficult alone. It takes about as long as the
/// first.
std::size_t second_half(const std::vector<CheckCase>& cases);
/// Asked before the second half: what came of all its cases, which have passed elsewhere; or nothing.
using Ahead = std::function<std::vector<CaseResult>()>;

/// Runs the cases of check_cases() up to the first that fails; the last one of the result has failed or the
/// all have passed.
std::vector<CaseResult> run_cases(const Lesson& lesson, std::uint64_t seed, const Progress& progress = {},
                                  bool long_k = false, const Ahead& ahead = {});

/// id, what, m, n, k, lda, ldb, ldc, operands (of each its name, pitch, the name of that, the tight
/// one and its offset), alpha, beta, variant, seed, passed, error, verdict (null after
/// an error), findings (as findings_json() writes them; of a race in_one_tile, too: whether it is there with
/// one tile along K).
Json case_json(const CaseResult& result);

}  // namespace gemm
