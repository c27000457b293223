// wgmma of other numbers than BF16 and FP16 with sums of FP32 (wgmma.hpp, which says how batches work): TF32,
// FP8 and 8-bit integers, and sums of FP16. A and B lie along K, or A in registers: see wgmma_inputs.hpp.
// sm_90a alone.
//
// Left out: FP16 along the rows with sums of FP16, 1-bit and sparse matrices.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "common/ptx/for_lesson_17/wgmma_inputs.hpp"
#include "common/ptx/wgmma.hpp"
#ifdef __CUDACC__
#include "common/ptx/for_lesson_17/wgmma_words.hpp"
#else
#include "common/cpu/ptx/warpgroup_types.hpp"
#endif

#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GEMM_NOT_SM90A
#endif

namespace gemm::ptx {
namespace detail {

/// Words that hold() keeps the compiler's hands off: sums of 32 bits, or pairs of 16.
template <class WORD, int COUNT>
__device__ __forceinline__ void hold_words([[maybe_unused]] WORD (&sums)[COUNT]) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+r"(sums[i])::"memory");
#endif
}

__host__ __device__ constexpr bool fp8(WgmmaInput input) {
    return input == WgmmaInput::e4m3 || input == WgmmaInput::e5m2;
}
__host__ __device__ constexpr bool integer(WgmmaInput input) {
    return input == WgmmaInput::s8 || input == WgmmaInput::u8;
}

}  // namespace detail

/// As for sums of FP32.
template <int COUNT>
__device__ __forceinline__ void wgmma_fence(std::int32_t (&sums)[COUNT], Here here = {}) {
    detail::hold_words(sums);
    wgmma_fence_at(here);
}
template <int COUNT>
__device__ __forceinline__ void wgmma_fence(std::uint32_t (&sums)[COUNT], Here here = {}) {
    detail::hold_words(sums);
    wgmma_fence_at(here);
}
template <int PENDING, int COUNT>
__device__ __forceinline__ void wgmma_wait(std::int32_t (&sums)[COUNT], Here here = {}) {
    wgmma_wait_at<PENDING>(here);
    detail::hold_words(sums);
}
template <int PENDING, int COUNT>
__device__ __forceinline__ void wgmma_wait(std::uint32_t (&sums)[COUNT], Here here = {}) {
    wgmma_wait_at<PENDING>(here);
    detail::hold_words(sums);
}

#ifdef __CUDACC__
// The instruction for one N and one pair of types, and behind it what PTX wants after the predicate.
#define GEMM_WGMMA_SHARED(n, kind, names, held, tail, o0, o1, o2, o3, o4, ...)                              \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " o2                                                 \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n kind " {" names "}, " o0 ", " o1 ", add, " o3 \
                 ", " o4 tail ";\n}"                                                                        \
                 : held                                                                                     \
                 : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(MINUS_A ? -1 : 1), "n"(MINUS_B ? -1 : 1))
#define GEMM_WGMMA_REGISTERS(n, kind, names, held, tail, a0, a1, a2, a3, o1, o2, o3, o4, ...)           \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " o2                                             \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n kind " {" names "}, {" a0 ", " a1 ", " a2 \
                 ", " a3 "}, " o1 ", add, " o3 ", " o4 tail ";\n}"                                      \
                 : held                                                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),      \
                   "n"(MINUS_A ? -1 : 1), "n"(MINUS_B ? -1 : 1))
#define GEMM_WGMMA_SHARED_S32(n, kind, names, held, o0, o1, o2, ...)                                       \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " o2                                                \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n kind " {" names "}, " o0 ", " o1 ", add;\n}" \
                 : held                                                                                    \
                 : "l"(a), "l"(b), "r"(static_cast<int>(add)))
#define GEMM_WGMMA_REGISTERS_S32(n, kind, names, held, a0, a1, a2, a3, o1, o2, ...)                     \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " o2                                             \
                 ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n kind " {" names "}, {" a0 ", " a1 ", " a2 \
                 ", " a3 "}, " o1 ", add;\n}"                                                           \
                 : held                                                                                 \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)))

