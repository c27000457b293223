// What a seed decides on the CPU device.
#pragma once

#include <cstdint>

#include "common/error.hpp"
#include "tests/catch.hpp"

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

/// Requires that the mistake of that number shows under each of the seeds: as an error, or by elements that
/// are wrong.
template <class WrongElements>
void require_shown(int mistake, std::uint64_t seeds, const WrongElements& wrong_elements) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const Schedule schedule(seed);
        INFO("mistake " << mistake << ", seed " << seed);
        bool shows = false;
        try {
            shows = wrong_elements() > 0;
        } catch (const gemm::Error&) {
            shows = true;
        }
        CHECK(shows);
    }
}

}  // namespace test
