// No thread of a block can go on, and it uses mbarriers: what each of them waits for, who waits for it and
// where, and what the others do.
#include "common/cpu/execution/autopsy.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/device.hpp"

namespace cpu_device {
namespace {

using gemm::Autopsy;
using gemm::MistakeId;

std::optional<Autopsy::Place> place_of(const Site& site) {
    if (site.what == nullptr) return std::nullopt;
    return Autopsy::Place{site.what, site.file, site.line};
}

/// What is most likely wrong at an mbarrier that somebody waits for; none where it may be right. `seen`: the
/// phase that was open when who waits had last seen one complete; returned(thread): whether it has.
template <class Returned>
std::optional<Autopsy::Likely> likely_at(const Autopsy::Barrier& b, std::uint64_t seen, Returned returned) {
    Autopsy::Likely likely{.barriers = {b.name}, .phase = b.phase};
    if (b.missing == 0 && b.bytes_missing > 0 && b.under_way == 0) {
        likely.id = MistakeId::bytes_missing;
        likely.bytes = static_cast<std::uint64_t>(b.bytes_missing);
    } else if (b.bytes_missing < 0) {
        likely.id = MistakeId::bytes_unexpected;
        likely.bytes = static_cast<std::uint64_t>(-b.bytes_missing);
    } else if (b.phase > 0 && seen < b.phase && b.missing == b.arrivals) {
        likely.id = MistakeId::parity_off;
        likely.threads = b.waiting.front().threads;
    } else if (!b.absent.empty() && std::all_of(b.absent.begin(), b.absent.end(), returned)) {
        likely.id = MistakeId::arriver_returned;
        likely.threads = b.absent;
    } else if (b.missing > 0 && b.missing < b.arrivals) {
        likely.id = MistakeId::arrivals_missing;
        likely.arrivals = b.arrivals;
        likely.came = b.arrivals - b.missing;
        likely.threads = b.absent;
    } else if (b.missing == b.arrivals) {
        likely.id = MistakeId::nobody_arrived;
        likely.parities = {static_cast<unsigned>(b.phase & 1)};
    } else {
        return std::nullopt;
    }
    return likely;
}

/// The likelier one: ids are in that order, and what nobody has arrived at is told together.
void take(std::optional<Autopsy::Likely>& best, const Autopsy::Likely& next) {
    if (!best || next.id < best->id) {
        best = next;
    } else if (next.id == MistakeId::nobody_arrived && best->id == next.id) {
        best->barriers.push_back(next.barriers.front());
        best->parities.push_back(next.parities.front());
    }
}

/// Where a phase was complete before its waiter had come: those who arrived too early may have gone past
/// another mbarrier when nothing was complete there, and then that wait is what is wrong.
void look_behind(Autopsy::Likely& likely, const std::vector<Autopsy::Barrier>& barriers) {
    if (likely.id != MistakeId::parity_off) return;
    const auto named = [&](const Autopsy::Barrier& b) { return b.name == likely.barriers.front(); };
    const auto missed = std::find_if(barriers.begin(), barriers.end(), named);
    for (const Autopsy::Barrier& b : barriers) {
        Autopsy::Threads early;
        std::set_intersection(b.passed.begin(), b.passed.end(), missed->absent.begin(), missed->absent.end(),
                              std::back_inserter(early));
        if (early.empty() || named(b)) continue;
        likely.id = MistakeId::passed_empty;
        likely.threads = early;
        likely.barriers = {b.name, missed->name};
        return;
    }
}

}  // namespace

/// What an address in shared memory is called in the source, as far as that is known: "full[1]" for an
/// mbarrier of an array of them, "tile + 512 bytes", "shared memory + 1024 bytes" for dynamic arrays.
std::string Block::name_of(const void* shared) const {
    const auto* const at = static_cast<const std::byte*>(shared);
    const auto bytes = [](std::size_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); };
    const auto part = [&](const std::string& name, const std::byte* start, std::size_t size) {
        const auto offset = static_cast<std::size_t>(at - start);
        bool barriers = offset % sizeof(std::uint64_t) == 0 && size % sizeof(std::uint64_t) == 0;
        barriers = barriers && std::any_of(mbarriers_.all().begin(), mbarriers_.all().end(),
                                           [&](const Mbarrier& b) { return b.address == shared; });
        if (offset == 0 && (!barriers || size == sizeof(std::uint64_t))) return name;
        if (barriers && size <= 64 * sizeof(std::uint64_t))
            return name + "[" + std::to_string(offset / sizeof(std::uint64_t)) + "]";
        return name + " + " + bytes(offset);
    };
    for (const SharedArray& a : *grid_->shared) {
        const std::byte* const start = shared_array_address(a);
        if (at >= start && at < start + a.bytes) return part(a.name, start, a.bytes);
    }
    const auto* const dynamic = static_cast<const std::byte*>(dynamic_shared_);
    return "shared memory + " + bytes(static_cast<std::size_t>(at - dynamic));
}

