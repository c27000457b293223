// One launch of a lesson with every access traced, and the JSON that says what came of it. Only on the CPU
// device, in programs whose kernels were compiled TRACED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "common/cpu/trace.hpp"
#include "common/gemm.hpp"
#include "common/report.hpp"
#include "common/workload.hpp"

namespace gemm {

/// What a traced launch did. A deadlock, a crash or a refused launch leaves what was traced until then.
struct TracedLaunch {
    cpu_device::trace::Report report;
    std::string error;   // one sentence; empty if there was none
    double seconds = 0;  // tracing included
};

/// Launches the lesson on the problem, traced; `plan` is what its prepare() returned.
TracedLaunch launch_traced(const Lesson& lesson, const Problem& problem, const void* plan);

/// The same without tracing: what went wrong, as one sentence; empty if nothing did.
std::string launch_plain(const Lesson& lesson, const Problem& problem, const void* plan);

/// The first `most` findings: kind, message, file, line, count.
Json findings_json(const cpu_device::trace::Report& report,
                   std::size_t most = std::numeric_limits<std::size_t>::max());

/// What ./gemm inspect prints: the problem, the launch, every line's accesses, findings, totals, owners,
/// verdict (null) and error. sm: whose launch limits held.
Json traced_json(const Lesson& lesson, const Shape& shape, std::uint64_t seed, int sm,
                 const TracedLaunch& launch);

}  // namespace gemm
