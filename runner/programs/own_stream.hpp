// The stream that a lesson's launch() is given on the CPU device.
#pragma once

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"

namespace gemm {

class OwnStream {
  public:
    OwnStream() {
        CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        cpu_device::expect_stream(stream_);
    }
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    ~OwnStream() {
        cpu_device::expect_stream(nullptr);
        cudaStreamDestroy(stream_);
    }
    operator cudaStream_t() const { return stream_; }
    /// Throws Fault where one kernel was launched into it and another one was not.
    void check() const {
        if (!cpu_device::strayed()) return;
        throw Fault(FaultId::other_stream,
                    "launch() puts one kernel into the stream that it is given and another one elsewhere: "
                    "neither waits for the other.");
    }

  private:
    cudaStream_t stream_ = nullptr;
};

}  // namespace gemm
