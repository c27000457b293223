// Stand-in for the toolkit's <cuda_pipeline.h>: a thread's asynchronous copies (CUDA C++ Programming Guide,
// "Pipeline Primitives Interface"), for g++ and the CPU device.
#pragma once

#include <cuda_runtime.h>

/// 4, 8 or 16 bytes, of which the last `zeros` are not read.
inline void __pipeline_memcpy_async(void* shared, const void* global, std::size_t bytes,
                                    std::size_t zeros = 0) {
    ::cpu_device::async_copy(shared, global, static_cast<int>(bytes), static_cast<int>(bytes - zeros));
}
inline void __pipeline_commit() {
    ::cpu_device::async_commit();
}
inline void __pipeline_wait_prior(std::size_t groups) {
    ::cpu_device::async_wait(static_cast<int>(groups));
}