// Every pair of types, for one N.
#define GEMM_WGMMA_F32(from, n, type_a, type_b, k, ...)                                                     \
    if constexpr (N == n && A == WgmmaInput::type_a && B == WgmmaInput::type_b)                             \
        GEMM_WGMMA_##from(n, k ".f32." #type_a "." #type_b, GEMM_WGMMA_SUMS_##n, GEMM_WGMMA_HELD_##n(sums), \
                          "", __VA_ARGS__);
#define GEMM_WGMMA_F16(from, n, count, type_a, type_b, k, tail, ...)                  \
    if constexpr (N == n && A == WgmmaInput::type_a && B == WgmmaInput::type_b)       \
        GEMM_WGMMA_##from(n, k ".f16." #type_a "." #type_b, GEMM_WGMMA_NAMES_##count, \
                          GEMM_WGMMA_WORDS_##count(sums), tail, __VA_ARGS__);
#define GEMM_WGMMA_S32(from, n, count, type_a, type_b, ...)                                             \
    if constexpr (N == n && A == WgmmaInput::type_a && B == WgmmaInput::type_b) {                       \
        if constexpr (SATURATE)                                                                         \
            GEMM_WGMMA_##from(n, "k32.s32." #type_a "." #type_b ".satfinite", GEMM_WGMMA_NAMES_##count, \
                              GEMM_WGMMA_WORDS_##count(sums), __VA_ARGS__);                             \
        else                                                                                            \
            GEMM_WGMMA_##from(n, "k32.s32." #type_a "." #type_b, GEMM_WGMMA_NAMES_##count,              \
                              GEMM_WGMMA_WORDS_##count(sums), __VA_ARGS__);                             \
    }
#define GEMM_WGMMA_ALL_F32(from, n, ...)                    \
    GEMM_WGMMA_F32(from, n, tf32, tf32, "k8", __VA_ARGS__)  \
    GEMM_WGMMA_F32(from, n, e4m3, e4m3, "k32", __VA_ARGS__) \
    GEMM_WGMMA_F32(from, n, e4m3, e5m2, "k32", __VA_ARGS__) \
    GEMM_WGMMA_F32(from, n, e5m2, e4m3, "k32", __VA_ARGS__) \
    GEMM_WGMMA_F32(from, n, e5m2, e5m2, "k32", __VA_ARGS__)
#define GEMM_WGMMA_ALL_F16(from, n, count, tail, ...)                  \
    GEMM_WGMMA_F16(from, n, count, f16, f16, "k16", tail, __VA_ARGS__) \
    GEMM_WGMMA_F16(from, n, count, e4m3, e4m3, "k32", "", __VA_ARGS__) \
    GEMM_WGMMA_F16(from, n, count, e4m3, e5m2, "k32", "", __VA_ARGS__) \
    GEMM_WGMMA_F16(from, n, count, e5m2, e4m3, "k32", "", __VA_ARGS__) \
    GEMM_WGMMA_F16(from, n, count, e5m2, e5m2, "k32", "", __VA_ARGS__)
#define GEMM_WGMMA_ALL_S32(from, n, count, ...)         \
    GEMM_WGMMA_S32(from, n, count, s8, s8, __VA_ARGS__) \
    GEMM_WGMMA_S32(from, n, count, s8, u8, __VA_ARGS__) \
    GEMM_WGMMA_S32(from, n, count, u8, s8, __VA_ARGS__) \
    GEMM_WGMMA_S32(from, n, count, u8, u8, __VA_ARGS__)
#define GEMM_WGMMA_F32_SHARED(n, ...) GEMM_WGMMA_ALL_F32(SHARED, n, __VA_ARGS__)
#define GEMM_WGMMA_F32_REGISTERS(n, ...) GEMM_WGMMA_ALL_F32(REGISTERS, n, __VA_ARGS__)
#define GEMM_WGMMA_F16_SHARED(n, count, ...) GEMM_WGMMA_ALL_F16(SHARED, n, count, ", 0, 0", __VA_ARGS__)
#define GEMM_WGMMA_F16_REGISTERS(n, count, ...) GEMM_WGMMA_ALL_F16(REGISTERS, n, count, ", 0", __VA_ARGS__)
#define GEMM_WGMMA_INTEGERS_SHARED(n, count, ...) GEMM_WGMMA_ALL_S32(SHARED_S32, n, count, __VA_ARGS__)
#define GEMM_WGMMA_INTEGERS_REGISTERS(n, count, ...) GEMM_WGMMA_ALL_S32(REGISTERS_S32, n, count, __VA_ARGS__)
#endif

