// A problem as cuBLAS and cuBLASLt take it: the types, the way that sums are formed, and where its matrices
// are. For baseline.cpp; only in CUDA builds.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/gemm.hpp"

namespace gemm {

/// Throws Error with cuBLAS's status, unless that is success.
void check_cublas(cublasStatus_t status, const char* expression, const char* file, int line);
#define CUBLAS_CHECK(expression) ::gemm::check_cublas((expression), #expression, __FILE__, __LINE__)

/// Whether that is how cuBLAS says that it has no such product: for these types, sizes, pitches, addresses,
/// or this GPU.
bool is_refusal(cublasStatus_t status);

/// What adds up the products, the type of alpha and beta, and the first's name.
struct Compute {
    cublasComputeType_t type;
    cudaDataType_t scale;
    const char* name;
};
Compute compute_of(const Variant& variant);

/// Whether cublasGemmEx has a product of that variant, and cuBLASLt: of the types, and of what is fused.
bool gemm_ex_knows(const Variant& variant);
bool lt_knows(const Variant& variant);
/// Of a variant that one of them knows: where they refuse a problem all the same, as a clause.
std::string refused_where(const Variant& variant);

/// Alpha or beta, as a pointer to the type that the product takes. Of integers they are whole numbers.
class Scalar {
  public:
    Scalar(float value, const Variant& variant);
    const void* get() const { return whole_ ? static_cast<const void*>(&integer_) : &real_; }

  private:
    float real_;
    std::int32_t integer_ = 0;
    bool whole_;
};

/// A matrix as cuBLAS sees it, which counts columns first: a row-major one is its transpose there.
struct CublasMatrix {
    const void* data;
    cudaDataType_t type;
    cublasOperation_t op;  // of A and B
    std::int64_t rows, cols, ld, stride;
};

/// Dᵀ = alpha·op(B)ᵀ·op(A)ᵀ + beta·Cᵀ (+ bias, and GELU): so the first operand is B, the second A. Where the
/// problem has a D of its own, beta = 0 and C is D; cuBLAS's C is the residual, where there is one.
struct CublasProduct {
    explicit CublasProduct(const Problem& p);
    std::int64_t rows, cols, inner, batch;  // of Dᵀ, N and M; K
    CublasMatrix first, second, C, D;
    Scalar alpha, beta;
    void* result() const { return const_cast<void*>(D.data); }
};

/// cublasGemmEx, or cublasGemmStridedBatchedEx for a batch. Returns their status.
cublasStatus_t gemm_ex(cublasHandle_t handle, const Problem& p);

/// cuBLASLt's descriptors of a problem and of its matrices; of all problems of a batch. M, N, K and the
/// number of problems ≥ 1.
class LtProduct {
  public:
    /// fast_sums: of FP8, the sums are left to the tensor cores, which keep fewer bits of them
    /// (CUBLASLT_MATMUL_DESC_FAST_ACCUM). Throws Error.
    LtProduct(const Problem& p, bool fast_sums);
    ~LtProduct() { destroy(); }
    LtProduct(const LtProduct&) = delete;
    LtProduct& operator=(const LtProduct&) = delete;

    /// What cuBLASLt proposes, `most` at most, the best guess first, for matrices at multiples of `alignment`
    /// bytes; nothing where it has nothing for this shape. Partial sums are added in 32 bits as in a lesson:
    /// where the result is shorter, not in its type, in which the other reduction schemes keep them.
    std::vector<cublasLtMatmulAlgo_t> heuristics(cublasLtHandle_t handle, int most, std::size_t workspace,
                                                 std::uint32_t alignment) const;

    /// The product of a problem with these sizes and pitches.
    cublasStatus_t launch(cublasLtHandle_t handle, const Problem& p, const cublasLtMatmulAlgo_t& algorithm,
                          void* workspace, std::size_t workspace_bytes, cudaStream_t stream) const;

  private:
    void describe(const Problem& p, bool fast_sums);
    void set_bias(const Problem& p) const;
    void destroy();

    const bool short_;  // the result: less than 32 bits
    cublasLtMatmulDesc_t product_ = nullptr;
    cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, c_ = nullptr, d_ = nullptr;
};

}  // namespace gemm
