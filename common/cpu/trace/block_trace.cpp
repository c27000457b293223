#include "common/cpu/trace/block_trace.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "common/cpu/execution/bulk_copies.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/cpu/ptx/warpgroup_types.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

void BlockTrace::begin(const std::vector<BlockView>& views) {
    views_ = views;
    const BlockView& first = views.front();
    const int threads = first.grid->threads(), blocks = static_cast<int>(views.size());
    pitch_ = blocks > 1 ? static_cast<unsigned>((threads + kWarp - 1) / kWarp * kWarp) : 0;
    findings_.begin_blocks(first, static_cast<int>(pitch_));
    bounds_.begin_blocks(views);
    races_.begin_blocks(threads, static_cast<int>(pitch_), blocks, bounds_);
    requests_.begin_blocks(first, session->most_steps);
    if (session->histories.blocks == 0) {
        history_.reset();
    } else if (!history_) {
        history_ = std::make_unique<History>(bounds_);
    }
    if (history_) history_->begin_blocks(views, session->histories.most_events);
    requests_.keep_history(history_.get());
    failed_ = false;
    const auto asked = std::find_if(views_.begin(), views_.end(),
                                    [](const auto& view) { return passes_filter(view.index); });
    owned_ = asked == views_.end() ? 0 : static_cast<unsigned>(asked - views_.begin());
    owners_.begin_block(views_[owned_].index);
    overwrites_.begin_blocks(first);
    order_.begin_blocks(first.index);
    block_runs(0);
    in_block_ = true;
}

void BlockTrace::block_runs(unsigned rank) {
    rank_ = rank;
    view_ = views_[rank];
    first_ = rank * pitch_;
    first_warpgroup_ = static_cast<int>(rank * ((pitch_ + 127) / 128));
    running_ = view_.running;
    interrupted_ = view_.interrupted;
    stacks_ = address_of(view_.stacks);
    stacks_bytes_ = address_of(view_.stacks_end) - stacks_;
    findings_.block_runs(view_.index);
    races_.block_runs(rank);
    requests_.block_runs(view_.index);
    overwrites_.block_runs(view_.index);
    order_.block_runs(view_.index);
    if (history_) history_->block_runs(rank);
}

void BlockTrace::end() {
    if (!in_block_) return;
    in_block_ = false;
    requests_.flush(*running_);
    overwrites_.end_block();
    Session& all = *session;
    std::vector<BlockHistory> histories = history_ ? history_->take() : std::vector<BlockHistory>();
    const bool found = findings_.any();
    const std::scoped_lock lock(all.mutex);
    if (all.shared.empty()) {
        all.shared = bounds_.shared();
        for (Array& a : all.shared) {
            if (a.remote) a.name += " of another block";
        }
    }
    all.traced_blocks += views_.size();
    all.barriers += races_.barriers();
    requests_.move_to(all.counts);
    move_to(all.multiplied, multiplied_);
    owners_.move_to(all);
    findings_.move_to(all.findings);
    all.kept_histories.put(std::move(histories), failed_, found, all.findings);
}

/// The running thread.
History::Who BlockTrace::who() const {
    return {*running_, requests_.accesses(), requests_.runs()};
}

void BlockTrace::access(const void* caller, Address address, int width, std::uint8_t flags) {
    if (address - stacks_ < stacks_bytes_ || here().key == nullptr) return;
    if (!here().leads_to(Requests::Key::access(caller, width, flags), address, width)) {
        other_access(caller, address, width, flags);
    } else if (!follows(here(), address, width, flags & kStore)) {
        // It may not be alone with its words of shared memory.
        Access access = here().step->access;
        access.address = address;
        // Who went this way before may have been of another block, to which the array has another number.
        const auto thread = static_cast<int>(number());
        if (!bounds_.locate(access, false, thread)) return;
        races_.access(access, false, thread);
        here().follow(address);
    }
}

void BlockTrace::step(const void* caller) {
    if (here().key == nullptr) return;
    requests_.keep(Requests::Key::block(caller), {site_of(caller), 0, kStep, 0, 0}, {});
    if (interrupted_->load(std::memory_order_relaxed)) stop_if_interrupted();
}

/// The first lane's, and those with something to look at.
void BlockTrace::other_access(const void* caller, Address address, int width, std::uint8_t flags) {
    if (address >= address_of(view_.runtime) && address < address_of(view_.runtime_end)) return;
    const auto thread = static_cast<int>(number());
    const bool atomic = flags & kAtomic;
    Access access{site_of(caller), static_cast<std::uint8_t>(width),
                  static_cast<std::uint8_t>(flags & ~kAtomic), 0, address};
    if (!bounds_.locate(access, atomic, thread)) return;
    Races::Instruction instruction;
    if (access.flags & kShared) {
        races_.access(access, atomic, thread);
        instruction = races_.instruction(access.array, access.site);
    } else {
        const Array& a = bounds_.array(0, access.array);
        const bool in_order =
            session->order.on && order_.access(a, access, atomic, static_cast<unsigned>(thread));
        if ((flags & kStore) != 0 && a.matrix != nullptr) {
            if (rank_ == owned_) owners_.store(a, address, width, *running_);
            if (a.written != nullptr) overwrites_.store(a, access, atomic, thread, in_order);
        }
    }
    requests_.keep(Requests::Key::access(caller, width, flags), access, instruction);
}

/// The thread takes part in an instruction of its warp and accesses nothing, so that the lanes stay in step.
void BlockTrace::nothing(const void* caller) {
    requests_.keep(Requests::Key::nothing(caller), {site_of(caller), 0, kNothing, 0, 0}, {});
}

