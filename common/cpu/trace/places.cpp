#include "common/cpu/trace/places.hpp"

#include <backtrace.h>

#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <thread>

namespace cpu_device::trace {

void get_places_ready() {
    [[maybe_unused]] static const bool begun = [] {
        try {
            std::thread([] { (void)place_of(0); }).detach();
        } catch (const std::system_error&) {  // no thread to be had: then the first call waits
        }
        return true;
    }();
}

const Place& place_of(std::uint32_t site) {
    // Never destroyed: a thread may be here when the program ends.
    static std::mutex& mutex = *new std::mutex;
    static auto& known = *new std::map<std::uint32_t, Place>;
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
