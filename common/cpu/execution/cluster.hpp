// The blocks of a cluster, resident together on a worker. A launch without clusters has clusters of one
// block.
//
// One scheduler runs the threads of all of them, block by block, each until none of its threads can go on;
// only then do bytes come, and do those go on that have made way for others. Odd seeds hold a warp of
// the cluster back: it goes on only when nobody else can and no bytes are to come. And with seeds whose
// second bit is set half of the arrivals at other blocks are on their way until nothing else can happen.
//
// A cluster whose threads spin on flags that other blocks write is left where it is, and another one begins
// or goes on (workers.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "common/cpu/execution/block.hpp"

namespace cpu_device {

class Cluster {
  public:
    /// guarded: see Block.
    Cluster(Registers& registers, Pulse& pulse, bool guarded)
        : registers_(registers), pulse_(pulse), guarded_(guarded) {}
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    /// The clusters from here on are of this grid.
    void prepare(const Grid& grid, double hang_seconds, std::uint64_t seed);
    /// Indices in the grid of the blocks of a cluster, by rank; clusters are counted as blocks are, x
    /// fastest.
    static std::vector<std::uint64_t> blocks_of(const Grid& grid, std::uint64_t index);
    void begin(std::uint64_t index);
    enum class Outcome { done, waits };
    /// To the end, or until it waits for other clusters: some of its threads spin, and no other can go on.
    Outcome run();
    std::uint64_t index() const { return index_; }

    // ---- where several are resident on a worker, of which one runs ----
    /// Another one runs from here on; and this one again.
    void leave();
    void come_back();
    /// Of one that waits: whether somebody spins on what holds something else by now, or it cannot be told on
    /// what.
    bool sees_change() const;
    bool looks_at_anything() const;
    /// Lets those look again; all: or all who spin.
    void look_again(bool all);
    void add_to(gemm::FlagHang& hang, const FlagNames& names) const;

    void forget_fibers();
    void unwind();

    // ---- what its blocks call ----
    unsigned size() const { return size_; }
    /// Threads of all blocks. Each has a number among them: those of block 0 come first.
    int threads() const { return static_cast<int>(size_) * threads_; }
    Block& block(unsigned rank) { return blocks_[rank]; }
    const Block& block(unsigned rank) const { return blocks_[rank]; }
    bool has_left(unsigned rank) const { return left_[rank]; }
    /// Puts the block's static shared arrays where the kernel has them. Their bytes are kept elsewhere while
    /// another block's are there.
    void make_live(unsigned rank);
    unsigned live() const { return live_; }
    /// Takes an arrival at another block that is to come late, which a seed decides; false where it isn't.
    bool keeps(const Arrival& arrival);
    /// Those of a thread come now: it releases what it has done.
    void deliver_late_of(unsigned rank, int thread);

    // The barrier of all threads that have not returned.
    std::uint64_t phase() const { return phase_; }
    void use_barrier();
    void arrive();
    /// A thread has returned that had arrived in this phase, or (nothing) not.
    void returned(std::optional<std::uint64_t> arrived_in) {
        if (barrier_used_ && arrived_in == phase_) --arrived_;
    }

  private:
    void enter(unsigned rank);
    bool advance(unsigned rank, bool held = false);
    bool others_go_on();
    bool deliver_late();
    bool held_goes_on();
    void settle();
    [[noreturn]] void deadlock() const;
    [[noreturn]] void autopsy() const;
    void barrier_deadlock() const;

    Registers& registers_;
    Pulse& pulse_;
    const Grid* grid_ = nullptr;
    std::uint64_t seed_ = 0;
    const bool guarded_;
    std::uint64_t index_ = 0;
    bool statics_ready_ = false;
    unsigned size_ = 1;
    int threads_ = 0;           // of a block
    std::deque<Block> blocks_;  // by rank; addresses stay, also of those that a smaller cluster does not need
    std::vector<bool> left_;    // whose threads have all returned
    unsigned live_ = 0;
    Dice dice_;
    bool holds_ = false, delays_ = false;  // a warp; arrivals at other blocks
    unsigned held_ = 0;                    // whose warp
    std::vector<Arrival> late_;
    bool barrier_used_ = false;
    std::uint64_t phase_ = 0;
    int arrived_ = 0;  // threads, in this phase
};

/// Puts another block's static shared arrays where the kernel has them, and its own back at the end.
class Reaching {
  public:
    Reaching(Cluster& cluster, unsigned rank) : cluster_(cluster), own_(cluster.live()) {
        cluster.make_live(rank);
    }
    ~Reaching() { cluster_.make_live(own_); }
    Reaching(const Reaching&) = delete;
    Reaching& operator=(const Reaching&) = delete;

  private:
    Cluster& cluster_;
    unsigned own_;
};

}  // namespace cpu_device
