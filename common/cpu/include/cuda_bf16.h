// Stand-in for the toolkit's <cuda_bf16.h>: __nv_bfloat16 and __nv_bfloat162 as kernels use them (CUDA Math
// API Reference Manual, "Bfloat16 Precision Conversion and Data Movement"), for g++ and the CPU device.
// Conversions and operators give the bits that NVIDIA's host functions give. Trivial types: a __shared__
// array of them runs no constructor.
#pragma once

#include "common/cpu/ptx/narrow_float.hpp"

struct __nv_bfloat16_raw {
    unsigned short x;
};

struct __align__(2) __nv_bfloat16 {
    __nv_bfloat16() = default;
    __forceinline__ __nv_bfloat16(const __nv_bfloat16_raw& raw) : bits_(raw.x) {}
    __forceinline__ __nv_bfloat16(float value)
        : bits_(::cpu_device::bfloat16_bits(static_cast<double>(value))) {}
    __forceinline__ __nv_bfloat16(double value) : bits_(::cpu_device::bfloat16_bits(value)) {}
    template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
    __forceinline__ __nv_bfloat16(Integer value)
        : bits_(::cpu_device::bfloat16_bits(::cpu_device::roundable(value))) {}
    __forceinline__ operator float() const {
        return ::cpu_device::value_of_bfloat16(bits_);
    }
    __forceinline__ operator __nv_bfloat16_raw() const {
        return {bits_};
    }

  private:
    unsigned short bits_;
};
CPU_DEVICE_NARROW_OPERATORS(__nv_bfloat16)

struct __align__(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
    __nv_bfloat162() = default;
    __forceinline__ __nv_bfloat162(const __nv_bfloat16& first, const __nv_bfloat16& second)
        : x(first), y(second) {}
};
static_assert(std::is_trivially_copyable_v<__nv_bfloat16> &&
              std::is_trivially_default_constructible_v<__nv_bfloat16> &&
              std::is_trivially_copyable_v<__nv_bfloat162> &&
              std::is_trivially_default_constructible_v<__nv_bfloat162>);

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

__forceinline__ __nv_bfloat16 __float2bfloat16(float value) {
    return __nv_bfloat16(value);
}
__forceinline__ __nv_bfloat16 __float2bfloat16_rn(float value) {
    return __nv_bfloat16(value);
}
__forceinline__ __nv_bfloat16 __double2bfloat16(double value) {
    return __nv_bfloat16(value);
}
__forceinline__ float __bfloat162float(__nv_bfloat16 value) {
    return static_cast<float>(value);
}
__forceinline__ unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
    return static_cast<__nv_bfloat16_raw>(value).x;
}
__forceinline__ __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
    return __nv_bfloat16_raw{bits};
}
__forceinline__ __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __nv_bfloat162(x, y);
}
__forceinline__ __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) {
    return __nv_bfloat162(x, y);
}
__forceinline__ __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) {
    return __nv_bfloat162(value, value);
}
__forceinline__ __nv_bfloat162 __float2bfloat162_rn(float value) {
    return __nv_bfloat162(value, value);
}
__forceinline__ __nv_bfloat162 __floats2bfloat162_rn(float x, float y) {
    return __nv_bfloat162(x, y);
}
__forceinline__ __nv_bfloat162 __float22bfloat162_rn(float2 values) {
    return __nv_bfloat162(values.x, values.y);
}
__forceinline__ float2 __bfloat1622float2(__nv_bfloat162 values) {
    return make_float2(values.x, values.y);
}
__forceinline__ __nv_bfloat16 __low2bfloat16(__nv_bfloat162 values) {
    return values.x;
}
__forceinline__ __nv_bfloat16 __high2bfloat16(__nv_bfloat162 values) {
    return values.y;
}
__forceinline__ float __low2float(__nv_bfloat162 values) {
    return values.x;
}
__forceinline__ float __high2float(__nv_bfloat162 values) {
    return values.y;
}
/// Of two, one after the other: both together are not atomic.
__forceinline__ __nv_bfloat16 atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value) {
    return __builtin_bit_cast(__nv_bfloat16,
                              ::cpu_device::atomic_add_bfloat16(reinterpret_cast<unsigned short*>(address),
                                                                __builtin_bit_cast(unsigned short, value)));
}
__forceinline__ __nv_bfloat162 atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value) {
    return __builtin_bit_cast(__nv_bfloat162,
                              ::cpu_device::atomic_add_bfloat162(reinterpret_cast<unsigned*>(address),
                                                                 __builtin_bit_cast(unsigned, value)));
}
