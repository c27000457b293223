#include "common/buffer.hpp"

namespace gemm {
namespace {

std::size_t band(std::size_t guard) {
    // Multiples of 64 floats, so that the data keeps cudaMalloc's 256-byte alignment.
    return std::clamp<std::size_t>((guard + 63) / 64 * 64, std::size_t{1} << 10, std::size_t{1} << 22);
}

}  // namespace

// Delegates first: a constructed Buffer frees its memory when what follows throws.
Buffer::Buffer(std::size_t count, std::size_t guard) : Buffer() {
    count_ = count;
    guard_ = band(guard);
    CUDA_CHECK(cudaMalloc(&base_, (count_ + 2 * guard_) * sizeof(float)));
    const std::vector<float> bands(guard_, std::bit_cast<float>(kGuardBits));
    for (float* start : {base_, base_ + guard_ + count_}) {
        CUDA_CHECK(cudaMemcpy(start, bands.data(), guard_ * sizeof(float), cudaMemcpyHostToDevice));
    }
}

std::size_t Buffer::bytes(std::size_t count, std::size_t guard) {
    return (count + 2 * band(guard)) * sizeof(float);
}

void Buffer::upload(const std::vector<float>& host) {
    CUDA_CHECK(cudaMemcpy(data(), host.data(), count_ * sizeof(float), cudaMemcpyHostToDevice));
}

void Buffer::download(std::vector<float>& host) const {
    host.resize(count_);
    CUDA_CHECK(cudaMemcpy(host.data(), data(), count_ * sizeof(float), cudaMemcpyDeviceToHost));
}

Buffer::Breach Buffer::breach() const {
    std::vector<std::uint32_t> words(guard_);
    for (const bool front : {true, false}) {
        const float* start = front ? base_ : base_ + guard_ + count_;
        CUDA_CHECK(cudaMemcpy(words.data(), start, guard_ * sizeof(float), cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < guard_; ++i) {
            if (words[i] == kGuardBits) continue;
            const auto at = static_cast<std::ptrdiff_t>(i);
            return {true, front ? at - static_cast<std::ptrdiff_t>(guard_)
                                : at + static_cast<std::ptrdiff_t>(count_)};
        }
    }
    return {};
}

}  // namespace gemm
