// Races with the copy engine (TMA), and what orders accesses beside barriers of the whole block: mbarriers.
#include <algorithm>
#include <bit>

#include "common/cpu/execution/bulk_copies.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/races.hpp"

namespace cpu_device::trace {

using gemm::FindingId;
using AtMbarrier = Observer::AtMbarrier;

void Races::use_clocks() {
    if (clocks_.on()) return;
    clocks_.turn_on(threads_, blocks_);
    // What was before the last barrier is known to all, to who fences it, too.
    if (blocks_ == 1) clocks_.all_met(Toucher{epoch_}.moment());
    bulk_words_.assign(state_.size(), {});
    bulk_copies_.clear();
    begun_.clear();
    arriving_.assign(threads_, 0);
    passed_.assign(threads_, 0);
    cluster_phases_ = 0;
    for (std::size_t w = 0; w < meetings_.size(); ++w) {
        const auto first = static_cast<unsigned>(w * kWarp);
        for (unsigned a = 0; a < kWarp && first + a < threads_; ++a) {
            for (unsigned b = 0; b < kWarp && first + b < threads_; ++b)
                clocks_.learn(first + a, first + b, Toucher{meetings_[w][a][b]}.moment());
        }
    }
}

void Races::at_mbarrier(AtMbarrier what, const void* mbarrier, std::uint32_t site, unsigned thread) {
    use_clocks();
    if ((what == AtMbarrier::arrives || what == AtMbarrier::arrives_relaxed) && live_ != running_) {
        const Address at = address_of(mbarrier);
        const int s = index_of(*shared_, at);
        const Array& a = (*shared_)[static_cast<std::size_t>(s)];  // is there: the device takes no other
        touch(a, at - a.start, site, thread, clocks_.end_of_load(key(mbarrier)));
    }
    switch (what) {
        case AtMbarrier::begins:
            begun_[key(mbarrier)] = {site, thread, stamp()};
            break;
        case AtMbarrier::arrives:
            (void)uses(mbarrier, site, thread);
            clocks_.release(thread, next_stamp(), key(mbarrier));
            break;
        case AtMbarrier::arrives_relaxed:
            (void)uses(mbarrier, site, thread);
            clocks_.release_counts(thread, key(mbarrier));
            break;
        case AtMbarrier::waited:
        case AtMbarrier::waited_cluster:
            (void)uses(mbarrier, site, thread);
            clocks_.acquire(thread, key(mbarrier), what == AtMbarrier::waited_cluster);
            break;
        case AtMbarrier::completes:
            clocks_.complete(key(mbarrier));
            break;
        case AtMbarrier::expects:
        case AtMbarrier::waits:
            break;
    }
}

// ---- clusters ----

void Races::at_cluster_barrier(Observer::AtCluster what, unsigned thread) {
    using AtCluster = Observer::AtCluster;
    use_clocks();
    const void* const barrier = this;  // no mbarrier's address
    if (what == AtCluster::arrives || what == AtCluster::arrives_relaxed) arriving_[thread] = next_stamp();
    switch (what) {
        case AtCluster::arrives:
            clocks_.release(thread, arriving_[thread], barrier);
            break;
        case AtCluster::arrives_relaxed:
            clocks_.release_counts(thread, barrier);
            break;
        case AtCluster::waited:
            clocks_.acquire(thread, barrier, true);
            passed_[thread] = cluster_phases_;
            break;
        case AtCluster::completes:
            met_at_[cluster_phases_++ % 2] = arriving_;
            clocks_.complete(barrier);
            break;
    }
}

/// Whether a barrier of the cluster that the thread has passed lies behind what the other did with that
/// stamp. So it does where arrivals are relaxed: they say nothing of memory, and order what happens all the
/// same.
bool Races::behind(unsigned thread, unsigned other, Clocks::Stamp stamp) const {
    const std::uint32_t passed = passed_[thread];
    return passed > 0 && stamp < met_at_[(passed - 1) % 2][other];
}

/// The threads of the block that runs have met.
void Races::some_met(const std::vector<int>& threads) {
    use_clocks();
    std::vector<unsigned> met;
    for (const int thread : threads) met.push_back(running_ * pitch_ + static_cast<unsigned>(thread));
    clocks_.some_met(met, next_stamp());
}

void Races::block_met() {
    clocks_.block_met(running_ * pitch_, static_cast<unsigned>(block_threads_), next_stamp());
}

/// The thread reaches into another block.
void Races::touch(const Array& a, Address offset, std::uint32_t site, unsigned thread,
                  std::optional<Clocks::End> end) {
    touches_[a.remote ? a.rank : live_][2 * thread + (end ? 1 : 0)] = {site, &a, offset, stamp(), end};
}

/// Whoever has reached into it has done so before the last of its threads returned, if one of them can know.
void Races::block_left(unsigned rank) {
    for (const auto& [by_whom, t] : touches_[rank]) {
        const unsigned thread = by_whom / 2;
        bool known = false;
        for (unsigned own = rank * pitch_; own < rank * pitch_ + static_cast<unsigned>(block_threads_); ++own)
            known = known || behind(own, thread, t.at) || clocks_.knows(own, thread, t.at) ||
                    (t.end && clocks_.knows(own, *t.end));
        if (known) continue;
        findings_.note(FindingId::block_left, t.site, t.site, 0, [&, &touched = t] {
            Finding finding = by(thread, false, *touched.array, touched.offset);
            finding.array_rank = rank;
            return finding;
        });
    }
}

/// Of an mbarrier that the thread uses; null, and a finding, where it cannot know it to have begun.
Races::Begun* Races::uses(const void* mbarrier, std::uint32_t site, unsigned thread) {
    Begun& b = begun_[key(mbarrier)];  // is there: the device takes no other
    if (thread == b.thread || clocks_.knows(thread, b.thread, b.at)) return &b;
    if (b.fenced && behind(thread, b.thread, *b.fenced)) return &b;  // what the fence is for
    begun_finding(FindingId::mbarrier_not_begun, b, mbarrier, site, thread);
    return nullptr;
}

/// The thread starts a load that signals the mbarrier.
void Races::signals(const void* mbarrier, std::uint32_t site, unsigned thread) {
    Begun* const b = uses(mbarrier, site, thread);
    if (b == nullptr || clocks_.proxied(thread, b->thread, b->at)) return;  // (fence.proxy.async does, too)
    if (b->fenced && (thread == b->thread || clocks_.knows(thread, b->thread, *b->fenced) ||
                      behind(thread, b->thread, *b->fenced)))
        return;
    begun_finding(FindingId::mbarrier_unfenced, *b, mbarrier, site, thread);
}

void Races::begun_finding(FindingId id, Begun& begun, const void* mbarrier, std::uint32_t site,
                          unsigned thread) {
    const Address at = address_of(mbarrier);
    const int s = index_of(*shared_, at);
    if (s < 0 || begun.told) return;
    begun.told = true;
    const Array& a = (*shared_)[static_cast<std::size_t>(s)];
    findings_.note(id, site, begun.site, 0, [&] {
        Finding finding = by(thread, true, a, at - a.start);
        finding.other = findings_.side(static_cast<int>(begun.thread), true);
        return finding;
    });
}

void Races::mbarriers_fenced(unsigned thread) {
    use_clocks();
    for (auto& [mbarrier, b] : begun_) {
        if (b.thread == thread && !b.fenced) b.fenced = stamp();
    }
}

void Races::proxy_fenced(unsigned thread) {
    use_clocks();
    clocks_.fence(thread, next_stamp());
}

void Races::bulk_copies_read(std::uint64_t group, unsigned thread) {
    use_clocks();
    clocks_.stores_read(thread, group);
}

void Races::bulk_begins(const BulkCopy& copy, std::uint32_t site, unsigned thread) {
    use_clocks();
    if (copy.load) signals(copy.mbarrier, site, thread);
    bulk_copies_.push_back(
        {site, thread,
         copy.load ? clocks_.end_of_load(key(copy.mbarrier)) : clocks_.end_of_store(thread, copy.group)});
    for (const Chunk& c : copy.chunks)
        bulk_moves(c.shared, copy.load ? 0 : c.from, copy.load ? unsigned{kChunk} : c.to, copy.load);
    // Whoever waits for the bytes knows what was known when the copy began.
    if (copy.load) clocks_.release(thread, next_stamp(), key(copy.mbarrier));
}

void Races::wgmma_begins(const std::vector<const void*>& places, std::uint32_t site, int warpgroup,
                         std::uint64_t batch, unsigned thread) {
    use_clocks();
    bulk_copies_.push_back({site, thread, clocks_.end_of_batch(warpgroup, batch), true});
    for (const void* place : places) bulk_moves(place, 0, kChunk, false);
}

void Races::wgmma_waited(int warpgroup, std::uint64_t batch, unsigned thread) {
    use_clocks();
    clocks_.batches_computed(thread, warpgroup, batch);
}

/// The last copy that has begun reads or writes bytes [from, to) behind an address.
void Races::bulk_moves(const void* shared, unsigned from, unsigned to, bool load) {
    const Address start = address_of(shared);
    const int s = index_of(*shared_, start);
    if (s < 0) return;
    const Array& a = (*shared_)[static_cast<std::size_t>(s)];
    for (Address at = from / 4 * 4; at < to; at += 4) {
        const Address first = std::max<Address>(at, from), end = std::min<Address>(at + 4, to);
        const unsigned bytes = ((1u << (end - first)) - 1) << (first - at);
        const std::size_t i = first_[static_cast<std::size_t>(s)] + (start + at - a.start) / 4;
        const Place place{a, start + first - a.start, i, bytes};
        if (load) {
            bulk_load(place);
        } else {
            bulk_store(place);
        }
        change_state(i, static_cast<std::uint8_t>(state_[i] | kWhole << 4));
        copy_[i] = kLook;
    }
}

/// A finding about the last copy that has begun, and whoever came before.
template <class Make>
void Races::bulk_finding(FindingId id, std::uint32_t other, const Place& place, bool writes, Make make) {
    const Bulk& now = bulk_copies_.back();
    findings_.note(id, now.site, other, 0, [&] {
        Finding finding = by(now.thread, writes, place.array, place.offset);
        finding.other = make();
        return finding;
    });
}

/// Whether the thread's write was in this block, and no fence has ordered it for the engine.
bool Races::unfenced(const Toucher& writer, unsigned thread) const {
    return writer.bits >= begin_ && !clocks_.proxied(thread, writer.thread(), writer.moment());
}

void Races::bulk_load(const Place& place) {
    const Bulk& now = bulk_copies_.back();
    Word& word = words_[place.word];
    Toucher& writer = writers_[place.word];
    BulkWord& bulk = bulk_words_[place.word];
    const Toucher mine = toucher(now.site, now.thread, place.bytes);
    bool ordered = true;
    for (const Toucher* before : {&writer, &word.reader, &word.other_lane, &word.other_warp}) {
        if (!concurrent(*before, mine)) continue;
        ordered = false;
        bulk_finding(FindingId::load_overwrites, site_of(*before), place, true,
                     [&] { return findings_.side(static_cast<int>(before->thread()), before == &writer); });
    }
    if (ordered && unfenced(writer, now.thread)) {
        bulk_finding(FindingId::no_proxy_fence, site_of(writer), place, true,
                     [&] { return findings_.side(static_cast<int>(writer.thread()), true); });
    }
    for (const bool load : {true, false}) {
        const std::uint32_t index = load ? bulk.load : bulk.store;
        if (index == 0 || clocks_.knows(now.thread, bulk_copies_[index - 1].end)) continue;
        const Bulk& before = bulk_copies_[index - 1];
        bulk_finding(load ? FindingId::loads_overlap : before.in_flight(), before.site, place, true,
                     [&] { return findings_.side(static_cast<int>(before.thread), load); });
    }
    // From here on it is the copy that has written it.
    word = {};
    write(place.word, {}, place.bytes);
    bulk = {static_cast<std::uint32_t>(bulk_copies_.size()), 0};
}

void Races::bulk_store(const Place& place) {
    const Bulk& now = bulk_copies_.back();
    const Toucher writer = writers_[place.word];
    BulkWord& bulk = bulk_words_[place.word];
    const Toucher mine = toucher(now.site, now.thread, place.bytes);
    if (concurrent(writer, mine)) {
        race(place.array, place.offset, writer, mine, true, false);
    } else if (unfenced(writer, now.thread)) {
        bulk_finding(now.wgmma ? FindingId::wgmma_unfenced : FindingId::no_proxy_fence, site_of(writer),
                     place, false, [&] { return findings_.side(static_cast<int>(writer.thread()), true); });
    }
    if ((state_[place.word] & place.bytes) != place.bytes) unwritten(place.array, place.offset, mine);
    if (bulk.load != 0 && !clocks_.knows(now.thread, bulk_copies_[bulk.load - 1].end)) {
        const Bulk& before = bulk_copies_[bulk.load - 1];
        bulk_finding(FindingId::load_in_flight, before.site, place, false,
                     [&] { return findings_.side(static_cast<int>(before.thread), true); });
    }
    bulk.store = static_cast<std::uint32_t>(bulk_copies_.size());
}

/// A thread's access to a word that the engine has to do with.
void Races::bulk_touched(const Array& a, Address offset, std::size_t i, const Toucher& now, bool store) {
    BulkWord& bulk = bulk_words_[i];
    const auto known = [&](std::uint32_t index) {
        return index == 0 || clocks_.knows(now.thread(), bulk_copies_[index - 1].end);
    };
    const auto note = [&](FindingId id, const Bulk& copy) {
        findings_.note(id, site_of(now), copy.site, 0, [&] {
            Finding finding = by(now.thread(), store, a, offset);
            finding.other = findings_.side(static_cast<int>(copy.thread), id == FindingId::load_in_flight);
            return finding;
        });
    };
    if (!known(bulk.load)) note(FindingId::load_in_flight, bulk_copies_[bulk.load - 1]);
    if (store && !known(bulk.store))
        note(bulk_copies_[bulk.store - 1].in_flight(), bulk_copies_[bulk.store - 1]);
    const auto over = [&](std::uint32_t index) {
        return index == 0 || clocks_.all_know(bulk_copies_[index - 1].end);
    };
    if (over(bulk.load) && over(bulk.store)) {
        bulk = {};
        change_state(i, state_[i] & kWhole);
    }
}

}  // namespace cpu_device::trace
