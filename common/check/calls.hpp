// A lesson's own functions, called as the host of a GPU calls them.
#pragma once

#include <string>

#include "common/gemm.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

namespace gemm {

/// Runs `code`, which is called `what`. Throws Fault where it touches device memory, on the CPU device.
template <class Code>
void as_host(const char* what, const Code& code) {
#ifdef GEMM_CPU_DEVICE
    cpu_device::run_on_host(what, code);
#else
    (void)what;
    code();
#endif
}

/// What the lesson's prepare() makes of the problem; nullptr where it has none.
inline Plan prepared(const Lesson& lesson, const Problem& p) {
    Plan plan;
    if (lesson.prepare != nullptr) {
        as_host("prepare()",
                [&] { plan = lesson.way ? lesson.choosing->prepare(p, *lesson.way) : lesson.prepare(p); });
    }
    return plan;
}

/// The lesson's launch().
inline void launch(const Lesson& lesson, const Problem& p, const void* plan, cudaStream_t stream) {
    as_host("launch()", [&] { lesson.launch(p, plan, stream); });
}

/// Why a launch was refused that cudaPeekAtLastError() still speaks of, with its numbers, as a clause; empty
/// where nobody knows, as on a GPU.
inline std::string why_refused() {
#ifdef GEMM_CPU_DEVICE
    return cpu_device::refusal();
#else
    return {};
#endif
}

}  // namespace gemm
