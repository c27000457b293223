#include "common/cpu/execution/statics.hpp"

#include <cstdint>
#include <cstring>

namespace cpu_device {
namespace {

constexpr std::size_t kApart = 4096, kAligned = 1024;  // bytes

}  // namespace

void Statics::prepare(const std::vector<SharedArray>& arrays) {
    arrays_.clear();
    homes_.clear();
    std::size_t bytes = kApart;
    for (const SharedArray& a : arrays) bytes += a.bytes + kApart + 2 * kAligned;
    storage_.resize(bytes);
    std::byte* free = storage_.data() + kApart;
    for (const SharedArray& a : arrays) {
        std::byte* const live = shared_array_address(a);
        // What swizzling and alignment look at stays.
        const auto low = [](const std::byte* p) { return reinterpret_cast<std::uintptr_t>(p) % kAligned; };
        std::byte* const home = free + (low(live) + kAligned - low(free)) % kAligned;
        arrays_.push_back({live, a.bytes});
        homes_.push_back(home);
        free = home + a.bytes + kApart;
    }
}

void Statics::save() {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
        std::memcpy(homes_[i], arrays_[i].live, arrays_[i].bytes);
}

void Statics::restore() const {
    for (std::size_t i = 0; i < arrays_.size(); ++i)
        std::memcpy(arrays_[i].live, homes_[i], arrays_[i].bytes);
}

std::byte* Statics::home(const void* live) {
    const auto* const at = static_cast<const std::byte*>(live);
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
        if (at >= arrays_[i].live && at < arrays_[i].live + arrays_[i].bytes)
            return homes_[i] + (at - arrays_[i].live);
    }
    return nullptr;
}

}  // namespace cpu_device
