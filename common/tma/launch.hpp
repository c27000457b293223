// What launch() of a lesson with TmaOperands does before its kernel. For kernel.cu alone, which nvcc
// compiles.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "common/gemm.hpp"
#include "common/tma/copy_rows.hpp"
#include "common/tma/operands.hpp"
#include "common/tma/scale.hpp"

namespace gemm {

/// Where TMA refuses the matrix itself, `m` has memory for a copy, which this fills.
template <class T>
void copy_refused(const TmaMatrix& m, const void* matrix, std::int64_t pitch, cudaStream_t stream) {
    if (m.copy == nullptr) return;
    const cudaLaunchConfig_t config{dim3(copy_blocks(m.rows)), dim3(kCopyThreads), 0, stream, nullptr, 0};
    cudaLaunchKernelEx(&config, copy_rows<T>, m.rows, m.cols, static_cast<const T*>(matrix), pitch,
                       static_cast<T*>(m.copy.get()), m.pitch);
}

/// launch(T{}) with T the type of C's elements, after the copies of what TMA refuses. Where K or alpha is 0,
/// C is scaled instead: a kernel that is launched has one k-tile at least. M and N are not 0.
template <class Launch>
void launch_behind_copies(const Problem& p, const TmaOperands& operands, cudaStream_t stream,
                          const Launch& launch) {
    const auto of_type = [&](auto zero) {
        if (p.K == 0 || p.alpha == 0.0f) return launch_scale<decltype(zero)>(p, stream);
        copy_refused<decltype(zero)>(operands.a, p.A, p.lda, stream);
        copy_refused<decltype(zero)>(operands.b, p.B, p.ldb, stream);
        launch(zero);
    };
    p.variant.C == DType::bf16 ? of_type(__nv_bfloat16{}) : of_type(__half{});
}

}  // namespace gemm
