// gemm_inspect with the cases of the check: --case.

#include <string>
#include <vector>

#include "common/program/options.hpp"
#include "runner/programs/cases.hpp"
#include "runner/programs/inspect.hpp"

namespace {

gemm::TracedCase trace_numbered(const gemm::Lesson& lesson, std::int64_t number, std::uint64_t seed, int sm,
                                const cpu_device::trace::Histories& histories) {
    const std::vector<gemm::CheckCase> cases = gemm::check_cases(lesson, seed);
    const std::int64_t found =
        gemm::whole_number("--case", std::to_string(number), 1, static_cast<std::int64_t>(cases.size()));
    return gemm::trace_case(lesson, cases[static_cast<std::size_t>(found - 1)], seed, sm, histories);
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::inspect_main(argc, argv, trace_numbered);
}
