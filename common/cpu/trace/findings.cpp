#include "common/cpu/trace/findings.hpp"

#include <utility>

namespace cpu_device::trace {

void Findings::begin_block(const BlockView& view) {
    block_ = view.index;
    order_ = 0;
    threads_ = view.grid->block;
}

Finding::Side Findings::side(int thread, bool write) const {
    const dim3 b = threads_;
    const auto t = static_cast<unsigned>(thread);
    return {.write = write, .thread = {{t % b.x, t / b.x % b.y, t / b.x / b.y}}};
}

void Findings::move_to(FindingMap& all) {
    for (auto& [key, mine] : found_) {
        auto [entry, fresh] = all.try_emplace(key, mine);
        if (fresh) continue;
        Found& known = entry->second;
        mine.count += known.count;
        mine.beyond = std::max(mine.beyond, known.beyond);
        mine.astray |= known.astray;
        // The same one every time, whichever worker was faster.
        if (std::pair(mine.finding.block, mine.order) < std::pair(known.finding.block, known.order)) {
            known = std::move(mine);
        } else {
            known.count = mine.count;
            known.beyond = mine.beyond;
            known.astray = mine.astray;
        }
    }
    found_.clear();
}

}  // namespace cpu_device::trace
