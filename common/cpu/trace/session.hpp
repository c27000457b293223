// What begin() starts and end() makes a report of: the matrices, and the sums over all blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/findings.hpp"
#include "common/cpu/trace/kept_histories.hpp"
#include "common/cpu/trace/multiplied.hpp"
#include "common/cpu/trace/order.hpp"
#include "common/cpu/trace/requests.hpp"
#include "common/cpu/trace/trace.hpp"
#include "common/cpu/trace/written.hpp"

namespace cpu_device::trace {

struct Session {
    std::vector<Matrix> matrices;
    std::size_t most_steps = 0;
    Histories histories;
    std::vector<std::unique_ptr<Written>> written;  // of each matrix that may be, else null
    std::uint64_t launches = 0;                     // that have begun
    bool set_by_host = false;                       // one of the matrices that may be

    // Of the launch.
    std::atomic<bool> fenced{false};  // its blocks order what they do to memory for each other
    LaunchOrder order;
    std::string kernel;
    std::uint64_t blocks = 0, threads_per_block = 0;
    std::array<unsigned, 3> block{}, grid_dim{};
    std::vector<Array> globals;      // matrices, then allocations that hold none
    std::vector<Array> allocations;  // all of them

    // What the workers add to.
    std::mutex mutex;
    CountsMap counts;
    MultipliedMap multiplied;
    FindingMap findings;
    std::vector<Array> shared;
    /// What launches before this one counted: their arrays had other numbers.
    struct Named {
        std::string array;
        SiteKey key;
        Counts counts;
    };
    std::deque<Named> named;
    std::uint64_t traced_blocks = 0, barriers = 0;
    std::uint64_t owners_block = ~std::uint64_t{0};
    std::vector<Owned> owners;
    KeptHistories kept_histories;

    void launch_begins(const Grid& grid, std::uint64_t blocks);
    /// Moves what was counted to where it has names, before they are others'.
    void name_counts();
    void host_writes(Address start, Address bytes);
};

/// While launches are traced; else null.
extern Session* session;

/// The hooks exist: said by the program's start, if its kernels call them.
extern bool hooked;

/// What the hooks belong to.
Observer& tracer();

}  // namespace cpu_device::trace
