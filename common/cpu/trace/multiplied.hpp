// How often each wgmma of a kernel has been executed, and what its descriptors were.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <utility>

#include "common/ptx/wgmma_descriptor.hpp"

namespace cpu_device::trace {

/// An instruction. (A template's line has one for each of its forms.)
struct MultiplyKey {
    std::uint32_t site;
    int columns;
    bool a_in_registers;
    gemm::ptx::Major major_a, major_b;
    auto operator<=>(const MultiplyKey&) const = default;
};

struct Multiplied {
    std::uint64_t count = 0;         // by warpgroups
    std::uint64_t shared_bytes = 0;  // that were read
    // Of the first of the lowest block.
    std::uint64_t block = 0, order = 0;
    std::uint64_t a = 0, b = 0;

    void add(const Multiplied& other) {
        const bool later = count > 0 && std::pair(block, order) <= std::pair(other.block, other.order);
        const std::uint64_t counts = count + other.count, bytes = shared_bytes + other.shared_bytes;
        if (!later) *this = other;
        count = counts;
        shared_bytes = bytes;
    }
};
using MultipliedMap = std::map<MultiplyKey, Multiplied>;

/// Adds those of a block, and forgets them.
inline void move_to(MultipliedMap& all, MultipliedMap& block) {
    for (const auto& [key, multiplied] : block) all[key].add(multiplied);
    block.clear();
}

}  // namespace cpu_device::trace
