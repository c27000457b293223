// The mbarriers of a block (PTX ISA, "mbarrier"): what each of them waits for, and which phase it is in.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace cpu_device {

constexpr std::uint32_t kMostArrivals = (1u << 20) - 1, kMostBytes = (1u << 20) - 1;

struct Mbarrier {
    const void* address = nullptr;
    int begun_by = 0;            // thread
    bool engine_sees = false;    // that it has begun, the copy engine
    std::uint32_t arrivals = 0;  // a phase
    std::uint32_t pending = 0;   // of them, in the phase now open
    std::int64_t bytes = 0;      // still expected; below 0: so many have come unexpected
    std::uint64_t expected = 0;  // bytes, in the phase now open so far
    std::uint64_t phase = 0;     // that is open
    // By the threads' numbers in the cluster:
    std::vector<std::uint64_t>
        seen;  // of each thread, the phase that was open when it last had not to wait (any more)
    std::vector<bool> passed;            // of each thread, whether it has gone past it in phase 0
    std::vector<std::uint64_t> arrived;  // of each thread, in which phase it last did, counted from 1

    /// What a wait for a parity asks.
    bool complete(unsigned parity) const { return (phase & 1) != parity; }
};

class Mbarriers {
  public:
    void begin_block();

    /// Each of these returns what is wrong, as a clause that goes on after the instruction's name; null where
    /// nothing is. The address is in shared memory.
    std::string init(void* address, unsigned arrivals, int thread, std::size_t threads);
    std::string inval(void* address);
    /// Finds the mbarrier that the address holds.
    std::string find(void* address, Mbarrier*& found);
    static std::string expect(Mbarrier& barrier, std::uint64_t bytes);
    static std::string arrive(Mbarrier& barrier, unsigned count);
    static std::string bring(Mbarrier& barrier, std::uint64_t bytes);
    /// Opens the next phase if nothing is missing from this one; whether it has.
    static bool settle(Mbarrier& barrier);

    /// The copy engine sees those that the thread has begun, or all.
    void show(int thread);
    void show_all();

    const std::deque<Mbarrier>& all() const { return all_; }

  private:
    std::deque<Mbarrier> all_;  // addresses stay; in the order of their init; address null: no longer
};

}  // namespace cpu_device
