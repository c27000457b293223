// Tensor maps: what the copy engine (TMA) must know of a tensor in global memory and of the box of it that
// one copy moves. The driver encodes them, on the host; a kernel gets one as a parameter, __grid_constant__
// const CUtensorMap.
#pragma once

#include <cuda.h>

namespace gemm {

/// What cuTensorMapEncodeTiled() is told. Dimension 0 is the innermost, whose elements lie side by side.
struct TensorMapFields {
    static constexpr int kMostRank = 5;

    CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    int rank = 2;
    const void* address = nullptr;           // a multiple of 16
    cuuint64_t sizes[kMostRank] = {};        // elements
    cuuint64_t strides[kMostRank - 1] = {};  // bytes from an element to the next of dimension 1, 2, …
    cuuint32_t box[kMostRank] = {};          // elements, 1 … 256 a side
    cuuint32_t element_strides[kMostRank] = {1, 1, 1, 1, 1};
    CUtensorMapInterleave interleave = CU_TENSOR_MAP_INTERLEAVE_NONE;
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    CUtensorMapL2promotion l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_NONE;
    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
};

/// The driver's answer. No program needs to be linked with the driver for it: where the driver's function is,
/// the runtime knows. Throws gemm::Error where the driver has no such function.
CUresult encode(const TensorMapFields& fields, CUtensorMap* map);

/// The tensor map. Throws gemm::Error where the driver refuses it.
CUtensorMap tensor_map(const TensorMapFields& fields);

}  // namespace gemm
