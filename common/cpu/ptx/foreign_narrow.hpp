// What CUDA sources use of <cuda_fp16.h> and <cuda_bf16.h> and this course does not (CUDA Math API Reference
// Manual, "Half Precision Intrinsics", "Bfloat16 Precision Intrinsics"). Each result is rounded once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <type_traits>

using __nv_half = __half;
using __nv_half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

#define CPU_DEVICE_OF_ONE(T, T2, name, name2, expression) \
    __forceinline__ T name(T value) {                     \
        const float a = static_cast<float>(value);        \
        return T(expression);                             \
    }                                                     \
    __forceinline__ T2 name2(T2 values) {                 \
        return T2(name(values.x), name(values.y));        \
    }
#define CPU_DEVICE_OF_TWO(T, T2, name, name2, expression)                          \
    __forceinline__ T name(T first, T second) {                                    \
        const float a = static_cast<float>(first), b = static_cast<float>(second); \
        return T(expression);                                                      \
    }                                                                              \
    __forceinline__ T2 name2(T2 first, T2 second) {                                \
        return T2(name(first.x, second.x), name(first.y, second.y));               \
    }
// 1 and 0 of a pair; whether it holds of both.
#define CPU_DEVICE_COMPARE(T, T2, relation, holds)                                                     \
    __forceinline__ bool __h##relation(T a, T b) {                                                     \
        const auto x = static_cast<float>(a), y = static_cast<float>(b);                               \
        return holds;                                                                                  \
    }                                                                                                  \
    __forceinline__ T2 __h##relation##2(T2 a, T2 b) {                                                  \
        return T2(T(__h##relation(a.x, b.x) ? 1.0f : 0.0f), T(__h##relation(a.y, b.y) ? 1.0f : 0.0f)); \
    }                                                                                                  \
    __forceinline__ bool __hb##relation##2(T2 a, T2 b) {                                               \
        return __h##relation(a.x, b.x) && __h##relation(a.y, b.y);                                     \
    }
#define CPU_DEVICE_PAIRS(T2, op)                               \
    __forceinline__ T2 operator op(const T2& a, const T2& b) { \
        return T2(a.x op b.x, a.y op b.y);                     \
    }                                                          \
    __forceinline__ T2& operator op##=(T2& a, const T2& b) {   \
        return a = a op b;                                     \
    }
#define CPU_DEVICE_NARROW(T, T2)                                                               \
    CPU_DEVICE_OF_ONE(T, T2, __hneg, __hneg2, -a)                                              \
    CPU_DEVICE_OF_ONE(T, T2, __habs, __habs2, fabsf(a))                                        \
    CPU_DEVICE_OF_ONE(T, T2, hexp, h2exp, exp(static_cast<double>(a)))                         \
    CPU_DEVICE_OF_ONE(T, T2, hexp2, h2exp2, exp2(static_cast<double>(a)))                      \
    CPU_DEVICE_OF_ONE(T, T2, hlog, h2log, log(static_cast<double>(a)))                         \
    CPU_DEVICE_OF_ONE(T, T2, hsqrt, h2sqrt, sqrt(static_cast<double>(a)))                      \
    CPU_DEVICE_OF_ONE(T, T2, hrsqrt, h2rsqrt, 1.0 / sqrt(static_cast<double>(a)))              \
    CPU_DEVICE_OF_ONE(T, T2, hrcp, h2rcp, 1.0 / static_cast<double>(a))                        \
    CPU_DEVICE_OF_ONE(T, T2, htanh, h2tanh, tanh(static_cast<double>(a)))                      \
    CPU_DEVICE_OF_TWO(T, T2, __hdiv, __h2div, static_cast<double>(a) / static_cast<double>(b)) \
    CPU_DEVICE_OF_TWO(T, T2, __hmax, __hmax2, fmaxf(a, b))                                     \
    CPU_DEVICE_OF_TWO(T, T2, __hmin, __hmin2, fminf(a, b))                                     \
    CPU_DEVICE_COMPARE(T, T2, eq, x == y)                                                      \
    CPU_DEVICE_COMPARE(T, T2, ne, x<y || x> y)                                                 \
    CPU_DEVICE_COMPARE(T, T2, lt, x < y)                                                       \
    CPU_DEVICE_COMPARE(T, T2, le, x <= y)                                                      \
    CPU_DEVICE_COMPARE(T, T2, gt, x > y)                                                       \
    CPU_DEVICE_COMPARE(T, T2, ge, x >= y)                                                      \
    CPU_DEVICE_PAIRS(T2, +)                                                                    \
    CPU_DEVICE_PAIRS(T2, -)                                                                    \
    CPU_DEVICE_PAIRS(T2, *)                                                                    \
    CPU_DEVICE_PAIRS(T2, /)                                                                    \
    __forceinline__ T2 __hsub2(T2 a, T2 b) {                                                   \
        return a - b;                                                                          \
    }                                                                                          \
    __forceinline__ bool __hisnan(T a) {                                                       \
        return std::isnan(static_cast<float>(a));                                              \
    }                                                                                          \
    __forceinline__ T2 __lowhigh2highlow(T2 a) {                                               \
        return T2(a.y, a.x);                                                                   \
    }
