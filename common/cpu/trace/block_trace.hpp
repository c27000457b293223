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
#include "common/cpu/trace/written.hpp"

namespace cpu_device::trace {

class BlockTrace {
  public:
    void begin(const BlockView& view);
    /// Also of a block that failed.
    void end();

    /// The running thread's access is as the lane before made it, and nothing may have gone wrong: it has
    /// been recorded. So are most. Else access() is to be called. flags: of those a hook knows.
    bool follows(std::uint32_t site, Address address, int width, std::uint8_t flags) {
        const auto thread = static_cast<unsigned>(*running_), lane = thread % kWarp;
        const Requests::Step* step = requests_.next(lane, Requests::key(site, width, flags), address);
        if (step == nullptr ||
            ((step->access.flags & kShared) != 0 &&
             !races_.quiet(step->shared_word, site, address - step->start, width, flags & kStore, thread))) {
            return false;
        }
        requests_.follow(lane, *step, address);
        return true;
    }
    void access(std::uint32_t site, Address address, int width, std::uint8_t flags);
    /// One of the two.
    void record(std::uint32_t site, Address address, int width, std::uint8_t flags) {
        if (!follows(site, address, width, flags)) access(site, address, width, flags);
    }
    /// The same for the running thread entering a basic block of the kernel, which tells threads apart that
    /// go different ways.
    bool steps(std::uint32_t site) {
        return requests_.follow_block(static_cast<unsigned>(*running_) % kWarp,
                                      Requests::key(site, 0, kStep));
    }
    /// (A thread that does not end comes here in the end: nobody has gone before it for ever.)
    void step(std::uint32_t site);

    void warp_reads(std::uint32_t site, Address address, int bytes);
    void copy_begins(std::uint32_t site, Address shared, Address global, int bytes, int valid);
    void copy_ends(std::uint32_t site, Address shared, int bytes);
    /// The warp waits or has returned.
    void warp_paused() { requests_.flush(*running_); }
    void warp_met(int first, unsigned lanes) { races_.warp_met(first, lanes); }
    void barrier_met() { races_.barrier_met(); }
    void at_mbarrier(Observer::AtMbarrier what, const void* mbarrier) {
        races_.at_mbarrier(what, mbarrier, static_cast<unsigned>(*running_));
    }
    void proxy_fenced() { races_.proxy_fenced(static_cast<unsigned>(*running_)); }
    void bulk_copy_begins(const BulkCopy& copy);
    void bulk_copies_read(std::uint64_t group) {
        races_.bulk_copies_read(group, static_cast<unsigned>(*running_));
    }

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
    Overwrites overwrites_{findings_};
};

}  // namespace cpu_device::trace
