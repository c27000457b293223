#include "common/measure/cublas.hpp"

#include <algorithm>
#include <limits>

#include "common/check/dtype.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"

namespace gemm {
namespace {

cudaDataType_t cuda_type(DType dtype) {
    switch (dtype) {
        case DType::bf16:
            return CUDA_R_16BF;
        case DType::fp16:
            return CUDA_R_16F;
        case DType::e4m3:
            return CUDA_R_8F_E4M3;
        case DType::e5m2:
            return CUDA_R_8F_E5M2;
        case DType::int8:
            return CUDA_R_8I;
        case DType::int32:
            return CUDA_R_32I;
        default:
            return CUDA_R_32F;
    }
}

bool is_fp8(const Variant& v) {
    return accumulator(v) == Accumulator::tensor_fp8;
}

bool is_int8(const Variant& v) {
    return accumulator(v) == Accumulator::int32;
}

/// The types that cuBLASLt has products of (cuBLAS documentation, tables of cublasLtMatmul).
bool types_known(const Variant& v) {
    if (v.group != 0 || (v.batch != Batch::one && v.batch != Batch::strided)) return false;
    const DType result = v.result();
    if (is_int8(v)) return v.plain();
    if (is_fp8(v)) return v.A != DType::e5m2 || v.B != DType::e5m2;
    if (v.A != v.B) return false;
    if (v.A == DType::fp32 || v.A == DType::tf32) return result == DType::fp32;
    return (v.A == DType::bf16 || v.A == DType::fp16) && (result == v.A || result == DType::fp32);
}

/// That of a bias: the result's, but beside FP8 never FP32 (ibid., the column "Bias Type").
DType bias_type(const Variant& v) {
    return is_fp8(v) && v.result() != DType::fp16 ? DType::bf16 : v.result();
}

cublasLtEpilogue_t epilogue(const Variant& v) {
    // Its GELU is the contract's, the one with tanh: on an H200, cuBLASLt of CUDA 13.0 is within 6e-6 of it,
    // and up to 5e-4 from the one with erf, for products between -4 and 4 and a D of FP32.
    const bool gelu = v.activation == Activation::gelu;
    if (v.bias) return gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    return gelu ? CUBLASLT_EPILOGUE_GELU : CUBLASLT_EPILOGUE_DEFAULT;
}

/// One that is stored as rows×cols, row-major; op transposes it, or its transpose in cuBLAS's eyes.
CublasMatrix seen(const void* data, DType type, bool transposed, std::int64_t rows, std::int64_t cols,
                  std::int64_t pitch, std::int64_t stride) {
    // cuBLAS wants leading dimensions ≥ 1 also where K == 0.
    return {data,
            cuda_type(type),
            transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
            cols,
            rows,
            std::max<std::int64_t>(pitch, 1),
            stride};
}

CublasMatrix result_of(const Problem& p) {
    const Variant& v = p.variant;
    return v.D ? seen(p.D, *v.D, false, p.M, p.N, p.ldd, p.stride_d)
               : seen(p.C, v.C, false, p.M, p.N, p.ldc, p.stride_c);
}

float beta_of(const Problem& p) {
    if (p.variant.residual) return 1.0f;
    return p.variant.D ? 0.0f : p.beta;
}

}  // namespace

void check_cublas(cublasStatus_t status, const char* expression, const char* file, int line) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    throw Error(std::string(cublasGetStatusName(status)) + " (" + cublasGetStatusString(status) + ") from " +
                expression + " at " + file + ":" + std::to_string(line));
}

bool is_refusal(cublasStatus_t status) {
    return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE ||
           status == CUBLAS_STATUS_ARCH_MISMATCH;
}

Compute compute_of(const Variant& v) {
    if (is_int8(v)) return {CUBLAS_COMPUTE_32I, CUDA_R_32I, "CUBLAS_COMPUTE_32I"};
    if (v.A == DType::tf32) {
        return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, "CUBLAS_COMPUTE_32F_FAST_TF32"};
    }
    return {CUBLAS_COMPUTE_32F, CUDA_R_32F, "CUBLAS_COMPUTE_32F"};
}

