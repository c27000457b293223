#include "common/cpu/trace/owners.hpp"

#include <algorithm>
#include <utility>

#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

constexpr std::size_t kMostOwned = std::size_t{1} << 24;  // an endless loop may store for ever

void Owners::store(const Array& a, Address address, int width, int thread) {
    // A lower one has been traced: a race at worst keeps too much.
    if (block_ > session->owners_block || owners_.size() > kMostOwned) return;
    const Matrix& m = *a.matrix;
    const auto first = static_cast<std::int64_t>(address - a.start) / m.element_bytes;
    for (std::int64_t e = first; e < first + std::max(1, width / m.element_bytes); ++e) {
        owners_.push_back({m.name, e / m.pitch, e % m.pitch, thread, m.problem.value_or(0)});
    }
}

void Owners::move_to(Session& all) {
    if (block_ < all.owners_block) {
        all.owners_block = block_;
        all.owners = std::move(owners_);
    }
    owners_.clear();
}

}  // namespace cpu_device::trace
