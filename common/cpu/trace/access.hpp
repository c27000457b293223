// What every part of the tracer speaks of: one thread's access, and the ranges of memory that have names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cpu/trace/trace.hpp"

namespace cpu_device::trace {

using Address = std::uint64_t;
constexpr int kWarp = 32;

// Flags of an access.
constexpr std::uint8_t kStore = 1, kShared = 2, kCopy = 4;  // kCopy: by cp.async
constexpr std::uint8_t kStep = 8;                           // no access, but the start of a basic block
constexpr std::uint8_t kNothing = 16;    // a thread that takes part in an instruction and accesses nothing
constexpr std::uint8_t kMatrixRow = 32;  // by ldmatrix or stmatrix: 16 bytes of all lanes
constexpr std::uint8_t kAtomic =
    64;                              // only on the way in; with kStore, it reads, too, and is kept as a store
constexpr std::uint8_t kBulk = 128;  // a box of the copy engine

struct Access {
    std::uint32_t site;  // return address of the hook, from the start of the program's code
    std::uint8_t width;  // bytes
    std::uint8_t flags;
    std::uint16_t array;  // index of the matrix, allocation or shared array
    Address address;
};
static_assert(sizeof(Access) == 16);

inline bool same_instruction(const Access& a, const Access& b) {
    return a.site == b.site && a.array == b.array && a.flags == b.flags;
}

class Written;

/// A range that has a name.
struct Array {
    std::string name;
    Address start = 0, end = 0;
    const Matrix* matrix = nullptr;
    Written* written = nullptr;  // of a matrix that may be
    // Of a shared array in a cluster: whose it is, and that it is not of the block that is live.
    unsigned rank = 0;
    bool remote = false;
};

/// The array that the address lies in; -1 for none.
inline int index_of(const std::vector<Array>& arrays, Address address) {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        if (address >= arrays[i].start && address < arrays[i].end) return static_cast<int>(i);
    }
    return -1;
}

inline Address address_of(const void* p) {
    return reinterpret_cast<Address>(p);
}

}  // namespace cpu_device::trace
