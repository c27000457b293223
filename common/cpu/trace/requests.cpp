#include "common/cpu/trace/requests.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/cpu/trace/history.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {
namespace {

constexpr std::uint8_t kNoAddress = kStep | kNothing;

/// The addresses are those of `c`'s last request, all shifted by as much.
bool shifted(const Counted& c, const Address* addresses, int count) {
    const Address first = addresses[0];
    Address differ = 0;
    for (int i = 0; i < count; ++i) {
        differ |= (addresses[i] - first) ^ c.from_first[static_cast<std::size_t>(i)];
    }
    return differ == 0;
}

}  // namespace

void Counts::add(const Counts& other) {
    requests += other.requests;
    threads += other.threads;
    units += other.units;
    box_bytes += other.box_bytes;
    ideal += other.ideal;
    diverged |= other.diverged;
    if (other.example.comes_before(example)) example = other.example;
}

Requests::Requests(const Bounds& bounds) : bounds_(bounds) {
    forget_lanes();
}

void Requests::begin_blocks(const BlockView& first, std::size_t most_steps) {
    block_ = first.index;
    ++blocks_;
    examples_ = 0;
    most_steps_ = most_steps;
    forget_lanes();
}

void Requests::Way::begin(const Place& place, std::uint32_t keys_before) {
    from = place;
    before = keys_before;
    end = kFirst;
    accesses = 0;
    keys[kParted] = keys[kFirst] = {};
}

/// Of the running thread.
Requests::Place Requests::place() const {
    const Way& way = ways_[way_];
    return {way_, static_cast<std::uint32_t>(here_.key - way.keys.data()),
            static_cast<std::uint32_t>(here_.step - way.steps.data())};
}

void Requests::go_to(const Place& place) {
    Way& way = ways_[place.way];
    way_ = place.way;
    here_.key = &way.keys[place.key];
    here_.step = &way.steps[place.step];
}

/// The thread that ran is wherever it is in its warp's ways.
void Requests::leave() {
    if (here_.key == nullptr) return;
    at_[static_cast<std::size_t>(here_.thread % kWarp)] = place();
    here_ = {};
}

void Requests::run(int thread) {
    leave();
    go_to(at_[static_cast<std::size_t>(thread % kWarp)]);
    here_.thread = thread;
}

std::uint32_t Requests::accesses() const {
    if (here_.key == nullptr) return 0;
    const auto lane = static_cast<std::size_t>(here_.thread % kWarp);
    std::uint32_t count = 0;
    if (parted_ >> lane & 1u) {
        for (const Access& a : own_[lane]) count += (a.flags & kNoAddress) == 0 ? 1 : 0;
    }
    const Place last = parted_ >> lane & 1u ? parted_at_[lane] : place();
    for (Place end = last;; end = ways_[end.way].from) {
        count += end.step;
        if (end.way == 0) return count;
    }
}

void Requests::keep(Key key, const Access& access, const Races::Instruction& instruction) {
    const int thread = here_.thread;
    const auto lane = static_cast<std::size_t>(thread % kWarp);
    if ((parted_ >> lane & 1u) == 0) {
        const Way& way = ways_[way_];
        if (here_.key != &way.keys[way.end] && !here_lies(key, access)) part(key, access);
    }
    std::size_t kept = 0;
    if (parted_ >> lane & 1u) {
        own_[lane].push_back(access);
        kept = ways_[parted_at_[lane].way].before + parted_at_[lane].key - kFirst + own_[lane].size();
    } else {
        const Way& way = ways_[way_];
        if (here_.key == &way.keys[way.end]) append(key, access, instruction);
        if (key.is_access()) {
            here_.follow(access.address);
        } else {
            ++here_.key;
        }
        kept = way.before + static_cast<std::size_t>(here_.key - &way.keys[kFirst]);
    }
    if (kept < most_steps_) return;
    flush(thread);
    run(thread);
}

/// Whether that lies before the running thread.
bool Requests::here_lies(Key key, const Access& access) const {
    return *here_.key == key && (!key.is_access() || same_instruction(here_.step->access, access));
}

