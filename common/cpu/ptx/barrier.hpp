// What common/ptx/barrier.hpp calls on the CPU device.
#pragma once

#include <cuda_runtime.h>

namespace cpu_device {

/// Waits until `threads` threads of the block have come to its barrier `id`.
void named_barrier(unsigned id, unsigned threads, Site site);
/// Counts the thread as one that has come, and lets it go on.
void named_barrier_arrive(unsigned id, unsigned threads, Site site);

}  // namespace cpu_device
