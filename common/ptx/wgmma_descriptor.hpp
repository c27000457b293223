// Where wgmma finds a matrix in shared memory: the 64 bits of a matrix descriptor, their fields, and which
// address they give an element (PTX ISA, "Asynchronous warpgroup level matrix instructions: Matrix
// Descriptor Format", "Strides", "Shared Memory Matrix Layout"). Encoded, decoded and followed here alone.
//
// A is M×K and B is N×K here: `row` counts along M or N. Elements have 2 bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace gemm::ptx {

/// Which dimension of a matrix lies side by side in shared memory.
enum class Major { k, row };

/// As a descriptor's highest two bits count them.
enum class WgmmaSwizzle { none = 0, bytes128 = 1, bytes64 = 2, bytes32 = 3 };

/// Bytes of a row of the pattern that swizzling permutes; 8 such rows are a pattern. Without swizzle a row of
/// a core matrix.
__host__ __device__ constexpr unsigned wgmma_span(WgmmaSwizzle swizzle) {
    return swizzle == WgmmaSwizzle::none ? 16 : 256u >> static_cast<unsigned>(swizzle);
}

struct WgmmaFields {
    unsigned start = 0;        // shared address of the first element, a multiple of 16 below 2^18
    unsigned leading = 0;      // leading-dimension byte offset (LBO) and stride-dimension byte offset (SBO):
    unsigned stride = 0;       // multiples of 16 below 2^18
    unsigned base_offset = 0;  // bits 7 … 9 of where a pattern starts that starts at no multiple of its size
    WgmmaSwizzle swizzle = WgmmaSwizzle::none;
};

__host__ __device__ constexpr std::uint64_t encode(const WgmmaFields& f) {
    const auto sixteenths = [](unsigned bytes) { return static_cast<std::uint64_t>(bytes >> 4 & 0x3fff); };
    return sixteenths(f.start) | sixteenths(f.leading) << 16 | sixteenths(f.stride) << 32 |
           static_cast<std::uint64_t>(f.base_offset & 7) << 49 | static_cast<std::uint64_t>(f.swizzle) << 62;
}

__host__ __device__ constexpr WgmmaFields decode(std::uint64_t descriptor) {
    const auto bytes = [&](int bit) { return static_cast<unsigned>(descriptor >> bit & 0x3fff) << 4; };
    return {bytes(0), bytes(16), bytes(32), static_cast<unsigned>(descriptor >> 49 & 7),
            static_cast<WgmmaSwizzle>(descriptor >> 62)};
}

/// The descriptor of what begins `bytes` behind what `descriptor` says, a multiple of 16; both within 2^18.
/// One addition to the lower word, where encode() takes several instructions.
__host__ __device__ constexpr std::uint64_t moved(std::uint64_t descriptor, unsigned bytes) {
    return descriptor >> 32 << 32 |
           static_cast<std::uint32_t>(static_cast<std::uint32_t>(descriptor) + bytes / 16);
}

/// The shared address of element (row, k).
///
/// Major::k: 16 bytes of a row hold 8 elements along k. 8 rows lie one behind the other, `stride` bytes from
/// the next 8. Without swizzle a row has 16 bytes, and the 8 elements behind k = 7 begin `leading` bytes
/// on; with swizzle a row has a span's bytes, and `leading` is not used.
///
/// Major::row: 16 bytes hold 8 elements along the row dimension. Without swizzle the next 8 of them begin
/// `stride` bytes on; 8 steps of k lie one behind the other, 16 bytes each, `leading` bytes from the next 8.
/// With swizzle a span holds span / 2 elements, the next begin `leading` bytes on, and 8 steps of k, a span
/// each, lie `stride` bytes from the next 8.
__host__ __device__ constexpr unsigned wgmma_address(const WgmmaFields& f, Major major, unsigned row,
                                                     unsigned k) {
    const unsigned span = wgmma_span(f.swizzle);
    const bool swizzled = f.swizzle != WgmmaSwizzle::none;
    unsigned address = f.start;
    if (major == Major::k) {
        address += row / 8 * f.stride + row % 8 * span;
        address += swizzled ? k * 2 : k / 8 * f.leading + k % 8 * 2;
    } else if (swizzled) {
        address += row / (span / 2) * f.leading + row % (span / 2) * 2;
        address += k / 8 * f.stride + k % 8 * span;
    } else {
        address += row / 8 * f.stride + row % 8 * 2;
        address += k / 8 * f.leading + k % 8 * 16;
    }
    // Units of 16 bytes change places within a span, by the span's number among 8 rows of 128 bytes.
    const unsigned turn = ((address >> 7) - f.base_offset) & (span / 16 - 1);
    return address ^ turn << 4;
}

/// Which element of the 64×N sums thread `thread` of the warpgroup holds as its number `index`.
struct WgmmaPlace {
    unsigned row, column;
};
__host__ __device__ constexpr WgmmaPlace wgmma_sum(unsigned thread, unsigned index) {
    return {thread / 32 * 16 + thread % 32 / 4 + index / 2 % 2 * 8,
            index / 4 * 8 + thread % 4 * 2 + index % 2};
}
/// And which of the 64×16 elements of A, where they come from registers: `half` 0 is the lower one of
/// register `reg`.
__host__ __device__ constexpr WgmmaPlace wgmma_a(unsigned thread, unsigned reg, unsigned half) {
    return {thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8, thread % 4 * 2 + half + reg / 2 * 8};
}

}  // namespace gemm::ptx