/// The running thread is the first to do it.
void Requests::append(Key key, const Access& access, const Races::Instruction& instruction) {
    Way& way = ways_[way_];
    way.keys[way.end++] = key;
    if (key.is_access()) {
        Step& step = way.steps[way.accesses++];
        // Most often the same as after the last meeting, which saves looking it up.
        if (step.block != blocks_ || !same_instruction(step.access, access) ||
            step.access.width != access.width) {
            step.counted = &counted(access);
            step.block = blocks_;
        }
        step.instruction = instruction;
        step.access = access;
        const Array& a = bounds_.array(access.flags, access.array);
        const Address size = a.end - a.start, width = access.width;
        // Stores to matrices may meet padding, and inputs; atomic operations are races' business; and what
        // other blocks have written may have to be waited for.
        const bool goes_anywhere = access.flags & kShared
                                       ? !key.atomic() && a.start % 16 == 0 && !a.remote
                                       : (access.flags & kStore) == 0 &&
                                             (a.matrix == nullptr || a.matrix->unreadable.empty()) &&
                                             !session->order.on;
        step.start = a.start;
        step.span =
            goes_anywhere && std::has_single_bit(access.width) && size >= width ? size - width + 1 : 0;
    }
    if (way.end == way.keys.size() || way.accesses == way.steps.size()) {
        const Place here = place();
        if (way.end == way.keys.size()) way.keys.resize(2 * way.keys.size());
        if (way.accesses == way.steps.size()) way.steps.resize(2 * way.steps.size());
        go_to(here);
    }
    way.keys[way.end] = {};
}

/// The running thread leaves its way: for one that begins so and parts from it here, if there is room for it.
void Requests::part(Key key, const Access& access) {
    const Place from = place();
    for (std::uint32_t i = from.way + 1; i < ways_taken_; ++i) {
        if (!(ways_[i].from == from)) continue;
        go_to({i, kFirst, 0});
        if (here_lies(key, access)) return;
    }
    if (ways_taken_ < kMostWays) {
        ways_[ways_taken_].begin(from, ways_[from.way].before + from.key - kFirst);
        go_to({ways_taken_++, kFirst, 0});
        return;
    }
    const auto lane = static_cast<std::size_t>(here_.thread % kWarp);
    parted_ |= 1u << lane;
    parted_at_[lane] = from;
    go_to({from.way, kParted, from.step});
}

void Requests::flush(int running) {
    warp_ = running / kWarp;
    leave();
    const Way& way = ways_[0];
    if (way.end == kFirst) return;
    std::uint32_t mask = 0;
    bool in_step = true;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
        if (at_[lane] == Place{}) continue;
        mask |= 1u << lane;
        in_step = in_step && at_[lane].way == 0 && at_[lane].key == way.end;
    }
    if (in_step) {
        flush_in_step(mask);
    } else {
        flush_parted();
    }
    forget_lanes();
}

void Requests::flush_in_step(std::uint32_t mask) {
    const int count = std::popcount(mask);
    std::array<Address, kWarp> some;
    for (std::uint32_t i = 0; i < ways_[0].accesses; ++i) {
        const Step& step = ways_[0].steps[i];
        const Address* addresses = step.of_lane.data();
        if (count < kWarp) {
            std::size_t n = 0;
            for (std::size_t lane = 0; lane < kWarp; ++lane) {
                if (mask >> lane & 1u) some[n++] = addresses[lane];
            }
            addresses = some.data();
        }
        request(*step.counted, step.access, mask, addresses, count, false);
    }
}

/// Puts together what the lane did.
void Requests::list(std::size_t lane) {
    std::vector<Access>& all = lanes_[lane];
    all.clear();
    const bool own = parted_ >> lane & 1u;
    std::array<Place, kMostWays> ends;  // of the way that it went last, of the one before …
    std::size_t ways = 0;
    for (Place end = own ? parted_at_[lane] : at_[lane];; end = ways_[end.way].from) {
        ends[ways++] = end;
        if (end.way == 0) break;
    }
    while (ways > 0) {
        const Place& end = ends[--ways];
        const Way& way = ways_[end.way];
        const Step* step = way.steps.data();
        for (std::uint32_t i = kFirst; i < end.key; ++i) {
            const Key key = way.keys[i];
            if (!key.is_access()) {
                const std::uint8_t flags = key == Key::block(key.caller()) ? kStep : kNothing;
                all.push_back({site_of(key.caller()), 0, flags, 0, 0});
                continue;
            }
            all.push_back(step->access);
            all.back().address = step++->of_lane[lane];
        }
    }
    if (own) all.insert(all.end(), own_[lane].begin(), own_[lane].end());
}

