// Where the bytes came from that a warp stores to shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/cpu/trace/access.hpp"

namespace cpu_device::trace {

/// Of one warp: its last loads of matrices that nobody may write, so that they still hold what was loaded.
class Origins {
  public:
    /// Of each lane in `lanes`, the address of the first byte that it has stored; the other lanes of the
    /// store have stored zeros.
    struct Origin {
        std::uint16_t array = 0;  // index of the matrix
        std::uint32_t lanes = 0;
        std::array<Address, kWarp> addresses{};  // of the lanes that take part, one behind the other
    };

    /// A request of the warp to global memory. `constant`: to such a matrix.
    void loads(const Access& access, std::uint32_t lanes, const Address* addresses, bool constant);
    /// One to shared memory, of which the bytes are there. None where more than one load, or none, has given
    /// every lane what it stored: bytes are compared, and where all of them are 0 they say nothing.
    std::optional<Origin> stores(const Access& access, std::uint32_t lanes, const Address* addresses);

  private:
    struct Load {
        Access access{};
        std::uint32_t lanes = 0;
        std::array<Address, kWarp> by_lane{};
    };
    static constexpr std::size_t kMost = 64;

    static bool gave(const Load& load, std::size_t behind, std::uint32_t lanes, const Address* stored,
                     std::size_t width);
    static Origin origin(const Load& load, std::size_t behind, std::uint32_t lanes);

    std::vector<Load> loads_;  // a ring
    std::size_t next_ = 0;
    // Of cp.async, since it last wrote to shared memory: what it has read, and how many requests that were.
    Load copied_{};
    int copies_ = 0;
};

}  // namespace cpu_device::trace
