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
struct TypeMismatch {
    Place place;
    const Type* type;
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

/// Whose thread runs; null in code of the host.
const cpu_device::Block* running() {
    const cpu_device::Worker* const worker = cpu_device::this_worker();
    return worker == nullptr ? nullptr : worker->registers.block;
}

std::string here() {
    const cpu_device::Block* const block = running();
    return block == nullptr ? std::string()
                            : block->thread_place(cpu_device::this_worker()->registers.running_thread);
}

std::string name_of(const Type& type) {
    std::string name = type.name;
    std::erase(name, '\'');
    return name;
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
    cpu_device::InWords words;
    words.goes_on(true);
    all().push_back({place.file, place.line, place.column, name_of(*found->array),
                     index_of(*found->index, index), here()});
}

// (Of arrays in shared and global memory the tracer knows more.)
extern "C" void __ubsan_handle_type_mismatch_v1(const TypeMismatch* found, std::uintptr_t address) {
    const cpu_device::Block* const block = running();
    if (block == nullptr || address < reinterpret_cast<std::uintptr_t>(block->stacks().begin()) ||
        address >= reinterpret_cast<std::uintptr_t>(block->stacks().end()))
        return;
    const std::scoped_lock lock(mutex);
    const Place& place = found->place;
    const auto same = std::find_if(all().begin(), all().end(), [&](const cpu_device::Overrun& o) {
        return o.line == place.line && o.file == place.file;
    });
    if (same == all().end()) {
        cpu_device::InWords words;
        words.goes_on(true);
        all().push_back({place.file, place.line, place.column, name_of(*found->type), {}, here()});
    } else if (!same->index && same->column == place.column) {
        ++same->count;
    }
}

std::vector<cpu_device::Overrun> cpu_device::overruns() {
    const std::scoped_lock lock(mutex);
    return all();
}
