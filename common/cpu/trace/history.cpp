#include "common/cpu/trace/history.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

namespace {

/// What stands where an access comes from.
const char* name_of(std::uint8_t flags) {
    if (flags & kBulk) return "TMA";
    if (flags & kCopy) return "cp.async";
    if (flags & kMatrixRow) return flags & kStore ? "stmatrix" : "ldmatrix";
    return "access";
}

BlockHistory::Array described(bool shared, const Array& a) {
    BlockHistory::Array array{.name = a.name, .shared = shared, .bytes = a.end - a.start};
    if (a.remote) array.rank = a.rank;
    if (a.matrix == nullptr) return array;
    array.rows = a.matrix->rows;
    array.cols = a.matrix->cols;
    array.pitch = a.matrix->pitch;
    array.element_bytes = a.matrix->element_bytes;
    array.in_byte = a.matrix->in_byte;
    array.problem = a.matrix->problem;
    return array;
}

}  // namespace

std::size_t History::HashPattern::operator()(const BlockHistory::Pattern& p) const {
    std::uint64_t hash = p.lanes;
    for (const std::int64_t offset : p.offsets)
        hash = (hash ^ static_cast<std::uint64_t>(offset)) * 0x9e3779b97f4a7c15u + (hash >> 29);
    return hash;
}

void History::begin_blocks(const std::vector<BlockView>& views, std::size_t most_events) {
    most_events_ = most_events;
    kept_.assign(views.size(), {});
    running_ = live_ = 0;
    notes_.clear();
    first_ = 0;
    told_.fill(0);
    count_.fill(0);
    for (std::size_t rank = 0; rank < views.size(); ++rank) {
        const BlockView& view = views[rank];
        const dim3 grid = view.grid->grid;
        BlockHistory& history = kept_[rank].history;
        history.index = view.index;
        history.block = {static_cast<unsigned>(view.index % grid.x),
                         static_cast<unsigned>(view.index / grid.x % grid.y),
                         static_cast<unsigned>(view.index / grid.x / grid.y)};
        history.rank = static_cast<unsigned>(rank);
        history.cluster = views.front().index;
        history.threads = view.grid->threads();
        const auto warps = static_cast<std::size_t>((history.threads + kWarp - 1) / kWarp);
        kept_[rank].returned.resize(warps);
        kept_[rank].origins.resize(warps);
        for (const Array& a : session->globals) {
            // Those of a batch's problems come as the block gets to them.
            if (a.matrix != nullptr && !a.matrix->problem) history.arrays.push_back(described(false, a));
        }
        std::uint64_t end = 0;
        for (const Array& a : bounds_.shared()) {
            if (a.remote) continue;
            // What counts for banks, and of dynamic arrays for swizzling.
            const Address same = a.start % 1024 == 0 ? 1024 : 128;
            BlockHistory::Array& array = history.arrays.emplace_back(described(true, a));
            array.offset = end + (a.start % same + same - end % same) % same;
            end = array.offset + array.bytes;
        }
    }
}

std::uint32_t History::array_of(BlockHistory& history, bool shared, const Array& a) const {
    const BlockHistory::Array wanted = described(shared, a);
    const auto known =
        std::find_if(history.arrays.begin(), history.arrays.end(), [&](const BlockHistory::Array& other) {
            return other.name == wanted.name && other.shared == shared && other.bytes == wanted.bytes &&
                   other.rank == wanted.rank && other.problem == wanted.problem;
        });
    const auto index = static_cast<std::uint32_t>(known - history.arrays.begin());
    if (known == history.arrays.end()) history.arrays.push_back(wanted);
    return index;
}

std::uint32_t History::site_of(Kept& kept, const Site& site) {
    auto& sites = kept.history.sites;
    const auto [entry, fresh] = kept.sites.try_emplace({site.file, site.line, site.what}, 0);
    if (!fresh) return entry->second;
    const BlockHistory::Site wanted{site.file, site.line, site.what};
    const auto known = std::find(sites.begin(), sites.end(), wanted);
    entry->second = static_cast<std::uint32_t>(known - sites.begin());
    if (known == sites.end()) sites.push_back(wanted);
    return entry->second;
}

