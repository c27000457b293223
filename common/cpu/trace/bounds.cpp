#include "common/cpu/trace/bounds.hpp"

#include <algorithm>
#include <bit>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"
#include "common/cpu/trace/written.hpp"

namespace cpu_device::trace {
namespace {

using gemm::FindingId;

constexpr Address kNearHome = 2048;  // there the next array is nearer
constexpr Address kNear = 65536;     // bytes: what misses shared memory by less was meant for it
// Bytes beyond the nearest shared array within which nothing but pads lies: a write there breaks nothing.
constexpr Address kHarmless = 61440;
constexpr const char* kStopped =
    "a write to memory that is not the device's; it was stopped there, since the program could not have gone "
    "on.";

/// Bytes from the nearest array.
Address distance(const std::vector<Array>& arrays, Address address) {
    Address least = ~Address{0};
    for (const Array& a : arrays) {
        least = std::min(least, address >= a.end ? address - a.end + 1 : a.start - address);
    }
    return least;
}

/// Puts into the finding which array an address missed that lies in none.
void name_nearest(Finding& finding, const std::vector<Array>& arrays, Address address) {
    Address least = ~Address{0};
    for (const Array& a : arrays) {
        const Address distance = address >= a.end ? address - a.end + 1 : a.start - address;
        if (distance >= least) continue;
        least = distance;
        finding.array = a.name;
        finding.offset = static_cast<std::int64_t>(address - a.start);
        finding.bytes = static_cast<std::int64_t>(a.end - a.start);
        if (arrays.back().remote) finding.array_rank = a.rank;
    }
}

/// The matrix in the same allocation, which is the one that was meant; null if there is none.
const Array* meant(Address address) {
    const Array* found = nullptr;
    for (const Array& whole : session->allocations) {
        if (address < whole.start || address >= whole.end) continue;
        for (const Array& a : session->globals) {
            // Of a batch's matrices, the one that it is behind.
            const bool in_it = a.matrix != nullptr && a.start >= whole.start && a.end <= whole.end;
            if (in_it && (found == nullptr || a.start <= address)) found = &a;
        }
    }
    return found;
}
/// The last matrix in front of the address, if a tile of 128 rows may reach so far behind it; else null.
const Array* before(Address address) {
    const Array* found = nullptr;
    for (const Array& a : session->globals) {
        if (a.matrix == nullptr || a.end > address || (found != nullptr && a.end < found->end)) continue;
        if (address - a.end <= 128 * static_cast<Address>(a.matrix->bytes(a.matrix->pitch))) found = &a;
    }
    return found;
}

bool on_device(Address address) {
    return is_device_memory(reinterpret_cast<const void*>(address));
}

}  // namespace

void Bounds::begin_blocks(const std::vector<BlockView>& views) {
    grid_ = views.front().grid;
    tls_start_ = address_of(thread_local_start());
    tls_end_ = tls_start_ + thread_local_bytes();
    live_ = 0;
    dynamic_.clear();
    homes_.clear();
    for (const BlockView& view : views) {
        dynamic_.push_back(address_of(view.dynamic_shared));
        if (views.size() > 1)
            for (const std::byte* home : *view.homes) homes_.push_back(address_of(home));
    }
    const std::size_t blocks = views.size(), dynamic = grid_->dynamic_shared_bytes;
    shared_.assign(blocks, {});
    for (std::size_t live = 0; live < blocks; ++live) {
        for (std::size_t k = 0; k < blocks; ++k) {
            const std::size_t rank = (live + k) % blocks;
            const auto add = [&](const std::string& name, Address start, Address bytes) {
                shared_[live].push_back({.name = name,
                                         .start = start,
                                         .end = start + bytes,
                                         .rank = static_cast<unsigned>(rank),
                                         .remote = k > 0});
            };
            for (std::size_t i = 0; i < grid_->shared->size(); ++i) {
                const SharedArray& a = (*grid_->shared)[i];
                add(a.name, k == 0 ? tls_start_ + a.tls_offset : address_of((*views[rank].homes)[i]),
                    a.bytes);
            }
            if (dynamic > 0) add("shared memory", dynamic_[rank], dynamic);
        }
    }
}

const Array& Bounds::array(std::uint8_t flags, std::uint16_t index) const {
    return (flags & kShared ? shared() : session->globals)[index];
}

bool Bounds::locate(Access& access, bool atomic, int thread, bool whole) {
    const Address address = access.address;
    const bool store = access.flags & kStore;
    // (Part of a cp.async may be 12 bytes wide; the copy as a whole has been checked.)
    if (whole && std::has_single_bit(access.width) && address % access.width != 0) misaligned(access, thread);
    if (const int s = index_of(shared(), address); s >= 0) {
        access.flags |= kShared;
        access.array = static_cast<std::uint16_t>(s);
        return true;
    }
    if (near_dynamic(address)) {
        outside_dynamic(access, thread);
        return false;
    }
    if (near_static(address)) {
        outside_static(access, thread);
        return false;
    }
    const int g = index_of(session->globals, address);
    if (g < 0) {
        if (on_device(address)) {
            outside(access.site, address, store, thread);
        } else {
            host_pointer(access, thread);
        }
        return false;
    }
    access.array = static_cast<std::uint16_t>(g);
    check_matrix(access, session->globals[access.array], atomic, thread);
    return true;
}

/// In thread-local memory, where the static arrays lie, or near it.
bool Bounds::near_static(Address address) const {
    return address + kNear >= tls_start_ && address < tls_end_ + kNear && !on_device(address);
}

/// Near dynamic shared memory, which lies alone, of any block of the cluster, or near static arrays of those
/// that do not run.
bool Bounds::near_dynamic(Address address) const {
    if (on_device(address)) return false;
    const Address bytes = grid_->dynamic_shared_bytes;
    return std::any_of(
               dynamic_.begin(), dynamic_.end(),
               [&](Address start) { return address + kNear >= start && address < start + bytes + kNear; }) ||
           std::any_of(homes_.begin(), homes_.end(), [&](Address start) {
               return address + kNearHome >= start && address < start + kNearHome;
           });
}

Finding Bounds::by(int thread, bool store) const {
    Finding finding;
    finding.access = findings_.side(thread, store);
    return finding;
}

void Bounds::misaligned(const Access& access, int thread) {
    findings_.note(FindingId::misaligned_access, access.site, access.site, 0, [&] {
        Finding finding = by(thread, access.flags & kStore);
        finding.width = access.width;
        if (const int s = index_of(shared(), access.address); s >= 0) {
            name_place(finding, shared()[static_cast<std::size_t>(s)], access.address);
        } else if (const int g = index_of(session->globals, access.address); g >= 0) {
            name_place(finding, session->globals[static_cast<std::size_t>(g)], access.address);
        }
        return finding;
    });
}

void Bounds::outside_dynamic(const Access& access, int thread) {
    const std::size_t asked = grid_->dynamic_shared_bytes;
    const FindingId id = asked > 0 ? FindingId::shared_out_of_bounds : FindingId::no_dynamic_shared_memory;
    findings_.note(id, access.site, access.site, 0, [&] {
        Finding finding = by(thread, access.flags & kStore);
        finding.asked = asked;
        if (asked > 0) name_nearest(finding, shared(), access.address);
        return finding;
    });
}

void Bounds::outside_static(const Access& access, int thread) {
    findings_.note(FindingId::shared_out_of_bounds, access.site, access.site, 0, [&] {
        Finding finding = by(thread, access.flags & kStore);
        name_nearest(finding, shared(), access.address);
        return finding;
    });
    if ((access.flags & kStore) && distance(shared(), access.address) > kHarmless) stop_kernel(kStopped);
}

/// Arguments of the kernel and constants of the program may be read.
void Bounds::host_pointer(const Access& access, int thread) {
    const Address context = address_of(grid_->context), address = access.address;
    const bool parameters = address >= context && address < context + grid_->context_bytes;
    const bool constant = address >= address_of(&__executable_start) && address < address_of(&_end);
    const bool store = access.flags & kStore;
    if (!parameters && !constant) {
        findings_.note(FindingId::host_pointer, access.site, access.site, 0,
                       [&] { return by(thread, store); });
    }
    if (store) stop_kernel(kStopped);
}

void Bounds::outside(std::uint32_t site, Address address, bool store, int thread) {
    const Array* a = meant(address);
    std::int64_t beyond = 0;
    if (const Array* left = a != nullptr ? a : before(address); left != nullptr && address >= left->end) {
        const Matrix& m = *left->matrix;
        const std::int64_t element = m.element(static_cast<std::int64_t>(address - left->start));
        // Nothing of the last row's padding belongs to the matrix.
        beyond = element / m.pitch < m.rows ? element % m.pitch - m.cols + 1 : element / m.pitch - m.rows + 1;
    }
    findings_.note(FindingId::out_of_bounds, site, site, beyond, [&] {
        Finding finding = by(thread, store);
        if (a != nullptr) {
            name_place(finding, *a, address);
        } else {
            name_nearest(finding, session->globals, address);
        }
        return finding;
    });
}

void Bounds::check_matrix(const Access& access, const Array& a, bool atomic, int thread) {
    const Address address = access.address, width = access.width;
    const bool store = access.flags & kStore;
    if (a.matrix == nullptr) {
        if (address + width > a.end) outside(access.site, a.end, store, thread);
        return;
    }
    const Matrix& m = *a.matrix;
    // What has been written since is no longer what must not be read.
    const bool forbidden = (!store || atomic) && !m.unreadable.empty() &&
                           (a.written == nullptr || !a.written->all(address - a.start, width));
    if (forbidden || (store && !m.writable)) {
        const FindingId id = forbidden ? FindingId::forbidden_read : FindingId::write_to_input;
        findings_.note(id, access.site, access.site, 0, [&] {
            Finding finding = by(thread, !forbidden);
            name_place(finding, a, address);
            if (forbidden) finding.rule = m.unreadable;
            return finding;
        });
    }
    const Address pitch = static_cast<Address>(m.bytes(m.pitch));
    if (address + width > a.end) {
        outside(access.site, address + width - 1, store, thread);
    } else if (store &&
               (address - a.start) % pitch + width > static_cast<Address>(m.cols * m.element_bytes)) {
        const Address last = (address - a.start + width - 1) % pitch / static_cast<Address>(m.element_bytes);
        const std::int64_t beyond = static_cast<std::int64_t>(last) - m.cols + 1;
        findings_.note(FindingId::write_to_padding, access.site, access.site, beyond, [&] {
            Finding finding = by(thread, true);
            name_place(finding, a, address);
            return finding;
        });
    }
}

}  // namespace cpu_device::trace
