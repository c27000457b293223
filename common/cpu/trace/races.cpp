#include "common/cpu/trace/races.hpp"

#include <algorithm>
#include <bit>

namespace cpu_device::trace {

using gemm::FindingId;

void Races::begin_blocks(int threads, int pitch, int blocks, const Bounds& bounds) {
    blocks_ = static_cast<unsigned>(blocks);
    pitch_ = static_cast<unsigned>(pitch);
    block_threads_ = threads;
    own_arrays_ = bounds.shared().size() / blocks_;
    own_words_ = 0;
    offsets_.clear();
    for (std::size_t i = 0; i < own_arrays_; ++i) {
        const Array& a = bounds.shared()[i];
        offsets_.push_back(static_cast<std::uint32_t>(own_words_));
        own_words_ += (a.end - a.start + 3) / 4;
    }
    const std::size_t words = own_words_ * blocks_;
    block_live(0, bounds);
    touches_.assign(blocks_, {});
    // Half of what can be counted is enough for the meetings and the sites of any block.
    if (now_ >> Toucher::kMomentAt > Toucher::kMostMoments / 2 || sites_.size() > Toucher::kMostSites / 2) {
        words_.clear();
        writers_.clear();
        now_ = 0;
        sites_.resize(1);
        numbers_.clear();
        last_site_ = 0;
    }
    if (words_.size() < words) {
        words_.resize(words);
        writers_.resize(words);
    }
    state_.assign(words, 0);
    copy_.resize(words);
    begin_ = epoch_ = next_moment();
    since_begin_ = 0;
    barriers_ = 0;
    threads_ = static_cast<std::size_t>(blocks > 1 ? pitch * blocks : threads);
    warps_ = (threads_ + kWarp - 1) / kWarp;
    meetings_.clear();
    clocks_.begin_block();
    if (blocks > 1) use_clocks();  // barriers of a block do not order all
}

void Races::block_live(unsigned rank, const Bounds& bounds) {
    live_ = rank;
    shared_ = &bounds.shared();
    first_.clear();
    for (std::size_t k = 0; k < blocks_; ++k) {
        const std::size_t begin = (rank + k) % blocks_ * own_words_;
        for (const std::uint32_t offset : offsets_)
            first_.push_back(static_cast<std::uint32_t>(begin + offset));
    }
}

std::uint64_t Races::number_of(std::uint32_t site) {
    if (site == last_site_) return last_number_;
    // (No kernel has so many instructions that the last number would have to stand for several.)
    const auto [entry, fresh] = numbers_.try_emplace(site, std::min(sites_.size(), Toucher::kMostSites - 1));
    if (fresh && sites_.size() < Toucher::kMostSites) sites_.push_back(site);
    last_site_ = site;
    return last_number_ = entry->second;
}

/// Sets what is in flight.
void Races::copy_begins(std::size_t array, Address address, int bytes, std::uint32_t site) {
    const Array& a = (*shared_)[array];
    for (Address at = address; at < std::min(address + static_cast<Address>(bytes), a.end); at += 4) {
        const std::size_t i = first_[array] + (at - a.start) / 4;
        change_state(i, static_cast<std::uint8_t>(state_[i] | kWhole << 4));
        copy_[i] = site;
    }
}
void Races::copy_ends(std::size_t array, Address address, int bytes) {
    const Array& a = (*shared_)[array];
    for (Address at = address; at < std::min(address + static_cast<Address>(bytes), a.end); at += 4) {
        const std::size_t i = first_[array] + (at - a.start) / 4;
        change_state(i, state_[i] & kWhole);
    }
}

void Races::warp_met(int first, unsigned lanes) {
    const std::uint64_t moment = next_moment();
    if (meetings_.empty()) meetings_.resize(warps_);
    auto& of_warp = meetings_[static_cast<std::size_t>(first / kWarp)];
    for (std::size_t a = 0; a < kWarp; ++a) {
        for (std::size_t b = 0; b < kWarp && (lanes >> a & 1u); ++b) {
            if (lanes >> b & 1u) of_warp[a][b] = moment;
        }
    }
    if (clocks_.on()) clocks_.met(static_cast<unsigned>(first), lanes, Toucher{moment}.moment());
}

void Races::access(const Access& access, bool atomic, int thread) {
    const Array& a = (*shared_)[access.array];
    const bool store = access.flags & kStore;
    if (access.address + access.width > a.end) {
        findings_.note(FindingId::shared_out_of_bounds, access.site, access.site, 0,
                       [&] { return by(static_cast<unsigned>(thread), store, a, access.address - a.start); });
        return;
    }
    const std::uint64_t what = now_ | Toucher::site_bits(number_of(access.site)) |
                               Toucher::atomic_bits(atomic) | Toucher::thread_bits(thread);
    if (a.remote) touch(a, access.address - a.start, access.site, static_cast<unsigned>(thread), {});
    const Address start = access.address - a.start, end = start + access.width;
    for (Address at = start; at < end;) {
        const Address stop = std::min((at / 4 + 1) * 4, end);
        const unsigned bytes = ((1u << (stop - at)) - 1) << at % 4;
        word(access.array, first_[access.array] + at / 4, {what | Toucher::bytes_bits(bytes)}, store);
        at = stop;
    }
}

void Races::word(std::size_t array, std::size_t i, const Toucher& mine, bool store) {
    const Array& a = (*shared_)[array];
    Word& word = words_[i];
    const Toucher& writer = writers_[i];
    const unsigned state = state_[i];
    const unsigned bytes = mine.bytes();
    const Address offset = (i - first_[array]) * 4 + static_cast<Address>(std::countr_zero(bytes));
    if ((state >> 4 & bytes) != 0) {
        if (copy_[i] == kLook) {
            bulk_touched(a, offset, i, mine, store);
        } else {
            in_flight(a, offset, copy_[i], mine, store);
        }
    }
    // Atomic operations keep each other out.
    if (concurrent(writer, mine) && !(mine.atomic() && writer.atomic())) {
        race(a, offset, writer, mine, true, store);
    }
    if ((mine.atomic() || !store) && (state & bytes) != bytes) unwritten(a, offset, mine);
    if (!store) {
        make_room(word, mine);
        word.reader = mine;
        return;
    }
    for (const Toucher& reader : {word.reader, word.other_lane, word.other_warp}) {
        if (concurrent(reader, mine)) race(a, offset, reader, mine, false, true);
    }
    write(i, mine, bytes);
}

/// Whether the two accesses, of different threads, have no barrier between them.
bool Races::concurrent(const Toucher& before, const Toucher& now) const {
    if (!since_barrier(before) || before.thread() == now.thread() || (before.bytes() & now.bytes()) == 0) {
        return false;
    }
    if (clocks_.on()) return !clocks_.knows(now.thread(), before.thread(), before.moment());
    const unsigned warp = now.thread() / kWarp;
    if (before.thread() / kWarp != warp || meetings_.empty()) return true;
    // Ordered if the two have met since.
    return meetings_[warp][before.thread() % kWarp][now.thread() % kWarp] <= before.bits;
}

bool Races::ordered(unsigned thread, unsigned other, Clocks::Stamp stamp) const {
    // (Barriers of one of several blocks do not order all of them.)
    return thread == other || (blocks_ == 1 && stamp < Toucher{epoch_}.moment()) ||
           clocks_.knows(thread, other, stamp);
}

Known Races::known(unsigned thread) {
    use_clocks();
    clocks_.learn(thread, thread, next_stamp());
    Known all{blocks_ == 1 ? Toucher{epoch_}.moment() : 0};
    for (unsigned other = 0; other < threads_; ++other) {
        if (const Clocks::Stamp stamp = clocks_.known(thread, other); stamp > all.all)
            all.more.emplace_back(other, stamp);
    }
    return all;
}

void Races::in_flight(const Array& a, Address offset, std::uint32_t copy, const Toucher& now, bool store) {
    findings_.note(FindingId::copy_in_flight, site_of(now), copy, 0, [&] {
        Finding finding = by(now.thread(), store, a, offset);
        finding.other = Finding::Side{.write = true};
        return finding;
    });
}

void Races::unwritten(const Array& a, Address offset, const Toucher& now) {
    findings_.note(FindingId::uninitialised_read, site_of(now), site_of(now), 0,
                   [&] { return by(now.thread(), false, a, offset); });
}

void Races::race(const Array& a, Address offset, const Toucher& before, const Toucher& now, bool wrote,
                 bool writes) {
    findings_.note(FindingId::race, site_of(now), site_of(before), 0, [&] {
        Finding finding = by(now.thread(), writes, a, offset);
        finding.other = findings_.side(static_cast<int>(before.thread()), wrote);
        return finding;
    });
}

Finding Races::by(unsigned thread, bool store, const Array& a, Address offset) const {
    Finding finding;
    finding.access = findings_.side(static_cast<int>(thread), store);
    finding.array = a.name;
    if (blocks_ > 1) finding.array_rank = a.rank;
    finding.offset = static_cast<std::int64_t>(offset);
    finding.bytes = static_cast<std::int64_t>(a.end - a.start);
    return finding;
}

}  // namespace cpu_device::trace
