#include "common/buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "common/parallel.hpp"

namespace gemm {
namespace {

constexpr std::int64_t kGrain = 1 << 16;  // elements that are worth a thread

std::size_t band(std::size_t guard, DType dtype) {
    // Multiples of 256 bytes, so that the data keeps cudaMalloc's alignment.
    const std::size_t unit = 256 / size_of(dtype);
    return std::clamp<std::size_t>((guard + unit - 1) / unit * unit, std::size_t{1} << 10,
                                   std::size_t{1} << 22);
}

/// As they lie in memory, of a type of two bytes.
std::vector<std::uint16_t> encoded(DType dtype, const std::vector<float>& values) {
    std::vector<std::uint16_t> words(values.size());
    parallel_for(std::ssize(values), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
            words[i] = static_cast<std::uint16_t>(encode(dtype, values[i]));
        }
    });
    return words;
}

}  // namespace

// Delegates first: a constructed Buffer frees its memory when what follows throws.
Buffer::Buffer(std::size_t count, std::size_t guard, DType dtype) : Buffer() {
    count_ = count;
    guard_ = band(guard, dtype);
    dtype_ = dtype;
    const std::size_t bytes = guard_ * size_of(dtype_);
    CUDA_CHECK(cudaMalloc(&base_, (count_ + 2 * guard_) * size_of(dtype_)));
    const std::vector<float> floats(guard_, std::bit_cast<float>(kGuardBits));
    const std::vector<std::uint16_t> words =
        dtype_ == DType::fp32 ? std::vector<std::uint16_t>() : encoded(dtype_, floats);
    const void* const source = words.empty() ? static_cast<const void*>(floats.data()) : words.data();
    for (void* start : {base_, at(guard_ + count_)}) {
        CUDA_CHECK(cudaMemcpy(start, source, bytes, cudaMemcpyHostToDevice));
    }
}

std::size_t Buffer::bytes(std::size_t count, std::size_t guard, DType dtype) {
    return (count + 2 * band(guard, dtype)) * size_of(dtype);
}

void Buffer::upload(const std::vector<float>& host) {
    if (dtype_ == DType::fp32) {
        CUDA_CHECK(cudaMemcpy(data(), host.data(), bytes(), cudaMemcpyHostToDevice));
    } else {
        const std::vector<std::uint16_t> words = encoded(dtype_, host);
        CUDA_CHECK(cudaMemcpy(data(), words.data(), bytes(), cudaMemcpyHostToDevice));
    }
}

void Buffer::download(std::vector<float>& host) const {
    host.resize(count_);
    if (dtype_ == DType::fp32) {
        CUDA_CHECK(cudaMemcpy(host.data(), data(), bytes(), cudaMemcpyDeviceToHost));
        return;
    }
    std::vector<std::uint16_t> words(count_);
    CUDA_CHECK(cudaMemcpy(words.data(), data(), bytes(), cudaMemcpyDeviceToHost));
    parallel_for(std::ssize(words), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
            host[i] = decode(dtype_, words[i]);
        }
    });
}

Image Buffer::image() const {
    Image image{std::vector<std::byte>((count_ + 2 * guard_) * size_of(dtype_)), guard_ * size_of(dtype_)};
    CUDA_CHECK(cudaMemcpy(image.bytes.data(), base_, image.bytes.size(), cudaMemcpyDeviceToHost));
    return image;
}

void Buffer::set_image(const std::vector<std::byte>& bytes) {
    if (bytes.size() != (count_ + 2 * guard_) * size_of(dtype_)) {
        throw Error("An image of " + std::to_string(bytes.size()) + " bytes is not one of this matrix.");
    }
    CUDA_CHECK(cudaMemcpy(base_, bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
}

std::string Buffer::breach(const char* name) const {
    const std::size_t size = size_of(dtype_);
    std::vector<std::uint8_t> band(guard_ * size);
    const std::uint32_t guard = encode(dtype_, std::bit_cast<float>(kGuardBits));
    const auto written =
        [&](const void* start) {  // the offset of the first changed element; guard_ if none is
            CUDA_CHECK(cudaMemcpy(band.data(), start, band.size(), cudaMemcpyDeviceToHost));
            std::size_t i = 0;
            for (; i < guard_; ++i) {
                if (std::memcmp(&band[i * size], &guard, size) != 0) break;  // little-endian, as GPUs are
            }
            return i;
        };
    const std::string what = std::string("A write outside ") + name + ": ";
    if (const std::size_t i = written(base_); i < guard_) {
        return what + std::to_string(guard_ - i) + " elements before its start.";
    }
    if (const std::size_t i = written(at(guard_ + count_)); i < guard_) {
        return what + std::to_string(i + 1) + " elements past its end.";
    }
    return {};
}

}  // namespace gemm
