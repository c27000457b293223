// What orders the accesses of different blocks to global memory, in a launch whose blocks may wait for each
// other (common/ptx/flags.hpp): flags that one releases and another acquires (PTX ISA, "Memory Consistency
// Model": release and acquire patterns).
//
// A release goes with what its thread knows: of each block, up to when the accesses of which threads. Who
// acquires the flag has known that since, and whoever has met that thread since, at a barrier of the block or
// by an mbarrier. Of each word of global memory, but for inputs, written, the last writer and the last
// reader are kept: another block's access is in order if it knows of them.
//
// Such a launch runs on one worker: nothing here is locked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/clocks.hpp"
#include "common/cpu/trace/findings.hpp"

namespace cpu_device::trace {

class Races;

/// Of the threads of a cluster: the stamps below which their accesses are known.
struct Known {
    Clocks::Stamp all = 0;                                   // of every thread
    std::vector<std::pair<unsigned, Clocks::Stamp>> more{};  // and of these, by thread

    bool covers(unsigned thread, Clocks::Stamp stamp) const;
    void add(const Known& other);
};

/// What has been released; by the first block of each cluster.
using Released = std::map<std::uint64_t, Known>;

/// Of a launch.
struct LaunchOrder {
    bool on = false;
    std::unordered_map<Address, std::shared_ptr<const Released>> flags;
    struct Access {
        std::uint64_t cluster = 0, block = 0;  // its first block; the one that it was
        unsigned thread = 0;
        Clocks::Stamp stamp = 0;
        std::uint32_t site = 0;
        std::uint8_t bytes = 0;  // of the word; 0: none
        bool atomic = false;
    };
    struct Word {
        Access writer, reader;
    };
    std::unordered_map<Address, Word> words;

    void begin(bool wait) {
        on = wait;
        flags.clear();
        words.clear();
    }
};

/// Of the cluster that a worker has, or one of those side by side.
class Order {
  public:
    Order(Findings& findings, Races& races) : findings_(findings), races_(races) {}
    void begin_blocks(std::uint64_t first);
    void block_runs(std::uint64_t block) { block_ = block; }

    // What a thread does; thread: its number in the cluster.

    /// Notes a finding where the access and another block's are in no order. Stores of two to an element of
    /// `a` that may be written are the Overwrites' matter: false where this one is in order with the last.
    bool access(const Array& a, const Access& access, bool atomic, unsigned thread);
    void acquire(Address flag, unsigned thread);
    /// adds: what was released to the flag before is still there.
    void release(Address flag, bool adds, unsigned thread);
    /// It reads and writes atomically, and orders nothing by that: fences do.
    void relaxed(Address flag, unsigned thread);
    void fence(unsigned thread);

  private:
    struct Acquired {
        unsigned thread;
        Clocks::Stamp stamp;
        std::shared_ptr<const Released> what;
    };
    using Last = LaunchOrder::Access;
    bool knows(unsigned thread, const Last& last) const;
    Released all_known(unsigned thread);
    void acquired(unsigned thread, std::shared_ptr<const Released> what);
    void finding(const Array& a, const Access& access, const Last& last, bool wrote, unsigned thread);

    Findings& findings_;
    Races& races_;
    std::uint64_t cluster_ = 0, block_ = 0;
    std::vector<Acquired> acquired_;
    std::unordered_map<unsigned, Released> fenced_, seen_;  // by thread, of relaxed operations and fences
};

}  // namespace cpu_device::trace
