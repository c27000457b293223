// Kernel level: a scheduler whose blocks share C tiles, each a range of K.
#pragma once

#include <cuda_runtime.h>

#include <concepts>

#include "common/parts/scheduler.hpp"

namespace gemm {

/// A piece of work that may be a part of its C tile: one of `slices` ranges of K.
struct Slice : Work {
    unsigned number;    // of the C tile, as the order counts them
    int slice, slices;  // which one, and of how many
};

/// Says as much of each piece as whoever adds the slices of a C tile must know.
template <class S>
concept SliceScheduler = requires(S scheduler, Slice work, Tiles tile) {
    { scheduler.first() } -> std::same_as<Slice>;
    { scheduler.next(work) } -> std::same_as<bool>;          // as a TileScheduler's
    { scheduler.blocks() } -> std::same_as<unsigned>;        // to launch
    { scheduler.block_of(tile) } -> std::same_as<unsigned>;  // whose work ends a C tile
};

/// A block for each slice of each C tile. Blocks are counted through all C tiles of slice 0, then of slice 1:
/// those that run at the same time are at about the same place along K, and need the same k-tiles.
template <class Order>
struct SplitK {
    WorkSize size;
    int slices = 1;  // of a C tile: 1 … max(1, size.k_tiles)

    __device__ __forceinline__ Slice first() const { return piece(blockIdx.x); }
    __device__ __forceinline__ bool next(Slice& /*work*/) const { return false; }

    /// What the block of this number computes. Shares differ by one k-tile at most.
    constexpr __host__ __device__ Slice piece(unsigned block) const {
        const unsigned tiles = size.tiles.m * size.tiles.n, number = block % tiles;
        const int slice = static_cast<int>(block / tiles), begin = first_k(slice);
        return {{Order::at(number, size.tiles), begin, first_k(slice + 1) - begin}, number, slice, slices};
    }

    constexpr __host__ __device__ unsigned blocks() const {
        return size.tiles.m * size.tiles.n * static_cast<unsigned>(slices);
    }
    /// The block of its last slice.
    constexpr __host__ __device__ unsigned block_of(Tiles tile) const {
        return blocks() - size.tiles.m * size.tiles.n + Order::number_of(tile, size.tiles);
    }

  private:
    /// The k-tile with which a slice begins: the first size.k_tiles % slices of them have one more than
    /// others.
    constexpr __host__ __device__ int first_k(int slice) const {
        const int longer = size.k_tiles % slices;
        return slice * (size.k_tiles / slices) + (slice < longer ? slice : longer);
    }
};

}  // namespace gemm
