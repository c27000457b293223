// What a case of the check is run under, beside its sizes: on the CPU device alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/cpu/execution/device.hpp"

namespace gemm {

/// While it lives, the limits of a compute capability hold (0: as they are), the device has so many
/// multiprocessors (0: as many as it has), and only these blocks of a grid run (none: all of them): then it
/// has so many multiprocessors that blocks which stay do not do the work of others. What a GPU leaves open
/// goes by `schedule`.
class Conditions {
  public:
    Conditions(int sm, int multiprocessors, std::vector<std::uint64_t> blocks, std::uint64_t schedule = 0)
        : before_(cpu_device::limits().sm), schedule_(cpu_device::schedule_seed()) {
        cpu_device::set_schedule_seed(schedule);
        if (sm != 0) like(sm);
        if (!blocks.empty()) multiprocessors = kManyMultiprocessors;
        if (multiprocessors == 0) return;
        multiprocessors_ = cpu_device::multiprocessors();
        cpu_device::set_multiprocessors(multiprocessors);
        if (!blocks.empty()) cpu_device::set_blocks(std::move(blocks));
    }
    /// Of `launches`, the blocks that run are those of the last one: what comes before prepares it, in whole.
    void only_in_last(std::vector<std::uint64_t> blocks, std::uint64_t launches) {
        const std::uint64_t last = cpu_device::steps().launches + launches;
        cpu_device::set_block_filter([=, blocks = std::move(blocks)](std::uint64_t block) {
            return cpu_device::steps().launches < last ||
                   std::find(blocks.begin(), blocks.end(), block) != blocks.end();
        });
    }
    ~Conditions() {
        cpu_device::set_block_filter({});
        cpu_device::set_schedule_seed(schedule_);
        if (multiprocessors_ != 0) cpu_device::set_multiprocessors(multiprocessors_);
        if (cpu_device::limits().sm != before_) like(before_);
    }
    Conditions(const Conditions&) = delete;
    Conditions& operator=(const Conditions&) = delete;

  private:
    static void like(int sm) { cpu_device::set_like("sm_" + std::to_string(sm)); }
    static constexpr int kManyMultiprocessors = 1 << 21;
    int before_, multiprocessors_ = 0;  // 0: as they are
    std::uint64_t schedule_;
};

/// How many launches this makes, without a block of them.
template <class Launch>
std::uint64_t launches_of(const Launch& launch) {
    const std::uint64_t before = cpu_device::steps().launches;
    cpu_device::set_block_filter([](std::uint64_t) { return false; });
    launch();
    return cpu_device::steps().launches - before;
}

}  // namespace gemm
