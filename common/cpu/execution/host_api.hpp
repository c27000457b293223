// What the files share that hold the runtime API.
#pragma once

#include <cuda_runtime.h>

#include "common/cpu/execution/device.hpp"

namespace cpu_device {

/// For those who take them.
Steps& steps_taken();

/// An error stays for cudaGetLastError(), and for last_failed_call() beside the function that returns it: the
/// outermost one, where one calls another. Returns what it is given.
cudaError_t remember(cudaError_t error, const char* function = __builtin_FUNCTION());

/// While one lives, the device's memory is within reach, whatever run_on_host() hides: for kernels and
/// copies.
struct Reach {
    Reach();
    ~Reach();
    Reach(const Reach&) = delete;
    Reach& operator=(const Reach&) = delete;
};

/// Whether it is a stream that exists: one that was created, or one that every program has.
bool is_stream(cudaStream_t stream);

}  // namespace cpu_device
