// Stand-in for the toolkit's <cooperative_groups/reduce.h> (CUDA C++ Programming Guide, "Cooperative Groups",
// "reduce"), for g++ and the CPU device: of tiles and coalesced groups.
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {

#define CPU_DEVICE_OPERATION(name, expression)              \
    template <class T = void>                               \
    struct name {                                           \
        T operator()(T a, T b) const { return expression; } \
    };
CPU_DEVICE_OPERATION(plus, a + b)
CPU_DEVICE_OPERATION(less, b < a ? b : a)
CPU_DEVICE_OPERATION(greater, a < b ? b : a)
CPU_DEVICE_OPERATION(bit_and, a& b)
CPU_DEVICE_OPERATION(bit_or, a | b)
CPU_DEVICE_OPERATION(bit_xor, a ^ b)
#undef CPU_DEVICE_OPERATION

/// What all threads of the group give, in all of them; in pairs as a butterfly has them, where it has a power
/// of two of threads.
template <class Group, class T, class Operation>
__forceinline__ T reduce(const Group& group, T value, Operation&& operation, ::cpu_device::Here here = {}) {
    const unsigned size = group.size(), rank = group.thread_rank();
    if ((size & (size - 1)) == 0) {
        for (unsigned by = size / 2; by > 0; by /= 2)
            value = operation(value, group.shfl(value, static_cast<int>(rank ^ by), here));
        return value;
    }
    T result = group.shfl(value, 0, here);
    for (unsigned other = 1; other < size; ++other)
        result = operation(result, group.shfl(value, static_cast<int>(other), here));
    return result;
}

}  // namespace cooperative_groups
