// One batch of wgmma, on a GPU and on the CPU device alike.
#include "tests/ptx/wgmma.hpp"

#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"

namespace kernels {
namespace {

using gemm::ptx::Major;
using gemm::ptx::WgmmaFields;

/// Where A comes from.
enum class From { shared_along_k, shared_along_rows, registers };

template <class T, int N, From A, Major B, bool MINUS_A = false, bool MINUS_B = false>
__global__ void __launch_bounds__(kWgmmaThreads)
    wgmma_kernel(const __grid_constant__ WgmmaCase c, const std::uint32_t* shared,
                 const std::uint32_t* registers, const float* before, float* out) {
    extern __shared__ __align__(1024) std::uint32_t memory[];
    const unsigned thread = threadIdx.x;
    for (unsigned i = thread; i < c.bytes / 4; i += kWgmmaThreads) memory[i] = shared[i];
    gemm::ptx::fence_proxy_async();
    __syncthreads();
    float sums[N / 2];
    for (int i = 0; i < N / 2; ++i) sums[i] = before[thread * (N / 2) + i];
    std::uint32_t a[kWgmmaSteps][4] = {};
    for (int s = 0; s < kWgmmaSteps && A == From::registers; ++s) {
        for (int i = 0; i < 4; ++i) a[s][i] = registers[(s * kWgmmaThreads + thread) * 4 + i];
    }
    const unsigned start = gemm::ptx::shared_address(memory);
    WgmmaFields fields_a = c.a, fields_b = c.b;
    fields_a.start += start;
    fields_b.start += start;
    gemm::ptx::wgmma_fence(sums);
    for (int s = 0; s < kWgmmaSteps; ++s) {
        const bool add = c.add || s > 0;
        if constexpr (A == From::registers) {
            gemm::ptx::wgmma<T, N, B, MINUS_A, MINUS_B>(sums, a[s], encode(fields_b), add);
        } else {
            constexpr Major kMajor = A == From::shared_along_k ? Major::k : Major::row;
            gemm::ptx::wgmma<T, N, kMajor, B, MINUS_A, MINUS_B>(sums, encode(fields_a), encode(fields_b),
                                                                add);
        }
        fields_a.start += c.step_a;
        fields_b.start += c.step_b;
    }
    gemm::ptx::wgmma_commit();
    gemm::ptx::wgmma_wait<0>(sums);
    for (int i = 0; i < N / 2; ++i) out[thread * (N / 2) + i] = sums[i];
}

template <class... P, class... A>
void launch(void (*kernel)(P...), A... arguments) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kWgmmaShared);
    kernel<<<1, kWgmmaThreads, kWgmmaShared>>>(arguments...);
}

template <class T, int N, From A, Major B, class... P>
void negated(const WgmmaCase& c, P... arguments) {
    if constexpr (N == 64 && A != From::shared_along_rows && B == Major::k) {
        if (c.minus_a && c.minus_b) return launch(wgmma_kernel<T, N, A, B, true, true>, c, arguments...);
        if (c.minus_a) return launch(wgmma_kernel<T, N, A, B, true, false>, c, arguments...);
        if (c.minus_b) return launch(wgmma_kernel<T, N, A, B, false, true>, c, arguments...);
    }
    launch(wgmma_kernel<T, N, A, B>, c, arguments...);
}
template <class T, int N, From A, class... P>
void of_b(const WgmmaCase& c, P... arguments) {
    if (c.major_b == Major::k) return negated<T, N, A, Major::k>(c, arguments...);
    negated<T, N, A, Major::row>(c, arguments...);
}
template <class T, int N, class... P>
void of_a(const WgmmaCase& c, P... arguments) {
    if (c.registers) return of_b<T, N, From::registers>(c, arguments...);
    if (c.major_a == Major::k) return of_b<T, N, From::shared_along_k>(c, arguments...);
    of_b<T, N, From::shared_along_rows>(c, arguments...);
}
template <class T, class... P>
void of_n(const WgmmaCase& c, P... arguments) {
    switch (c.n) {
        case 8:
            return of_a<T, 8>(c, arguments...);
        case 64:
            return of_a<T, 64>(c, arguments...);
        case 128:
            return of_a<T, 128>(c, arguments...);
        case 192:
            return of_a<T, 192>(c, arguments...);
        default:
            return of_a<T, 256>(c, arguments...);
    }
}

}  // namespace

void wgmma(const WgmmaCase& c, const std::uint32_t* shared, const std::uint32_t* registers,
           const float* before, float* sums) {
    if (c.half) {
        of_n<__half>(c, shared, registers, before, sums);
    } else {
        of_n<__nv_bfloat16>(c, shared, registers, before, sums);
    }
}

}  // namespace kernels
