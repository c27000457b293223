// Lanes that went different ways.
//
// Where threads of a warp part, a GPU runs the parts one after the other and joins them where all their ways
// meet again: at the immediate post-dominator of the branch. The ways are known (the basic blocks that each
// lane went through), so the branches and their post-dominators are those of the graph that the lanes
// together walked.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/cpu/trace/access.hpp"
#include "common/cpu/trace/places.hpp"

namespace cpu_device::trace {

/// What each lane of a warp did since the warp last paused, its basic blocks (kStep) among it.
using Lanes = std::array<std::vector<Access>, kWarp>;
/// Of each lane, the first that did the same with other addresses; or itself.
using Alike = std::array<std::uint8_t, kWarp>;

/// An instruction of the warp.
struct Request {
    Access access;
    std::uint32_t mask;  // the lanes that take part
    std::array<Address, kWarp> by_lane;
    bool diverged = false;  // other lanes executed it another number of times
};

class Divergence {
  public:
    /// The requests that a GPU would make of it, in an order in which it would.
    std::vector<Request> requests(const Lanes& lanes, const Alike& alike);

  private:
    /// A lane's stay in a basic block: which, and where its accesses begin and end in the lane's list.
    struct Stay {
        int block;
        std::size_t first, last;
    };
    /// Of all lanes, of which those that are alike walk as one, the first of them; and where each of these
    /// is. Masks of lanes are of these, but for requests'.
    struct Walk {
        const Lanes& lanes;
        const std::array<std::vector<Stay>, kWarp>& ways;
        std::array<std::uint32_t, kWarp> alike{};  // of a first lane, all that are like it
        std::vector<int> joins{};                  // of each basic block
        std::array<std::size_t, kWarp> at{};

        int block_of(std::size_t lane) const;
        void stay(std::uint32_t mask, std::vector<Request>& requests) const;
    };

    std::vector<Request> walk(Walk& w, std::uint32_t mask, int stop);
    void join_arms(std::vector<Request>& arms, std::vector<Request>&& arm);
    bool same_line(const Access& a, const Access& b);
    const Place& place(std::uint32_t site);

    std::array<std::vector<Stay>, kWarp>
        ways_;  // of the last warp's first lanes; their memory is for the next
    std::unordered_map<std::uint32_t, const Place*> places_;
};

}  // namespace cpu_device::trace
