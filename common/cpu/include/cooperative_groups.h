// Stand-in for the toolkit's <cooperative_groups.h>: the block and tiles of its warps (CUDA C++ Programming
// Guide, "Cooperative Groups"), for g++ and the CPU device.
#pragma once

#include <cuda_runtime.h>

#include "common/cpu/ptx/barrier_object.hpp"

namespace cooperative_groups {

struct thread_block {
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 dim_threads() { return {blockDim.x, blockDim.y, blockDim.z}; }
    static void sync(::cpu_device::Here here = {}) {
        ::cpu_device::barrier({"sync()", here.file, here.line});
    }
};
__forceinline__ thread_block this_thread_block() {
    return {};
}

/// SIZE threads of a warp, one behind the other.
template <unsigned SIZE>
struct thread_block_tile {
    static_assert(SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "a tile is 1, 2, 4, 8, 16 or 32 threads");
    static constexpr unsigned size() { return SIZE; }
    static constexpr unsigned num_threads() { return SIZE; }
    static unsigned thread_rank() { return thread_block::thread_rank() % SIZE; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / SIZE; }
    static unsigned meta_group_size() { return (thread_block::size() + SIZE - 1) / SIZE; }
    static unsigned mask() {
        return (SIZE == 32 ? 0xffffffffu : (1u << SIZE % 32) - 1)
               << thread_block::thread_rank() % 32 / SIZE * SIZE;
    }
    static void sync(::cpu_device::Here here = {}) { __syncwarp(mask(), here.file, here.line); }
    template <class T>
    static T shfl(T value, int rank, ::cpu_device::Here here = {}) {
        return __shfl_sync(mask(), value, rank, SIZE, here.file, here.line);
    }
    template <class T>
    static T shfl_down(T value, unsigned by, ::cpu_device::Here here = {}) {
        return __shfl_down_sync(mask(), value, by, SIZE, here.file, here.line);
    }
    template <class T>
    static T shfl_xor(T value, int by, ::cpu_device::Here here = {}) {
        return __shfl_xor_sync(mask(), value, by, SIZE, here.file, here.line);
    }
};
template <unsigned SIZE>
__forceinline__ thread_block_tile<SIZE> tiled_partition(const thread_block&) {
    return {};
}

template <class Group>
__forceinline__ void sync(const Group& group, ::cpu_device::Here here = {}) {
    group.sync(here);
}

}  // namespace cooperative_groups
