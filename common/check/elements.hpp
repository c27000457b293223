// A matrix on the host: elements of one type, as they lie in memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "common/check/dtype.hpp"

namespace gemm {

/// `size()` elements of a type, side by side from the start of a byte on. They are read as values, which are
/// exact, and written as values, which are rounded to the type, or as bits.
class Elements {
  public:
    /// One of them, for assignments.
    class Reference {
      public:
        Reference(Elements& all, std::size_t i) : all_(all), i_(i) {}
        operator double() const { return std::as_const(all_)[i_]; }
        Reference& operator=(double value) { return become(encode(all_.dtype_, value)); }
        /// kPoisonBits and kGuardBits become the type's own poison and guard.
        Reference& operator=(float value) { return become(encode(all_.dtype_, value)); }
        Reference& operator=(const Reference& other) { return become(other.all_.bits(other.i_)); }

      private:
        Reference& become(std::uint32_t bits) {
            all_.set_bits(i_, bits);
            return *this;
        }
        Elements& all_;
        std::size_t i_;
    };

    Elements() = default;
    Elements(DType dtype, std::size_t count) : dtype_(dtype), count_(count), bytes_(bytes_of(dtype, count)) {}
    /// All of them with these bits.
    Elements(DType dtype, std::size_t count, std::uint32_t bits);

    DType dtype() const { return dtype_; }
    std::size_t size() const { return count_; }
    std::span<const std::byte> bytes() const { return bytes_; }
    std::span<std::byte> bytes() { return bytes_; }
    bool operator==(const Elements&) const = default;  // bit by bit

    double operator[](std::size_t i) const {
        const std::uint32_t word = bits(i);
        return dtype_ == DType::fp32 ? static_cast<double>(std::bit_cast<float>(word))
                                     : exact_value(dtype_, word);
    }
    Reference operator[](std::size_t i) { return {*this, i}; }
    std::uint32_t bits(std::size_t i) const {
        if (dtype_ != DType::fp32) return load_bits(dtype_, bytes_.data(), i);
        std::uint32_t word = 0;
        std::memcpy(&word, bytes_.data() + i * sizeof word, sizeof word);
        return word;
    }
    void set_bits(std::size_t i, std::uint32_t bits) {
        if (dtype_ != DType::fp32) return store_bits(dtype_, bytes_.data(), i, bits);
        std::memcpy(bytes_.data() + i * sizeof bits, &bits, sizeof bits);
    }
    void fill(float value) { *this = Elements(dtype_, count_, encode(dtype_, value)); }

    /// `count` of them from `first` on, and the way back. Both are whole bytes, but for the end.
    Elements part(std::size_t first, std::size_t count) const;
    void put(std::size_t first, const Elements& part);

  private:
    DType dtype_ = DType::fp32;
    std::size_t count_ = 0;
    std::vector<std::byte> bytes_;
};

/// Their values: exact for every type but INT32, whose are rounded.
std::vector<float> floats(const Elements& elements);
/// The same the other way round.
Elements elements(DType dtype, std::span<const float> values);

}  // namespace gemm
