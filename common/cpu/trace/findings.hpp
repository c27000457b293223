// What is wrong, as it is collected: the first occurrence of each kind at each pair of places, and how many.
// Places in the source and sentences are made at the end (report.cpp, words.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/trace.hpp"

namespace cpu_device::trace {

struct FindingKey {
    gemm::FindingId id;
    std::uint32_t site, other;
    bool operator==(const FindingKey&) const = default;
};
struct HashFinding {
    std::size_t operator()(const FindingKey& k) const {
        return static_cast<std::size_t>(k.id) ^ (std::uint64_t{k.site} << 32 | k.other) * 0x9e3779b97f4a7c15u;
    }
};
struct Found {
    std::uint64_t order = 0;  // of the first occurrence, in its block
    Finding finding;          // without places, text, count and beyond
    std::uint64_t count = 0;
    std::int64_t beyond = 0;  // as in Finding
    bool astray = false;      // not all of them were behind a matrix
};
using FindingMap = std::unordered_map<FindingKey, Found, HashFinding>;

/// Puts into the finding which array an address lies in or is meant for, and where in it.
void name_place(Finding& finding, const Array& a, Address address);

/// Of the block that a worker runs.
class Findings {
  public:
    /// pitch: from the first thread of a block of a cluster to that of the next; 0 without clusters.
    void begin_blocks(const BlockView& first, int pitch);
    /// Whose threads run from here on.
    void block_runs(std::uint64_t block) { block_ = block; }

    /// Remembers the first occurrence of a kind at a pair of places, counts the others and keeps the farthest
    /// beyond. `make` is called for the first only, and gives what only the finding's kind knows.
    template <class Make>
    void note(gemm::FindingId id, std::uint32_t site, std::uint32_t other, std::int64_t beyond, Make make) {
        if (found_.size() >= kMost) return;
        const auto [entry, fresh] = found_.try_emplace(FindingKey{id, site, other});
        ++entry->second.count;
        entry->second.beyond = std::max(entry->second.beyond, beyond);
        entry->second.astray |= beyond <= 0;
        if (!fresh) return;
        entry->second.order = order_++;
        entry->second.finding = make();
        entry->second.finding.id = id;
        entry->second.finding.block = block_;
    }

    /// A thread's access, without its place; thread: its number in the cluster.
    Finding::Side side(int thread, bool write) const;

    bool any() const { return !found_.empty(); }
    /// Adds them to those of the other blocks, and forgets them.
    void move_to(FindingMap& all);

  private:
    static constexpr std::size_t kMost =
        1000;  // kinds times pairs of places; beyond that a kernel is just broken

    std::uint64_t block_ = 0, order_ = 0;
    dim3 threads_{};
    int pitch_ = 0;
    FindingMap found_;
};

}  // namespace cpu_device::trace
