// The bytes of a block's static shared arrays while another block of its cluster runs: the arrays are
// thread-local variables, one for all blocks of an OS thread.
#pragma once

#include <cstddef>
#include <vector>

#include "common/cpu/execution/device.hpp"

namespace cpu_device {

class Statics {
  public:
    /// Of a kernel with these arrays, on this OS thread.
    void prepare(const std::vector<SharedArray>& arrays);
    void save();
    void restore() const;
    /// Where a byte lies that would be at this address if the block's arrays were where the kernel has them;
    /// null where none of them is.
    std::byte* home(const void* live);
    /// Of each array.
    const std::vector<std::byte*>& homes() const { return homes_; }

  private:
    struct Place {
        std::byte* live;
        std::size_t bytes;
    };
    std::vector<Place> arrays_;
    std::vector<std::byte*> homes_;
    std::vector<std::byte> storage_;  // with room between them, so that who leaves one is not in the next
};

}  // namespace cpu_device
