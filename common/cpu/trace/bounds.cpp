#include "common/cpu/trace/bounds.hpp"

#include <algorithm>
#include <bit>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {
namespace {

constexpr Address kNear = 65536;  // bytes: what misses shared memory by less was meant for it
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

/// "5 bytes past the end of As".
std::string nearest(const std::vector<Array>& arrays, Address address) {
    const Array* best = nullptr;
    Address least = ~Address{0};
    bool past = true;
    for (const Array& a : arrays) {
        const bool behind = address >= a.end;
        const Address distance = behind ? address - a.end + 1 : a.start - address;
        if (distance < least) {
            least = distance;
            best = &a;
            past = behind;
        }
    }
    if (best == nullptr) return "shared memory that the kernel does not have";
    return std::to_string(least) + (least == 1 ? " byte " : " bytes ") +
           (past ? "past the end of " : "before the start of ") + best->name;
}

/// "A[3][17]".
std::string position(const Matrix& m, std::int64_t offset_bytes) {
    std::int64_t element = offset_bytes / m.element_bytes;
    if (offset_bytes < 0) element = (offset_bytes - m.element_bytes + 1) / m.element_bytes;
    std::int64_t row = element / m.pitch, col = element % m.pitch;
    if (col < 0) {
        --row;
        col += m.pitch;
    }
    return m.name + "[" + std::to_string(row) + "][" + std::to_string(col) + "]";
}
std::string position(const Array& a, Address address) {
    return position(*a.matrix, static_cast<std::int64_t>(address - a.start));
}

/// The matrix in the same allocation, which is the one that was meant; null if there is none.
const Array* meant(Address address) {
    const Array* found = nullptr;
    for (const Array& whole : session->allocations) {
        if (address < whole.start || address >= whole.end) continue;
        for (const Array& a : session->globals) {
            if (a.matrix != nullptr && a.start >= whole.start && a.end <= whole.end) found = &a;
        }
    }
    return found;
}
/// The last matrix in front of the address, if a tile of 128 rows may reach so far behind it; else null.
const Array* before(Address address) {
    const Array* found = nullptr;
    for (const Array& a : session->globals) {
        if (a.matrix == nullptr || a.end > address || (found != nullptr && a.end < found->end)) continue;
        if (address - a.end <= 128 * static_cast<Address>(a.matrix->pitch * a.matrix->element_bytes))
            found = &a;
    }
    return found;
}

bool on_device(Address address) {
    return is_device_memory(reinterpret_cast<const void*>(address));
}

}  // namespace

void Bounds::begin_block(const BlockView& view) {
    grid_ = view.grid;
    dynamic_ = address_of(view.dynamic_shared);
    tls_start_ = address_of(thread_local_start());
    tls_end_ = tls_start_ + thread_local_bytes();
    shared_.clear();
    for (const SharedArray& a : *view.grid->shared) {
        const Address start = tls_start_ + a.tls_offset;
        shared_.push_back({a.name, start, start + a.bytes, nullptr});
    }
    if (view.grid->dynamic_shared_bytes > 0) {
        shared_.push_back({"shared memory", dynamic_, dynamic_ + view.grid->dynamic_shared_bytes, nullptr});
    }
}

const Array& Bounds::array(std::uint8_t flags, std::uint16_t index) const {
    return (flags & kShared ? shared_ : session->globals)[index];
}

