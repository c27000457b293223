// Kernel level: a scheduler whose clusters share C tiles: each block of a cluster has a range of K.
#pragma once

#include <cuda_runtime.h>

#include "common/parts/split_k.hpp"

namespace gemm {

/// A cluster for each C tile, and in it a block for each slice, which is the block's number in the cluster.
/// So the launch says that `slices` blocks in a row are a cluster.
template <class Order>
struct ClusterSplitK : SplitK<Order> {
    __device__ __forceinline__ Slice first() const { return slice_of(blockIdx.x); }

    /// What the block of this number computes.
    constexpr __host__ __device__ Slice slice_of(unsigned block) const {
        const unsigned slices = static_cast<unsigned>(this->slices), tiles = this->blocks() / slices;
        return this->piece(block % slices * tiles + block / slices);  // as SplitK counts blocks
    }
    /// The first block of its cluster.
    constexpr __host__ __device__ unsigned block_of(Tiles tile) const {
        return Order::number_of(tile, this->size.tiles) * static_cast<unsigned>(this->slices);
    }
};

}  // namespace gemm
