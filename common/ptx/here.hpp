// Where a wrapper of an instruction of the whole warp is called. Lanes of the CPU device meet at such a
// place, and its errors name it; nvcc has no use for it.
#pragma once

#include <cuda_runtime.h>

namespace gemm::ptx {

#ifdef __CUDACC__
struct Here {};
#else
using ::cpu_device::Here;
#endif

}  // namespace gemm::ptx
