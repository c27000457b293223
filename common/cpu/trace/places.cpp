#include "common/cpu/trace/places.hpp"

#include <backtrace.h>

#include <map>
#include <mutex>
#include <string_view>

namespace cpu_device::trace {

const Place& place_of(std::uint32_t site) {
    static std::mutex mutex;
    static std::map<std::uint32_t, Place> known;
    static backtrace_state* const state = backtrace_create_state(nullptr, 1, nullptr, nullptr);
    const std::scoped_lock lock(mutex);
    const auto [entry, fresh] = known.try_emplace(site);
    if (!fresh) return entry->second;
    // A return address belongs to the next instruction.
    backtrace_pcinfo(
        state, sites_base() + site - 1,
        [](void* result, std::uintptr_t, const char* file, int line, const char*) {
            if (file == nullptr) return 0;
            *static_cast<Place*>(result) = {file, line};
            // The innermost function that the kernel's author wrote: not cp_async(), but who calls it.
            const std::string_view name = file;
            return name.find("/common/ptx/") == name.npos && name.find("/common/cpu/") == name.npos ? 1 : 0;
        },
        nullptr, &entry->second);
    return entry->second;
}

}  // namespace cpu_device::trace
