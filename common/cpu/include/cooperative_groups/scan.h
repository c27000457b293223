// Stand-in for the toolkit's <cooperative_groups/scan.h> (CUDA C++ Programming Guide, "Cooperative Groups",
// "inclusive_scan and exclusive_scan"), for g++ and the CPU device: of tiles and coalesced groups.
#pragma once

#include <cooperative_groups/reduce.h>

namespace cooperative_groups {

/// What the threads up to this one give.
template <class Group, class T, class Operation = plus<T>>
__forceinline__ T inclusive_scan(const Group& group, T value, Operation&& operation = {},
                                 ::cpu_device::Here here = {}) {
    T result = value;
    for (unsigned by = 1; by < group.size(); by *= 2) {
        const T before = group.shfl_up(result, by, here);
        if (group.thread_rank() >= by) result = operation(before, result);
    }
    return result;
}
/// What the threads in front of this one give; of none, T().
template <class Group, class T, class Operation = plus<T>>
__forceinline__ T exclusive_scan(const Group& group, T value, Operation&& operation = {},
                                 ::cpu_device::Here here = {}) {
    const T before = group.shfl_up(inclusive_scan(group, value, operation, here), 1, here);
    return group.thread_rank() == 0 ? T() : before;
}

}  // namespace cooperative_groups
