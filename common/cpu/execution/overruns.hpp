// Indexes past the end of an array whose length the compiler knows: of kernels that are compiled with
// -fsanitize=bounds, which calls __ubsan_handle_out_of_bounds() for each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cpu_device {

struct Overrun {
    std::string file;
    unsigned line = 0, column = 0;  // of the closing bracket
    std::string array;              // its type: "float [8]"
    std::int64_t index = 0;         // the first that was seen
    std::string where;              // kernel, block and thread; empty in code of the host
    std::uint64_t count = 1;
};

/// By place, in the order of their first occurrence, since the program began.
std::vector<Overrun> overruns();

}  // namespace cpu_device