bool Bounds::locate(Access& access, bool atomic, int thread) {
    const Address address = access.address;
    const bool store = access.flags & kStore;
    // (Part of a cp.async may be 12 bytes wide; the copy as a whole has been checked.)
    if (std::has_single_bit(access.width) && address % access.width != 0) misaligned(access, thread);
    if (const int s = index_of(shared_, address); s >= 0) {
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
    if (!on_device(address)) {
        host_pointer(access, thread);
        return false;
    }
    const int g = index_of(session->globals, address);
    if (g < 0) {
        outside(access.site, address, store, thread);
        return false;
    }
    access.array = static_cast<std::uint16_t>(g);
    const Array& a = session->globals[access.array];
    check_matrix(access, a, store, thread);
    if (atomic) check_matrix(access, a, false, thread);
    return true;
}

/// In thread-local memory, where the static arrays lie, or near it.
bool Bounds::near_static(Address address) const {
    return address + kNear >= tls_start_ && address < tls_end_ + kNear && !on_device(address);
}

/// Near dynamic shared memory, which lies alone.
bool Bounds::near_dynamic(Address address) const {
    return address + kNear >= dynamic_ && address < dynamic_ + grid_->dynamic_shared_bytes + kNear &&
           !on_device(address);
}

/// "A[3][17]", "As + 68 bytes": what lies at the address.
std::string Bounds::element(Address address) const {
    const auto in = [&](const Array& a) {
        return a.name + " + " + std::to_string(address - a.start) + " bytes";
    };
    if (const int s = index_of(shared_, address); s >= 0) return in(shared_[static_cast<std::size_t>(s)]);
    const int g = index_of(session->globals, address);
    if (g < 0) return "memory";
    const Array& a = session->globals[static_cast<std::size_t>(g)];
    return a.matrix == nullptr ? in(a) : position(a, address);
}

std::string Bounds::who_does(int thread, bool store) const {
    return findings_.who(thread) + (store ? " writes " : " reads ");
}

void Bounds::misaligned(const Access& access, int thread) {
    findings_.note("misaligned access", access.site, access.site, 0, [&] {
        const std::string width = std::to_string(access.width);
        return Sentence{
            who_does(thread, access.flags & kStore) + width + " bytes of " + element(access.address) + " at ",
            std::string(), ", an address that is no multiple of " + width};
    });
}

void Bounds::outside_dynamic(const Access& access, int thread) {
    findings_.note("shared memory out of bounds", access.site, access.site, 0, [&] {
        const std::size_t asked = grid_->dynamic_shared_bytes;
        return Sentence{who_does(thread, access.flags & kStore) +
                            (asked > 0 ? nearest(shared_, access.address) : "dynamic shared memory") + " at ",
                        std::string(),
                        asked > 0 ? ": launch() asks for " + std::to_string(asked) + " bytes"
                                  : ": the kernel uses it and launch() asks for 0 bytes"};
    });
}

void Bounds::outside_static(const Access& access, int thread) {
    findings_.note("shared memory out of bounds", access.site, access.site, 0, [&] {
        return Sentence{who_does(thread, access.flags & kStore) + nearest(shared_, access.address) + " at ",
                        std::string(), std::string()};
    });
    if ((access.flags & kStore) && distance(shared_, access.address) > kHarmless) stop_kernel(kStopped);
}

/// Arguments of the kernel and constants of the program may be read.
void Bounds::host_pointer(const Access& access, int thread) {
    const Address context = address_of(grid_->context), address = access.address;
    const bool parameters = address >= context && address < context + grid_->context_bytes;
    const bool constant = address >= address_of(&__executable_start) && address < address_of(&_end);
    const bool store = access.flags & kStore;
    if (!parameters && !constant) {
        findings_.note("host pointer", access.site, access.site, 0, [&] {
            return Sentence{
                findings_.who(thread) + (store ? " writes" : " reads") + " through a host pointer at ",
                std::string(), ", which a GPU cannot follow"};
        });
    }
    if (store) stop_kernel(kStopped);
}

void Bounds::outside(std::uint32_t site, Address address, bool store, int thread) {
    const Array* a = meant(address);
    std::int64_t beyond = 0;
    if (const Array* left = a != nullptr ? a : before(address); left != nullptr && address >= left->end) {
        const Matrix& m = *left->matrix;
        const std::int64_t element = static_cast<std::int64_t>(address - left->start) / m.element_bytes;
        // Nothing of the last row's padding belongs to the matrix.
        beyond = element / m.pitch < m.rows ? element % m.pitch - m.cols + 1 : element / m.pitch - m.rows + 1;
    }
    findings_.note("out of bounds", site, site, beyond, [&] {
        std::string where = nearest(session->globals, address);
        if (a != nullptr) {
            const Matrix& m = *a->matrix;
            where = position(*a, address) + ", outside " + m.name + " of " + std::to_string(m.rows) + "×" +
                    std::to_string(m.cols);
        }
        return Sentence{who_does(thread, store) + where + ", at ", std::string(), std::string()};
    });
}

/// `store`: as which of the two an atomic operation is looked at.
void Bounds::check_matrix(const Access& access, const Array& a, bool store, int thread) {
    const Address address = access.address, width = access.width;
    if (a.matrix == nullptr) {
        if (address + width > a.end) outside(access.site, a.end, store, thread);
        return;
    }
    const Matrix& m = *a.matrix;
    const bool forbidden = !store && !m.unreadable.empty();
    if (forbidden || (store && !m.writable)) {
        findings_.note(forbidden ? "forbidden read" : "write to an input", access.site, access.site, 0, [&] {
            return Sentence{
                who_does(thread, store) + position(a, address) + " at ", std::string(),
                forbidden ? ", which " + m.unreadable + " forbids" : ", and " + m.name + " is an input"};
        });
    }
    const Address pitch = static_cast<Address>(m.pitch * m.element_bytes);
    if (address + width > a.end) {
        outside(access.site, address + width - 1, store, thread);
    } else if (store &&
               (address - a.start) % pitch + width > static_cast<Address>(m.cols * m.element_bytes)) {
        const Address last = (address - a.start + width - 1) % pitch / static_cast<Address>(m.element_bytes);
        findings_.note("write to padding", access.site, access.site,
                       static_cast<std::int64_t>(last) - m.cols + 1, [&] {
                           return Sentence{who_does(thread, true) + position(a, address) +
                                               ", padding between the rows of " + m.name + ", at ",
                                           std::string(), std::string()};
                       });
    }
}

}  // namespace cpu_device::trace
