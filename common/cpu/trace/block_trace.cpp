#include "common/cpu/trace/block_trace.hpp"

#include <algorithm>
#include <vector>

#include "common/cpu/execution/bulk_copies.hpp"
#include "common/cpu/ptx/warpgroup.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

void BlockTrace::begin(const BlockView& view) {
    view_ = view;
    running_ = view.running;
    interrupted_ = view.interrupted;
    stacks_ = address_of(view.stacks);
    stacks_bytes_ = address_of(view.stacks_end) - stacks_;
    const dim3 block = view.grid->block;
    findings_.begin_block(view);
    bounds_.begin_block(view);
    races_.begin_block(static_cast<int>(block.x * block.y * block.z), bounds_.shared());
    requests_.begin_block(view, session->most_steps);
    owners_.begin_block(view.index);
    overwrites_.begin_block(view);
    in_block_ = true;
}

void BlockTrace::end() {
    if (!in_block_) return;
    in_block_ = false;
    requests_.flush(*running_);
    overwrites_.end_block();
    Session& all = *session;
    const std::scoped_lock lock(all.mutex);
    if (all.shared.empty()) all.shared = bounds_.shared();
    ++all.traced_blocks;
    all.barriers += races_.barriers();
    requests_.move_to(all.counts);
    move_to(all.multiplied, multiplied_);
    owners_.move_to(all);
    findings_.move_to(all.findings);
}

void BlockTrace::access(const void* caller, Address address, int width, std::uint8_t flags) {
    if (address - stacks_ < stacks_bytes_ || here().key == nullptr) return;
    if (!here().leads_to(Requests::Key::access(caller, width, flags), address, width)) {
        other_access(caller, address, width, flags);
    } else if (!follows(here(), address, width, flags & kStore)) {
        // It may not be alone with its words of shared memory.
        Access access = here().step->access;
        access.address = address;
        races_.access(access, false, here().thread);
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
    const int thread = *running_;
    const bool atomic = flags & kAtomic;
    Access access{site_of(caller), static_cast<std::uint8_t>(width),
                  static_cast<std::uint8_t>(flags & ~kAtomic), 0, address};
    if (!bounds_.locate(access, atomic, thread)) return;
    Races::Instruction instruction;
    if (access.flags & kShared) {
        races_.access(access, atomic, thread);
        instruction = races_.instruction(access.array, access.site);
    } else if (const Array& a = bounds_.array(0, access.array);
               (flags & kStore) != 0 && a.matrix != nullptr) {
        owners_.store(a, address, width, thread);
        if (a.written != nullptr) overwrites_.store(a, access, atomic, thread);
    }
    requests_.keep(Requests::Key::access(caller, width, flags), access, instruction);
}

/// The thread takes part in an instruction of its warp and accesses nothing, so that the lanes stay in step.
void BlockTrace::nothing(const void* caller) {
    requests_.keep(Requests::Key::nothing(caller), {site_of(caller), 0, kNothing, 0, 0}, {});
}

void BlockTrace::warp_reads(const void* caller, Address address, int bytes) {
    if (bytes == 0) return nothing(caller);
    access(caller, address, bytes, kMatrixRow);
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
        false, *running_);
}

void BlockTrace::bulk_copy_begins(const BulkCopy& copy) {
    const std::uint32_t site = site_of(copy.caller);
    races_.bulk_begins(copy, site);
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
        if (!bounds_.locate(access, false, copy.thread, false)) continue;
        if (const Array& a = bounds_.array(0, access.array); !copy.load && a.matrix != nullptr) {
            owners_.store(a, access.address, width, copy.thread);
            if (a.written != nullptr) overwrites_.store(a, access, false, copy.thread);
        }
        if (bytes == 0) first = access;
        bytes += width;
        for (Address s = access.address / 32; s <= (access.address + width - 1) / 32; ++s)
            sectors.push_back(s);
    }
    if (bytes == 0) return;
    std::sort(sectors.begin(), sectors.end());
    sectors.erase(std::unique(sectors.begin(), sectors.end()), sectors.end());
    first.flags |= kBulk;
    requests_.box(first, copy.thread, bytes, sectors.size(), copy.map);
}

void BlockTrace::wgmma_begins(const void* caller, const WgmmaCall& call,
                              const std::vector<const void*>& places, int warpgroup, std::uint64_t batch) {
    const MultiplyKey key{site_of(caller), 2 * call.count, call.registers != nullptr, call.major_a,
                          call.major_b};
    Multiplied& m = multiplied_[key];
    if (m.count == 0) {
        m.block = view_.index;
        m.order = multiplied_.size();
        m.a = call.a;
        m.b = call.b;
    }
    ++m.count;
    m.shared_bytes += places.size() * kChunk;
    races_.wgmma_begins(places, site_of(caller), warpgroup, batch, static_cast<unsigned>(*running_));
}

/// A store writes more than a row of the tensor has.
void BlockTrace::past_the_row(const BulkCopy& copy, Address row_end, int bytes) {
    const std::uint32_t site = site_of(copy.caller);
    findings_.note(gemm::FindingId::store_past_row, site, site, 0, [&] {
        Finding finding;
        finding.access = findings_.side(copy.thread, true);
        finding.width = bytes;
        if (const int g = index_of(session->globals, row_end - 1); g >= 0)
            name_place(finding, session->globals[static_cast<std::size_t>(g)], row_end - 1);
        return finding;
    });
}

}  // namespace cpu_device::trace
