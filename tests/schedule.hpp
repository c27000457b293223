// What a seed decides on the CPU device.
#pragma once

#include <cstdint>

#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

namespace test {

/// What the CPU device does while it lives, where a GPU may do one thing or another.
struct Schedule {
    explicit Schedule([[maybe_unused]] std::uint64_t seed) {
#ifdef GEMM_CPU_DEVICE
        cpu_device::set_schedule_seed(seed);
#endif
    }
    Schedule(const Schedule&) = delete;
    Schedule& operator=(const Schedule&) = delete;
    ~Schedule() {
#ifdef GEMM_CPU_DEVICE
        cpu_device::set_schedule_seed(0);
#endif
    }
};

}  // namespace test
