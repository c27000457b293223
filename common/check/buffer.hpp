// Device memory: freed by its owner, fenced by guard bands.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/check/elements.hpp"
#include "common/error.hpp"

namespace gemm {

/// A copy of an allocation, guard bands included.
struct Image {
    std::vector<std::byte> bytes;
    std::size_t start = 0;  // offset of the first element
    // Behind each of the rows but the last, `gap` bytes of the allocation are left out; rows are of `row`
    // bytes.
    std::size_t rows = 1, row = 0, gap = 0;
};

/// Where elements lie in their allocation.
struct Placement {
    std::size_t offset = 0;  // elements in front of the first, counted from where the allocator aligns it
    // Between any two rows, `gap` elements that are nobody's: neither filled nor looked at. On the CPU device
    // they take addresses and no memory.
    std::size_t rows = 1, gap = 0;
};

/// `count` elements of device memory between two guard bands of at least `guard` elements each, which hold
/// the type's guard. Movable, not copyable. Throws CudaError when memory cannot be had.
class Buffer {
  public:
    /// guard: elements of each band. A write one row past the matrix must still land in it, so callers pass
    /// the row pitch; it is kept between 1 Ki and 4 Mi elements. count must be a multiple of place.rows;
    /// where two elements share a byte, rows, gaps and the offset are whole bytes.
    Buffer(std::size_t count, std::size_t guard, DType dtype = DType::fp32, const Placement& place = {});
    Buffer(Buffer&& other) noexcept { swap(other); }
    Buffer& operator=(Buffer&& other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer() { cudaFree(base_); }

    /// The same elements once more, between guard bands of their own; the copy is made on the device.
    Buffer duplicate() const;

    void* data() const { return at(lead_); }
    std::size_t size() const { return count_; }  // elements
    std::size_t bytes() const { return bytes_of(dtype_, count_); }

    /// host must hold size() elements of the type.
    void upload(const Elements& host) const;
    Elements download() const;

    Image image() const;
    /// The allocation becomes what image() would have returned. Throws Error where the size is another.
    void set_image(const std::vector<std::byte>& bytes);

    /// Where somebody wrote into a guard band, as a sentence about the matrix `name`; empty if nobody did.
    std::string breach(const char* name) const;

    /// Device memory in bytes that a Buffer(count, guard, dtype) takes, and that this one does.
    static std::size_t bytes(std::size_t count, std::size_t guard, DType dtype);
    std::size_t bytes_with_bands() const { return lead_ + bytes() + guard_; }

  private:
    Buffer() = default;
    /// Calls copy(packed, device, n) for each piece that lies in one: n bytes, which begin at `packed` of
    /// what image() makes of the data with `before` bytes in front and `behind` behind it, and at `device`.
    template <class Copy>
    void pieces(std::size_t before, std::size_t behind, const Copy& copy) const;
    std::size_t skipped() const { return (place_.rows - 1) * gap_bytes(); }
    std::size_t gap_bytes() const { return bytes_of(dtype_, place_.gap); }
    /// A byte, counted from the start of the first band.
    std::byte* at(std::size_t byte) const { return static_cast<std::byte*>(base_) + byte; }
    void swap(Buffer& other) noexcept {
        std::swap(base_, other.base_);
        std::swap(count_, other.count_);
        std::swap(guard_, other.guard_);
        std::swap(lead_, other.lead_);
        std::swap(place_, other.place_);
        std::swap(dtype_, other.dtype_);
    }

    void* base_ = nullptr;
    std::size_t count_ = 0;  // elements
    std::size_t guard_ = 0,
                lead_ = 0;  // bytes; lead: the first band and what the elements are off by
    Placement place_;
    DType dtype_ = DType::fp32;
};

}  // namespace gemm
