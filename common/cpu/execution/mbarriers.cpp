#include "common/cpu/execution/mbarriers.hpp"

#include <cstring>

namespace cpu_device {
namespace {

// What an mbarrier's 64 bits hold here: a mark, and which of the block's it is. Whatever else is there is
// none.
constexpr std::uint64_t kMark = 0xa11b0000'00000000, kIndex = 0xffffffff;

std::uint64_t content(const void* address) {
    std::uint64_t bits;
    std::memcpy(&bits, address, sizeof bits);
    return bits;
}

}  // namespace

void Mbarriers::begin_block() {
    all_.clear();
}

std::string Mbarriers::init(void* address, unsigned arrivals, int thread, std::size_t threads) {
    if (arrivals < 1 || arrivals > kMostArrivals)
        return "is to count " + std::to_string(arrivals) +
               " arrivals per phase, but it can count 1 to 1048575";
    const std::uint64_t bits = content(address), index = bits & kIndex;
    const bool again = (bits & ~kIndex) == kMark && index < all_.size() && all_[index].address == address;
    if (!again) all_.emplace_back();
    Mbarrier& barrier = again ? all_[index] : all_.back();
    barrier = {};
    barrier.address = address;
    barrier.begun_by = thread;
    barrier.arrivals = barrier.pending = arrivals;
    barrier.seen.resize(threads);
    barrier.arrived.resize(threads);
    barrier.passed.resize(threads);
    const std::uint64_t now = kMark | (again ? index : all_.size() - 1);
    std::memcpy(address, &now, sizeof now);
    return {};
}

std::string Mbarriers::inval(void* address) {
    Mbarrier* barrier = nullptr;
    std::string wrong = find(address, barrier);
    if (!wrong.empty()) return wrong;
    barrier->address = nullptr;
    std::memset(address, 0xff, sizeof(std::uint64_t));
    return {};
}

std::string Mbarriers::find(void* address, Mbarrier*& found) {
    const std::uint64_t bits = content(address), index = bits & kIndex;
    if ((bits & ~kIndex) == kMark && index < all_.size() && all_[index].address == address) {
        found = &all_[index];
        return {};
    }
    for (const Mbarrier& barrier : all_) {
        if (barrier.address == address)
            return "uses an mbarrier that has been overwritten since its mbarrier.init";
    }
    return "uses an mbarrier that no mbarrier.init has initialised";
}

void Mbarriers::show(int thread) {
    for (Mbarrier& barrier : all_) barrier.engine_sees = barrier.engine_sees || barrier.begun_by == thread;
}

void Mbarriers::show_all() {
    for (Mbarrier& barrier : all_) barrier.engine_sees = true;
}

std::string Mbarriers::expect(Mbarrier& barrier, std::uint64_t bytes) {
    barrier.expected += bytes;
    barrier.bytes += static_cast<std::int64_t>(bytes);
    if (bytes <= kMostBytes && barrier.bytes <= kMostBytes) return {};
    return "makes the mbarrier expect " + std::to_string(barrier.bytes) +
           " bytes, but it can count at most 1048575";
}

std::string Mbarriers::arrive(Mbarrier& barrier, unsigned count) {
    if (count >= 1 && count <= barrier.pending) {
        barrier.pending -= count;
        return {};
    }
    return "arrives " + std::to_string(count) + (count == 1 ? " time" : " times") +
           ", but the phase that is open has room for " + std::to_string(barrier.pending) + " more";
}

std::string Mbarriers::bring(Mbarrier& barrier, std::uint64_t bytes) {
    barrier.bytes -= static_cast<std::int64_t>(bytes);
    if (barrier.bytes >= -static_cast<std::int64_t>(kMostBytes)) return {};
    return "brings more than 1048575 bytes that the mbarrier does not expect";
}

bool Mbarriers::settle(Mbarrier& barrier) {
    if (barrier.pending != 0 || barrier.bytes != 0) return false;
    ++barrier.phase;
    barrier.pending = barrier.arrivals;
    barrier.expected = 0;
    return true;
}

}  // namespace cpu_device
