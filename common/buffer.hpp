// Device memory: freed by its owner, fenced by guard bands, filled with a NaN that no computation produces.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/error.hpp"

namespace gemm {

// Both are signalling NaNs: whatever a kernel computes from them comes out quiet, with other bits.

/// Fills C before a kernel runs: an element that still holds these bits was never written.
inline constexpr std::uint32_t kPoisonBits = 0x7fa0beefu;
/// Fills the guard bands and the padding of A and B: read into a result, it spoils it.
inline constexpr std::uint32_t kGuardBits = 0x7fa0fe4du;

/// `count` floats of device memory between two guard bands of at least `guard` floats each. Movable, not
/// copyable. Throws CudaError when memory cannot be had.
class Buffer {
  public:
    /// guard: floats of each band. A write one row past the matrix must still land in it, so callers pass the
    /// row pitch; it is kept between 1 Ki and 4 Mi floats.
    Buffer(std::size_t count, std::size_t guard);
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer() { cudaFree(base_); }

    float* data() const { return base_ + guard_; }
    std::size_t size() const { return count_; }

    /// host must hold size() floats.
    void upload(const std::vector<float>& host);
    /// host is resized to size().
    void download(std::vector<float>& host) const;

    /// Where somebody wrote into a guard band, as a sentence about the matrix `name`; empty if nobody did.
    std::string breach(const char* name) const;

    /// Device memory in bytes that a Buffer(count, guard) takes.
    static std::size_t bytes(std::size_t count, std::size_t guard);

  private:
    Buffer() = default;
    void swap(Buffer& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(count_, other.count_);
        std::swap(guard_, other.guard_);
    }

    float* base_ = nullptr;
    std::size_t count_ = 0, guard_ = 0;
};

}  // namespace gemm
