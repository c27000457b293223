// What common/ptx/flags.hpp calls on the CPU device.
#pragma once

#include <cuda_runtime.h>

namespace cpu_device {

/// A thread that reads the same value again and again waits until another one is there, or nobody can go on.
unsigned load_acquire(const unsigned* flag, Site site);
void store_release(unsigned* flag, unsigned value);
/// What was there before.
unsigned add_release(unsigned* flag, unsigned value, bool acquire);

namespace {
/// Kernels of a file that includes this may wait for other blocks.
[[maybe_unused]] const bool kernels_wait = (blocks_wait = true);
}  // namespace

}  // namespace cpu_device
