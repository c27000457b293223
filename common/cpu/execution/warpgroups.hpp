// wgmma: what a warpgroup, 4 warps of 32 threads, has asked for, and how far that has come.
//
// All 128 threads say the same, each with sums of its own. A batch is computed when all of them have
// committed it: at once, or when the first of them waits for it, which a seed decides. From wgmma to that
// wait a thread's sums are garbage.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "common/cpu/ptx/warpgroup_types.hpp"

namespace cpu_device {

constexpr int kWarpgroup = 128;  // threads

class Warpgroup {
  public:
    void begin_block();

    /// Each of these returns what is wrong, as a clause that goes on after the instruction's name. Threads
    /// count from the warpgroup's first.
    std::string start(int thread, const WgmmaMultiply& call, const Site& site);
    /// Whether the thread is the first of its warpgroup to have come to where it has.
    bool leads(int thread) const;
    std::uint64_t batch(int thread) const { return threads_[static_cast<std::size_t>(thread)].batches; }
    /// The addresses, as descriptors have them, of all 16 bytes that it reads.
    static std::vector<unsigned> addresses(const WgmmaMultiply& call);
    void fence(int thread);
    /// Whether there is one more batch now that all threads have committed.
    bool commit(int thread);

    /// How many batches must be committed by all before the thread's wait ends.
    std::uint64_t awaited(int thread, int pending) const;
    bool committed(std::uint64_t batches) const { return batches_ >= batches; }
    std::uint64_t committed() const { return batches_; }
    int first_without(std::uint64_t batches) const;

    /// Fetches 16 bytes of shared memory from an address as descriptors have it; returns what is wrong.
    using Fetch = std::function<std::string(unsigned, std::uint8_t*)>;
    /// Computes what belongs to the first batches. `site`: of what has gone wrong.
    std::string compute(std::uint64_t batches, const Fetch& fetch, Site& site);
    /// The thread's sums that belong to the first batches, which are computed, come to where it has them.
    void deliver(int thread, std::uint64_t batches);

    /// When all threads have returned: an instruction that one has not waited for; null where there is none.
    const Site* left_behind() const;

  private:
    struct Operation {
        WgmmaMultiply call;  // the first thread's
        Site site{};
        std::uint64_t batch = 0;
        int first = 0, threads = 0;  // that have come to it
        std::array<void*, kWarpgroup> sums{};
        std::vector<std::array<std::uint32_t, 4>> registers{};
    };
    /// Sums of a thread that an instruction adds to, or did last.
    struct Sums {
        void* at;
        std::uint64_t batch;  // of the last one
        Site site;
        bool there;                         // the thread has them again
        std::vector<std::uint32_t> values;  // bits
    };
    struct Thread {
        std::uint64_t operations = 0, batches = 0;
        bool fenced = false, ever_fenced = false;
        std::vector<Sums> sums{};
    };
    static std::string differs(const Operation& one, const WgmmaMultiply& call, const Site& site,
                               std::uint64_t batch);
    static Sums* find(Thread& thread, const void* at);
    std::string compute(const Operation& operation, const Fetch& fetch);

    std::array<Thread, kWarpgroup> threads_;
    std::deque<Operation> operations_;  // not yet computed
    std::uint64_t computed_ = 0;        // operations
    std::uint64_t batches_ = 0;         // that all have committed
};

}  // namespace cpu_device