CPU_DEVICE_NARROW(__half, __half2)
CPU_DEVICE_NARROW(__nv_bfloat16, __nv_bfloat162)
#undef CPU_DEVICE_OF_ONE
#undef CPU_DEVICE_OF_TWO
#undef CPU_DEVICE_COMPARE
#undef CPU_DEVICE_PAIRS
#undef CPU_DEVICE_NARROW

__forceinline__ __half2 __low2half2(__half2 a) {
    return __half2(a.x, a.x);
}
__forceinline__ __half2 __high2half2(__half2 a) {
    return __half2(a.y, a.y);
}
__forceinline__ __half2 __lows2half2(__half2 a, __half2 b) {
    return __half2(a.x, b.x);
}
__forceinline__ __half2 __highs2half2(__half2 a, __half2 b) {
    return __half2(a.y, b.y);
}
__forceinline__ __half __int2half_rn(int value) {
    return __half(value);
}
__forceinline__ __half __uint2half_rn(unsigned value) {
    return __half(value);
}
__forceinline__ int __half2int_rn(__half value) {
    return __float2int_rn(static_cast<float>(value));
}
__forceinline__ int __half2int_rz(__half value) {
    return __float2int_rz(static_cast<float>(value));
}
__forceinline__ __half __short2half_rn(short value) {
    return __half(value);
}
__forceinline__ __half __ushort2half_rn(unsigned short value) {
    return __half(value);
}
__forceinline__ __half __hfma_relu(__half a, __half b, __half c) {
    return __hmax(__hfma(a, b, c), __half(0.0f));
}
__forceinline__ __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y));
}
__forceinline__ bool __hisinf(__half value) {
    return std::isinf(static_cast<float>(value));
}
__forceinline__ short __half_as_short(__half value) {
    return __builtin_bit_cast(short, value);
}
__forceinline__ __half __short_as_half(short bits) {
    return __builtin_bit_cast(__half, bits);
}
__forceinline__ __nv_bfloat16 __int2bfloat16_rn(int value) {
    return __nv_bfloat16(value);
}

// <cuda_bf16.h> of the course has no arithmetic by name.
__forceinline__ __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) {
    return a + b;
}
__forceinline__ __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) {
    return a - b;
}
__forceinline__ __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) {
    return a * b;
}
/// The product is exact in double. The sum is rounded twice, which shows only where the first rounding hits a
/// tie of the second.
__forceinline__ __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
    return __nv_bfloat16(static_cast<double>(static_cast<float>(a)) *
                             static_cast<double>(static_cast<float>(b)) +
                         static_cast<double>(static_cast<float>(c)));
}
__forceinline__ __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) {
    return a + b;
}
__forceinline__ __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) {
    return a * b;
}
__forceinline__ __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
    return __nv_bfloat162(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}

// Shuffles of 16 bits, as of 32.
#define CPU_DEVICE_SHUFFLE(name, Argument)                                                              \
    template <class T>                                                                                  \
    requires(sizeof(T) == 2) T name(unsigned mask, T value, Argument argument, int width = 32,          \
                                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) { \
        const unsigned bits = __builtin_bit_cast(unsigned short, value);                                \
        return __builtin_bit_cast(                                                                      \
            T, static_cast<unsigned short>(name(mask, bits, argument, width, file, line)));             \
    }
CPU_DEVICE_SHUFFLE(__shfl_sync, int)
CPU_DEVICE_SHUFFLE(__shfl_up_sync, unsigned)
CPU_DEVICE_SHUFFLE(__shfl_down_sync, unsigned)
CPU_DEVICE_SHUFFLE(__shfl_xor_sync, int)
#undef CPU_DEVICE_SHUFFLE
