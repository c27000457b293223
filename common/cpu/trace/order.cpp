#include "common/cpu/trace/order.hpp"

#include <algorithm>
#include <utility>

#include "common/cpu/trace/races.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

bool Known::covers(unsigned thread, Clocks::Stamp stamp) const {
    if (stamp < all) return true;
    const auto known = std::lower_bound(more.begin(), more.end(), thread,
                                        [](const auto& entry, unsigned t) { return entry.first < t; });
    return known != more.end() && known->first == thread && stamp < known->second;
}

void Known::add(const Known& other) {
    all = std::max(all, other.all);
    std::vector<std::pair<unsigned, Clocks::Stamp>> both;
    auto mine = more.begin();
    auto theirs = other.more.begin();
    while (mine != more.end() || theirs != other.more.end()) {
        std::pair<unsigned, Clocks::Stamp> next{};
        if (theirs == other.more.end() || (mine != more.end() && mine->first < theirs->first)) {
            next = *mine++;
        } else if (mine == more.end() || theirs->first < mine->first) {
            next = *theirs++;
        } else {
            next = {mine->first, std::max(mine->second, theirs->second)};
            ++mine;
            ++theirs;
        }
        if (next.second > all) both.push_back(next);
    }
    more = std::move(both);
}

namespace {
void add(Released& to, const Released& from) {
    for (const auto& [cluster, known] : from) to[cluster].add(known);
}
}  // namespace

void Order::begin_blocks(std::uint64_t first) {
    cluster_ = block_ = first;
    acquired_.clear();
    fenced_.clear();
    seen_.clear();
}

bool Order::knows(unsigned thread, const Last& last) const {
    return std::any_of(acquired_.rbegin(), acquired_.rend(), [&](const Acquired& a) {
        const auto known = a.what->find(last.cluster);
        return known != a.what->end() && known->second.covers(last.thread, last.stamp) &&
               races_.ordered(thread, a.thread, a.stamp);
    });
}

bool Order::access(const Array& a, const Access& access, bool atomic, unsigned thread) {
    const bool store = (access.flags & kStore) != 0;
    if (a.matrix != nullptr && !a.matrix->writable) return true;  // whoever writes it is found as it is
    bool in_order = true;
    const Address end = access.address + access.width;
    for (Address word = access.address / 4 * 4; word < end; word += 4) {
        const Address first = std::max(word, access.address), last = std::min(word + 4, end);
        const auto bytes = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << (first - word));
        const auto known = session->order.words.find(word);
        const Last now{cluster_, block_, thread, races_.now(), access.site, bytes, atomic};
        if (known == session->order.words.end()) {
            LaunchOrder::Word& fresh = session->order.words[word];
            (store ? fresh.writer : fresh.reader) = now;
            continue;
        }
        auto& [writer, reader] = known->second;
        const auto clash = [&](const Last& before) {
            return (before.bytes & bytes) != 0 && before.cluster != cluster_ && !(before.atomic && atomic) &&
                   !knows(thread, before);
        };
        if (clash(writer)) {
            in_order = false;
            if (!store || a.written == nullptr) finding(a, access, writer, true, thread);
        }
        if (store && clash(reader)) finding(a, access, reader, false, thread);
        (store ? writer : reader) = now;
    }
    return in_order;
}

void Order::finding(const Array& a, const Access& access, const Last& last, bool wrote, unsigned thread) {
    findings_.note(gemm::FindingId::unordered_blocks, access.site, last.site, 0, [&] {
        Finding finding;
        finding.access = findings_.side(static_cast<int>(thread), (access.flags & kStore) != 0);
        finding.other = findings_.side(static_cast<int>(last.thread), wrote);
        finding.other_block = last.block;
        name_place(finding, a, access.address);
        return finding;
    });
}

/// What the thread knows, its own accesses so far among it.
Released Order::all_known(unsigned thread) {
    Released all;
    for (const Acquired& a : acquired_) {
        if (races_.ordered(thread, a.thread, a.stamp)) add(all, *a.what);
    }
    all[cluster_].add(races_.known(thread));
    return all;
}

void Order::acquired(unsigned thread, std::shared_ptr<const Released> what) {
    for (const Acquired& a : acquired_) {
        if (a.thread == thread && a.what == what) return;
    }
    races_.use_clocks();
    acquired_.push_back({thread, races_.now(), std::move(what)});
}

void Order::acquire(Address flag, unsigned thread) {
    if (const auto known = session->order.flags.find(flag); known != session->order.flags.end())
        acquired(thread, known->second);
}

void Order::release(Address flag, bool adds, unsigned thread) {
    Released all = all_known(thread);
    auto& released = session->order.flags[flag];
    if (adds && released != nullptr) add(all, *released);
    released = std::make_shared<const Released>(std::move(all));
}

void Order::relaxed(Address flag, unsigned thread) {
    const auto known = session->order.flags.find(flag);
    const bool released = known != session->order.flags.end();
    if (released) add(seen_[thread], *known->second);
    const auto before = fenced_.find(thread);
    if (before == fenced_.end()) return;
    Released all = before->second;
    if (released) add(all, *known->second);
    session->order.flags[flag] = std::make_shared<const Released>(std::move(all));
}

void Order::fence(unsigned thread) {
    if (auto seen = seen_.extract(thread); !seen.empty())
        acquired(thread, std::make_shared<const Released>(std::move(seen.mapped())));
    fenced_[thread] = all_known(thread);
}

}  // namespace cpu_device::trace