std::uint32_t History::site_of(Kept& kept, std::uint32_t site, const char* what) {
    const Place& place = place_of(site);
    return site_of(kept, {what, place.file.c_str(), place.line});
}

std::uint32_t History::access_of(Kept& kept, const Access& access) {
    // (Which array an index means depends on the block that is live.)
    const std::uint64_t key = access.site ^ std::uint64_t{access.array} << 32 ^
                              std::uint64_t{access.width} << 44 ^ std::uint64_t{access.flags} << 49 ^
                              std::uint64_t{live_} << 57;
    const auto [entry, fresh] = kept.accesses.try_emplace(key, kept.history.accesses.size());
    if (!fresh) return entry->second;
    BlockHistory& history = kept.history;
    history.accesses.push_back(
        {.site = site_of(kept, access.site, name_of(access.flags)),
         .array = array_of(history, access.flags & kShared, bounds_.array(access.flags, access.array)),
         .store = (access.flags & kStore) != 0,
         .copy = (access.flags & (kCopy | kBulk)) != 0,
         .matrix_rows = (access.flags & kMatrixRow) != 0,
         // (As it is counted: a box is one request, of no width.)
         .width = access.flags & kBulk ? std::uint8_t{0} : access.width});
    return entry->second;
}

std::uint32_t History::pattern_of(Kept& kept, std::uint32_t lanes, const Address* addresses) {
    pattern_.lanes = lanes;
    pattern_.offsets.clear();
    for (int i = 0; i < std::popcount(lanes); ++i)
        pattern_.offsets.push_back(static_cast<std::int64_t>(addresses[i] - addresses[0]));
    const auto [entry, fresh] = kept.patterns.try_emplace(pattern_, kept.history.patterns.size());
    if (fresh) kept.history.patterns.push_back(pattern_);
    return entry->second;
}

/// Of what the request stores; it is remembered where it loads.
std::uint32_t History::source_of(Kept& kept, int warp, const Access& access, std::uint32_t lanes,
                                 const Address* addresses) {
    Origins& origins = kept.origins[static_cast<std::size_t>(warp)];
    const Array& a = bounds_.array(access.flags, access.array);
    if ((access.flags & kShared) == 0) {
        const bool constant = a.matrix != nullptr && !a.matrix->writable;
        if ((access.flags & kStore) == 0) origins.loads(access, lanes, addresses, constant);
        return BlockHistory::kNone;
    }
    if ((access.flags & kStore) == 0 || a.remote) return BlockHistory::kNone;
    const std::optional<Origins::Origin> from = origins.stores(access, lanes, addresses);
    if (!from) return BlockHistory::kNone;
    const Array& matrix = bounds_.array(0, from->array);
    auto& sources = kept.history.sources;
    sources.push_back({array_of(kept.history, false, matrix),
                       pattern_of(kept, from->lanes, from->addresses.data()),
                       static_cast<std::int64_t>(from->addresses[0] - matrix.start)});
    return static_cast<std::uint32_t>(sources.size() - 1);
}

void History::put(Kept& kept, const Event& event) {
    BlockHistory& history = kept.history;
    if (history.events.size() >= most_events_) {
        history.truncated = true;
    } else {
        history.events.push_back(event);
    }
}

void History::tell(const Who& who, Event event, unsigned rank) {
    const auto lane = static_cast<std::uint32_t>(who.thread % kWarp);
    event.warp = who.thread / kWarp;
    if (rank != running_) event.rank = running_;
    event.lanes = 1u << lane;
    if (!who.runs) return put(kept_[rank], event);
    for (std::size_t i = std::max<std::size_t>(told_[lane], first_); i < notes_.size(); ++i) {
        Note& other = notes_[i];
        Event same = other.event;
        same.lanes = event.lanes;
        if (other.rank != rank || !(same == event) || (other.lanes >> lane & 1u) != 0) continue;
        other.event.lanes |= event.lanes;
        other.lanes |= event.lanes;
        told_[lane] = static_cast<std::uint32_t>(i + 1);
        return;
    }
    notes_.push_back({event, rank, who.accesses, false, event.lanes});
    told_[lane] = static_cast<std::uint32_t>(notes_.size());
}

