// What gemm_inspect and a lesson's own tracer share.
#pragma once

#include <cstdint>

namespace cpu_device::trace {
struct Histories;
}

namespace gemm {

struct Lesson;
struct TracedCase;

/// Traces the check's case of that number, from 1, for the seed. sm: whose launch limits hold. Throws Error.
using TraceNumbered = TracedCase (*)(const Lesson& lesson, std::int64_t number, std::uint64_t seed, int sm,
                                     const cpu_device::trace::Histories& histories);

/// What main() of a program that traces a lesson does. trace_numbered: null in one that has no cases.
int inspect_main(int argc, char** argv, TraceNumbered trace_numbered);

}  // namespace gemm
