// Where an address lies, and whether an access may go there: the arrays of the block and the launch, their
// ends, the padding of matrices, alignment, host pointers, and what must not be read or written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/findings.hpp"

namespace cpu_device::trace {

class Bounds {
  public:
    explicit Bounds(Findings& findings) : findings_(findings) {}
    /// The blocks of a cluster, by rank.
    void begin_blocks(const std::vector<BlockView>& views);
    /// Whose static arrays are where the kernel has them.
    void live(unsigned rank) { live_ = rank; }

    /// The shared arrays of the block that is live, and then those of the ranks behind it, in a circle;
    /// "shared memory" is the dynamic one.
    const std::vector<Array>& shared() const { return shared_[live_]; }
    /// By an access's index, with kShared among its flags or without.
    const Array& array(std::uint8_t flags, std::uint16_t index) const;

    /// Notes what is wrong with where the access goes, puts the array into it and kShared to its flags; false
    /// where it goes to nothing that is counted. A write that the program would not survive ends the kernel.
    /// whole: no part of a wider access, so that it has to be aligned.
    bool locate(Access& access, bool atomic, int thread, bool whole = true);

  private:
    bool near_static(Address address) const;
    bool near_dynamic(Address address) const;
    void misaligned(const Access& access, int thread);
    void outside_dynamic(const Access& access, int thread);
    void outside_static(const Access& access, int thread);
    void host_pointer(const Access& access, int thread);
    void outside(std::uint32_t site, Address address, bool store, int thread);
    void check_matrix(const Access& access, const Array& a, bool atomic, int thread);
    /// With its access alone.
    Finding by(int thread, bool store) const;

    Findings& findings_;
    const Grid* grid_ = nullptr;
    const void* of_launch_ = nullptr;         // whose shared arrays these are
    std::vector<std::vector<Array>> shared_;  // by the rank that is live
    unsigned live_ = 0;
    std::vector<Address> dynamic_;  // by rank
    std::vector<Address> homes_;    // of all blocks, where there are several
    Address tls_start_ = 0, tls_end_ = 0;
};

}  // namespace cpu_device::trace
