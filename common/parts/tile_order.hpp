// The order in which C tiles are computed, for kernels whose blocks are counted along x: those that run at
// the same time cover a rectangle of C, and need few rows of A and columns of B.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gemm {

/// A C tile, or how many there are: rows and columns of tiles.
struct Tiles {
    unsigned m, n;
};

constexpr unsigned kTileGroup = 8;  // rows of C tiles that are counted together

/// How many C tiles of BM×BN cover M×N elements.
constexpr __host__ __device__ Tiles tiles_of(std::int64_t M, std::int64_t N, int BM, int BN) {
    return {static_cast<unsigned>((M + BM - 1) / BM), static_cast<unsigned>((N + BN - 1) / BN)};
}

/// The C tile that element (row, col) is in.
constexpr __host__ __device__ Tiles tile_of(std::int64_t row, std::int64_t col, int BM, int BN) {
    return {static_cast<unsigned>(row / BM), static_cast<unsigned>(col / BN)};
}

/// The C tile that comes as number i of all.m·all.n: down a group of GROUP rows of tiles, then along it.
template <unsigned GROUP = kTileGroup>
constexpr __host__ __device__ Tiles tile_at(unsigned i, Tiles all) {
    const unsigned first = i / (GROUP * all.n) * GROUP, in_group = i - first * all.n;
    const unsigned rows = all.m - first < GROUP ? all.m - first : GROUP;
    return {first + in_group % rows, in_group / rows};
}

/// The number by which tile_at() has c_tile.
template <unsigned GROUP = kTileGroup>
constexpr __host__ __device__ unsigned number_of(Tiles c_tile, Tiles all) {
    const unsigned first = c_tile.m / GROUP * GROUP;
    const unsigned rows = all.m - first < GROUP ? all.m - first : GROUP;
    return first * all.n + c_tile.n * rows + c_tile.m - first;
}

}  // namespace gemm
