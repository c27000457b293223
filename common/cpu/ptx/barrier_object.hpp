// What <cuda/barrier>, <cuda/pipeline> and <cooperative_groups.h> call on the CPU device beside
// common/cpu/ptx/async.hpp.
#pragma once

#include <cuda_runtime.h>

namespace cpu_device {

/// The lowest bit of the phase that is open.
unsigned mbarrier_parity(void* barrier, Site site);

/// The barrier of all blocks of a cooperative launch, which any other launch ends at.
void grid_barrier(Site site);
bool is_cooperative();

/// cp.async of any size, in pieces as large as size and addresses allow; what no piece can be is stored.
__forceinline__ void copy_async(void* to, const void* from, std::size_t bytes) {
    auto* t = static_cast<char*>(to);
    const auto* f = static_cast<const char*>(from);
    const std::uintptr_t low =
        reinterpret_cast<std::uintptr_t>(t) | reinterpret_cast<std::uintptr_t>(f) | bytes;
    const std::size_t piece = low % 16 == 0 ? 16 : low % 8 == 0 ? 8 : low % 4 == 0 ? 4 : 1;
    for (std::size_t at = 0; at < bytes; at += piece) {
        if (piece == 1) {
            t[at] = f[at];
        } else {
            async_copy(t + at, f + at, static_cast<int>(piece), static_cast<int>(piece));
        }
    }
}

/// The same by all threads of a group, 16 bytes at a time in turn.
template <class Group>
__forceinline__ void copy_async_by(const Group& group, void* to, const void* from, std::size_t bytes) {
    constexpr std::size_t kPiece = 16;
    for (std::size_t at = group.thread_rank() * kPiece; at < bytes; at += group.size() * kPiece) {
        copy_async(static_cast<char*>(to) + at, static_cast<const char*>(from) + at,
                   bytes - at < kPiece ? bytes - at : kPiece);
    }
}

}  // namespace cpu_device
