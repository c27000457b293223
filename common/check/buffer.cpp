#include "common/check/buffer.hpp"

#include <algorithm>
#include <cstdint>

#include "common/error.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

namespace gemm {
namespace {

/// Bytes of a guard band: multiples of 256, so that the data keeps cudaMalloc's alignment.
std::size_t band(std::size_t guard, DType dtype) {
    const std::size_t unit = 256 * 8 / static_cast<std::size_t>(info(dtype).bits);  // elements
    return bytes_of(dtype, std::clamp<std::size_t>((guard + unit - 1) / unit * unit, std::size_t{1} << 10,
                                                   std::size_t{1} << 22));
}

/// That lie in so many bytes.
std::size_t elements_in(DType dtype, std::size_t bytes) {
    return bytes * 8 / static_cast<std::size_t>(info(dtype).bits);
}

}  // namespace

// Delegates first: a constructed Buffer frees its memory when what follows throws.
Buffer::Buffer(std::size_t count, std::size_t guard, DType dtype, const Placement& place) : Buffer() {
    dtype_ = dtype;
    count_ = count;
    place_ = place;
    guard_ = band(guard, dtype);
    lead_ = guard_ + bytes_of(dtype, place.offset);
    const std::size_t all = lead_ + bytes() + skipped() + guard_;
#ifdef GEMM_CPU_DEVICE
    CUDA_CHECK(skipped() > 0 ? cpu_device::reserve(&base_, all) : cudaMalloc(&base_, all));
#else
    CUDA_CHECK(cudaMalloc(&base_, all));
#endif
    const Elements filler(dtype_, elements_in(dtype_, lead_), info(dtype_).guard);
    CUDA_CHECK(cudaMemcpy(base_, filler.bytes().data(), lead_, cudaMemcpyHostToDevice));
    CUDA_CHECK(
        cudaMemcpy(at(lead_ + bytes() + skipped()), filler.bytes().data(), guard_, cudaMemcpyHostToDevice));
}

template <class Copy>
void Buffer::pieces(std::size_t before, std::size_t behind, const Copy& copy) const {
    const std::size_t row = bytes() / place_.rows;
    for (std::size_t r = 0, packed = 0; r < place_.rows; ++r) {
        const std::size_t first = lead_ + r * (row + gap_bytes()) - (r == 0 ? before : 0);
        const std::size_t n = row + (r == 0 ? before : 0) + (r + 1 == place_.rows ? behind : 0);
        copy(packed, at(first), n);
        packed += n;
    }
}

std::size_t Buffer::bytes(std::size_t count, std::size_t guard, DType dtype) {
    return bytes_of(dtype, count) + 2 * band(guard, dtype);
}

void Buffer::upload(const Elements& host) const {
    pieces(0, 0, [&](std::size_t packed, std::byte* device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(device, host.bytes().data() + packed, n, cudaMemcpyHostToDevice));
    });
}

Elements Buffer::download() const {
    Elements host(dtype_, count_);
    pieces(0, 0, [&](std::size_t packed, const std::byte* device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(host.bytes().data() + packed, device, n, cudaMemcpyDeviceToHost));
    });
    return host;
}

Buffer Buffer::duplicate() const {
    Buffer twin(count_, elements_in(dtype_, guard_), dtype_, place_);
    pieces(0, 0, [&](std::size_t, const std::byte* device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(twin.at(static_cast<std::size_t>(device - at(0))), device, n,
                              cudaMemcpyDeviceToDevice));
    });
    return twin;
}

Image Buffer::image() const {
    Image image{std::vector<std::byte>(bytes_with_bands()), lead_, place_.rows, bytes() / place_.rows,
                gap_bytes()};
    pieces(lead_, guard_, [&](std::size_t packed, const std::byte* device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(image.bytes.data() + packed, device, n, cudaMemcpyDeviceToHost));
    });
    return image;
}

void Buffer::set_image(const std::vector<std::byte>& image) {
    if (image.size() != bytes_with_bands()) {
        throw Error("An image of " + std::to_string(image.size()) + " bytes is not one of this matrix.");
    }
    pieces(lead_, guard_, [&](std::size_t packed, std::byte* device, std::size_t n) {
        CUDA_CHECK(cudaMemcpy(device, image.data() + packed, n, cudaMemcpyHostToDevice));
    });
}

std::string Buffer::breach(const char* name) const {
    // The first element that has changed among those of so many bytes, or their number.
    const auto written = [&](const void* start, std::size_t length) {
        Elements band(dtype_, elements_in(dtype_, length));
        CUDA_CHECK(cudaMemcpy(band.bytes().data(), start, length, cudaMemcpyDeviceToHost));
        std::size_t i = 0;
        while (i < band.size() && band.bits(i) == info(dtype_).guard) ++i;
        return i;
    };
    const std::string what = std::string("A write outside ") + name + ": ";
    const std::size_t before = elements_in(dtype_, lead_);
    if (const std::size_t i = written(base_, lead_); i < before) {
        return what + std::to_string(before - i) + " elements before its start.";
    }
    if (const std::size_t i = written(at(lead_ + bytes() + skipped()), guard_);
        i < elements_in(dtype_, guard_)) {
        return what + std::to_string(i + 1) + " elements past its end.";
    }
    return {};
}

}  // namespace gemm
