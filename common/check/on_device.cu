#include "common/check/on_device.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>
#include <limits>
#include <type_traits>

#include "common/check/parallel.hpp"
#include "common/check/random.hpp"
#include "common/error.hpp"

namespace gemm {
namespace {

constexpr int THREADS = 256;  // a block

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;

template <class T>
__device__ Bits<T> bits_of_value(T value) {
    Bits<T> bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

__device__ inline std::int64_t place() {  // of this thread among all
    return std::int64_t{blockIdx.x} * THREADS + threadIdx.x;
}

/// A pair of elements a thread.
template <class T>
__global__ void __launch_bounds__(THREADS)
    draw_normal(T* data, std::int64_t count, std::uint64_t seed, const float* __restrict__ radius,
                const float* __restrict__ cosine, const float* __restrict__ sine) {
    const std::int64_t pair = place();
    if (2 * pair >= count) return;
    const Drawn d = drawn(seed, static_cast<std::uint64_t>(pair));
    const float r = radius[d.radius];
    data[2 * pair] = T(r * cosine[d.angle]);
    if (2 * pair + 1 < count) data[2 * pair + 1] = T(r * sine[d.angle]);
}

template <class Word>
__global__ void __launch_bounds__(THREADS) fill_words(Word* data, std::int64_t count, Word bits) {
    if (const std::int64_t i = place(); i < count) data[i] = bits;
}

template <class Word>  // whose uppermost bit is the sign
__global__ void __launch_bounds__(THREADS) absolute(const Word* from, Word* to, std::int64_t count) {
    constexpr int SIGN = 8 * sizeof(Word) - 1;
    const std::int64_t i = place();
    if (i < count) to[i] = static_cast<Word>(from[i] & ~(Word{1} << SIGN));
}

template <class T>
__global__ void __launch_bounds__(THREADS)
    find_strays(const T* c, std::int64_t count, WholeOnDevice whole, unsigned* found) {
    const std::int64_t i = place();
    if (i >= count) return;
    const T element = c[i];
    const auto got = static_cast<double>(static_cast<float>(element));
    const auto expected = static_cast<double>(whole.value[i]);
    const ErrorBound bound = whole.widened(whole.bounds(expected, static_cast<double>(whole.magnitude[i])));
    if (bits_of_value(element) == whole.unwritten || !acceptable(got, expected, bound, whole.most))
        atomicExch(found, 1u);
}

template <class Word>
__global__ void __launch_bounds__(THREADS)
    gather(const Word* data, std::int64_t pitch, const std::int64_t* rows, const std::int64_t* cols,
           std::int64_t width, std::int64_t count, Word* out) {
    const std::int64_t i = place();
    if (i < count) out[i] = data[rows[i / width] * pitch + cols[i % width]];
}

/// Calls body with a null pointer to the type.
template <class Body>
void with_type(DType dtype, const Body& body) {
    switch (dtype) {
        case DType::fp32:
            return body(static_cast<float*>(nullptr));
        case DType::bf16:
            return body(static_cast<__nv_bfloat16*>(nullptr));
        case DType::fp16:
            return body(static_cast<__half*>(nullptr));
        default:
            throw Error(std::string("A device fills and checks no matrices of ") + info(dtype).text + ".");
    }
}
template <class T>
using Typed = std::remove_pointer_t<T>;

/// So many blocks that each of `threads` has a thread; 0 where there is nothing to do.
unsigned blocks_of(std::int64_t threads) {
    const std::int64_t blocks = ceil_div(threads, std::int64_t{THREADS});
    if (blocks > std::numeric_limits<std::int32_t>::max())
        throw Error("A matrix is larger than a launch of one thread an element.");
    return static_cast<unsigned>(blocks);
}

/// Host numbers on the device.
template <class Number>
class OnDevice {
  public:
    explicit OnDevice(const std::vector<Number>& host) {
        CUDA_CHECK(cudaMalloc(&data_, host.size() * sizeof(Number)));
        if (const cudaError_t status =
                cudaMemcpy(data_, host.data(), host.size() * sizeof(Number), cudaMemcpyHostToDevice);
            status != cudaSuccess) {
            cudaFree(data_);
            CUDA_CHECK(status);
        }
    }
    ~OnDevice() { cudaFree(data_); }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;
    Number* get() const { return static_cast<Number*>(data_); }

  private:
    void* data_ = nullptr;
};

}  // namespace

bool known_on_device(DType dtype) {
    return dtype == DType::fp32 || dtype == DType::bf16 || dtype == DType::fp16;
}

DeviceInputs::DeviceInputs() : radius_(kDraws, 0), cosine_(kDraws, 0), sine_(kDraws, 0) {
    Elements radius(DType::fp32, kDraws), cosine(DType::fp32, kDraws), sine(DType::fp32, kDraws);
    const auto put = [](Elements& table, std::int64_t i, float value) {
        std::memcpy(table.bytes().data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
    };
    parallel_for(kDraws, 1 << 14, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
            const auto [c, s] = turn_of(static_cast<std::uint32_t>(i));
            put(radius, i, radius_of(static_cast<std::uint32_t>(i)));
            put(cosine, i, c);
            put(sine, i, s);
        }
    });
    radius_.upload(radius);
    cosine_.upload(cosine);
    sine_.upload(sine);
}

void DeviceInputs::draw(DType dtype, void* data, std::int64_t count, std::uint64_t seed) const {
    const unsigned blocks = blocks_of((count + 1) / 2);
    if (blocks == 0) return;
    with_type(dtype, [&](auto* type) {
        using T = Typed<decltype(type)>;
        draw_normal<T><<<blocks, THREADS>>>(
            static_cast<T*>(data), count, seed, static_cast<const float*>(radius_.data()),
            static_cast<const float*>(cosine_.data()), static_cast<const float*>(sine_.data()));
    });
    CUDA_CHECK(cudaGetLastError());
}

void fill_on_device(DType dtype, void* data, std::int64_t count, std::uint32_t bits) {
    const unsigned blocks = blocks_of(count);
    if (blocks == 0) return;
    with_type(dtype, [&](auto* type) {
        using Word = Bits<Typed<decltype(type)>>;
        fill_words<Word><<<blocks, THREADS>>>(static_cast<Word*>(data), count, static_cast<Word>(bits));
    });
    CUDA_CHECK(cudaGetLastError());
}

void absolute_on_device(DType dtype, const void* from, void* to, std::int64_t count) {
    const unsigned blocks = blocks_of(count);
    if (blocks == 0) return;
    with_type(dtype, [&](auto* type) {
        using Word = Bits<Typed<decltype(type)>>;
        absolute<Word><<<blocks, THREADS>>>(static_cast<const Word*>(from), static_cast<Word*>(to), count);
    });
    CUDA_CHECK(cudaGetLastError());
}

bool strays_on_device(DType dtype, const void* c, std::int64_t count, const WholeOnDevice& whole) {
    const unsigned blocks = blocks_of(count);
    if (blocks == 0) return false;
    const OnDevice<unsigned> found(std::vector<unsigned>{0u});
    with_type(dtype, [&](auto* type) {
        using T = Typed<decltype(type)>;
        find_strays<T><<<blocks, THREADS>>>(static_cast<const T*>(c), count, whole, found.get());
    });
    CUDA_CHECK(cudaGetLastError());
    unsigned answer = 0;
    CUDA_CHECK(cudaMemcpy(&answer, found.get(), sizeof answer, cudaMemcpyDeviceToHost));
    return answer != 0;
}

Elements gather_from_device(DType dtype, const void* data, std::int64_t pitch,
                            const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& cols) {
    Elements found(dtype, rows.size() * cols.size());
    if (found.size() == 0) return found;
    const OnDevice<std::int64_t> row(rows), col(cols);
    const OnDevice<std::byte> out(std::vector<std::byte>(found.bytes().size()));
    const auto count = static_cast<std::int64_t>(found.size());
    const auto width = static_cast<std::int64_t>(cols.size());
    with_type(dtype, [&](auto* type) {
        using Word = Bits<Typed<decltype(type)>>;
        gather<Word><<<blocks_of(count), THREADS>>>(static_cast<const Word*>(data), pitch, row.get(),
                                                    col.get(), width, count,
                                                    reinterpret_cast<Word*>(out.get()));
    });
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(found.bytes().data(), out.get(), found.bytes().size(), cudaMemcpyDeviceToHost));
    return found;
}

}  // namespace gemm
