#include "common/check/buffer.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "common/check/parallel.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

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
Buffer::Buffer(std::size_t count, std::size_t guard, DType dtype, const Placement& place) : Buffer() {
    if (!buffers_hold(dtype))
        throw Error(std::string("No matrix can be made of ") + info(dtype).text + " yet.");
    count_ = count;
    guard_ = band(guard, dtype);
    lead_ = guard_ + place.offset;
    dtype_ = dtype;
    place_ = place;
    const std::size_t bytes = guard_ * size_of(dtype_);
    const std::size_t all = (lead_ + count_ + skipped() + guard_) * size_of(dtype_);
#ifdef GEMM_CPU_DEVICE
    CUDA_CHECK(skipped() > 0 ? cpu_device::reserve(&base_, all) : cudaMalloc(&base_, all));
#else
    CUDA_CHECK(cudaMalloc(&base_, all));
#endif
    const std::vector<float> floats(lead_, std::bit_cast<float>(kGuardBits));
    const std::vector<std::uint16_t> words =
        dtype_ == DType::fp32 ? std::vector<std::uint16_t>() : encoded(dtype_, floats);
    const void* const source = words.empty() ? static_cast<const void*>(floats.data()) : words.data();
    CUDA_CHECK(cudaMemcpy(base_, source, lead_ * size_of(dtype_), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(at(lead_ + count_ + skipped()), source, bytes, cudaMemcpyHostToDevice));
}

template <class Copy>
void Buffer::pieces(std::size_t before, std::size_t behind, const Copy& copy) const {
    const std::size_t row = count_ / place_.rows;
    for (std::size_t r = 0, packed = 0; r < place_.rows; ++r) {
        const std::size_t first = lead_ + r * (row + place_.gap) - (r == 0 ? before : 0);
        const std::size_t n = row + (r == 0 ? before : 0) + (r + 1 == place_.rows ? behind : 0);
        copy(packed, first, n);
        packed += n;
    }
}

std::size_t Buffer::bytes(std::size_t count, std::size_t guard, DType dtype) {
    return (count + 2 * band(guard, dtype)) * size_of(dtype);
}

void Buffer::upload(const std::vector<float>& host) {
    const std::vector<std::uint16_t> words =
        dtype_ == DType::fp32 ? std::vector<std::uint16_t>() : encoded(dtype_, host);
    const auto* const source = reinterpret_cast<const std::byte*>(
        dtype_ == DType::fp32 ? static_cast<const void*>(host.data()) : words.data());
    pieces(0, 0, [&](std::size_t packed, std::size_t device, std::size_t n) {
        const std::size_t size = size_of(dtype_);
        CUDA_CHECK(cudaMemcpy(at(device), source + packed * size, n * size, cudaMemcpyHostToDevice));
    });
}

void Buffer::download(std::vector<float>& host) const {
    host.resize(count_);
    std::vector<std::uint16_t> words(dtype_ == DType::fp32 ? 0 : count_);
    auto* const target =
        reinterpret_cast<std::byte*>(dtype_ == DType::fp32 ? static_cast<void*>(host.data()) : words.data());
    pieces(0, 0, [&](std::size_t packed, std::size_t device, std::size_t n) {
        const std::size_t size = size_of(dtype_);
        CUDA_CHECK(cudaMemcpy(target + packed * size, at(device), n * size, cudaMemcpyDeviceToHost));
    });
    if (dtype_ == DType::fp32) return;
    parallel_for(std::ssize(words), kGrain, [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
            host[i] = decode(dtype_, words[i]);
        }
    });
}

Buffer Buffer::duplicate() const {
    Buffer twin(count_, guard_, dtype_, place_);
    pieces(0, 0, [&](std::size_t, std::size_t device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(twin.at(device), at(device), n * size_of(dtype_), cudaMemcpyDeviceToDevice));
    });
    return twin;
}

Image Buffer::image() const {
    const std::size_t size = size_of(dtype_);
    Image image{std::vector<std::byte>((lead_ + count_ + guard_) * size), lead_ * size, place_.rows,
                count_ / place_.rows * size, place_.gap * size};
    pieces(lead_, guard_, [&](std::size_t packed, std::size_t device, std::size_t n) {
        CUDA_CHECK(
            cudaMemcpy(image.bytes.data() + packed * size, at(device), n * size, cudaMemcpyDeviceToHost));
    });
    return image;
}

void Buffer::set_image(const std::vector<std::byte>& bytes) {
    const std::size_t size = size_of(dtype_);
    if (bytes.size() != (lead_ + count_ + guard_) * size) {
        throw Error("An image of " + std::to_string(bytes.size()) + " bytes is not one of this matrix.");
    }
    pieces(lead_, guard_, [&](std::size_t packed, std::size_t device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(at(device), bytes.data() + packed * size, n * size, cudaMemcpyHostToDevice));
    });
}

std::string Buffer::breach(const char* name) const {
    const std::size_t size = size_of(dtype_);
    std::vector<std::uint8_t> band(lead_ * size);
    const std::uint32_t guard = encode(dtype_, std::bit_cast<float>(kGuardBits));
    const auto written = [&](const void* start,
                             std::size_t length) {  // the offset of the first changed element, or length
        CUDA_CHECK(cudaMemcpy(band.data(), start, length * size, cudaMemcpyDeviceToHost));
        std::size_t i = 0;
        for (; i < length; ++i) {
            if (std::memcmp(&band[i * size], &guard, size) != 0) break;  // little-endian, as GPUs are
        }
        return i;
    };
    const std::string what = std::string("A write outside ") + name + ": ";
    if (const std::size_t i = written(base_, lead_); i < lead_) {
        return what + std::to_string(lead_ - i) + " elements before its start.";
    }
    if (const std::size_t i = written(at(lead_ + count_ + skipped()), guard_); i < guard_) {
        return what + std::to_string(i + 1) + " elements past its end.";
    }
    return {};
}

}  // namespace gemm
