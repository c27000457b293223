// What is wrong, as it is collected: the first occurrence of each kind at each pair of places, and how many.
// Sentences get their places in the source at the end (report.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "common/cpu/execution/scheduler.hpp"

namespace cpu_device::trace {

struct FindingKey {
    const char* kind;
    std::uint32_t site, other;
    bool operator==(const FindingKey&) const = default;
};
struct HashFinding {
    std::size_t operator()(const FindingKey& k) const {
        return std::hash<const void*>{}(k.kind) ^
               (std::uint64_t{k.site} << 32 | k.other) * 0x9e3779b97f4a7c15u;
    }
};
/// A message without the places in the source, which are looked up at the end: before + place of the earlier
/// access + between + place of the later one + after. Where `between` is empty there is one access.
struct Sentence {
    std::string before, between, after;
};
struct Found {
    std::uint64_t block = 0, order = 0;  // of the first occurrence
    Sentence sentence;
    std::uint64_t count = 0;
    std::int64_t beyond = 0;  // as in Finding
    bool astray = false;      // not all of them were behind a matrix
};
using FindingMap = std::unordered_map<FindingKey, Found, HashFinding>;

/// Of the block that a worker runs.
class Findings {
  public:
    void begin_block(const BlockView& view);

    /// Remembers the first occurrence of a kind at a pair of places, counts the others and keeps the farthest
    /// beyond. `sentence` is called for the first only.
    template <class MakeSentence>
    void note(const char* kind, std::uint32_t site, std::uint32_t other, std::int64_t beyond,
              MakeSentence sentence) {
        if (found_.size() >= kMost) return;
        const auto [entry, fresh] = found_.try_emplace(FindingKey{kind, site, other});
        ++entry->second.count;
        entry->second.beyond = std::max(entry->second.beyond, beyond);
        entry->second.astray |= beyond <= 0;
        if (!fresh) return;
        entry->second.block = block_;
        entry->second.order = order_++;
        entry->second.sentence = sentence();
    }

    /// "thread (3,1,0)".
    std::string who(int thread) const;

    /// Adds them to those of the other blocks, and forgets them.
    void move_to(FindingMap& all);

  private:
    static constexpr std::size_t kMost =
        1000;  // kinds times pairs of places; beyond that a kernel is just broken

    std::uint64_t block_ = 0, order_ = 0;
    dim3 threads_{};
    FindingMap found_;
};

}  // namespace cpu_device::trace
