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

}  // namespace slow
