// Sites, which are return addresses of the hooks, and the lines of source that they stand for.
#pragma once

#include <cstdint>
#include <string>

#include "common/cpu/trace/access.hpp"

namespace cpu_device::trace {

extern "C" char __executable_start, _end;  // the linker's: first and last address of the program

inline Address sites_base() {
    return address_of(&__executable_start);
}
inline std::uint32_t site_of(const void* return_address) {
    return static_cast<std::uint32_t>(address_of(return_address) - sites_base());
}

struct Place {
    std::string file = "unknown";
    int line = 0;
    std::string text() const { return file + ":" + std::to_string(line); }
    bool operator==(const Place&) const = default;
};

/// Where the access at a site stands in the source; remembered. The reference stays. For any thread.
const Place& place_of(std::uint32_t site);
/// Begins to read where the program's lines are, which the first call of place_of() needs: it takes a tenth
/// of a second where the system's libraries have debug information. Once is enough.
void get_places_ready();

}  // namespace cpu_device::trace
