// What the files of hooks share.
#pragma once

namespace cpu_device::trace {

/// The running thread's, if a kernel runs that is traced. An atomic operation that stores reads, too.
void record_atomic(void* return_address, const volatile void* address, int width, bool store);
/// It orders what it does to memory for other blocks.
void record_fence();

}  // namespace cpu_device::trace