/// Some lanes went other ways, or not as far, or moved less in the same instruction.
void Requests::flush_parted() {
    const Lanes& lanes = lanes_;
    const std::vector<Access>* first = nullptr;  // of the longest
    std::array<std::uint8_t, kWarp> like{};      // the first lane that did the same
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
        list(lane);
        if (first == nullptr || lanes[lane].size() > first->size()) first = &lanes[lane];
        std::size_t other = parted_ >> lane & 1u ? lane : 0;
        while (other < lane && ((parted_ >> other & 1u) != 0 || !(at_[other] == at_[lane]))) ++other;
        like[lane] = static_cast<std::uint8_t>(other);
    }
    bool all_like_first = true;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
        const std::vector<Access>& list = lanes[lane];
        if (list.empty() || like[lane] != lane) continue;
        all_like_first = all_like_first &&
                         std::equal(list.begin(), list.end(), first->begin(), first->end(), same_instruction);
    }
    std::array<Address, kWarp> addresses;
    if (!all_like_first) {
        for (const Request& r : divergence_.requests(lanes, like)) {
            int count = 0;
            for (std::size_t lane = 0; lane < kWarp; ++lane) {
                if (r.mask >> lane & 1u) addresses[static_cast<std::size_t>(count++)] = r.by_lane[lane];
            }
            request(counted(r.access), r.access, r.mask, addresses.data(), count, r.diverged);
        }
        return;
    }
    for (std::size_t i = 0; i < first->size(); ++i) {
        const Access& access = (*first)[i];
        if (access.flags & kNoAddress) continue;
        std::uint32_t mask = 0;
        int count = 0;
        for (std::size_t lane = 0; lane < kWarp; ++lane) {
            if (lanes[lane].empty()) continue;
            mask |= 1u << lane;
            addresses[static_cast<std::size_t>(count++)] = lanes[lane][i].address;
        }
        request(counted(access), access, mask, addresses.data(), count, false);
    }
}

void Requests::box(Access access, int thread, std::uint64_t bytes, std::uint64_t sectors,
                   const TensorMap& map) {
    access.width = 0;
    Counts& c = counted(access).counts;
    if (c.requests == 0) {
        c.example = {block_, examples_++, thread / kWarp, 1u << thread % kWarp, {}, {}};
        if (map.rank > 0) c.example.map = std::make_shared<TensorMap>(map);
        c.example.offsets[0] = access.address - bounds_.array(access.flags, access.array).start;
    }
    ++c.requests;
    ++c.threads;
    c.box_bytes += bytes;
    c.units += sectors;
    c.ideal += (bytes + 31) / 32;
}

void Requests::forget_lanes() {
    for (auto& lane : own_) lane.clear();
    at_.fill({});
    here_ = {};
    parted_ = 0;
    ways_taken_ = 1;
    ways_[0].begin({}, 0);
}

void Requests::request(Counted& c, const Access& access, std::uint32_t mask, const Address* addresses,
                       int count, bool diverged) {
    if (c.counts.requests == 0) {
        c.counts.example = {block_, examples_++, warp_, mask, {}, {}};
        const Address start = bounds_.array(access.flags, access.array).start;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            c.counts.example.offsets[i] = addresses[i] - start;
        }
    }
    ++c.counts.requests;
    c.counts.threads += static_cast<std::uint64_t>(count);
    c.counts.diverged |= diverged;
    if ((access.flags & (kCopy | kShared)) == kCopy) copies_.reads(mask, addresses);
    // Banks shift by words, sectors by sectors. A copy to shared memory depends on where it comes from, too.
    const Address unit = access.flags & kShared ? 4 : 32;
    const bool known = mask == c.mask && (addresses[0] - c.first) % unit == 0 &&
                       (access.flags & (kCopy | kShared)) != (kCopy | kShared) &&
                       shifted(c, addresses, count);
    if (!known) price(c, access, mask, addresses, count);
    c.counts.units += c.units;
    c.counts.ideal += c.ideal;
    if (history_ != nullptr) history_->request(warp_, access, mask, addresses, c.units);
}

/// What the request costs, and would at the least.
void Requests::price(Counted& c, const Access& access, std::uint32_t mask, const Address* addresses,
                     int count) {
    c.mask = mask;
    c.first = addresses[0];
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        c.from_first[i] = addresses[i] - c.first;
    }
    const std::uint64_t bytes = distinct_bytes(addresses, count, access.width);
    if ((access.flags & kShared) == 0) {
        c.units = static_cast<std::uint64_t>(sectors(addresses, count, access.width));
        c.ideal = (bytes + 31) / 32;
        return;
    }
    // (ldmatrix, like a store: each of its matrices takes its own.)
    c.units =
        static_cast<std::uint64_t>(access.flags & kCopy ? copies_.wavefronts(mask, addresses, access.width)
                                                        : wavefronts(mask, addresses, access.width,
                                                                     access.flags & (kStore | kMatrixRow)));
    c.ideal = least_wavefronts(mask, bytes, access.width);
}

void Requests::move_to(CountsMap& all) {
    for (const auto& [key, mine] : counts_) {
        if (mine.counts.requests > 0) all[key].add(mine.counts);
    }
    counts_.clear();
}

}  // namespace cpu_device::trace
