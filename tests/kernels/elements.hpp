// What the slow kernels share: a thread for each element of C, 16×16 threads a block.
#pragma once

#include <cstring>

#include "common/gemm.hpp"

namespace slow {

inline constexpr int SIDE = 16;
inline constexpr gemm::Tile kTile{SIDE, SIDE, 1};
const dim3 kBlock(SIDE, SIDE);

/// The element of C that a thread computes.
struct Place {
    std::int64_t row, col;
};
__device__ __forceinline__ Place place(std::int64_t N) {
    const std::int64_t tiles_n = (N + SIDE - 1) / SIDE;
    return {blockIdx.x / tiles_n * SIDE + threadIdx.y, blockIdx.x % tiles_n * SIDE + threadIdx.x};
}

inline gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles_n = gemm::ceil_div(p.N, SIDE);
    return {{static_cast<unsigned>(row / SIDE * tiles_n + col / SIDE), 0, 0},
            {static_cast<unsigned>(col % SIDE), static_cast<unsigned>(row % SIDE), 0}};
}

/// The same in a batch, of which each problem has the tiles of M×N, the largest one's sizes.
struct PlaceInBatch {
    std::int64_t problem, row, col;
};
__device__ __forceinline__ PlaceInBatch place_in_batch(std::int64_t M, std::int64_t N) {
    const std::int64_t tiles_n = (N + SIDE - 1) / SIDE, tiles = (M + SIDE - 1) / SIDE * tiles_n;
    const std::int64_t tile = blockIdx.x % tiles;
    return {blockIdx.x / tiles, tile / tiles_n * SIDE + threadIdx.y, tile % tiles_n * SIDE + threadIdx.x};
}
/// Of the first `count` problems.
inline dim3 grid_of_batch(const gemm::Problem& p, std::int64_t count) {
    return dim3(gemm::grid_of_tiles(p, kTile).x * static_cast<unsigned>(count));
}
inline gemm::Owner owner_in_batch(const gemm::Problem& p, std::int64_t problem, std::int64_t row,
                                  std::int64_t col) {
    gemm::Owner one = owner(p, row, col);
    one.block.x += static_cast<unsigned>(problem) * gemm::grid_of_tiles(p, kTile).x;
    return one;
}

__device__ __forceinline__ float float_of(unsigned bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
__device__ __forceinline__ unsigned bits_of(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

__device__ __forceinline__ float bf16(std::uint16_t bits) {
    return float_of(static_cast<unsigned>(bits) << 16);
}
__device__ __forceinline__ std::uint16_t to_bf16(float x) {
    const unsigned bits = bits_of(x);
    if (x != x) return 0x7fff;
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace slow
