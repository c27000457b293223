// CUDA status codes become exceptions that carry the expression and its place. Library code never exits.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gemm {

/// Anything the user can be told in one sentence; what() is that sentence.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A CUDA call failed. `status` is its code.
struct CudaError : Error {
    CudaError(cudaError_t status, const char* expression, const char* file, int line)
        : Error(std::string(cudaGetErrorName(status)) + " (" + cudaGetErrorString(status) + ") from " +
                expression + " at " + file + ":" + std::to_string(line)),
          status(status) {}
    cudaError_t status;
};

inline void check_cuda(cudaError_t status, const char* expression, const char* file, int line) {
    if (status != cudaSuccess) throw CudaError(status, expression, file, line);
}

}  // namespace gemm

/// Throws gemm::CudaError unless `expression` returns cudaSuccess. A macro, because it carries the
/// expression.
#define CUDA_CHECK(expression) ::gemm::check_cuda((expression), #expression, __FILE__, __LINE__)
