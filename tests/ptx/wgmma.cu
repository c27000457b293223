// One batch of wgmma, of every type and from every place, on a GPU and on the CPU device alike.
#include "tests/ptx/wgmma.hpp"

#include <cstring>
#include <type_traits>

#include "common/ptx/for_lesson_17/wgmma_types.hpp"
#include "common/ptx/tma.hpp"
#include "common/ptx/wgmma.hpp"

namespace kernels {
namespace {

using gemm::ptx::Major;
using gemm::ptx::WgmmaFields;
using gemm::ptx::WgmmaInput;

/// Where A comes from.
enum class From { shared_along_k, shared_along_rows, registers };

/// What stays the same for all N.
template <WgmmaInput A, WgmmaInput B, WgmmaSum SUM, bool SATURATE = false>
struct Types {
    static constexpr WgmmaInput kA = A, kB = B;
    static constexpr WgmmaSum kSum = SUM;
    static constexpr bool kSaturate = SATURATE, kPlain = wgmma_is_plain(A, SUM);
    using Word = std::conditional_t<SUM == WgmmaSum::f32, float,
                                    std::conditional_t<SUM == WgmmaSum::f16, std::uint32_t, std::int32_t>>;
    using Plain = std::conditional_t<A == WgmmaInput::f16, __half, __nv_bfloat16>;
};

template <class T, int N, From A, Major B, bool MINUS_A, bool MINUS_B, class Sums, class FromA>
__device__ __forceinline__ void multiply(Sums& sums, const FromA& a, std::uint64_t b, bool add) {
    if constexpr (T::kSum == WgmmaSum::s32) {
        gemm::ptx::wgmma<T::kA, T::kB, N, T::kSaturate>(sums, a, b, add);
    } else if constexpr (!T::kPlain) {
        gemm::ptx::wgmma<T::kA, T::kB, N, MINUS_A, MINUS_B>(sums, a, b, add);
    } else if constexpr (A == From::registers) {
        gemm::ptx::wgmma<typename T::Plain, N, B, MINUS_A, MINUS_B>(sums, a, b, add);
    } else {
        constexpr Major kMajor = A == From::shared_along_k ? Major::k : Major::row;
        gemm::ptx::wgmma<typename T::Plain, N, kMajor, B, MINUS_A, MINUS_B>(sums, a, b, add);
    }
}

template <class T, int N, From A, Major B, bool MINUS_A = false, bool MINUS_B = false>
__global__ void __launch_bounds__(kWgmmaThreads)
    wgmma_kernel(const __grid_constant__ WgmmaCase c, const std::uint32_t* shared,
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
            multiply<T, N, A, B, MINUS_A, MINUS_B>(sums, a[s], encode(fields_b), add);
        } else {
            multiply<T, N, A, B, MINUS_A, MINUS_B>(sums, encode(fields_a), encode(fields_b), add);
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

template <class T, int N, From A, Major B, class... P>
void negated(const WgmmaCase& c, P... arguments) {
    if constexpr (A != From::shared_along_rows && B == Major::k &&
                  wgmma_can_negate(T::kA, T::kB, T::kSum, N)) {
        if (c.minus_a && c.minus_b) return launch(wgmma_kernel<T, N, A, B, true, true>, c, arguments...);
        if (c.minus_a) return launch(wgmma_kernel<T, N, A, B, true, false>, c, arguments...);
        if (c.minus_b) return launch(wgmma_kernel<T, N, A, B, false, true>, c, arguments...);
    }
    launch(wgmma_kernel<T, N, A, B>, c, arguments...);
}
template <class T, int N, From A, class... P>
void of_b(const WgmmaCase& c, P... arguments) {
    if constexpr (T::kPlain) {
        if (c.major_b == Major::row) return negated<T, N, A, Major::row>(c, arguments...);
    }
    negated<T, N, A, Major::k>(c, arguments...);
}
template <class T, int N, class... P>
void of_a(const WgmmaCase& c, P... arguments) {
    if (c.registers) return of_b<T, N, From::registers>(c, arguments...);
    if constexpr (T::kPlain) {
        if (c.major_a == Major::row) return of_b<T, N, From::shared_along_rows>(c, arguments...);
    }
    of_b<T, N, From::shared_along_k>(c, arguments...);
}
/// The first of these N that the case asks for.
template <class T, int FIRST, int... OTHERS, class... P>
void of_n(const WgmmaCase& c, P... arguments) {
    if (c.n == FIRST) return of_a<T, FIRST>(c, arguments...);
    if constexpr (sizeof...(OTHERS) > 0) of_n<T, OTHERS...>(c, arguments...);
}
/// The first of these types that the case asks for.
template <class FIRST, class... OTHERS, class... P>
void of_types(const WgmmaCase& c, P... arguments) {
    if (c.type_a == FIRST::kA && c.type_b == FIRST::kB && c.sum == FIRST::kSum &&
        c.saturate == FIRST::kSaturate) {
        if constexpr (FIRST::kPlain) {
            return of_n<FIRST, 8, 64, 128, 192, 256>(c, arguments...);
        } else {
            return of_n<FIRST, 8, 96, 256>(c, arguments...);
        }
    }
    if constexpr (sizeof...(OTHERS) > 0) of_types<OTHERS...>(c, arguments...);
}

}  // namespace

void wgmma(const WgmmaCase& c, const std::uint32_t* shared, const std::uint32_t* registers,
           const std::uint32_t* before, std::uint32_t* sums) {
    using enum WgmmaInput;
    constexpr WgmmaSum kFloat = WgmmaSum::f32, kHalf = WgmmaSum::f16, kInteger = WgmmaSum::s32;
    of_types<Types<bf16, bf16, kFloat>, Types<f16, f16, kFloat>,                                     //
             Types<tf32, tf32, kFloat>, Types<f16, f16, kHalf>,                                      //
             Types<e4m3, e4m3, kFloat>, Types<e4m3, e5m2, kFloat>, Types<e5m2, e4m3, kFloat>,        //
             Types<e5m2, e5m2, kFloat>, Types<e4m3, e4m3, kHalf>, Types<e4m3, e5m2, kHalf>,          //
             Types<e5m2, e4m3, kHalf>, Types<e5m2, e5m2, kHalf>,                                     //
             Types<s8, s8, kInteger>, Types<s8, u8, kInteger>, Types<u8, s8, kInteger>,              //
             Types<u8, u8, kInteger>, Types<s8, s8, kInteger, true>, Types<s8, u8, kInteger, true>,  //
             Types<u8, s8, kInteger, true>, Types<u8, u8, kInteger, true>>(c, shared, registers, before,
                                                                           sums);
}

}  // namespace kernels