/// Those that come before the next request of these lanes.
void History::place_notes(std::uint32_t lanes) {
    for (std::size_t i = first_; i < notes_.size(); ++i) {
        Note& note = notes_[i];
        if (note.placed) continue;
        bool due = false;
        for (std::uint32_t left = note.lanes & lanes; left != 0; left &= left - 1)
            due = due || count_[static_cast<std::size_t>(std::countr_zero(left))] >= note.accesses;
        if (due) {
            put(kept_[note.rank], note.event);
            note.placed = true;
        } else if (note.lanes == ~0u) {
            break;
        }
    }
    while (first_ < notes_.size() && notes_[first_].placed) ++first_;
}

void History::request(int warp, const Access& access, std::uint32_t lanes, const Address* addresses,
                      std::uint64_t units) {
    if (first_ < notes_.size()) place_notes(lanes);
    for (std::uint32_t left = lanes; left != 0; left &= left - 1)
        ++count_[static_cast<std::size_t>(std::countr_zero(left))];
    Kept& kept = kept_[running_];
    if (kept.history.events.size() >= most_events_) {
        kept.history.truncated = true;
        return;
    }
    kept.history.events.push_back(
        {.what = What::request,
         .warp = warp,
         .access = access_of(kept, access),
         .pattern = pattern_of(kept, lanes, addresses),
         .base = static_cast<std::int64_t>(addresses[0] - bounds_.array(access.flags, access.array).start),
         .count = units,
         .from = source_of(kept, warp, access, lanes, addresses)});
}

void History::flushed() {
    for (std::size_t i = first_; i < notes_.size(); ++i) {
        if (!notes_[i].placed) put(kept_[notes_[i].rank], notes_[i].event);
    }
    notes_.clear();
    first_ = 0;
    told_.fill(0);
    count_.fill(0);
}

/// What one lane is told of for all.
void History::tell_once(const Who& who, Event event, unsigned rank) {
    if (rank != running_ && event.warp >= 0) event.rank = running_;
    if (!who.runs) return put(kept_[rank], event);
    notes_.push_back({event, rank, who.accesses, false, 1u << who.thread % kWarp});
    told_[static_cast<std::size_t>(who.thread % kWarp)] = static_cast<std::uint32_t>(notes_.size());
}

void History::barrier_reached(const Who& who, const Site& site) {
    tell(who, {.what = What::barrier, .site = site_of(kept_[running_], site)}, running_);
}

void History::barrier_met() {
    put(kept_[running_], {.what = What::met});
}

void History::warp_returned(int warp) {
    Kept& kept = kept_[running_];
    if (kept.returned[static_cast<std::size_t>(warp)]) return;
    kept.returned[static_cast<std::size_t>(warp)] = true;
    put(kept, {.what = What::returned, .warp = warp});
}

void History::at_cluster_barrier(const Who& who, Observer::AtCluster what) {
    using AtCluster = Observer::AtCluster;
    if (what == AtCluster::completes) {
        for (Kept& kept : kept_) put(kept, {.what = What::cluster_met});
        return;
    }
    tell(who, {.what = what == AtCluster::waited ? What::cluster_passed : What::cluster_arrive}, running_);
}

/// Of those, the ones that multiply.
void History::warp_executes(const Who& who, const Site& site) {
    if (!std::string_view(site.what).starts_with("mma")) return;
    tell_once(who, {.what = What::mma, .warp = who.thread / kWarp, .site = site_of(kept_[running_], site)},
              running_);
}

std::vector<BlockHistory> History::take() {
    flushed();
    std::vector<BlockHistory> all;
    for (Kept& kept : kept_) all.push_back(std::move(kept.history));
    kept_.clear();
    return all;
}

}  // namespace cpu_device::trace
