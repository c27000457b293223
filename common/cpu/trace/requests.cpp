#include "common/cpu/trace/requests.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "common/cpu/trace/places.hpp"

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

Requests::Requests(const Bounds& bounds) : bounds_(bounds), keys_(kFirst + 1), steps_(1) {
    forget_lanes();
}

void Requests::begin_block(const BlockView& view, std::size_t most_steps) {
    block_ = view.index;
    ++blocks_;
    examples_ = 0;
    most_steps_ = most_steps;
    forget_lanes();
}

/// The thread that ran is wherever it is in its warp's way.
void Requests::leave() {
    if (here_.key == nullptr) return;
    at_[static_cast<std::size_t>(here_.thread % kWarp)] = {
        static_cast<std::uint32_t>(here_.key - keys_.data()),
        static_cast<std::uint32_t>(here_.step - steps_.data())};
    here_ = {};
}

void Requests::run(int thread) {
    leave();
    const Place& place = at_[static_cast<std::size_t>(thread % kWarp)];
    here_.key = &keys_[place.key];
    here_.step = &steps_[place.step];
    here_.thread = thread;
}

void Requests::keep(Key key, const Access& access, const Races::Instruction& instruction) {
    const int thread = here_.thread;
    const auto lane = static_cast<std::size_t>(thread % kWarp);
    if ((parted_ >> lane & 1u) == 0) {
        if (here_.key == &keys_[end_]) {
            append(key, access, instruction);
        } else if (!(*here_.key == key) ||
                   (key.is_access() && !same_instruction(here_.step->access, access))) {
            part();
        }
    }
    std::size_t kept = 0;
    if (parted_ >> lane & 1u) {
        own_[lane].push_back(access);
        kept = parted_at_[lane] - kFirst + own_[lane].size();
    } else {
        if (key.is_access()) {
            here_.follow(access.address);
        } else {
            ++here_.key;
        }
        kept = static_cast<std::size_t>(here_.key - &keys_[kFirst]);
    }
    if (kept < most_steps_) return;
    flush(thread);
    run(thread);
}

/// The running thread is the first to do it.
void Requests::append(Key key, const Access& access, const Races::Instruction& instruction) {
    keys_[end_++] = key;
    if (key.is_access()) {
        Step& step = steps_[accesses_++];
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
        // Stores to matrices may meet padding, and inputs; atomic operations are races' business.
        const bool goes_anywhere =
            access.flags & kShared
                ? !key.atomic() && a.start % 16 == 0
                : (access.flags & kStore) == 0 && (a.matrix == nullptr || a.matrix->unreadable.empty());
        step.start = a.start;
        step.span =
            goes_anywhere && std::has_single_bit(access.width) && size >= width ? size - width + 1 : 0;
    }
    if (end_ == keys_.size() || accesses_ == steps_.size()) {
        const int thread = here_.thread;
        leave();
        if (end_ == keys_.size()) keys_.resize(2 * keys_.size());
        if (accesses_ == steps_.size()) steps_.resize(2 * steps_.size());
        run(thread);
    }
    keys_[end_] = {};
}

/// The running thread leaves the way.
void Requests::part() {
    const int thread = here_.thread;
    const auto lane = static_cast<std::size_t>(thread % kWarp);
    leave();
    parted_ |= 1u << lane;
    parted_at_[lane] = at_[lane].key;
    at_[lane].key = kParted;
    run(thread);
}

void Requests::flush(int running) {
    warp_ = running / kWarp;
    leave();
    if (end_ == kFirst) return;
    std::uint32_t mask = 0;
    bool in_step = parted_ == 0;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
        if (at_[lane].key == kFirst) continue;
        mask |= 1u << lane;
        in_step = in_step && at_[lane].key == end_;
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
    for (std::uint32_t i = 0; i < accesses_; ++i) {
        const Step& step = steps_[i];
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

/// Some lanes went other ways, or not as far, or moved less in the same instruction.
void Requests::flush_parted() {
    Lanes& lanes = lanes_;
    for (auto& lane : lanes) lane.clear();
    const std::vector<Access>* first = nullptr;  // of the longest
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
        const std::uint32_t end = parted_ >> lane & 1u ? parted_at_[lane] : at_[lane].key;
        for (std::uint32_t i = kFirst, a = 0; i < end; ++i) {
            if (!keys_[i].is_access()) {
                const std::uint8_t flags = keys_[i] == Key::block(keys_[i].caller()) ? kStep : kNothing;
                lanes[lane].push_back({site_of(keys_[i].caller()), 0, flags, 0, 0});
                continue;
            }
            lanes[lane].push_back(steps_[a].access);
            lanes[lane].back().address = steps_[a++].of_lane[lane];
        }
        lanes[lane].insert(lanes[lane].end(), own_[lane].begin(), own_[lane].end());
        if (first == nullptr || lanes[lane].size() > first->size()) first = &lanes[lane];
    }
    const auto with_first = [&](const std::vector<Access>& lane) {
        return lane.empty() ||
               std::equal(lane.begin(), lane.end(), first->begin(), first->end(), same_instruction);
    };
    std::array<Address, kWarp> addresses;
    if (!std::all_of(lanes.begin(), lanes.end(), with_first)) {
        for (const Request& r : divergence_.requests(lanes)) {
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
    end_ = kFirst;
    accesses_ = 0;
    keys_[kParted] = keys_[kFirst] = {};
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
