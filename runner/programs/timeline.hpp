// What an instrumented kernel wrote down of its first block: ./gemm timeline puts the stamps into a copy of a
// lesson's kernel.cu (runner/programs/stamps.hpp), and gemm_timeline reads them.
#pragma once

#include <cstdint>
#include <vector>

namespace gemm::timeline {

/// One stamp of a warp's lane 0. Clocks are the lower words of clock64(), which counts on every SM by itself.
struct alignas(16) Stamp {
    std::uint32_t site;        // index into the list of places that the instrumentation wrote
    std::uint32_t begin, end;  // clocks before and after what is done there
    std::uint32_t detail;  // of a barrier: its address in shared memory; of a warp's first and last stamp:
                           // the lower word of %globaltimer, nanoseconds
};

/// The block's first site and its last: a warp begins, a warp has returned.
inline constexpr std::uint32_t kBegins = 0, kReturns = 1;

/// What a warp wrote down.
struct Warp {
    std::vector<Stamp> stamps;
    std::uint32_t wanted = 0;  // more than there are stamps: the others found no room
};

/// Of the last launch. Defined with the instrumented kernel. Throws Error when the GPU refuses.
std::vector<Warp> read_stamps();

}  // namespace gemm::timeline
