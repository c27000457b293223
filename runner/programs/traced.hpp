// One launch of a lesson with every access traced, and the JSON that says what came of it. Only on the CPU
// device, in programs whose kernels were compiled TRACED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "common/check/workload.hpp"
#include "common/cpu/trace/trace.hpp"
#include "common/gemm.hpp"
#include "common/program/report.hpp"

namespace gemm {

/// Accesses and basic blocks to keep of a thread of a kernel that may not end: 32 MiB. The largest case of a
/// check takes a thread some 2000 of them for each element of C.
constexpr std::size_t kMostKept = std::size_t{1} << 21;

/// What a traced launch did. A deadlock, a crash or a refused launch leaves what was traced until then.
struct TracedLaunch {
    cpu_device::trace::Report report;
    FaultId fault = FaultId::other;          // which, if there is an error
    std::string error;                       // one sentence; empty if there was none
    std::shared_ptr<const Autopsy> autopsy;  // of an mbarrier_hang
    double seconds = 0;                      // tracing included
};

/// Launches the lesson on the problem, traced; `plan` is what its prepare() returned. most_steps and
/// histories: as in trace::begin(). Reads of C with beta = 0 and of A and B with alpha = 0 are findings, and
/// so are writes to A and B.
TracedLaunch launch_traced(const Lesson& lesson, const Problem& problem, const void* plan,
                           std::size_t most_steps = std::numeric_limits<std::size_t>::max(),
                           const cpu_device::trace::Histories& histories = {});

/// The finding no_kernel where kernels stored fewer elements of C than it has: then something else
/// computed it. For a launch after which C is right, and had something to compute. Else null.
Json no_kernel_finding(const cpu_device::trace::Report& report, const Problem& problem);

/// The first `most` findings: id, text, access ("read", "write"), array, row, column (of a matrix, else
/// null), offset (bytes from the array's start), beyond, block, thread, file, line, count; other (null where
/// there is one access): access, thread, file, line of the earlier one.
Json findings_json(const cpu_device::trace::Report& report,
                   std::size_t most = std::numeric_limits<std::size_t>::max());

/// What ./gemm inspect prints: the problem, the launch, every line's accesses, findings, totals, owners,
/// verdict (null), and error, which holds an autopsy where nobody could go on. sm: whose launch limits held.
Json traced_json(const Lesson& lesson, const Shape& shape, std::uint64_t seed, int sm,
                 const TracedLaunch& launch);

}  // namespace gemm
