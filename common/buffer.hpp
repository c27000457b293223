// Device memory: freed by its owner, fenced by guard bands, filled with a NaN that no computation produces.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/dtype.hpp"
#include "common/error.hpp"

namespace gemm {

/// A copy of an allocation, guard bands included.
struct Image {
    std::vector<std::byte> bytes;
    std::size_t start = 0;  // offset of the first element
};

/// `count` elements of device memory between two guard bands of at least `guard` elements each, which hold
/// the type's kGuardBits. Movable, not copyable. Throws CudaError when memory cannot be had.
class Buffer {
  public:
    /// guard: elements of each band. A write one row past the matrix must still land in it, so callers pass
    /// the row pitch; it is kept between 1 Ki and 4 Mi elements.
    Buffer(std::size_t count, std::size_t guard, DType dtype = DType::fp32);
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer() { cudaFree(base_); }

    void* data() const { return at(guard_); }
    std::size_t size() const { return count_; }  // elements
    std::size_t bytes() const { return count_ * size_of(dtype_); }

    /// host must hold size() values; they are rounded to the type (encode()).
    void upload(const std::vector<float>& host);
    /// host is resized to size(). The type's poison and guard come back as kPoisonBits and kGuardBits.
    void download(std::vector<float>& host) const;

    Image image() const;
    /// The allocation becomes what image() would have returned. Throws Error where the size is another.
    void set_image(const std::vector<std::byte>& bytes);

    /// Where somebody wrote into a guard band, as a sentence about the matrix `name`; empty if nobody did.
    std::string breach(const char* name) const;

    /// Device memory in bytes that a Buffer(count, guard, dtype) takes.
    static std::size_t bytes(std::size_t count, std::size_t guard, DType dtype);

  private:
    Buffer() = default;
    /// Where an element lies, counted from the start of the first band.
    void* at(std::size_t element) const { return static_cast<std::byte*>(base_) + element * size_of(dtype_); }
    void swap(Buffer& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(count_, other.count_);
        std::swap(guard_, other.guard_);
        std::swap(dtype_, other.dtype_);
    }

    void* base_ = nullptr;
    std::size_t count_ = 0, guard_ = 0;
    DType dtype_ = DType::fp32;
};

}  // namespace gemm
