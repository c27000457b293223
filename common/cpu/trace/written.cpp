#include "common/cpu/trace/written.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "common/cpu/trace/session.hpp"
#include "common/error.hpp"

namespace cpu_device::trace {

// Mapped, so that what nobody writes takes no memory.
Written::Written(const Matrix& m)
    : rows_(static_cast<Address>(m.rows)),
      cols_(static_cast<Address>(m.cols)),
      pitch_(static_cast<Address>(m.pitch)),
      size_(static_cast<Address>(m.element_bytes)) {
    void* const marks = mmap(nullptr, rows_ * cols_ * sizeof(Mark), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (marks == MAP_FAILED) throw gemm::Error("The address space is too small to trace " + m.name + ".");
    marks_ = static_cast<Mark*>(marks);
}

Written::~Written() {
    munmap(marks_, rows_ * cols_ * sizeof(Mark));
}

void Overwrites::begin_blocks(const BlockView& first) {
    block_ = first.index;
    overwrites_.clear();
    written_ = nullptr;  // of a block that failed; the trace may be another by now
}

void Overwrites::store(const Array& a, const Access& access, bool atomic, int thread, bool in_order) {
    settle();
    const Written::Mark mine = Written::mark(session->launches, block_, atomic);
    written_ = a.written;
    offset_ = access.address - a.start;
    width_ = access.width;
    mark_ = mine;
    const Written::Mark before =
        a.written->put(offset_, width_, Written::begun(mine), [&](Written::Mark other) {
            return Written::same_launch(other, mine) && Written::block(other) != Written::block(mine) &&
                   !(Written::atomic(other) && atomic);
        });
    // Of a store that another worker is about to make, the value is not to be had; of others of its block it
    // is.
    if (before == 0 || in_order || Written::is_begun(before) || overwrites_.size() == kMost ||
        access.address + access.width > a.end)
        return;
    Overwrite& o = overwrites_.emplace_back();
    o = {&a, access, thread, Written::block(before), {}};
    std::memcpy(o.before.data(), reinterpret_cast<const void*>(access.address), access.width);
}

void Overwrites::settle() {
    if (written_ != nullptr) written_->settle(offset_, width_, mark_);
    written_ = nullptr;
}

void Overwrites::end_block() {
    settle();
    // Blocks that order what they do to memory hand it to each other. (How, is known in some launches alone.)
    if (session->fenced.load(std::memory_order_relaxed) && !session->order.on) return;
    for (const Overwrite& o : overwrites_) {
        if (std::memcmp(o.before.data(), reinterpret_cast<const void*>(o.access.address), o.access.width) ==
            0)
            continue;
        findings_.note(gemm::FindingId::block_race, o.access.site, o.access.site, 0, [&] {
            Finding finding;
            finding.access = findings_.side(o.thread, true);
            finding.other_block = o.block;
            name_place(finding, *o.array, o.access.address);
            return finding;
        });
    }
}

}  // namespace cpu_device::trace
