// cuBLAS as the thing to reach, its compute type always named. Only in CUDA builds.
#pragma once

#include <memory>
#include <string>

#include "common/gemm.hpp"
#include "common/verify.hpp"
#include "common/workload.hpp"

namespace gemm {

/// cublasGemmEx with CUBLAS_COMPUTE_32F (never TF32) and the default math mode. Row-major by computing Cᵀ =
/// Bᵀ·Aᵀ.
class Baseline {
  public:
    Baseline();  // creates the cuBLAS handle and its workspace. Throws Error.
    ~Baseline();
    Baseline(const Baseline&) = delete;
    Baseline& operator=(const Baseline&) = delete;

    /// Enqueues the product on `stream`. M == 0 or N == 0 is a no-op. Throws Error with cuBLAS's status.
    void launch(const Problem& p, cudaStream_t stream);

    /// "cublasGemmEx CUBLAS_COMPUTE_32F"
    const char* name() const;

    /// The names of the kernels that cuBLAS launches for this problem, joined by " + ", read off a captured
    /// graph: nothing runs. "unknown" where the driver cannot tell (before CUDA 12.3). Call it after a
    /// launch, so that cuBLAS has its code loaded. Throws CudaError.
    std::string kernel_name(const Problem& p);

    /// The whole product and the whole magnitude for Verifier; synchronises. Takes device memory for another
    /// A and B meanwhile. Leaves the workload's C as reset_c() does. Throws Error.
    WholeMatrix whole(Workload& w);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gemm
