// Device level: memory that a kernel needs beside its matrices, for prepare() of a lesson.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "common/error.hpp"

namespace gemm {

/// Device memory that begins as zeros and lives as long as its owner.
class Workspace {
  public:
    Workspace() = default;
    /// Without data() where the device has no room for so many bytes. Throws CudaError for any other reason.
    explicit Workspace(std::size_t bytes) {
        if (const cudaError_t status = cudaMalloc(&data_, bytes); status != cudaSuccess) {
            (void)cudaGetLastError();  // it is told, and not the next launch's
            data_ = nullptr;
            if (status != cudaErrorMemoryAllocation) CUDA_CHECK(status);
            return;
        }
        CUDA_CHECK(cudaMemset(data_, 0, bytes));
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