bool gemm_ex_knows(const Variant& v) {
    Variant unfused = v;  // a D of its own is where cuBLAS is told that C is
    unfused.D.reset();
    return types_known(v) && !is_fp8(v) && unfused.plain();
}

bool lt_knows(const Variant& v) {
    if (!types_known(v) || (v.bias && v.C != bias_type(v))) return false;
    // A residual takes the place of C, which cuBLASLt adds before the function, and has D's type.
    return !v.residual || (v.activation == Activation::none && v.C == v.result() && !is_fp8(v));
}

std::string refused_where(const Variant& v) {
    // (cuBLAS documentation, cublasLtMatmul, "To use … FP8 kernels"; cublasGemmEx.)
    if (is_fp8(v)) {
        return "it multiplies FP8 only where B, and not A, is stored transposed (.nt; some GPUs also take "
               "other layouts), and addresses, pitches, M, N and K are multiples of 16 bytes";
    }
    if (is_int8(v)) {
        return "it multiplies INT8 only where the addresses and pitches of A and B are multiples of 4 bytes";
    }
    return "it refuses this size or these pitches";
}

Scalar::Scalar(float value, const Variant& variant) : real_(value), whole_(is_int8(variant)) {
    if (whole_) integer_ = static_cast<std::int32_t>(value);
}

CublasProduct::CublasProduct(const Problem& p)
    : rows(p.N),
      cols(p.M),
      inner(p.K),
      batch(p.batch),
      first(p.variant.b_transposed() ? seen(p.B, p.variant.B, true, p.N, p.K, p.ldb, p.stride_b)
                                     : seen(p.B, p.variant.B, false, p.K, p.N, p.ldb, p.stride_b)),
      second(p.variant.a_transposed() ? seen(p.A, p.variant.A, true, p.K, p.M, p.lda, p.stride_a)
                                      : seen(p.A, p.variant.A, false, p.M, p.K, p.lda, p.stride_a)),
      C(p.variant.residual ? seen(p.residual, p.variant.C, false, p.M, p.N, p.ldr, 0) : result_of(p)),
      D(result_of(p)),
      alpha(p.alpha, p.variant),
      beta(beta_of(p), p.variant) {
    if (p.beta != 0.0f && (p.variant.D || p.variant.residual)) {
        throw Error("cuBLAS takes a D or a residual only with beta = 0, and beta is " +
                    std::to_string(p.beta) + ".");
    }
}

cublasStatus_t gemm_ex(cublasHandle_t handle, const Problem& p) {
    const CublasProduct x(p);
    const CublasMatrix &b = x.first, &a = x.second;
    const Compute compute = compute_of(p.variant);
    if (p.variant.batch == Batch::strided) {
        return cublasGemmStridedBatchedEx_64(handle, b.op, a.op, x.rows, x.cols, x.inner, x.alpha.get(),
                                             b.data, b.type, b.ld, b.stride, a.data, a.type, a.ld, a.stride,
                                             x.beta.get(), x.result(), x.D.type, x.D.ld, x.D.stride, x.batch,
                                             compute.type, CUBLAS_GEMM_DEFAULT);
    }
    if (std::max({x.rows, x.cols, x.inner, a.ld, b.ld, x.D.ld}) <= std::numeric_limits<int>::max()) {
        return cublasGemmEx(handle, b.op, a.op, static_cast<int>(x.rows), static_cast<int>(x.cols),
                            static_cast<int>(x.inner), x.alpha.get(), b.data, b.type, static_cast<int>(b.ld),
                            a.data, a.type, static_cast<int>(a.ld), x.beta.get(), x.result(), x.D.type,
                            static_cast<int>(x.D.ld), compute.type, CUBLAS_GEMM_DEFAULT);
    }
    return cublasGemmEx_64(handle, b.op, a.op, x.rows, x.cols, x.inner, x.alpha.get(), b.data, b.type, b.ld,
                           a.data, a.type, a.ld, x.beta.get(), x.result(), x.D.type, x.D.ld, compute.type,
                           CUBLAS_GEMM_DEFAULT);
}

