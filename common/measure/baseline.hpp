// cuBLAS as the thing to reach, its compute type always named. Only in CUDA builds.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/check/device_check.hpp"
#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/error.hpp"
#include "common/gemm.hpp"

namespace gemm {

/// cuBLAS has nothing to time a problem against: why, in a sentence.
struct NoBaseline : Error {
    using Error::Error;
};

/// The strongest there is, by default with CUBLAS_COMPUTE_32F (never TF32, unless the inputs are): for a size
/// that choose() was told of, the fastest of cublasGemmEx and cuBLASLt's first eight heuristics, none of
/// which adds partial sums in fewer than 32 bits; for others cublasGemmEx, in the default math mode. Of a
/// batch, also of cublasGemmStridedBatchedEx and a loop of cublasGemmEx; of FP8 also with fast accumulation
/// (CUBLASLT_MATMUL_DESC_FAST_ACCUM). INT8 is added up in INT32. A bias and GELU are cuBLASLt's epilogues, a
/// residual is its C. Row-major by computing Cᵀ = op(B)ᵀ·op(A)ᵀ.
class Baseline {
  public:
    Baseline();  // creates the cuBLAS handle and its workspace. Throws Error.
    ~Baseline();
    Baseline(const Baseline&) = delete;
    Baseline& operator=(const Baseline&) = delete;

    /// Whether it has a product of that variant, and whole() has. Of another, what launches one throws
    /// NoBaseline. One that it knows may still be refused for its sizes: by choose().
    static bool knows(const Variant& variant);
    static bool knows_whole(const Variant& variant);

    /// Enqueues the product on `stream`. M == 0, N == 0 or no problem is a no-op. Throws Error with cuBLAS's
    /// status.
    void launch(const Problem& p, cudaStream_t stream);

    /// What launch() takes for these copies of one problem from here on: times the candidates, interleaved,
    /// on a GPU that has been at work, about a second (contest.hpp); half of that where it is to be `brief`
    /// (SpeedOptions::brief). Writes C, as launch() does. progress (may be empty) is told before every
    /// sample. Throws Error, and NoBaseline where nothing takes the problems.
    void choose(const std::vector<Problem>& problems, std::uint64_t seed, bool brief,
                const std::function<void(const std::string& next)>& progress = {});

    /// "cublasGemmEx CUBLAS_COMPUTE_32F", "cublasLt heuristic 3, CUBLAS_COMPUTE_32F" (counted from 0): what
    /// launch() takes for the problem.
    std::string name(const Problem& p) const;

    /// The names of the kernels that cuBLAS launches for this problem, joined by " + ", "64 × " in front of
    /// one that is launched so often in a row, read off a captured graph: nothing runs. "unknown"
    /// where the driver cannot tell (before CUDA 12.3). Call it after a launch, so that cuBLAS has its code
    /// loaded. Throws CudaError.
    std::string kernel_name(const Problem& p);

    /// The whole product and the whole magnitude for Verifier, both FP32; synchronises. Takes device memory
    /// for another A and B meanwhile, and for a C of FP32 where the workload's is shorter. Leaves the
    /// workload's C as reset_c() does. Throws Error.
    WholeMatrix whole(Workload& w);
    /// The same, left on the device, of a workload that DeviceCheck takes: takes device memory for another A
    /// and B meanwhile, leaves the workload's C as it is, and synchronises.
    DeviceWhole whole_on_device(const Workload& w);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gemm
