// Indexes past the end of an array whose length the compiler knows, and accesses through pointers past the
// end of a local array: of kernels that are compiled with -fsanitize=bounds and -fsanitize=object-size, which
// call __ubsan_handle_out_of_bounds() and __ubsan_handle_type_mismatch_v1() for each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cpu_device {

struct Overrun {
    std::string file;
    unsigned line = 0, column = 0;      // of the closing bracket
    std::string array;                  // its type: "float [8]"; through a pointer, that of the element
    std::optional<std::int64_t> index;  // the first that was seen; none through a pointer
    std::string where;                  // kernel, block and thread; empty in code of the host
    std::uint64_t count = 1;
};

/// By place, in the order of their first occurrence, since the program began.
std::vector<Overrun> overruns();

}  // namespace cpu_device
