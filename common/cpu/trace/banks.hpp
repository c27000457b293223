// What the memory system does with one request of a warp: sectors of global memory, wavefronts over the banks
// of shared memory. wavefronts() and sectors(), in trace.hpp, belong to it too. Knows addresses, and nothing
// of kernels.
#pragma once

#include <array>
#include <cstdint>

#include "common/cpu/trace/access.hpp"

namespace cpu_device::trace {

/// Bytes that at least one thread asked for.
std::uint64_t distinct_bytes(const Address* addresses, int count, int width);

/// The fewest wavefronts that carry so many different bytes of shared memory to or from these lanes: 128
/// bytes in each, and of 16 bytes a lane no more than half a warp's.
std::uint64_t least_wavefronts(std::uint32_t lanes, std::uint64_t bytes, int width);

/// Where the lanes of a cp.async copy from, and in how many wavefronts that reaches shared memory.
class CopyPasses {
  public:
    /// The copy's reads of global memory, which come first; addresses: of the lanes in `mask`.
    void reads(std::uint32_t mask, const Address* addresses);
    /// Of the stores to shared memory that go with them.
    int wavefronts(std::uint32_t mask, const Address* addresses, int width);

  private:
    std::array<Address, kWarp> from_{};
    std::uint32_t lanes_ = 0;
};

}  // namespace cpu_device::trace
