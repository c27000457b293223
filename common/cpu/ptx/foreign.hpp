// What every CUDA source begins with that was not written for this course (common/cpu/foreign.py).
#pragma once

#include <cuda_runtime.h>

#include "common/cpu/ptx/inline_ptx.hpp"

// An assertion that does not hold ends the launch, in a sentence that quotes it, whatever NDEBUG says.
#define CPU_DEVICE_ASSERT(...)                             \
    (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                    : ::cpu_device::trap({"assert(" #__VA_ARGS__ ")", __FILE__, __LINE__}))
