#include "common/cpu/execution/overruns.hpp"

#include <algorithm>
#include <mutex>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/workers.hpp"

namespace {

// What g++ hands over (gcc/ubsan.cc).
struct Place {
    const char* file;
    std::uint32_t line, column;
};
struct Type {
    std::uint16_t kind, info;
    char name[1];
};
struct OutOfBounds {
    Place place;
    const Type* array;
    const Type* index;
};

std::mutex mutex;
std::vector<cpu_device::Overrun>& all() {
    static std::vector<cpu_device::Overrun> overruns;
    return overruns;
}

std::string here() {
    const cpu_device::Worker* const worker = cpu_device::this_worker();
    if (worker == nullptr || worker->registers.block == nullptr) return {};
    return worker->registers.block->thread_place(worker->registers.running_thread);
}

/// info: twice the logarithm of its bits, and 1 where it is signed. What is wider than a word is not looked
/// at.
std::int64_t index_of(const Type& type, std::uintptr_t value) {
    const unsigned bits = 1u << (type.info >> 1);
    if (bits >= 64 || (type.info & 1) == 0) return static_cast<std::int64_t>(value);
    const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
    const std::uint64_t low = value & ((sign << 1) - 1);
    return static_cast<std::int64_t>((low ^ sign) - sign);
}

}  // namespace

extern "C" void __ubsan_handle_out_of_bounds(const OutOfBounds* found, std::uintptr_t index) {
    const std::scoped_lock lock(mutex);
    const Place& place = found->place;
    const auto same = std::find_if(all().begin(), all().end(), [&](const cpu_device::Overrun& o) {
        return o.line == place.line && o.column == place.column && o.file == place.file;
    });
    if (same != all().end()) {
        ++same->count;
        return;
    }
    std::string array = found->array->name;
    std::erase(array, '\'');
    all().push_back({place.file, place.line, place.column, array, index_of(*found->index, index), here()});
}

std::vector<cpu_device::Overrun> cpu_device::overruns() {
    const std::scoped_lock lock(mutex);
    return all();
}
