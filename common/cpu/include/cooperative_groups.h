// Stand-in for the toolkit's <cooperative_groups.h>: the grid of a cooperative launch, the cluster, the
// block, tiles of its warps, and the lanes of a warp that are at one place (CUDA C++ Programming Guide,
// "Cooperative Groups"), for g++ and the CPU device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <type_traits>

#include "common/cpu/ptx/barrier_object.hpp"
#include "common/cpu/ptx/cluster.hpp"

namespace cooperative_groups {

/// All threads of the grid. sync() is for cooperative launches alone.
struct grid_group {
    static void sync(::cpu_device::Here here = {}) {
        ::cpu_device::grid_barrier({"this_grid().sync()", here.file, here.line});
    }
    static bool is_valid() { return ::cpu_device::is_cooperative(); }
    static unsigned long long num_blocks() {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z;
    }
    static unsigned long long block_rank() {
        return (static_cast<unsigned long long>(blockIdx.z) * gridDim.y + blockIdx.y) * gridDim.x +
               blockIdx.x;
    }
    static unsigned long long num_threads() { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
    static unsigned long long size() { return num_threads(); }
    static unsigned long long thread_rank() {
        return block_rank() * blockDim.x * blockDim.y * blockDim.z +
               (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    static dim3 block_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 dim_blocks() { return {gridDim.x, gridDim.y, gridDim.z}; }
    static dim3 group_dim() { return dim_blocks(); }
};
__forceinline__ grid_group this_grid() {
    return {};
}

struct thread_block {
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    static dim3 thread_index() { return {threadIdx.x, threadIdx.y, threadIdx.z}; }
    static dim3 group_index() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
    static dim3 dim_threads() { return {blockDim.x, blockDim.y, blockDim.z}; }
    static dim3 group_dim() { return dim_threads(); }
    static void sync(::cpu_device::Here here = {}) {
        ::cpu_device::barrier({"sync()", here.file, here.line});
    }
};
__forceinline__ thread_block this_thread_block() {
    return {};
}

/// The blocks of a cluster; one alone where the launch has none.
struct cluster_group {
    static unsigned num_blocks() { return ::cpu_device::cluster_place().size; }
    static unsigned block_rank() { return ::cpu_device::cluster_place().rank; }
    static dim3 block_index() { return ::cpu_device::cluster_place().block; }
    static dim3 dim_blocks() { return ::cpu_device::cluster_place().dim; }
    static unsigned num_threads() { return num_blocks() * thread_block::size(); }
    static unsigned size() { return num_threads(); }
    static unsigned thread_rank() {
        return block_rank() * thread_block::size() + thread_block::thread_rank();
    }
    static dim3 dim_threads() {
        const dim3 blocks = dim_blocks();
        return {blocks.x * blockDim.x, blocks.y * blockDim.y, blocks.z * blockDim.z};
    }
    struct arrival_token {};  // a thread arrives once, and then waits
    static arrival_token barrier_arrive(::cpu_device::Here here = {}) {
        ::cpu_device::cluster_arrive(true, {"this_cluster().barrier_arrive()", here.file, here.line});
        return {};
    }
    static void barrier_wait(::cpu_device::Here here = {}) {
        ::cpu_device::cluster_wait({"this_cluster().barrier_wait()", here.file, here.line});
    }
    static void barrier_wait(arrival_token&&, ::cpu_device::Here here = {}) { barrier_wait(here); }
    static void sync(::cpu_device::Here here = {}) {
        ::cpu_device::cluster_arrive(true, {"this_cluster().sync()", here.file, here.line});
        ::cpu_device::cluster_wait({"this_cluster().sync()", here.file, here.line});
    }
    /// Where the block of that rank has what this block has at the address.
    template <class T>
    static T* map_shared_rank(T* address, unsigned rank, ::cpu_device::Here here = {}) {
        return static_cast<T*>(
            ::cpu_device::at_rank(address, rank, {"map_shared_rank()", here.file, here.line}));
    }
};
__forceinline__ cluster_group this_cluster() {
    return {};
}

namespace details {
/// Shuffles of any trivial type, in words.
template <class T, class Shuffle>
__forceinline__ T in_words(const T& value, Shuffle shuffle) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 32, "shuffles move up to 32 bytes");
    constexpr std::size_t kWords = (sizeof(T) + 3) / 4;
    unsigned words[kWords]{};
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned& word : words) word = shuffle(word);
    T result;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
}
__forceinline__ unsigned lane() {
    return thread_block::thread_rank() % 32;
}
}  // namespace details

/// What tiles and coalesced groups share: lanes of one warp, which the group's mask() names.
template <class Group>
struct OfLanes {
    void sync(::cpu_device::Here here = {}) const { __syncwarp(self().mask(), here.file, here.line); }
    template <class T>
    T shfl(T value, int rank, ::cpu_device::Here here = {}) const {
        const int from = self().lane_of(rank);
        return details::in_words(value, [&](unsigned word) {
            return __shfl_sync(self().mask(), word, from, 32, here.file, here.line);
        });
    }
    /// Of the lane so many further on; its own where there is none.
    template <class T>
    T shfl_down(T value, unsigned by, ::cpu_device::Here here = {}) const {
        const unsigned rank = self().thread_rank();
        return shfl(value, static_cast<int>(rank + by < self().size() ? rank + by : rank), here);
    }
    template <class T>
    T shfl_up(T value, unsigned by, ::cpu_device::Here here = {}) const {
        const unsigned rank = self().thread_rank();
        return shfl(value, static_cast<int>(rank >= by ? rank - by : rank), here);
    }
    unsigned ballot(int predicate, ::cpu_device::Here here = {}) const {
        const unsigned lanes = __ballot_sync(self().mask(), predicate, here.file, here.line);
        unsigned ranks = 0;
        for (unsigned rank = 0; rank < self().size(); ++rank)
            ranks |= (lanes >> self().lane_of(static_cast<int>(rank)) & 1) << rank;
        return ranks;
    }
    int any(int predicate, ::cpu_device::Here here = {}) const {
        return __any_sync(self().mask(), predicate, here.file, here.line);
    }
    int all(int predicate, ::cpu_device::Here here = {}) const {
        return __all_sync(self().mask(), predicate, here.file, here.line);
    }

