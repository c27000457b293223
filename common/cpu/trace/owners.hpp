// Who stored each element of the matrices, in the lowest block that is traced.
#pragma once

#include <cstdint>
#include <vector>

#include "common/cpu/trace/access.hpp"

namespace cpu_device::trace {

struct Session;

class Owners {
  public:
    void begin_block(std::uint64_t block) { block_ = block; }
    /// `thread` has stored to the matrix.
    void store(const Array& a, Address address, int width, int thread);
    /// Hands them over if no lower block has been there, and forgets them.
    void move_to(Session& all);

  private:
    std::uint64_t block_ = 0;
    std::vector<Owned> owners_;
};

}  // namespace cpu_device::trace
