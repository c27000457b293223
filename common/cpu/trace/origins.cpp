#include "common/cpu/trace/origins.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace cpu_device::trace {
namespace {

constexpr std::size_t kWidest = 16;

/// Calls body(lane, number of the lane among those of the mask).
template <class Body>
void each_lane(std::uint32_t lanes, Body body) {
    for (std::size_t i = 0; lanes != 0; lanes &= lanes - 1)
        body(static_cast<std::size_t>(std::countr_zero(lanes)), i++);
}

const void* bytes_at(Address address) {
    return reinterpret_cast<const void*>(address);
}

bool all_zero(Address address, std::size_t width) {
    static constexpr std::array<std::byte, kWidest> kZeros{};
    return std::memcmp(bytes_at(address), kZeros.data(), width) == 0;
}

}  // namespace

void Origins::loads(const Access& access, std::uint32_t lanes, const Address* addresses, bool constant) {
    Load load{access, lanes, {}};
    each_lane(lanes, [&](std::size_t lane, std::size_t i) { load.by_lane[lane] = addresses[i]; });
    if (access.flags & kCopy) {
        copied_ = load;
        ++copies_;
        return;
    }
    if (!constant) return;
    if (loads_.size() < kMost) {
        loads_.push_back(load);
    } else {
        loads_[next_] = load;
    }
    next_ = (next_ + 1) % kMost;
}

/// Whether each lane has stored what it loaded so many bytes behind its address, and who loaded nothing
/// zeros.
bool Origins::gave(const Load& load, std::size_t behind, std::uint32_t lanes, const Address* stored,
                   std::size_t width) {
    bool same = true, says = false;
    each_lane(lanes, [&](std::size_t lane, std::size_t i) {
        if (!same) return;
        const bool zero = all_zero(stored[i], width);
        if ((load.lanes >> lane & 1u) == 0) {
            same = zero;
            return;
        }
        same = std::memcmp(bytes_at(stored[i]), bytes_at(load.by_lane[lane] + behind), width) == 0;
        says = says || !zero;
    });
    return same && says;
}

Origins::Origin Origins::origin(const Load& load, std::size_t behind, std::uint32_t lanes) {
    Origin from{load.access.array, load.lanes & lanes, {}};
    each_lane(from.lanes,
              [&](std::size_t lane, std::size_t i) { from.addresses[i] = load.by_lane[lane] + behind; });
    return from;
}

std::optional<Origins::Origin> Origins::stores(const Access& access, std::uint32_t lanes,
                                               const Address* addresses) {
    const std::size_t width = access.width;
    if (access.flags & kCopy) {
        // Its bytes are not there yet, and need not be: a copy says itself where they come from.
        const bool known = copies_ == 1 && copied_.access.site == access.site &&
                           copied_.access.width == width && (copied_.lanes & ~lanes) == 0;
        copies_ = 0;
        if (!known) return std::nullopt;
        return origin(copied_, 0, lanes);
    }
    if (width == 0 || width > kWidest) return std::nullopt;
    std::optional<Origin> found;
    for (const Load& load : loads_) {
        if ((load.lanes & lanes) == 0) continue;
        for (std::size_t behind = 0; behind + width <= load.access.width; behind += width) {
            if (!gave(load, behind, lanes, addresses, width)) continue;
            const Origin here = origin(load, behind, lanes);
            if (!found) {
                found = here;
            } else if (found->lanes != here.lanes || found->addresses != here.addresses) {
                return std::nullopt;
            }
        }
    }
    return found;
}

}  // namespace cpu_device::trace
