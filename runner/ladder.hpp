// The ladder that a learner's kernel goes up: problems of which each has one difficulty more than those
// before. The first that comes out wrong says what the kernel cannot do yet.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/gemm.hpp"
#include "common/report.hpp"
#include "common/verify.hpp"
#include "common/workload.hpp"

namespace gemm {

/// One problem of the ladder.
struct LadderCase {
    std::string id;           // of the difficulty: several cases may share it
    std::string what;         // the difficulty, as a noun: "K that is no multiple of BK"
    Shape shape;              // resolved
    bool nan_inputs = false;  // A and B hold NaN: whoever reads them is found out
};

/// The cases for a kernel with these tiles, from the easiest on; their sizes are drawn from the seed. At most
/// some three tiles in each direction.
std::vector<LadderCase> ladder_cases(const Tile& tile, std::uint64_t seed);

/// What came of one case.
struct CaseResult {
    LadderCase problem;
    std::uint64_t seed = 0;          // of the inputs
    std::string error;               // why there is no result, as one sentence; else empty
    std::optional<Verdict> verdict;  // none after an error
    Json findings = Json::array();   // the tracer's first five (CPU device)
    bool device_lost = false;        // the error has made the device unusable for this process

    bool passed() const { return error.empty() && findings.empty() && verdict && verdict->passed; }
};

/// Throws Error, in one sentence, unless a kernel can be launched and each of its BM, BN, BK is from 1 to
/// 1024.
void require_sound(const Lesson& lesson);

/// Runs one case. On the CPU device it runs twice: plainly, where an endless loop ends after three seconds,
/// and traced.
CaseResult run_case(const Lesson& lesson, const LadderCase& problem, std::uint64_t seed);

/// Runs the cases of ladder_cases() up to the first that fails; the last one of the result has failed or the
/// whole ladder has passed. `progress` is told how many are done, of how many, and what comes next.
std::vector<CaseResult> climb(
    const Lesson& lesson, std::uint64_t seed,
    const std::function<void(int done, int total, const std::string& next)>& progress = {});

/// id, what, m, n, k, lda, ldb, ldc, alpha, beta, seed, passed, error, verdict (null after an error),
/// findings (kind, message, file, line, count, beyond; of a race in_one_tile, too: whether it is there with
/// one tile along K).
Json case_json(const CaseResult& result);

}  // namespace gemm
