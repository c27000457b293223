// How much memory the host has left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <limits>
#include <string>

namespace gemm {

/// Bytes that the process may still take: what the system has, or what its control group leaves
/// (/proc/meminfo, cgroup v2). The largest number there is where neither tells.
inline std::size_t available_host_memory() {
    std::size_t free = std::numeric_limits<std::size_t>::max();
    std::ifstream meminfo("/proc/meminfo");
    for (std::string key; meminfo >> key;) {
        if (key == "MemAvailable:") {
            meminfo >> free;
            free *= 1024;
            break;
        }
        meminfo.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    std::size_t limit = 0, used = 0;
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> limit &&
        std::ifstream("/sys/fs/cgroup/memory.current") >> used) {
        free = std::min(free, limit > used ? limit - used : 0);
    }
    return free;
}

}  // namespace gemm
