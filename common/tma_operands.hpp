// A and B of a problem as the copy engine takes them, for kernels whose elements have two bytes and whose
// tiles are swizzled by 128: what launch() of such a lesson needs beside its kernel. For kernel.cu alone,
// which nvcc compiles.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/copy_rows.hpp"
#include "common/gemm.hpp"
#include "common/tensor_map.hpp"
#include "common/tma_matrix.hpp"

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

/// Where TMA refuses the matrix itself, `m` has memory for a copy, which this fills.
template <class T>
void copy_refused(const TmaMatrix& m, const void* matrix, std::int64_t pitch, cudaStream_t stream) {
    if (m.copy == nullptr) return;
    const cudaLaunchConfig_t config{dim3(copy_blocks(m.rows)), dim3(kCopyThreads), 0, stream, nullptr, 0};
    cudaLaunchKernelEx(&config, copy_rows<T>, m.rows, m.cols, static_cast<const T*>(matrix), pitch,
                       static_cast<T*>(m.copy.get()), m.pitch);
}

/// launch(T{}) with T the type of C's elements, behind the copies of what TMA refuses.
template <class Launch>
void launch_behind_copies(const Problem& p, const TmaOperands& operands, cudaStream_t stream,
                          const Launch& launch) {
    const auto of_type = [&](auto zero) {
        copy_refused<decltype(zero)>(operands.a, p.A, p.lda, stream);
        copy_refused<decltype(zero)>(operands.b, p.B, p.ldb, stream);
        launch(zero);
    };
    p.variant.C == DType::bf16 ? of_type(__nv_bfloat16{}) : of_type(__half{});
}

}  // namespace gemm
