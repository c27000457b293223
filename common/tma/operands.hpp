// A and B of a problem as the copy engine takes them, for kernels whose elements have two bytes and whose
// tiles are swizzled by 128: what prepare() of such a lesson makes. launch.hpp launches with it.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "common/gemm.hpp"
#include "common/tma/matrix.hpp"
#include "common/tma/tensor_map.hpp"

namespace gemm {

constexpr int kTmaBox = 64;  // elements of a row that a copy brings: 128 bytes, what the swizzle permutes

/// What a problem needs before its launch.
struct TmaOperands {
    TmaMatrix a, b;  // M×K and K×N; empty where they are not read
    CUtensorMap map_a{}, map_b{};
};

/// SMs of the current device: as many blocks as stay, where one fits an SM.
int multiprocessors();

/// The tensor map of rows×cols elements of two bytes, neither of them 0, of which a copy moves `box_rows`
/// rows of kTmaBox elements. address and 2·pitch are multiples of 16. Throws Error where the driver refuses
/// it.
CUtensorMap tma_map(DType type, const void* address, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                    int box_rows);

/// Fills `operands`: maps for boxes of rows_a rows of A and rows_b of B. Throws as tma_matrix() and tma_map()
/// do.
void prepare_operands(TmaOperands& operands, const Problem& p, int rows_a, int rows_b);

}  // namespace gemm
