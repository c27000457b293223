// Stand-in for the toolkit's <cooperative_groups/memcpy_async.h>: copies that a group's threads share (CUDA
// C++ Programming Guide, "Cooperative Groups", "memcpy_async"), for g++ and the CPU device.
#pragma once

#include <cooperative_groups.h>

namespace cooperative_groups {

template <class Group, class T, class Size>
__forceinline__ void memcpy_async(const Group& group, T* to, const T* from, Size bytes) {
    ::cpu_device::copy_async_by(group, to, from, bytes);
    ::cpu_device::async_commit();
}
/// Until all but the last PRIOR copies of all of the group's threads are complete.
template <unsigned PRIOR, class Group>
__forceinline__ void wait_prior(const Group& group, ::cpu_device::Here here = {}) {
    ::cpu_device::async_wait(PRIOR);
    group.sync(here);
}
template <class Group>
__forceinline__ void wait(const Group& group, ::cpu_device::Here here = {}) {
    wait_prior<0>(group, here);
}

}  // namespace cooperative_groups