void BlockTrace::atomic(const void* caller, Address address, int bytes) {
    access(caller, address, bytes, kStore | kAtomic);
    if (session->order.on && is_device_memory(reinterpret_cast<const void*>(address)))
        order_.relaxed(address, number());
}

void BlockTrace::flag(Observer::AtFlag what, const void* caller, Address address) {
    using AtFlag = Observer::AtFlag;
    const bool leaves = what == AtFlag::acquired || what == AtFlag::leaves;
    if (!leaves && what != AtFlag::arrives)
        access(caller, address, 4, what == AtFlag::acquires ? kAtomic : kStore | kAtomic);
    if (!session->order.on || what == AtFlag::acquires) return;
    if (leaves || what == AtFlag::adds_acquiring) order_.acquire(address, number());
    if (!leaves) order_.release(address, what != AtFlag::stores, number());
}

void BlockTrace::warp_accesses(const void* caller, Address address, int bytes, bool writes) {
    if (bytes == 0) return nothing(caller);
    access(caller, address, bytes, static_cast<std::uint8_t>(kMatrixRow | (writes ? kStore : 0)));
}

void BlockTrace::copy_begins(const void* caller, Address shared, Address global, int bytes, int valid) {
    if (valid > 0) {
        access(caller, global, valid, kCopy);
    } else {  // the lanes that copy and those that fill with zeros stay in step
        nothing(caller);
    }
    access(caller, shared, bytes, kCopy | kStore);
    if (const int s = index_of(bounds_.shared(), shared); s >= 0) {
        races_.copy_begins(static_cast<std::size_t>(s), shared, bytes, site_of(caller));
    }
}

void BlockTrace::copy_ends(const void* caller, Address shared, int bytes) {
    const int s = index_of(bounds_.shared(), shared);
    if (s < 0) return;
    races_.copy_ends(static_cast<std::size_t>(s), shared, bytes);
    // Now it is written, for this thread at once, for the others after a barrier.
    races_.access(
        {site_of(caller), static_cast<std::uint8_t>(bytes), kStore, static_cast<std::uint16_t>(s), shared},
        false, static_cast<int>(number()));
}

void BlockTrace::bulk_copy_begins(const BulkCopy& copy, bool again) {
    const std::uint32_t site = site_of(copy.caller);
    const unsigned thread = first_ + static_cast<unsigned>(copy.thread);
    races_.bulk_begins(copy, site, thread);
    if (again) {
        if (history_) history_->box(who(), copy, nullptr, 0);
        return;
    }
    const std::uint8_t flags = copy.load ? 0 : kStore;
    Access first{};  // what lies in the tensor
    std::uint64_t bytes = 0;
    std::vector<Address> sectors;
    for (const Chunk& c : copy.chunks) {
        if (c.to == c.from) continue;
        const auto width = static_cast<std::uint8_t>(c.to - c.from - c.beyond);
        if (c.beyond > 0) past_the_row(copy, address_of(c.global) + width, c.beyond);
        Access access{site, width, flags, 0, address_of(c.global)};
        // (Parts of rows: the copy as a whole has been checked for alignment.)
        if (!bounds_.locate(access, false, static_cast<int>(thread), false)) continue;
        const Array& a = bounds_.array(0, access.array);
        const bool in_order = session->order.on && order_.access(a, access, false, thread);
        if (!copy.load && a.matrix != nullptr) {
            if (rank_ == owned_) owners_.store(a, access.address, width, copy.thread);
            if (a.written != nullptr) overwrites_.store(a, access, false, static_cast<int>(thread), in_order);
        }
        if (bytes == 0) first = access;
        bytes += width;
        for (Address s = access.address / 32; s <= (access.address + width - 1) / 32; ++s)
            sectors.push_back(s);
    }
    std::sort(sectors.begin(), sectors.end());
    sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
    first.flags |= kBulk;
    if (bytes > 0) requests_.box(first, copy.thread, bytes, sectors.size(), copy.map);
    if (history_) history_->box(who(), copy, bytes > 0 ? &first : nullptr, sectors.size());
}

void BlockTrace::wgmma_begins(const void* caller, const WgmmaMultiply& call,
                              const std::vector<const void*>& places, int warpgroup, std::uint64_t batch) {
    const MultiplyKey key{site_of(caller), static_cast<int>(call.columns()), call.registers != nullptr,
                          call.major_a, call.major_b};
    Multiplied& m = multiplied_[key];
    if (m.count == 0) {
        m.block = view_.index;
        m.order = multiplied_.size();
        m.a = call.a;
        m.b = call.b;
    }
    ++m.count;
    m.shared_bytes += places.size() * kChunk;
    races_.wgmma_begins(places, site_of(caller), warpgroup + first_warpgroup_, batch, number());
    if (history_) history_->multiplies(who(), site_of(caller), call, places, warpgroup, batch);
}

/// A store writes more than a row of the tensor has.
void BlockTrace::past_the_row(const BulkCopy& copy, Address row_end, int bytes) {
    const std::uint32_t site = site_of(copy.caller);
    findings_.note(gemm::FindingId::store_past_row, site, site, 0, [&] {
        Finding finding;
        finding.access = findings_.side(static_cast<int>(first_) + copy.thread, true);
        finding.width = bytes;
        if (const int g = index_of(session->globals, row_end - 1); g >= 0)
            name_place(finding, session->globals[static_cast<std::size_t>(g)], row_end - 1);
        return finding;
    });
}

}  // namespace cpu_device::trace
