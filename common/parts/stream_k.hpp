// Kernel level: a scheduler that gives each block an equal share of the k-tiles, wherever C tiles begin and
// end. After M. Osama et al., "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
// Multiplication on the GPU", PPoPP 2023.
#pragma once

#include <cuda_runtime.h>

#include <concepts>
#include <cstdint>

#include "common/parts/scheduler.hpp"

namespace gemm {

/// What a block computes next of its share: a C tile, or a part of one.
struct Piece : Work {
    unsigned number;  // of the C tile, as the order counts them
    int left;         // k-tiles of the share that come after this piece
};

/// Says as much of each piece as whoever puts C tiles together must know.
template <class S>
concept PieceScheduler = requires(S scheduler, Piece work, Tiles tile) {
    { scheduler.first() } -> std::same_as<Piece>;
    { scheduler.next(work) } -> std::same_as<bool>;          // as a TileScheduler's
    { scheduler.ends(work) } -> std::same_as<bool>;          // has its C tile's last k-tile
    { scheduler.others(work) } -> std::same_as<unsigned>;    // how many blocks have k-tiles before it
    { scheduler.blocks() } -> std::same_as<unsigned>;        // to launch
    { scheduler.block_of(tile) } -> std::same_as<unsigned>;  // which has the piece that ends this C tile
};

/// The k-tiles of the first `shared` C tiles, one C tile after another, are cut into equal shares, one for
/// each block. After its share, a block computes every so many-th of the other C tiles as a whole. A block
/// goes through its share from the end to the beginning: all but its first piece end a C tile, and what comes
/// before a piece of a C tile is the first piece of blocks with lower numbers.
template <class Order>
struct StreamK {
    WorkSize size;
    unsigned workers;  // blocks, of which each has work
    unsigned shared;   // C tiles
    int shortest;      // k-tiles of a share …
    unsigned longer;   // … and how many shares have one more: the first ones

    /// workers: 1 … C tiles where `shared` is 0, else 1 … k-tiles of shared C tiles. shared: 0 where
    /// size.k_tiles is.
    static constexpr StreamK over(const WorkSize& size, unsigned workers, unsigned shared) {
        const std::int64_t all = std::int64_t{shared} * size.k_tiles;
        return {size, workers, shared, static_cast<int>(all / workers), static_cast<unsigned>(all % workers)};
    }

    __device__ __forceinline__ Piece first() const { return first_of(blockIdx.x); }
    __device__ __forceinline__ bool next(Piece& work) const { return advance(work, blockIdx.x); }
    __device__ __forceinline__ unsigned others(const Piece& work) const {
        return others_of(work, blockIdx.x);
    }
    constexpr __host__ __device__ bool ends(const Piece& work) const {
        return work.first_k + work.k_tiles == size.k_tiles;
    }

    /// A worker's first piece: the last of its share.
    constexpr __host__ __device__ Piece first_of(unsigned worker) const {
        if (shared == 0) return {{Order::at(worker, size.tiles), 0, size.k_tiles}, worker, 0};
        const std::int64_t end = begin_of(worker + 1);
        const unsigned number = static_cast<unsigned>((end - 1) / size.k_tiles);
        return piece(number, static_cast<int>(end - std::int64_t{number} * size.k_tiles), share_of(worker));
    }

    /// From one of a worker's pieces to the next. False: that was the last.
    constexpr __host__ __device__ bool advance(Piece& work, unsigned worker) const {
        if (work.left > 0) {
            work = piece(work.number - 1, size.k_tiles, work.left);
            return true;
        }
        const unsigned number = work.number < shared ? shared + worker : work.number + workers;
        if (number >= size.tiles.m * size.tiles.n) return false;
        work = piece(number, size.k_tiles, size.k_tiles);
        return true;
    }

    /// How many workers have the k-tiles of the C tile that come before a worker's piece: those numbered just
    /// below it.
    constexpr __host__ __device__ unsigned others_of(const Piece& work, unsigned worker) const {
        unsigned others = 0;
        for (int before = work.first_k; before > 0; before -= share_of(worker - others)) ++others;
        return others;
    }

    constexpr __host__ __device__ unsigned blocks() const { return workers; }
    constexpr __host__ __device__ unsigned block_of(Tiles tile) const {
        const unsigned number = Order::number_of(tile, size.tiles);
        if (number >= shared) return (number - shared) % workers;
        const std::int64_t last = std::int64_t{number + 1} * size.k_tiles - 1;
        const std::int64_t in_longer = std::int64_t{longer} * (shortest + 1);
        return static_cast<unsigned>(last < in_longer ? last / (shortest + 1)
                                                      : longer + (last - in_longer) / shortest);
    }

    /// k-tiles in a worker's share.
    constexpr __host__ __device__ int share_of(unsigned worker) const {
        return shortest + (worker < longer ? 1 : 0);
    }

    /// k-tiles in the shares of all workers before this one.
    constexpr __host__ __device__ std::int64_t begin_of(unsigned worker) const {
        return std::int64_t{worker} * shortest + (worker < longer ? worker : longer);
    }
    /// Of the k-tiles that a worker has left, those of a C tile before k-tile `end`.
    constexpr __host__ __device__ Piece piece(unsigned number, int end, int left) const {
        const int k_tiles = left < end ? left : end;
        return {{Order::at(number, size.tiles), end - k_tiles, k_tiles}, number, left - k_tiles};
    }
};

}  // namespace gemm
