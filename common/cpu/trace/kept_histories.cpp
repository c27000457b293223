#include "common/cpu/trace/kept_histories.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/cpu/execution/cluster.hpp"

namespace cpu_device::trace {

void KeptHistories::begin(const Histories& asked, const Grid& grid, std::uint64_t blocks) {
    wanted_ = asked.blocks;
    spread_.clear();
    entries_.clear();
    const bool all = asked.among.empty();
    const auto size = static_cast<std::uint64_t>(grid.cluster_blocks());
    const std::uint64_t total = all ? blocks / size : asked.among.size();
    const std::uint64_t count = std::min<std::uint64_t>(wanted_, total);
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t at = count == 1 ? 0 : i * (total - 1) / (count - 1);
        if (!all) {
            spread_.insert(*std::next(asked.among.begin(), static_cast<std::ptrdiff_t>(at)));
        } else {
            spread_.insert(size > 1 ? Cluster::blocks_of(grid, at).front() : at);
        }
    }
}

bool KeptHistories::Entry::holds(std::uint64_t block) const {
    return std::any_of(histories.begin(), histories.end(),
                       [&](const BlockHistory& h) { return h.index == block; });
}

void KeptHistories::put(std::vector<BlockHistory> histories, bool failed, bool found,
                        const FindingMap& findings) {
    if (histories.empty()) return;
    const bool spread = std::any_of(histories.begin(), histories.end(),
                                    [&](const BlockHistory& h) { return spread_.contains(h.index); });
    if (!failed && !found && !spread) return;
    const std::uint64_t first = histories.front().index;
    entries_[first] = {std::move(histories), failed, spread};
    if (!found) return;
    // A finding is told of the lowest block that has it.
    std::erase_if(entries_, [&](const auto& indexed) {
        const Entry& entry = indexed.second;
        return !entry.failed && !entry.spread &&
               std::none_of(findings.begin(), findings.end(),
                            [&](const auto& keyed) { return entry.holds(keyed.second.finding.block); });
    });
}

std::vector<BlockHistory> KeptHistories::take(const std::vector<Finding>& findings) {
    std::vector<std::uint64_t> order;
    const auto add = [&](std::uint64_t block) {
        for (const auto& [first, entry] : entries_) {
            if (entry.holds(block) && std::find(order.begin(), order.end(), first) == order.end())
                order.push_back(first);
        }
    };
    if (!spread_.empty()) add(*spread_.begin());
    for (const auto& [first, entry] : entries_) {
        if (entry.failed) add(first);
    }
    for (const Finding& f : findings) add(f.block);
    for (const std::uint64_t block : spread_) add(block);
    if (order.size() > wanted_) order.resize(wanted_);
    std::vector<BlockHistory> all;
    for (const std::uint64_t first : order) {
        auto& histories = entries_[first].histories;
        std::move(histories.begin(), histories.end(), std::back_inserter(all));
    }
    entries_.clear();
    return all;
}

}  // namespace cpu_device::trace
