// Tensor maps as the CPU device keeps them in a CUtensorMap's 128 bytes, and what one copy moves by them.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cpu_device {

/// Part of a copy: 16 bytes of shared memory at a multiple of 16, and what lies there of global memory. Bytes
/// [from, to) are those from `global` on; the others lie outside of the tensor. The last `beyond` of them do,
/// too, where a row ends within the 16 bytes: a store writes them all the same.
struct Chunk {
    std::byte* shared;
    std::byte* global;
    std::uint8_t from, to, beyond;
};

constexpr int kChunk = 16;  // bytes: what swizzling keeps together
constexpr int kMostRank = 5;

/// The fields of a tensor map that cuTensorMapEncodeTiled() has accepted.
struct TensorMap {
    std::byte* address;
    std::uint64_t sizes[kMostRank];    // 1 for what is beyond the rank
    std::uint64_t strides[kMostRank];  // bytes; strides[0] is an element's
    std::uint32_t box[kMostRank];
    std::uint32_t element_strides[kMostRank];
    int rank;
    CUtensorMapDataType type;
    CUtensorMapSwizzle swizzle;
    CUtensorMapFloatOOBfill fill;

    /// Of what an encoded one holds; false where the bytes are none.
    bool read(const CUtensorMap& map);

    /// What a load of a box brings: all of it, also what lies outside of the tensor.
    std::uint32_t box_bytes() const;
    /// Bytes from a row of the box to the next in shared memory: where the map swizzles, a whole span.
    std::uint32_t row_pitch() const;
    /// What a box takes in shared memory: more than its own bytes where its rows are shorter than their
    /// pitch.
    std::uint32_t shared_bytes() const;
    /// The box whose first element has these coordinates, as it lies in shared memory from `shared` on, in
    /// the order of its addresses before swizzling. A store moves whole chunks, also where a row of the
    /// tensor ends within one.
    std::vector<Chunk> chunks(const int* at, std::byte* shared, bool load) const;
    /// What a load puts into shared memory: `bytes` as global memory has them become what the type makes of
    /// them. TF32 is rounded to nearest even, all NaN become one; types with FTZ keep subnormal values, as an
    /// H200 does.
    void convert(std::byte* bytes, std::size_t count) const;
    /// What lies in shared memory for elements outside of the tensor: a chunk of it.
    void fill_of(std::byte (&chunk)[kChunk]) const;
};

std::size_t element_bytes(CUtensorMapDataType type);

/// Where a byte of a box lies that would lie at this shared address if nothing were swizzled: the bits that
/// count 16-byte chunks within the span are exchanged with those that count rows of 128 bytes.
inline std::uintptr_t swizzled(CUtensorMapSwizzle mode, std::uintptr_t address) {
    switch (mode) {
        case CU_TENSOR_MAP_SWIZZLE_32B:
            return address ^ (address >> 7 & 1u) << 4;
        case CU_TENSOR_MAP_SWIZZLE_64B:
            return address ^ (address >> 7 & 3u) << 4;
        case CU_TENSOR_MAP_SWIZZLE_128B:
            return address ^ (address >> 7 & 7u) << 4;
        case CU_TENSOR_MAP_SWIZZLE_NONE:
            break;
    }
    return address;
}

}  // namespace cpu_device