// ---- cuBLASLt ----

LtProduct::LtProduct(const Problem& p, bool fast_sums) : short_(info(p.variant.result()).bits < 32) {
    try {
        describe(p, fast_sums);
    } catch (...) {
        destroy();  // the destructor of an object that was not completed does not run
        throw;
    }
}

void LtProduct::describe(const Problem& p, bool fast_sums) {
    const CublasProduct x(p);
    const Variant& v = p.variant;
    const Compute compute = compute_of(v);
    CUBLAS_CHECK(cublasLtMatmulDescCreate(&product_, compute.type, compute.scale));
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
        CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, x.first.op);
    set(CUBLASLT_MATMUL_DESC_TRANSB, x.second.op);
    if (epilogue(v) != CUBLASLT_EPILOGUE_DEFAULT) set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(v));
    if (v.bias) {
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(cuda_type(bias_type(v))));
        set_bias(p);
    }
    if (fast_sums) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});

    const auto layout = [&](cublasLtMatrixLayout_t& of, const CublasMatrix& matrix) {
        CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&of, matrix.type, static_cast<std::uint64_t>(matrix.rows),
                                                static_cast<std::uint64_t>(matrix.cols), matrix.ld));
        if (v.batch == Batch::one) return;
        const auto count = static_cast<std::int32_t>(x.batch);
        CUBLAS_CHECK(
            cublasLtMatrixLayoutSetAttribute(of, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count));
        CUBLAS_CHECK(cublasLtMatrixLayoutSetAttribute(of, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                      &matrix.stride, sizeof matrix.stride));
    };
    layout(first_, x.first);
    layout(second_, x.second);
    layout(c_, x.C);
    layout(d_, x.D);
}

void LtProduct::set_bias(const Problem& p) const {
    CUBLAS_CHECK(
        cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &p.bias, sizeof p.bias));
}

void LtProduct::destroy() {
    for (const cublasLtMatrixLayout_t layout : {first_, second_, c_, d_}) {
        if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    }
    if (product_ != nullptr) cublasLtMatmulDescDestroy(product_);
}

std::vector<cublasLtMatmulAlgo_t> LtProduct::heuristics(cublasLtHandle_t handle, int most,
                                                        std::size_t workspace,
                                                        std::uint32_t alignment) const {
    cublasLtMatmulPreference_t preference = nullptr;
    CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    struct Destroy {
        cublasLtMatmulPreference_t preference;
        ~Destroy() { cublasLtMatmulPreferenceDestroy(preference); }
    } const destroy{preference};
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
        CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value));
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{workspace});
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
        static_cast<std::uint32_t>(short_ ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                          : CUBLASLT_REDUCTION_SCHEME_MASK));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);

    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(most));
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, product_, first_, second_, c_, d_,
                                                                 preference, most, results.data(), &found);
    if (is_refusal(status)) return {};
    CUBLAS_CHECK(status);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < found; ++i) {
        const cublasLtMatmulHeuristicResult_t& result = results[static_cast<std::size_t>(i)];
        if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(result.algo);
    }
    return algorithms;
}

cublasStatus_t LtProduct::launch(cublasLtHandle_t handle, const Problem& p,
                                 const cublasLtMatmulAlgo_t& algorithm, void* workspace,
                                 std::size_t workspace_bytes, cudaStream_t stream) const {
    const CublasProduct x(p);
    if (p.variant.bias) set_bias(p);
    return cublasLtMatmul(handle, product_, x.alpha.get(), x.first.data, first_, x.second.data, second_,
                          x.beta.get(), x.C.data, c_, x.result(), d_, &algorithm, workspace, workspace_bytes,
                          stream);
}

}  // namespace gemm
