// Kernel level: a tile scheduler says which C tile a block computes next, and which part of K. It knows
// neither types nor addresses, so that a mainloop and an epilogue work with any.
#pragma once

#include <cuda_runtime.h>

#include <concepts>

#include "common/parts/tile_order.hpp"

namespace gemm {

/// What a block computes next: the k-tiles first_k … first_k + k_tiles − 1 of a C tile. Where K is no
/// multiple of BK, one is partial: which one, the loader says.
struct Work {
    Tiles tile;  // how many C tiles are above it, and how many left of it
    int first_k, k_tiles;
};

/// All that there is to compute: how many C tiles, and how many k-tiles for each.
struct WorkSize {
    Tiles tiles;
    int k_tiles;
};

/// Made from a WorkSize. Every block that is launched, and blocks_of() says how many, has work. block_of()
/// is for owner(): who writes a C tile.
template <class S>
concept TileScheduler = requires(S scheduler, Work work, WorkSize size, Tiles tile, unsigned number) {
    S{size};
    { scheduler.first() } -> std::same_as<Work>;
    { scheduler.next(work) } -> std::same_as<bool>;  // proceeds; false where nothing is left for this block
    { S::blocks_of(tile, number) } -> std::same_as<unsigned>;       // of so many that are resident at once
    { S::block_of(tile, tile, number) } -> std::same_as<unsigned>;  // a tile of all, with so many blocks
};

/// The order in which C tiles are counted: down GROUP rows of tiles, then along them. Tiles with neighboring
/// numbers cover a rectangle of C, and need few rows of A and columns of B.
template <unsigned GROUP>
struct Grouped {
    static constexpr __host__ __device__ Tiles at(unsigned i, Tiles all) { return tile_at<GROUP>(i, all); }
    static constexpr __host__ __device__ unsigned number_of(Tiles tile, Tiles all) {
        return gemm::number_of<GROUP>(tile, all);
    }
};

/// A block for each C tile.
template <class Order>
struct OneTileEach {
    WorkSize size;

    __device__ __forceinline__ Work first() const {
        return {Order::at(blockIdx.x, size.tiles), 0, size.k_tiles};
    }
    __device__ __forceinline__ bool next(Work& /*work*/) const { return false; }

    static unsigned blocks_of(Tiles all, unsigned /*resident*/) { return all.m * all.n; }
    static unsigned block_of(Tiles tile, Tiles all, unsigned /*blocks*/) {
        return Order::number_of(tile, all);
    }
};

/// Blocks that stay, as many as are resident at once: each computes every so many-th C tile.
template <class Order>
struct Persistent {
    WorkSize size;

    __device__ __forceinline__ explicit Persistent(const WorkSize& all) : size(all) {}

    /// After this, next() counts on.
    __device__ __forceinline__ Work first() {
        number = blockIdx.x;
        return {Order::at(number, size.tiles), 0, size.k_tiles};
    }
    __device__ __forceinline__ bool next(Work& work) {
        number += gridDim.x;
        if (number >= size.tiles.m * size.tiles.n) return false;
        work.tile = Order::at(number, size.tiles);
        return true;
    }

    static unsigned blocks_of(Tiles all, unsigned resident) {
        return all.m * all.n < resident ? all.m * all.n : resident;
    }
    static unsigned block_of(Tiles tile, Tiles all, unsigned blocks) {
        return Order::number_of(tile, all) % blocks;
    }

  private:
    unsigned number = 0;  // of the C tile that the block computes
};

/// Blocks that stay, as few as need no more rounds: the last round leaves none without work that has computed
/// as much as others.
template <class Order>
struct PersistentFewest : Persistent<Order> {
    using Persistent<Order>::Persistent;

    /// How many C tiles a block computes, at most.
    static unsigned rounds_of(Tiles all, unsigned resident) {
        return (all.m * all.n + resident - 1) / resident;
    }
    static unsigned blocks_of(Tiles all, unsigned resident) {
        const unsigned rounds = rounds_of(all, resident);
        return rounds == 0 ? 0 : (all.m * all.n + rounds - 1) / rounds;
    }
};

}  // namespace gemm