  private:
    const Group& self() const { return static_cast<const Group&>(*this); }
};

/// SIZE threads of a warp, one behind the other.
template <unsigned SIZE, class Parent = void>
struct thread_block_tile : OfLanes<thread_block_tile<SIZE, Parent>> {
    static_assert(SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "a tile is 1, 2, 4, 8, 16 or 32 threads");
    static constexpr unsigned size() { return SIZE; }
    static constexpr unsigned num_threads() { return SIZE; }
    static unsigned thread_rank() { return thread_block::thread_rank() % SIZE; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / SIZE; }
    static unsigned meta_group_size() { return (thread_block::size() + SIZE - 1) / SIZE; }
    static unsigned mask() {
        return (SIZE == 32 ? 0xffffffffu : (1u << SIZE % 32) - 1) << details::lane() / SIZE * SIZE;
    }
    static int lane_of(int rank) {
        return static_cast<int>(details::lane() / SIZE * SIZE + static_cast<unsigned>(rank) % SIZE);
    }
    template <class T>
    T shfl_xor(T value, unsigned by, ::cpu_device::Here here = {}) const {
        return this->shfl(value, static_cast<int>(thread_rank() ^ by), here);
    }
};
template <unsigned SIZE, class Parent>
__forceinline__ thread_block_tile<SIZE> tiled_partition(const Parent&) {
    return {};
}

/// The lanes of a warp that have come to the same place, or some of them.
struct coalesced_group : OfLanes<coalesced_group> {
    explicit coalesced_group(unsigned lanes) : lanes_(lanes) {}
    unsigned mask() const { return lanes_; }
    unsigned size() const { return static_cast<unsigned>(__builtin_popcount(lanes_)); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const {
        return static_cast<unsigned>(__builtin_popcount(lanes_ & ((1u << details::lane()) - 1)));
    }
    int lane_of(int rank) const {
        unsigned rest = lanes_;
        for (; rank > 0; --rank) rest &= rest - 1;
        return __builtin_ctz(rest);
    }

  private:
    unsigned lanes_;
};
__forceinline__ coalesced_group coalesced_threads(::cpu_device::Here here = {}) {
    return coalesced_group(::cpu_device::active_mask({"coalesced_threads()", here.file, here.line}));
}

/// A block, or lanes of a warp, of a size that the compiler does not know.
struct thread_group : OfLanes<thread_group> {
    thread_group(const thread_block&) : lanes_(0) {}
    template <unsigned SIZE, class Parent>
    thread_group(const thread_block_tile<SIZE, Parent>& tile) : lanes_(tile.mask()) {}
    thread_group(const coalesced_group& group) : lanes_(group.mask()) {}
    unsigned mask() const { return lanes_; }
    unsigned size() const { return lanes_ == 0 ? thread_block::size() : coalesced_group(lanes_).size(); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const {
        return lanes_ == 0 ? thread_block::thread_rank() : coalesced_group(lanes_).thread_rank();
    }
    int lane_of(int rank) const { return coalesced_group(lanes_).lane_of(rank); }
    void sync(::cpu_device::Here here = {}) const {
        if (lanes_ == 0) return thread_block::sync(here);
        OfLanes<thread_group>::sync(here);
    }

  private:
    unsigned lanes_;  // 0: of the block
};
__forceinline__ thread_group tiled_partition(const thread_group&, unsigned size) {
    const unsigned lanes = size >= 32 ? 0xffffffffu : (1u << size) - 1;
    return coalesced_group(lanes << details::lane() / size * size);
}

template <class Group>
__forceinline__ void sync(const Group& group, ::cpu_device::Here here = {}) {
    group.sync(here);
}
template <class Group, class Function>
__forceinline__ void invoke_one(const Group& group, Function function) {
    if (group.thread_rank() == 0) function();
}

}  // namespace cooperative_groups
