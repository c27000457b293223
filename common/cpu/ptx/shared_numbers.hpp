// Shared memory by numbers, as kernels with inline PTX name it: __cvta_generic_to_shared() and back.
#pragma once

#include <cuda_runtime.h>

namespace cpu_device {

/// The number of an address in the block's shared memory. One a little outside of an array gets a number,
/// too: whoever uses it is told.
unsigned shared_number(const void* generic);
void* shared_pointer(unsigned long long number);

/// Ends the launch: the CPU device does not know what `site` says.
[[noreturn]] void unknown_instruction(Site site);
/// Ends the launch: the CPU device has no function of that name, which is a library's.
[[noreturn]] void unknown_call(const char* name);

}  // namespace cpu_device

inline std::size_t __cvta_generic_to_shared(const void* pointer) {
    return ::cpu_device::shared_number(pointer);
}
inline void* __cvta_shared_to_generic(std::size_t number) {
    return ::cpu_device::shared_pointer(number);
}
inline std::size_t __cvta_generic_to_global(const void* pointer) {
    return reinterpret_cast<std::size_t>(pointer);
}
