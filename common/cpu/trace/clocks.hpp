// Vector clocks: what each thread of a block knows to have happened, where barriers of the whole block are
// not all that orders its accesses (Lamport, "Time, Clocks, and the Ordering of Events"; Mattern, "Virtual
// Time and Global States").
//
// Accesses have a stamp, which grows whenever something is released. A clock tells,
// of every thread, the stamp below which its accesses are known; the same once more of those that a fence has
// ordered for the copy engine; and of copies, how many groups of stores each thread has waited for, how
// many phases each mbarrier has completed and how many batches each warpgroup has computed. Clocks are joined
// where threads meet and at mbarriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace cpu_device::trace {

class Clocks {
  public:
    using Stamp = std::uint32_t;

    bool on() const { return on_; }
    void begin_block() { on_ = false; }
    /// Of a cluster of so many blocks; threads: of all of them together.
    void turn_on(std::size_t threads, std::size_t blocks);

    /// Whether the thread knows of the other's accesses with that stamp, or knows them to be ordered for the
    /// engine.
    bool knows(unsigned thread, unsigned other, Stamp stamp) const { return stamp < at(thread, other); }
    /// The stamp below which the thread knows of the other's accesses.
    Stamp known(unsigned thread, unsigned other) const { return at(thread, other); }
    bool proxied(unsigned thread, unsigned other, Stamp stamp) const {
        return stamp < at(thread, threads_ + other);
    }

    /// A copy is over, for who knows that a count has come to a value.
    struct End {
        std::size_t count = 0;
        Stamp value = 0;
    };
    End end_of_store(unsigned thread, std::uint64_t group) const {
        return {2 * threads_ + thread, static_cast<Stamp>(group + 1)};
    }
    End end_of_load(const void* mbarrier);
    End end_of_batch(int warpgroup, std::uint64_t batch) const {
        return {of_warpgroup(warpgroup), static_cast<Stamp>(batch + 1)};
    }
    bool knows(unsigned thread, End end) const { return at(thread, end.count) >= end.value; }
    bool all_know(End end) const { return base_[end.count] >= end.value; }

    void learn(unsigned thread, unsigned other, Stamp stamp) { raise(row(thread)[other], stamp); }
    /// The threads from `first` on that `lanes` names have met; below `stamp`, everything they did is known
    /// to all.
    void met(unsigned first, unsigned lanes, Stamp stamp);
    /// All threads have; or those of a block of several, `count` from `first` on.
    void all_met(Stamp stamp);
    void block_met(unsigned first, unsigned count, Stamp stamp);
    void some_met(const std::vector<unsigned>& threads, Stamp stamp);
    /// What the thread knows, and did below `stamp` itself, goes with the mbarrier's phase.
    void release(unsigned thread, Stamp stamp, const void* mbarrier);
    /// The same of what copies and batches the thread has waited for alone.
    void release_counts(unsigned thread, const void* mbarrier);
    void complete(const void* mbarrier);
    /// cluster: also what threads of other blocks did; else of them copies and batches alone.
    void acquire(unsigned thread, const void* mbarrier, bool cluster);
    void fence(unsigned thread, Stamp stamp);
    void stores_read(unsigned thread, std::uint64_t groups) {
        raise(row(thread)[2 * threads_ + thread], static_cast<Stamp>(groups));
    }
    void batches_computed(unsigned thread, int warpgroup, std::uint64_t batches) {
        raise(row(thread)[of_warpgroup(warpgroup)], static_cast<Stamp>(batches));
    }

  private:
    static constexpr std::size_t kMostMbarriers = 128;  // what is beyond them counts as one
    struct Barrier {
        std::size_t count = 0;  // its place in a clock
        Stamp completed = 0;    // phases
        std::vector<Stamp> open,
            done;  // what goes with the phase that is open, and with the last complete one
    };

    static void raise(Stamp& to, Stamp stamp) { to = stamp > to ? stamp : to; }
    Stamp* row(unsigned thread) { return rows_.data() + thread * width_; }
    const Stamp* row(unsigned thread) const { return rows_.data() + thread * width_; }
    Stamp at(unsigned thread, std::size_t i) const {
        const Stamp mine = row(thread)[i];
        return mine > base_[i] ? mine : base_[i];
    }
    void join(Stamp* __restrict to, const Stamp* __restrict from) const { join(to, from, 0, width_); }
    static void join(Stamp* __restrict to, const Stamp* __restrict from, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) raise(to[i], from[i]);
    }
    Barrier& barrier(const void* mbarrier);
    std::size_t of_warpgroup(int warpgroup) const {
        return 3 * threads_ + kMostMbarriers + static_cast<std::size_t>(warpgroup);
    }

    bool on_ = false;
    std::size_t threads_ = 0, width_ = 0, blocks_ = 1;
    std::vector<Stamp> rows_;  // of each thread, beside base_
    std::vector<Stamp> base_;  // what all know
    std::unordered_map<const void*, Barrier> barriers_;
};

}  // namespace cpu_device::trace
