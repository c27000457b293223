// Stand-in for the toolkit's <cuda_fp16.h>: __half and __half2 as kernels use them (CUDA Math API Reference
// Manual, "Half Precision Conversion and Data Movement"), for g++ and the CPU device. Conversions and
// operators give the bits that NVIDIA's host functions give. Trivial types: a __shared__ array of them runs
// no constructor.
#pragma once

#include "common/cpu/ptx/narrow_float.hpp"

struct __half_raw {
    unsigned short x;
};

struct __align__(2) __half {
    __half() = default;
    __forceinline__ __half(const __half_raw& raw) : bits_(raw.x) {}
    __forceinline__ __half(float value) : bits_(::cpu_device::half_bits(static_cast<double>(value))) {}
    __forceinline__ __half(double value) : bits_(::cpu_device::half_bits(value)) {}
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    __forceinline__ __half(Integer value) : bits_(::cpu_device::half_bits(::cpu_device::roundable(value))) {}
    __forceinline__ operator float() const {
        return ::cpu_device::value_of_half(bits_);
    }
    __forceinline__ operator __half_raw() const {
        return {bits_};
    }

  private:
    unsigned short bits_;
};
CPU_DEVICE_NARROW_OPERATORS(__half)

struct __align__(4) __half2 {
    __half x, y;
    __half2() = default;
    __forceinline__ __half2(const __half& first, const __half& second) : x(first), y(second) {}
};
static_assert(std::is_trivially_copyable_v<__half> && std::is_trivially_default_constructible_v<__half> &&
              std::is_trivially_copyable_v<__half2> && std::is_trivially_default_constructible_v<__half2>);

using half = __half;
using half2 = __half2;

__forceinline__ __half __float2half(float value) {
    return __half(value);
}
__forceinline__ __half __float2half_rn(float value) {
    return __half(value);
}
__forceinline__ __half __double2half(double value) {
    return __half(value);
}
__forceinline__ float __half2float(__half value) {
    return static_cast<float>(value);
}
__forceinline__ unsigned short __half_as_ushort(__half value) {
    return static_cast<__half_raw>(value).x;
}
__forceinline__ __half __ushort_as_half(unsigned short bits) {
    return __half_raw{bits};
}
__forceinline__ __half2 make_half2(__half x, __half y) {
    return __half2(x, y);
}
__forceinline__ __half2 __halves2half2(__half x, __half y) {
    return __half2(x, y);
}
__forceinline__ __half2 __half2half2(__half value) {
    return __half2(value, value);
}
__forceinline__ __half2 __float2half2_rn(float value) {
    return __half2(value, value);
}
__forceinline__ __half2 __floats2half2_rn(float x, float y) {
    return __half2(x, y);
}
__forceinline__ __half2 __float22half2_rn(float2 values) {
    return __half2(values.x, values.y);
}
__forceinline__ float2 __half22float2(__half2 values) {
    return make_float2(values.x, values.y);
}
__forceinline__ __half __low2half(__half2 values) {
    return values.x;
}
__forceinline__ __half __high2half(__half2 values) {
    return values.y;
}
__forceinline__ float __low2float(__half2 values) {
    return values.x;
}
__forceinline__ float __high2float(__half2 values) {
    return values.y;
}
/// Of two, one after the other: both together are not atomic.
__forceinline__ __half atomicAdd(__half* address, __half value) {
    return __builtin_bit_cast(__half,
                              ::cpu_device::atomic_add_half(reinterpret_cast<unsigned short*>(address),
                                                            __builtin_bit_cast(unsigned short, value)));
}
__forceinline__ __half2 atomicAdd(__half2* address, __half2 value) {
    return __builtin_bit_cast(__half2, ::cpu_device::atomic_add_half2(reinterpret_cast<unsigned*>(address),
                                                                      __builtin_bit_cast(unsigned, value)));
}

// Arithmetic by name ("Half Arithmetic Functions", "Half2 Arithmetic Functions"): rounded once.
__forceinline__ __half __hadd(__half a, __half b) {
    return a + b;
}
__forceinline__ __half __hsub(__half a, __half b) {
    return a - b;
}
__forceinline__ __half __hmul(__half a, __half b) {
    return a * b;
}
/// The product is exact in double, and of the sum all that decides how it rounds to 16 bits.
__forceinline__ __half __hfma(__half a, __half b, __half c) {
    return __half(static_cast<double>(static_cast<float>(a)) * static_cast<double>(static_cast<float>(b)) +
                  static_cast<double>(static_cast<float>(c)));
}
__forceinline__ __half2 __hadd2(__half2 a, __half2 b) {
    return __half2(a.x + b.x, a.y + b.y);
}
__forceinline__ __half2 __hmul2(__half2 a, __half2 b) {
    return __half2(a.x * b.x, a.y * b.y);
}
__forceinline__ __half2 __hfma2(__half2 a, __half2 b, __half2 c) {
    return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));
}
