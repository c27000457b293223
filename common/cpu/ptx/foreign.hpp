// What every CUDA source begins with that was not written for this course (common/cpu/foreign.py).
#pragma once

#define gemm gemm_of_course  // the namespace: a source may call its kernel so

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <algorithm>
#include <cfloat>
#include <climits>
#include <cstdlib>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <limits>

#include "common/cpu/ptx/foreign_host.hpp"
#include "common/cpu/ptx/foreign_math.hpp"
#include "common/cpu/ptx/foreign_narrow.hpp"
#include "common/cpu/ptx/inline_ptx.hpp"

namespace cuda::std {
using namespace ::std;
}

namespace cpu_device {
bool helpers_may_share();  // common/cpu/execution/device.hpp
inline const bool kHelpersShare = helpers_may_share();
}  // namespace cpu_device

// An assertion that does not hold ends the launch, in a sentence that quotes it, whatever NDEBUG says.
#define CPU_DEVICE_ASSERT(...)                             \
    (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0) \
                                    : ::cpu_device::trap({"assert(" #__VA_ARGS__ ")", __FILE__, __LINE__}))

// Sources hide code of the device from other compilers; nothing of the course is included from here on.
#define __CUDACC__ 1
#define __NVCC__ 1
#undef gemm
