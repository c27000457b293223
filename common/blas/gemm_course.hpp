// Matrix products for programs of one's own: BLAS's GEMM over the fastest lessons of this course. With CMake:
// target gemm_course::gemm (README.md, "In a program of your own").
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "common/error.hpp"

namespace gemm {

/// A parameter has a value that it may not have. what() names it and says what is asked of it.
struct ParameterError : Error {
    ParameterError(const char* function, int parameter);
    int parameter;  // counted from 1, as BLAS's XERBLA has it: transa is 1, ldc 13
};

// C = alpha·op(A)·op(B) + beta·C, as BLAS's SGEMM has it (Dongarra, Du Croz, Duff, Hammarling: A set of Level
// 3 Basic Linear Algebra Subprograms, ACM TOMS 16, 1990; netlib's sgemm.f): op(A) is m×k, op(B) k×n, C m×n.
// transa and transb: 'N' takes a matrix as it is, 'T' or 'C' transposed, in either case of the letter.
//
// Matrices are column-major, in memory of the current device. lda, ldb and ldc are elements from a column to
// the next: at least the rows of the matrix as it is stored, and at least 1. A multiple of 16 bytes, for
// addresses, too, is fastest. What lies between two columns is neither read into a result nor written. C may
// not overlap A or B. alpha == 0 reads neither A nor B, and beta == 0 does not read C: each may hold NaN, or
// be null if nothing of it is read or written.
//
// Sums are FP32. Products of FP16 and BF16 are rounded to that type once, at the end; alpha and beta are
// FP32.
//
// The call puts its work into `stream` and returns. Workspace is its own: an operand that is transposed is
// copied, m·k or k·n elements, in memory that comes from the stream (cudaMallocAsync) and goes back to it. On
// a GPU of compute capability 9.0, a lesson copies a matrix of two-byte elements whose address or pitch is no
// multiple of 16 bytes, and the call then waits for the device, as cudaFree does.
// In FP32, a lesson that cuts K takes a workspace for its sums, and the call waits in the same way. Its
// blocks wait for each other, in a cooperative launch: it begins when there is room for all of them.
//
// Throws ParameterError with the number of the first parameter that is wrong, before anything is done; Error
// where no lesson has the type on this GPU (BF16 needs compute capability 8.0, the others 7.5), and where m,
// n or k is beyond 2³¹ − 257 on compute capability 9.0; CudaError where CUDA refuses the memory or the
// launch. What goes wrong in a kernel is known where the caller waits for the stream.

void sgemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
           std::int64_t ldc, cudaStream_t stream = nullptr);

/// A, B and C are FP16.
void hgemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const __half* A, std::int64_t lda, const __half* B, std::int64_t ldb, float beta, __half* C,
           std::int64_t ldc, cudaStream_t stream = nullptr);

/// A, B and C are BF16.
void bgemm(char transa, char transb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
           const __nv_bfloat16* A, std::int64_t lda, const __nv_bfloat16* B, std::int64_t ldb, float beta,
           __nv_bfloat16* C, std::int64_t ldc, cudaStream_t stream = nullptr);

}  // namespace gemm
