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

std::string Buffer::breach(const char* name) const {
    std::vector<std::uint32_t> words(guard_);
    const auto written = [&](const float* band) {  // the offset of the first changed word; guard_ if none is
        CUDA_CHECK(cudaMemcpy(words.data(), band, guard_ * sizeof(float), cudaMemcpyDeviceToHost));
        return static_cast<std::size_t>(
            std::find_if(words.begin(), words.end(), [](std::uint32_t w) { return w != kGuardBits; }) -
            words.begin());
    };
    const std::string what = std::string("A write outside ") + name + ": ";
    if (const std::size_t at = written(base_); at < guard_) {
        return what + std::to_string(guard_ - at) + " elements before its start.";
    }
    if (const std::size_t at = written(base_ + guard_ + count_); at < guard_) {
        return what + std::to_string(at + 1) + " elements past its end.";
    }
    return {};
}

}  // namespace gemm
