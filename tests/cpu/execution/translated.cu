// Spellings of launches and of dynamic shared memory that the translator must get right, and things that only
// look like launches: a comment kernel<<<1, 2>>>(x), a /* block <<< comment >>> */ and strings. Not formatted
// on purpose.
// clang-format off
#include <cstdio>
#include <cstring>

#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

constexpr int big = 1'000'000;  // a digit separator is no quote: '<<<'

template <int A, int B>
struct Pair { static constexpr int sum = A + B; };

__global__ void add(int* sum, int bit) { if (threadIdx.x == 0 && blockIdx.x == 0) *sum += bit; }

template <class T, int Bit>
__global__ void add_typed(T* sum) { if (threadIdx.x == 0 && blockIdx.x == 0) *sum += Bit; }

template <class T, class U, int Bit>
__global__ void add_nested(T* sum, U) { if (threadIdx.x == 0 && blockIdx.x == 0) *sum += Bit; }

namespace deep { namespace er {
__global__ void add(int* sum, int bit) { if (threadIdx.x == 0 && blockIdx.x == 0) *sum += bit; }
} }  // namespace deep::er

// Two pools of different types in one file, one with an alignment.
__global__ void aligned(int* sum, int bit) {
    extern __shared__ alignas(128) float4 quads[];
    if (threadIdx.x != 0) return;
    const bool right = reinterpret_cast<std::uintptr_t>(quads) % 128 == 0;
    quads[3] = make_float4(0, 0, 0, 7);
    *sum += right && quads[3].w == 7 ? bit : 0;
}
__global__ void bytes(int* sum, int bit) {
    extern __shared__ __align__(16) unsigned char pool[];
    if (threadIdx.x != 0) return;
    pool[63] = 9;
    *sum += pool[63] == 9 ? bit : 0;
}
template <class T>
__global__ void templated(int* sum, int bit) {
    extern __shared__ T words [ ] ;
    if (threadIdx.x != 0) return;
    words[7] = T(5);
    *sum += words[7] == T(5) ? bit : 0;
}

// Variables of the device, and what only looks like one.
__device__ float four[4];
static __device__ __align__(16) float4 quad = {0, 0, 0, 1.5f};
__constant__ float scale;
__constant__ const float half_of_it = 0.5f;
__device__ const float* nowhere = nullptr;
inline __device__ int counted{3};
struct Adds {
    __device__ explicit Adds(float by) : by_(by) {}
    __device__ bool operator==(const Adds& other) const { return by_ == other.by_; }
    __device__ float operator()(float x) const { return x + by_; }
    float by_;
};
__device__ float sum_of(const float* values, int n) { float s = 0; for (int i = 0; i < n; ++i) s += values[i]; return s; }
__global__ void use_symbols() {
    static int times;
    ++times;
    four[3] = Adds(2.0f * scale)(quad.w * static_cast<float>(counted) * half_of_it * 2.0f) + 0.5f * static_cast<float>(times);
    if (nowhere != nullptr || !(Adds(1.0f) == Adds(1.0f)) || sum_of(four, 1) != 0.0f) four[3] = -1.0f;
}

}  // namespace

void symbols(const float* two, float* result) {
    const float factor = 2.5f;
    cudaMemcpyToSymbol(scale, &factor, sizeof factor);
    cudaMemcpyToSymbol(four, two, 2 * sizeof(float), sizeof(float));
    use_symbols<<<1, 1>>>();
    void* address = nullptr;
    std::size_t bytes = 0;
    cudaGetSymbolAddress(&address, four);
    cudaGetSymbolSize(&bytes, four);
    cudaMemcpy(result, address, bytes, cudaMemcpyDeviceToHost);
}
void spellings(int* sum) {
    const dim3 grid(2), block(32);
    cudaStream_t stream = nullptr;
    add<<<grid, block>>>(sum, 1);
    add <<< 2, 32, 0, stream >>> (sum, 2);
    deep::er::add<<<dim3(1, 1), dim3(32)>>>(sum, 4);
    ::kernels::deep::er::add<<<1, (big > 3 ? 32 : 64)>>>(sum, 8);
    add_typed<int, 16><<<1, 32>>>(sum);
    add_typed<int, Pair<30, 2>::sum><<<1, 32>>>(sum);
    add_nested<int, Pair<1, (3 > 2)>, 64><<<
        grid,   // a comment with >>> inside
        block,
        0,
        stream
    >>>(
        sum,
        Pair<1, (3 > 2)>{});
    for (int i = 0; i < 1; ++i) add<<<1 << 1, 64 >> 1>>>(sum, 128);
    aligned<<<1, 32, 4 * sizeof(float4)>>>(sum, 256);
    bytes<<<1, 32, 64>>>(sum, 512); /* text<<<1, 1>>>(0) */ templated<double><<<1, 32, 8 * sizeof(double)>>>(sum, 1024);
    const char* const text = "not<<<a, launch>>>(at all)";
    const char* const raw = R"x(nor<<<is, "this">>>())x";
    if (std::strlen(text) != 26 || std::strlen(raw) != 21) *sum = -1000000;
    if (__LINE__ != 109) *sum = -2000000;
}

}  // namespace kernels
