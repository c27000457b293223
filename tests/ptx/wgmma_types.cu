// One batch of wgmma of TF32, FP8, integers, or with sums of FP16, on a GPU and on the CPU device alike.
#include "tests/ptx/wgmma_types.hpp"

#include <cstring>
#include <type_traits>

#include "common/ptx/for_lesson_17/wgmma_types.hpp"
#include "common/ptx/tma.hpp"

namespace kernels {
namespace {

using gemm::ptx::WgmmaFields;
using gemm::ptx::WgmmaInput;

/// What stays the same for all N.
template <WgmmaInput A, WgmmaInput B, WgmmaSum SUM, bool SATURATE = false>
struct Types {
    static constexpr WgmmaInput kA = A, kB = B;
    static constexpr WgmmaSum kSum = SUM;
    static constexpr bool kSaturate = SATURATE;
    using Word = std::conditional_t<SUM == WgmmaSum::f32, float,
                                    std::conditional_t<SUM == WgmmaSum::f16, std::uint32_t, std::int32_t>>;
};

template <class T, int N, bool MINUS_A, bool MINUS_B, class Sums, class FromA>
__device__ __forceinline__ void multiply(Sums& sums, const FromA& a, std::uint64_t b, bool add) {
    if constexpr (T::kSum == WgmmaSum::s32) {
        gemm::ptx::wgmma<T::kA, T::kB, N, T::kSaturate>(sums, a, b, add);
    } else {
        gemm::ptx::wgmma<T::kA, T::kB, N, MINUS_A, MINUS_B>(sums, a, b, add);
    }
}

template <class T, int N, bool REGISTERS, bool MINUS_A, bool MINUS_B>
__global__ void __launch_bounds__(kWgmmaThreads)
    wgmma_types_kernel(const __grid_constant__ WgmmaTypeCase c, const std::uint32_t* shared,
                       const std::uint32_t* registers, const std::uint32_t* before, std::uint32_t* out) {
    extern __shared__ __align__(1024) std::uint32_t memory[];
    constexpr int kWords = wgmma_words(N, T::kSum);
    const unsigned thread = threadIdx.x;
    for (unsigned i = thread; i < c.bytes / 4; i += kWgmmaThreads) memory[i] = shared[i];
    gemm::ptx::fence_proxy_async();
    __syncthreads();
    typename T::Word sums[kWords];
    for (int i = 0; i < kWords; ++i) memcpy(&sums[i], &before[thread * kWords + i], sizeof sums[i]);
    std::uint32_t a[kWgmmaSteps][4] = {};
    for (int s = 0; s < kWgmmaSteps && REGISTERS; ++s) {
        for (int i = 0; i < 4; ++i) a[s][i] = registers[(s * kWgmmaThreads + thread) * 4 + i];
    }
    const unsigned start = gemm::ptx::shared_address(memory);
    WgmmaFields fields_a = c.a, fields_b = c.b;
    fields_a.start += start;
    fields_b.start += start;
    gemm::ptx::wgmma_fence(sums);
    for (int s = 0; s < kWgmmaSteps; ++s) {
        const bool add = c.add || s > 0;
        if constexpr (REGISTERS) {
            multiply<T, N, MINUS_A, MINUS_B>(sums, a[s], encode(fields_b), add);
        } else {
            multiply<T, N, MINUS_A, MINUS_B>(sums, encode(fields_a), encode(fields_b), add);
        }
        fields_a.start += c.step_a;
        fields_b.start += c.step_b;
    }
    gemm::ptx::wgmma_commit();
    gemm::ptx::wgmma_wait<0>(sums);
    for (int i = 0; i < kWords; ++i) memcpy(&out[thread * kWords + i], &sums[i], sizeof sums[i]);
}

template <class... P, class... A>
void launch(void (*kernel)(P...), A... arguments) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kWgmmaShared);
    kernel<<<1, kWgmmaThreads, kWgmmaShared>>>(arguments...);
}

template <class T, int N, bool REGISTERS, class... P>
void negated(const WgmmaTypeCase& c, P... arguments) {
    if constexpr (N == 96 && wgmma_can_negate(T::kA, T::kB, T::kSum)) {
        if (c.minus_a && c.minus_b)
            return launch(wgmma_types_kernel<T, N, REGISTERS, true, true>, c, arguments...);
        if (c.minus_a) return launch(wgmma_types_kernel<T, N, REGISTERS, true, false>, c, arguments...);
        if (c.minus_b) return launch(wgmma_types_kernel<T, N, REGISTERS, false, true>, c, arguments...);
    }
    launch(wgmma_types_kernel<T, N, REGISTERS, false, false>, c, arguments...);
}
template <class T, int N, class... P>
void of_a(const WgmmaTypeCase& c, P... arguments) {
    if (c.registers) return negated<T, N, true>(c, arguments...);
    negated<T, N, false>(c, arguments...);
}
template <class T, class... P>
void of_n(const WgmmaTypeCase& c, P... arguments) {
    switch (c.n) {
        case 8:
            return of_a<T, 8>(c, arguments...);
        case 96:
            return of_a<T, 96>(c, arguments...);
        default:
            return of_a<T, 256>(c, arguments...);
    }
}
/// The first of these types that the case asks for.
template <class FIRST, class... OTHERS, class... P>
void of_types(const WgmmaTypeCase& c, P... arguments) {
    if (c.type_a == FIRST::kA && c.type_b == FIRST::kB && c.sum == FIRST::kSum &&
        c.saturate == FIRST::kSaturate)
        return of_n<FIRST>(c, arguments...);
    if constexpr (sizeof...(OTHERS) > 0) of_types<OTHERS...>(c, arguments...);
}

}  // namespace

void wgmma_types(const WgmmaTypeCase& c, const std::uint32_t* shared, const std::uint32_t* registers,
                 const std::uint32_t* before, std::uint32_t* sums) {
    using enum WgmmaInput;
    constexpr WgmmaSum kFloat = WgmmaSum::f32, kHalf = WgmmaSum::f16, kInteger = WgmmaSum::s32;
    of_types<Types<tf32, tf32, kFloat>, Types<f16, f16, kHalf>,                                      //
             Types<e4m3, e4m3, kFloat>, Types<e4m3, e5m2, kFloat>, Types<e5m2, e4m3, kFloat>,        //
             Types<e5m2, e5m2, kFloat>, Types<e4m3, e4m3, kHalf>, Types<e4m3, e5m2, kHalf>,          //
             Types<e5m2, e4m3, kHalf>, Types<e5m2, e5m2, kHalf>,                                     //
             Types<s8, s8, kInteger>, Types<s8, u8, kInteger>, Types<u8, s8, kInteger>,              //
             Types<u8, u8, kInteger>, Types<s8, s8, kInteger, true>, Types<s8, u8, kInteger, true>,  //
             Types<u8, s8, kInteger, true>, Types<u8, u8, kInteger, true>>(c, shared, registers, before,
                                                                           sums);
}

}  // namespace kernels