bool Block::waits_at_mbarrier() const {
    return async_ && std::find(states_.begin(), states_.end(), State::at_mbarrier) != states_.end();
}

/// The threads of the block in groups that did the same.
std::vector<Autopsy::Group> Block::groups() const {
    const auto key = [](const Site& s) {
        return std::tuple(std::string(s.what == nullptr ? "" : s.what),
                          std::string(s.what == nullptr ? "" : s.file), s.line);
    };
    using Key = decltype(key(Site{}));
    std::map<std::tuple<bool, Key, Key>, Autopsy::Group> groups;
    for (int i = 0; i < count_; ++i) {
        const Thread& t = thread(i);
        const bool returned = state(i) == State::done, at_mbarrier = state(i) == State::at_mbarrier;
        Autopsy::Group& g = groups[{at_mbarrier, returned ? Key{} : key(t.site), key(t.did)}];
        g.threads.push_back(first_number() + i);
        g.at_mbarrier = at_mbarrier;
        if (!returned) g.at = place_of(t.site);
        g.last = place_of(t.did);
    }
    std::vector<Autopsy::Group> all;
    for (auto& [at, group] : groups) all.push_back(std::move(group));
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.threads < b.threads; });
    return all;
}

/// What an mbarrier waits for.
Autopsy::Barrier Block::state_of(const Mbarrier& b) const {
    const BulkCopy* copy = nullptr;
    const std::string of = cluster_.size() > 1 ? " of block " + std::to_string(rank_) : "";
    Autopsy::Barrier barrier{.name = name_of(b.address) + of,
                             .phase = b.phase,
                             .arrivals = b.arrivals,
                             .missing = b.pending,
                             .expected = b.expected,
                             .bytes_missing = b.bytes,
                             .under_way = bulk_.to_come(b.address, copy)};
    std::map<std::tuple<std::string, int, unsigned>, Autopsy::Waiting> waiting;
    for (int i = 0; i < cluster_.threads(); ++i) {
        const std::uint64_t arrived = b.arrived[static_cast<std::size_t>(i)];  // counted from 1
        if (arrived == b.phase + 1) barrier.arrived.push_back(i);
        if (arrived == b.phase && b.phase > 0) barrier.absent.push_back(i);
        if (b.passed[static_cast<std::size_t>(i)]) barrier.passed.push_back(i);
    }
    for (int i = 0; i < count_; ++i) {
        const Thread& t = thread(i);
        if (state(i) != State::at_mbarrier || t.mbarrier != b.address) continue;
        Autopsy::Waiting& w = waiting[{t.site.file, t.site.line, t.parity}];
        w.threads.push_back(first_number() + i);
        w.parity = t.parity;
        w.at = {t.site.what, t.site.file, t.site.line};
    }
    for (auto& [at, w] : waiting) barrier.waiting.push_back(std::move(w));
    return barrier;
}

void Block::add_to(Autopsy& autopsy) const {
    for (const Mbarrier& b : mbarriers_.all()) {
        if (!async_ || b.address == nullptr) continue;
        const Autopsy::Barrier& barrier = autopsy.barriers.emplace_back(state_of(b));
        if (barrier.waiting.empty()) continue;
        const auto waiting = static_cast<std::size_t>(barrier.waiting.front().threads.front());
        const auto likely = likely_at(barrier, b.seen[waiting], [this](int i) {
            return cluster_.block(static_cast<unsigned>(i / count_)).has_returned(i % count_);
        });
        if (likely) take(autopsy.likely, *likely);
    }
    for (Autopsy::Group& group : groups()) autopsy.groups.push_back(std::move(group));
}

void Cluster::autopsy() const {
    stop_observing();
    auto autopsy = std::make_shared<Autopsy>();
    autopsy->kernel = grid_->kernel;
    autopsy->cluster_blocks = size_;
    autopsy->threads = threads_;
    const uint3 first = blocks_[0].index();
    autopsy->block = {first.x, first.y, first.z};
    for (unsigned rank = 0; rank < size_; ++rank) blocks_[rank].add_to(*autopsy);
    if (autopsy->likely) look_behind(*autopsy->likely, autopsy->barriers);
    throw BlockFailure{FaultId::mbarrier_hang, text_of(*autopsy), autopsy};
}

}  // namespace cpu_device
