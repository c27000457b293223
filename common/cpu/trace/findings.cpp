#include "common/cpu/trace/findings.hpp"

#include <utility>

namespace cpu_device::trace {

void name_place(Finding& finding, const Array& a, Address address) {
    finding.array = a.name;
    finding.offset = static_cast<std::int64_t>(address - a.start);
    finding.bytes = static_cast<std::int64_t>(a.end - a.start);
    if (a.matrix == nullptr) return;
    const Matrix& m = *a.matrix;
    finding.rows = m.rows;
    finding.columns = m.cols;
    finding.problem = m.problem;
    const std::int64_t index = m.element(finding.offset);
    finding.row = index / m.pitch;
    finding.column = index % m.pitch;
    if (*finding.column < 0) {
        --*finding.row;
        *finding.column += m.pitch;
    }
}

void Findings::begin_blocks(const BlockView& first, int pitch) {
    block_ = first.index;
    order_ = 0;
    threads_ = first.grid->block;
    pitch_ = pitch;
}

Finding::Side Findings::side(int thread, bool write) const {
    const dim3 b = threads_;
    const auto t = static_cast<unsigned>(pitch_ > 0 ? thread % pitch_ : thread);
    Finding::Side side{.write = write, .thread = {{t % b.x, t / b.x % b.y, t / b.x / b.y}}};
    if (pitch_ > 0) side.rank = static_cast<unsigned>(thread / pitch_);
    return side;
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
