#include "common/cpu/ptx/tensor_map.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace cpu_device {
namespace {

constexpr std::uint64_t kMapMark = 0x70616d726f736e74;  // what makes 128 bytes a tensor map

/// How the fields lie in a CUtensorMap.
struct Encoded {
    std::uint64_t mark, address;
    std::uint64_t strides[kMostRank - 1];
    std::uint32_t last[kMostRank];  // index of each dimension: sizes go up to 2^32
    std::uint16_t box[kMostRank];
    std::uint8_t element_strides[kMostRank];
    std::uint8_t rank, type, swizzle, l2_promotion, fill;
};
static_assert(sizeof(Encoded) <= sizeof(CUtensorMap));

bool is_float(CUtensorMapDataType type) {
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
}

std::uint32_t span(CUtensorMapSwizzle swizzle) {
    constexpr std::uint32_t spans[] = {0, 32, 64, 128};
    return spans[swizzle];
}

thread_local std::string refused;

std::string of_dimension(const char* what, int i, std::uint64_t value) {
    return std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(value);
}

/// What the driver refuses, as a clause; empty if nothing (CUDA Driver API reference,
/// cuTensorMapEncodeTiled).
std::string why_refused(const CUtensorMap* map, CUtensorMapDataType type, std::uint32_t rank,
                        const void* address, const cuuint64_t* sizes, const cuuint64_t* strides,
                        const cuuint32_t* box, const cuuint32_t* element_strides, CUtensorMapSwizzle swizzle,
                        CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill fill) {
    const auto multiple = [](const void* p, std::uintptr_t of) {
        return reinterpret_cast<std::uintptr_t>(p) % of == 0;
    };
    if (map == nullptr || !multiple(map, 64)) return "the CUtensorMap is not at a multiple of 64 bytes";
    if (type < CU_TENSOR_MAP_DATA_TYPE_UINT8 || type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ)
        return "there is no data type " + std::to_string(static_cast<int>(type));
    if (rank < 1 || rank > kMostRank) return "the rank is " + std::to_string(rank) + ", and 1 to 5 there are";
    if (address == nullptr || !multiple(address, 16)) return "the global address is no multiple of 16";
    if (sizes == nullptr || box == nullptr || element_strides == nullptr || (rank > 1 && strides == nullptr))
        return "a pointer is null";
    if (swizzle < CU_TENSOR_MAP_SWIZZLE_NONE || swizzle > CU_TENSOR_MAP_SWIZZLE_128B)
        return "there is no swizzle mode " + std::to_string(static_cast<int>(swizzle));
    if (l2_promotion < CU_TENSOR_MAP_L2_PROMOTION_NONE || l2_promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
        return "there is no L2 promotion " + std::to_string(static_cast<int>(l2_promotion));
    if (fill < CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE || fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return "there is no fill " + std::to_string(static_cast<int>(fill));
    if (fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE && !is_float(type))
        return "elements outside of the tensor can be NaN in floating-point types only";
    for (int i = 0; i < static_cast<int>(rank); ++i) {
        if (sizes[i] < 1 || sizes[i] > std::uint64_t{1} << 32)
            return of_dimension("the size globalDim", i, sizes[i]) + ", and 1 to 2^32 it may be";
        if (i > 0 && (strides[i - 1] % 16 != 0 || strides[i - 1] >= std::uint64_t{1} << 40))
            return of_dimension("the stride globalStrides", i - 1, strides[i - 1]) +
                   " bytes, and it must be a multiple of 16 below 2^40";
        if (box[i] < 1 || box[i] > 256)
            return of_dimension("the side boxDim", i, box[i]) + ", and 1 to 256 it may be";
        if (element_strides[i] < 1 || element_strides[i] > 8)
            return of_dimension("elementStrides", i, element_strides[i]) + ", and 1 to 8 it may be";
    }
    const std::uint64_t inner = box[0] * element_bytes(type);
    if (inner % 16 != 0)
        return "a row of the box has " + std::to_string(inner) + " bytes, and they must be a multiple of 16";
    if (swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && inner > span(swizzle))
        return "a row of the box has " + std::to_string(inner) + " bytes, more than the " +
               std::to_string(span(swizzle)) + " that its swizzle mode spans";
    return {};
}

}  // namespace

std::size_t element_bytes(CUtensorMapDataType type) {
    switch (type) {
        case CU_TENSOR_MAP_DATA_TYPE_UINT8:
            return 1;
        case CU_TENSOR_MAP_DATA_TYPE_UINT16:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
        case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
            return 2;
        case CU_TENSOR_MAP_DATA_TYPE_UINT64:
        case CU_TENSOR_MAP_DATA_TYPE_INT64:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
            return 8;
        default:
            return 4;
    }
}

const char* tensor_map_refusal() {
    return refused.c_str();
}

bool TensorMap::read(const CUtensorMap& map) {
    Encoded e;
    std::memcpy(&e, &map, sizeof e);
    if (e.mark != kMapMark) return false;
    address = reinterpret_cast<std::byte*>(e.address);
    rank = e.rank;
    type = static_cast<CUtensorMapDataType>(e.type);
    swizzle = static_cast<CUtensorMapSwizzle>(e.swizzle);
    fill = static_cast<CUtensorMapFloatOOBfill>(e.fill);
    for (int i = 0; i < kMostRank; ++i) {
        sizes[i] = i < rank ? std::uint64_t{e.last[i]} + 1 : 1;
        strides[i] = i == 0 ? element_bytes(type) : i < rank ? e.strides[i - 1] : 0;
        element_strides[i] = i < rank && i > 0 ? e.element_strides[i] : 1;  // dimension 0 has none
        box[i] = i < rank ? (e.box[i] + element_strides[i] - 1) / element_strides[i] : 1;
    }
    return true;
}

std::uint32_t TensorMap::box_bytes() const {
    auto bytes = static_cast<std::uint32_t>(element_bytes(type));
    for (const std::uint32_t side : box) bytes *= side;
    return bytes;
}

std::uint32_t TensorMap::row_pitch() const {
    const auto bytes = static_cast<std::uint32_t>(box[0] * strides[0]);
    return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? bytes : span(swizzle);
}

std::uint32_t TensorMap::shared_bytes() const {
    return box_bytes() / static_cast<std::uint32_t>(box[0] * strides[0]) * row_pitch();
}

std::vector<Chunk> TensorMap::chunks(const int* at, std::byte* shared, bool load) const {
    std::vector<Chunk> all;
    all.reserve(box_bytes() / kChunk);
    const auto size = static_cast<std::int64_t>(strides[0]);
    const std::int64_t row_bytes = box[0] * size;
    // Of a row of the box, the bytes that lie in the tensor.
    const std::int64_t first = std::clamp<std::int64_t>(-std::int64_t{at[0]} * size, 0, row_bytes);
    const std::int64_t last =
        std::clamp<std::int64_t>((static_cast<std::int64_t>(sizes[0]) - at[0]) * size, first, row_bytes);
    auto next = reinterpret_cast<std::uintptr_t>(shared);
    std::uint32_t index[kMostRank] = {};
    for (;;) {
        bool inside = true;
        std::int64_t offset = std::int64_t{at[0]} * size;
        for (int d = 1; d < rank; ++d) {
            const std::int64_t coordinate = at[d] + std::int64_t{index[d]} * element_strides[d];
            inside = inside && coordinate >= 0 && coordinate < static_cast<std::int64_t>(sizes[d]);
            offset += coordinate * static_cast<std::int64_t>(strides[d]);
        }
        for (std::int64_t byte = 0; byte < row_bytes; byte += kChunk) {
            const std::int64_t from = std::clamp<std::int64_t>(first - byte, 0, kChunk);
            const std::int64_t end = inside ? std::clamp<std::int64_t>(last - byte, from, kChunk) : from;
            const std::int64_t to = load || end == from ? end : kChunk;
            auto* const to_shared =
                reinterpret_cast<std::byte*>(swizzled(swizzle, next + static_cast<std::uintptr_t>(byte)));
            all.push_back({to_shared, to > from ? address + offset + byte + from : nullptr,
                           static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to),
                           static_cast<std::uint8_t>(to - end)});
        }
        next += row_pitch();
        int d = 1;
        while (d < rank && ++index[d] == box[d]) index[d++] = 0;
        if (d >= rank) return all;
    }
}

void TensorMap::convert(std::byte* bytes, std::size_t count) const {
    if (type != CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 && type != CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return;
    for (std::size_t at = 0; at + 4 <= count; at += 4) {
        std::uint32_t bits;
        std::memcpy(&bits, bytes + at, 4);
        const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
        bits = nan ? 0x7fffe000u : (bits + 0xfff + (bits >> 13 & 1u)) & ~0x1fffu;
        std::memcpy(bytes + at, &bits, 4);
    }
}

void TensorMap::fill_of(std::byte (&chunk)[kChunk]) const {
    std::memset(chunk, 0, kChunk);
    if (fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) return;
    // 0x7ff7 in every 2 bytes, also of longer types: a NaN of each (FP64's was not looked at on a GPU).
    for (std::size_t at = 0; at < kChunk; at += 2)
        chunk[at] = std::byte{0xf7}, chunk[at + 1] = std::byte{0x7f};
}

}  // namespace cpu_device

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* element_strides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
                                CUtensorMapFloatOOBfill fill) {
    using namespace cpu_device;
    if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE) {
        refused = "interleaved layouts are not modelled on the CPU device, CU_TENSOR_MAP_INTERLEAVE_NONE is";
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    refused = why_refused(map, type, rank, address, sizes, strides, box, element_strides, swizzle,
                          l2_promotion, fill);
    if (!refused.empty()) return CUDA_ERROR_INVALID_VALUE;
    Encoded e{};
    e.mark = kMapMark;
    e.address = reinterpret_cast<std::uint64_t>(address);
    for (std::uint32_t i = 0; i < rank; ++i) {
        if (i > 0) e.strides[i - 1] = strides[i - 1];
        e.last[i] = static_cast<std::uint32_t>(sizes[i] - 1);
        e.box[i] = static_cast<std::uint16_t>(box[i]);
        e.element_strides[i] = static_cast<std::uint8_t>(element_strides[i]);
    }
    e.rank = static_cast<std::uint8_t>(rank);
    e.type = static_cast<std::uint8_t>(type);
    e.swizzle = static_cast<std::uint8_t>(swizzle);
    e.l2_promotion = static_cast<std::uint8_t>(l2_promotion);
    e.fill = static_cast<std::uint8_t>(fill);
    std::memset(map, 0, sizeof *map);
    std::memcpy(map, &e, sizeof e);
    return CUDA_SUCCESS;
}
