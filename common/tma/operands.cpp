#include "common/tma/operands.hpp"

#include "common/error.hpp"

namespace gemm {

int multiprocessors() {
    int device = 0, count = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
    return count;
}

CUtensorMap tma_map(DType type, const void* address, std::int64_t rows, std::int64_t cols, std::int64_t pitch,
                    int box_rows) {
    return tensor_map(
        {.type = type == DType::bf16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
         .address = address,
         .sizes = {static_cast<cuuint64_t>(cols), static_cast<cuuint64_t>(rows)},
         .strides = {static_cast<cuuint64_t>(2 * pitch)},
         .box = {kTmaBox, static_cast<cuuint32_t>(box_rows)},
         .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
         .l2_promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
}

void prepare_operands(TmaOperands& operands, const Problem& p, int rows_a, int rows_b) {
    if (p.M == 0 || p.N == 0 || p.K == 0 || p.alpha == 0.0f) return;  // A and B are not read
    operands.a = tma_matrix(p.A, p.M, p.K, p.lda, 2);
    operands.b = tma_matrix(p.B, p.K, p.N, p.ldb, 2);
    operands.map_a = tma_map(p.variant.A, operands.a.address, p.M, p.K, operands.a.pitch, rows_a);
    operands.map_b = tma_map(p.variant.B, operands.b.address, p.K, p.N, operands.b.pitch, rows_b);
}

}  // namespace gemm
