// Device level: memory that a kernel needs beside its matrices, for prepare() of a lesson.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "common/error.hpp"

namespace gemm {

/// Device memory that lives as long as its owner, which waits for the kernels that use it: cudaFree() does.
class Workspace {
  public:
    Workspace() = default;
    /// Nothing is written to it. data() is null if the device has no room for so many bytes, 1 or more.
    /// Throws CudaError for any other reason.
    explicit Workspace(std::size_t bytes) {
        if (const cudaError_t status = cudaMalloc(&data_, bytes); status != cudaSuccess) {
            (void)cudaGetLastError();  // the next launch is not to be blamed for it
            data_ = nullptr;
            if (status != cudaErrorMemoryAllocation) CUDA_CHECK(status);
        }
    }
    /// The same, with zeros in it, for kernels on any stream.
    static Workspace of_zeros(std::size_t bytes) {
        Workspace made(bytes);
        if (made.data_ == nullptr) return made;
        CUDA_CHECK(cudaMemset(made.data_, 0, bytes));
        CUDA_CHECK(cudaStreamSynchronize(nullptr));  // a non-blocking stream would not wait for it
        return made;
    }
    ~Workspace() {
        if (data_ != nullptr) cudaFree(data_);
    }
    Workspace(Workspace&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    Workspace& operator=(Workspace&& other) noexcept {
        std::swap(data_, other.data_);
        return *this;
    }

    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
};

}  // namespace gemm