/// sums = ±A·±B, plus the sums before if `add`, A 64 rows and B N, of 8 numbers of TF32 each or 32 of FP8,
/// whose two kinds may meet. `a` and `b` are matrix descriptors. Which sums a thread holds: wgmma_sum().
/// Products are exact; of FP8's, the hardware drops bits that lie far below the largest addend.
template <WgmmaInput A, WgmmaInput B, int N, bool MINUS_A = false, bool MINUS_B = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] float (&sums)[N / 2], [[maybe_unused]] std::uint64_t a,
                                      [[maybe_unused]] std::uint64_t b, [[maybe_unused]] bool add,
                                      [[maybe_unused]] Here here = {}) {
    static_assert((A == WgmmaInput::tf32 && B == A) || (detail::fp8(A) && detail::fp8(B)),
                  "TF32 or FP8: BF16 and FP16 have wgmma<T, N>");
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N is 8 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    GEMM_WGMMA_SHAPES(GEMM_WGMMA_F32_SHARED)
#else
    ::cpu_device::wgmma({.input_a = A,
                         .input_b = B,
                         .sums = sums,
                         .count = N / 2,
                         .a = a,
                         .b = b,
                         .minus_a = MINUS_A,
                         .minus_b = MINUS_B,
                         .add = add},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}

/// The same with A from registers: which bytes a thread holds, wgmma_a_byte() says.
template <WgmmaInput A, WgmmaInput B, int N, bool MINUS_A = false, bool MINUS_B = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] float (&sums)[N / 2],
                                      [[maybe_unused]] const std::uint32_t (&a)[4],
                                      [[maybe_unused]] std::uint64_t b, [[maybe_unused]] bool add,
                                      [[maybe_unused]] Here here = {}) {
    static_assert((A == WgmmaInput::tf32 && B == A) || (detail::fp8(A) && detail::fp8(B)),
                  "TF32 or FP8: BF16 and FP16 have wgmma<T, N>");
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N is 8 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    GEMM_WGMMA_SHAPES(GEMM_WGMMA_F32_REGISTERS)
#else
    ::cpu_device::wgmma({.input_a = A,
                         .input_b = B,
                         .sums = sums,
                         .count = N / 2,
                         .registers = a,
                         .b = b,
                         .minus_a = MINUS_A,
                         .minus_b = MINUS_B,
                         .add = add},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}

/// With sums of FP16, of FP16 or FP8: word i holds the sums that wgmma_sum() counts 2i (its lower half) and
/// 2i + 1.
template <WgmmaInput A, WgmmaInput B, int N, bool MINUS_A = false, bool MINUS_B = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] std::uint32_t (&sums)[N / 4],
                                      [[maybe_unused]] std::uint64_t a, [[maybe_unused]] std::uint64_t b,
                                      [[maybe_unused]] bool add, [[maybe_unused]] Here here = {}) {
    static_assert((A == WgmmaInput::f16 && B == A) || (detail::fp8(A) && detail::fp8(B)), "FP16 or FP8");
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N is 8 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    GEMM_WGMMA_SHAPES_F16(GEMM_WGMMA_F16_SHARED)
#else
    ::cpu_device::wgmma({.input_a = A,
                         .input_b = B,
                         .kind = ::cpu_device::WgmmaSums::f16,
                         .sums = sums,
                         .count = N / 4,
                         .a = a,
                         .b = b,
                         .minus_a = MINUS_A,
                         .minus_b = MINUS_B,
                         .add = add},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}
template <WgmmaInput A, WgmmaInput B, int N, bool MINUS_A = false, bool MINUS_B = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] std::uint32_t (&sums)[N / 4],
                                      [[maybe_unused]] const std::uint32_t (&a)[4],
                                      [[maybe_unused]] std::uint64_t b, [[maybe_unused]] bool add,
                                      [[maybe_unused]] Here here = {}) {
    static_assert((A == WgmmaInput::f16 && B == A) || (detail::fp8(A) && detail::fp8(B)), "FP16 or FP8");
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N is 8 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    GEMM_WGMMA_SHAPES_F16(GEMM_WGMMA_F16_REGISTERS)
#else
    ::cpu_device::wgmma({.input_a = A,
                         .input_b = B,
                         .kind = ::cpu_device::WgmmaSums::f16,
                         .sums = sums,
                         .count = N / 4,
                         .registers = a,
                         .b = b,
                         .minus_a = MINUS_A,
                         .minus_b = MINUS_B,
                         .add = add},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}

/// Integers of 8 bits, with or without sign, 32 a row. A sum that 32 bits do not hold is taken modulo 2^32,
/// or with SATURATE is the nearest that they do.
template <WgmmaInput A, WgmmaInput B, int N, bool SATURATE = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] std::int32_t (&sums)[N / 2],
                                      [[maybe_unused]] std::uint64_t a, [[maybe_unused]] std::uint64_t b,
                                      [[maybe_unused]] bool add, [[maybe_unused]] Here here = {}) {
    static_assert(detail::integer(A) && detail::integer(B), "integers of 8 bits");
    static_assert(N == 8 || N == 24 || (N % 16 == 0 && N >= 16 && N <= 256),
                  "N is 8, 24, or 16 to 256 in steps of 16");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    GEMM_WGMMA_SHAPES_S32(GEMM_WGMMA_INTEGERS_SHARED)
#else
    ::cpu_device::wgmma({.input_a = A,
                         .input_b = B,
                         .kind = ::cpu_device::WgmmaSums::s32,
                         .saturate = SATURATE,
                         .sums = sums,
                         .count = N / 2,
                         .a = a,
                         .b = b,
                         .add = add},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}
template <WgmmaInput A, WgmmaInput B, int N, bool SATURATE = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] std::int32_t (&sums)[N / 2],
                                      [[maybe_unused]] const std::uint32_t (&a)[4],
                                      [[maybe_unused]] std::uint64_t b, [[maybe_unused]] bool add,
                                      [[maybe_unused]] Here here = {}) {
    static_assert(detail::integer(A) && detail::integer(B), "integers of 8 bits");
    static_assert(N == 8 || N == 24 || (N % 16 == 0 && N >= 16 && N <= 256),
                  "N is 8, 24, or 16 to 256 in steps of 16");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    GEMM_WGMMA_SHAPES_S32(GEMM_WGMMA_INTEGERS_REGISTERS)
#else
    ::cpu_device::wgmma({.input_a = A,
                         .input_b = B,
                         .kind = ::cpu_device::WgmmaSums::s32,
                         .saturate = SATURATE,
                         .sums = sums,
                         .count = N / 2,
                         .registers = a,
                         .b = b,
                         .add = add},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}

}  // namespace gemm::ptx

#ifdef __CUDACC__
#undef GEMM_WGMMA_SHARED
#undef GEMM_WGMMA_REGISTERS
#undef GEMM_WGMMA_SHARED_S32
#undef GEMM_WGMMA_REGISTERS_S32
#undef GEMM_WGMMA_F32
#undef GEMM_WGMMA_F16
#undef GEMM_WGMMA_S32
#undef GEMM_WGMMA_ALL_F32
#undef GEMM_WGMMA_ALL_F16
#undef GEMM_WGMMA_ALL_S32
#undef GEMM_WGMMA_F32_SHARED
#undef GEMM_WGMMA_F32_REGISTERS
#undef GEMM_WGMMA_F16_SHARED
#undef GEMM_WGMMA_F16_REGISTERS
#undef GEMM_WGMMA_INTEGERS_SHARED
#undef GEMM_WGMMA_INTEGERS_REGISTERS
#endif
#undef GEMM_NOT_SM90A
