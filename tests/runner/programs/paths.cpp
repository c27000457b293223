// Runs the check's cases with one lesson and no trace: for a kernel that is compiled so that it counts what
// of it runs (tests/python/test_paths.py). Says at which problem it is wrong.
//
// A library with main(): the test compiles the kernel and the list below, and links them with it.
#include <cstdio>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/cases.hpp"

/// Ends with a null pointer. [0] is the lesson.
extern const gemm::Lesson* const gemm_checked[];

namespace {

int run(int argc, char** argv) {
    std::uint64_t seed = 1;
    bool without_reach = false;
    gemm::parse_options(
        "gemm_paths", "Runs the cases of a check.",
        {{"--seed", &seed, "of its problems"},
         {"--without-reach", &without_reach, "as if the descriptor named no problems for paths"}},
        argc, argv);
    cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
    gemm::Lesson lesson = *gemm_checked[0];
    if (without_reach) lesson.reaching = {};
    for (const gemm::CheckCase& c : gemm::check_cases(lesson, seed)) {
        const gemm::Verdict verdict = gemm::judge_case(lesson, c, seed);
        if (verdict.passed) continue;
        throw gemm::Error(c.what + ": " + verdict.failure);
    }
    return gemm::kRight;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_paths", [&] { return run(argc, argv); });
}
