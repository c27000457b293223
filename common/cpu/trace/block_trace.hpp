// What one worker records of the block that it runs: every access of its threads goes through here.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/bounds.hpp"
#include "common/cpu/trace/findings.hpp"
#include "common/cpu/trace/history.hpp"
#include "common/cpu/trace/multiplied.hpp"
#include "common/cpu/trace/order.hpp"
#include "common/cpu/trace/owners.hpp"
#include "common/cpu/trace/races.hpp"
#include "common/cpu/trace/requests.hpp"
#include "common/cpu/trace/session.hpp"
#include "common/cpu/trace/written.hpp"

namespace cpu_device::trace {

class BlockTrace {
  public:
    /// Of the blocks of a cluster, which are recorded together: their threads are numbered one block behind
    /// the other, from whole warps on.
    void begin(const std::vector<BlockView>& views);
    void block_runs(unsigned rank);
    /// Of the block whose threads run.
    const BlockView& view() const { return view_; }
    void block_live(unsigned rank) {
        if (history_) history_->block_live(rank);
        bounds_.live(rank);
        races_.block_live(rank, bounds_);
    }
    void block_left(unsigned rank) { races_.block_left(rank); }
    /// The kernel has made a mistake that ends it.
    void fails() { failed_ = true; }
    void goes_on() { failed_ = false; }
    /// Also of blocks that failed.
    void end();
    /// Has begun, and not ended.
    bool in_block() const { return in_block_; }
    /// From here on that thread runs.
    void run(int thread) { requests_.run(thread); }

    // What the running thread does; `caller` is the hook's return address. Where it is in its warp's way is
    // here(), which the hooks have for themselves while the kernel runs.

    Requests::Here& here() { return requests_.here(); }
    /// An access to which here() leads: true where nothing has gone wrong and it has been recorded. So it is
    /// with most. Else access() is to be called.
    bool follows(Requests::Here& here, Address address, int width, bool store) {
        const Requests::Step& step = *here.step;
        if (step.instruction.what != 0 && !races_.quiet(step.instruction, address - step.start, width, store,
                                                        static_cast<unsigned>(here.thread) + first_)) {
            return false;
        }
        here.follow(address);
        return true;
    }
    /// Any. flags: of those a hook knows.
    void access(const void* caller, Address address, int width, std::uint8_t flags);
    /// It enters a basic block of the kernel, which tells threads apart that go different ways, and which
    /// nobody has gone before it. (A thread that does not end comes here in the end.)
    void step(const void* caller);

    void warp_accesses(const void* caller, Address address, int bytes, bool writes);
    void copy_begins(const void* caller, Address shared, Address global, int bytes, int valid);
    void copy_ends(const void* caller, Address shared, int bytes);
    /// The warp waits or has returned.
    void warp_paused(int first, bool returned) {
        requests_.flush(*running_);
        if (!history_) return;
        history_->flushed();
        if (returned) history_->warp_returned(first / kWarp);
    }
    void warp_met(int first, unsigned lanes) { races_.warp_met(first + static_cast<int>(first_), lanes); }
    void barrier_met() {
        races_.barrier_met();
        if (history_) history_->barrier_met();
    }
    /// What is told for the sake of the history alone.
    bool keeps_history() const { return history_ != nullptr; }
    void barrier_reached(const Site& site) { history_->barrier_reached(who(), site); }
    void copies_committed() { history_->copies_committed(who()); }
    void copies_waited(int groups) { history_->copies_waited(who(), groups); }
    void bulk_copy_lands(const BulkCopy& copy) { history_->landed(copy); }
    void warp_executes(const Site& site) { history_->warp_executes(who(), site); }
    void some_met(const std::vector<int>& threads) { races_.some_met(threads); }
    void at_mbarrier(Observer::AtMbarrier what, const void* caller, const void* mbarrier,
                     std::uint64_t count) {
        const std::uint32_t site = caller != nullptr ? site_of(caller) : 0;
        races_.at_mbarrier(what, mbarrier, site, number());
        if (history_) history_->at_mbarrier(who(), what, site, mbarrier, count);
    }
    void at_cluster_barrier(Observer::AtCluster what) {
        races_.at_cluster_barrier(what, number());
        if (history_) history_->at_cluster_barrier(who(), what);
    }
    void atomic(const void* caller, Address address, int bytes);
    void flag(Observer::AtFlag what, const void* caller, Address address);
    void fenced() {
        if (session->order.on) order_.fence(number());
    }
    void mbarriers_fenced() { races_.mbarriers_fenced(number()); }
    void proxy_fenced() { races_.proxy_fenced(number()); }
    void bulk_copy_begins(const BulkCopy& copy, bool again);
    void bulk_copies_read(std::uint64_t group) {
        races_.bulk_copies_read(group, number());
        if (history_) history_->stores_read(who(), group);
    }
    void wgmma_begins(const void* caller, const WgmmaMultiply& call, const std::vector<const void*>& places,
                      int warpgroup, std::uint64_t batch);
    void wgmma_waited(int warpgroup, std::uint64_t batch) {
        races_.wgmma_waited(warpgroup + first_warpgroup_, batch, number());
        if (history_) history_->summed(who(), warpgroup, batch);
    }

  private:
    /// The running thread's, in the cluster.
    unsigned number() const { return static_cast<unsigned>(*running_) + first_; }
    History::Who who() const;
    void other_access(const void* caller, Address address, int width, std::uint8_t flags);
    void nothing(const void* caller);
    void past_the_row(const BulkCopy& copy, Address row_end, int bytes);

    std::vector<BlockView> views_;  // by rank
    BlockView view_{};              // of the block whose threads run
    unsigned rank_ = 0, pitch_ = 0, first_ = 0;
    unsigned owned_ = 0;  // the rank of the first block that was asked for: its owners are kept
    int first_warpgroup_ = 0;
    bool in_block_ = false, failed_ = false;
    // Of the view, for every access.
    const int* running_ = nullptr;
    const std::atomic<bool>* interrupted_ = nullptr;
    Address stacks_ = 0, stacks_bytes_ = 0;

    Findings findings_;
    Bounds bounds_{findings_};
    Races races_{findings_};
    Requests requests_{bounds_};
    MultipliedMap multiplied_;
    Owners owners_;
    Overwrites overwrites_{findings_};
    Order order_{findings_, races_};
    std::unique_ptr<History> history_;  // null where none is kept
};

}  // namespace cpu_device::trace
