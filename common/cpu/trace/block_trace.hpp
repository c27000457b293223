// What one worker records of the block that it runs: every access of its threads goes through here.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/bounds.hpp"
#include "common/cpu/trace/findings.hpp"
#include "common/cpu/trace/owners.hpp"
#include "common/cpu/trace/races.hpp"
#include "common/cpu/trace/requests.hpp"

namespace cpu_device::trace {

class BlockTrace {
  public:
    void begin(const BlockView& view);
    /// Also of a block that failed.
    void end();

    /// The running thread's. flags: of those a hook knows. Most accesses are as the lane before made them:
    /// they follow, and only what may have gone wrong in shared memory is looked at.
    void access(std::uint32_t site, Address address, int width, std::uint8_t flags) {
        if (address - stacks_ < stacks_bytes_) return;
        const auto thread = static_cast<unsigned>(*running_), lane = thread % kWarp;
        const Requests::Step* step = requests_.next(lane, Requests::key(site, width, flags), address);
        if (step == nullptr) return other_access(site, address, width, flags);
        if ((step->access.flags & kShared) != 0 &&
            !races_.quiet(step->shared_word, site, address - step->start, width, flags & kStore, thread)) {
            return look(*step, address);
        }
        requests_.follow(lane, *step, address);
    }
    /// The running thread enters a basic block of the kernel: what tells threads apart that go different
    /// ways.
    void step(std::uint32_t site) {
        const std::uint64_t key = Requests::key(site, 0, kStep);
        const auto thread = static_cast<unsigned>(*running_);
        if (!requests_.follow_block(thread % kWarp, key))
            requests_.keep(*running_, key, {site, 0, kStep, 0, 0}, 0);
        if (interrupted_->load(std::memory_order_relaxed)) stop_if_interrupted();
    }

    void warp_reads(std::uint32_t site, Address address, int bytes);
    void copy_begins(std::uint32_t site, Address shared, Address global, int bytes, int valid);
    void copy_ends(std::uint32_t site, Address shared, int bytes);
    /// The warp waits or has returned.
    void warp_paused() { requests_.flush(*running_); }
    void warp_met(int first, unsigned lanes) { races_.warp_met(first, lanes); }
    void barrier_met() { races_.barrier_met(); }

  private:
    void other_access(std::uint32_t site, Address address, int width, std::uint8_t flags);
    void look(const Requests::Step& step, Address address);
    void nothing(std::uint32_t site);

    BlockView view_{};
    bool in_block_ = false;
    // Of the view, for every access.
    const int* running_ = nullptr;
    const std::atomic<bool>* interrupted_ = nullptr;
    Address stacks_ = 0, stacks_bytes_ = 0;

    Findings findings_;
    Bounds bounds_{findings_};
    Races races_{findings_};
    Requests requests_{bounds_};
    Owners owners_;
};

}  // namespace cpu_device::trace
