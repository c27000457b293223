#include "common/cpu/execution/copies.hpp"

#include <cstdint>
#include <cstring>
#include <string>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/scheduler.hpp"
#include "common/error.hpp"

namespace cpu_device {

void Copies::begin_block(std::size_t threads) {
    threads_ = threads;
    if (!used_) return;
    used_ = false;
    for (OfThread& t : of_thread_) {
        t.copies.clear();
        t.groups.clear();
        t.open = 0;
    }
}

Copies::OfThread& Copies::of(int thread) {
    used_ = true;
    if (of_thread_.size() < threads_) of_thread_.resize(threads_);
    return of_thread_[static_cast<std::size_t>(thread)];
}

void Copies::start(int thread, const Copy& copy) {
    const auto to = reinterpret_cast<std::uintptr_t>(copy.shared),
               from = reinterpret_cast<std::uintptr_t>(copy.global);
    const auto width = static_cast<std::uintptr_t>(copy.bytes);
    if (to % width != 0 || from % width != 0) {
        stop_observing();
        throw gemm::Error("cp.async of " + std::to_string(copy.bytes) + " bytes " +
                          (to % width != 0 ? "to" : "from") + " an address that is not a multiple of them.");
    }
    if (copy.valid < 0 || copy.valid > copy.bytes) {
        stop_observing();
        throw gemm::Error("cp.async of " + std::to_string(copy.bytes) + " bytes, " +
                          std::to_string(copy.valid) + " of them valid.");
    }
    if (Observer* o = observer()) {
        o->copy_begins(copy.caller, copy.shared, copy.global, copy.bytes, copy.valid);
    }
    std::memset(copy.shared, kGarbage, static_cast<std::size_t>(copy.bytes));
    OfThread& mine = of(thread);
    mine.copies.push_back(copy);
    ++mine.open;
}

void Copies::commit(int thread) {
    OfThread& mine = of(thread);
    mine.groups.push_back(mine.open);
    mine.open = 0;
    if (Observer* o = observer()) o->copies_committed();
}

void Copies::wait(int thread, int pending) {
    OfThread& mine = of(thread);
    std::size_t groups = 0, copies = 0;
    while (static_cast<int>(mine.groups.size() - groups) > pending) {
        for (std::size_t left = mine.groups[groups]; left > 0; --left) end(mine.copies[copies++]);
        ++groups;
    }
    mine.copies.erase(mine.copies.begin(), mine.copies.begin() + static_cast<std::ptrdiff_t>(copies));
    mine.groups.erase(mine.groups.begin(), mine.groups.begin() + static_cast<std::ptrdiff_t>(groups));
    if (Observer* o = observer(); o != nullptr && groups > 0) o->copies_waited(static_cast<int>(groups));
}

void Copies::end(const Copy& copy) {
    if (copy.valid > 0) std::memcpy(copy.shared, copy.global, static_cast<std::size_t>(copy.valid));
    std::memset(static_cast<std::byte*>(copy.shared) + copy.valid, 0,
                static_cast<std::size_t>(copy.bytes - copy.valid));
    if (Observer* o = observer()) o->copy_ends(copy.caller, copy.shared, copy.bytes);
}

}  // namespace cpu_device
