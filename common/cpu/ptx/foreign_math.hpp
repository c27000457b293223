// Intrinsics that CUDA sources use and this course does not (CUDA Math API Reference Manual: "Single
// Precision Intrinsics", "Integer Intrinsics", "Type Casting Intrinsics", "SIMD Intrinsics"; CUDA C++
// Programming Guide, "Warp Reduce Functions", "Time Function"). Those that may be a few ulp off on a GPU are
// the host's.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

// glibc declares functions of these names, and defines none of them.
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __log10f log10f
#define __sinf sinf
#define __cosf cosf
#define __tanf tanf
#define __powf powf
#define __tanhf tanhf

inline double __dadd_rn(double a, double b) {
    return a + b;
}
inline double __dsub_rn(double a, double b) {
    return a - b;
}
inline double __dmul_rn(double a, double b) {
    return a * b;
}
inline double __ddiv_rn(double a, double b) {
    return a / b;
}
inline double __fma_rn(double a, double b, double c) {
    return fma(a, b, c);
}
inline float __fdiv_rn(float a, float b) {
    return a / b;
}
inline float __fdividef(float a, float b) {
    return a / b;
}
inline float fdividef(float a, float b) {
    return a / b;
}
inline float __frcp_rn(float a) {
    return 1.0f / a;
}
inline float __fsqrt_rn(float a) {
    return sqrtf(a);
}
inline float __frsqrt_rn(float a) {
    return rsqrtf(a);
}
inline double rsqrt(double a) {
    return 1.0 / sqrt(a);
}
inline float __saturatef(float a) {
    return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f;
}

inline int __popcll(unsigned long long x) {
    return __builtin_popcountll(x);
}
inline int __clzll(long long x) {
    return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffsll(long long x) {
    return __builtin_ffsll(x);
}
inline unsigned __brev(unsigned x) {
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
    return reversed;
}
inline int __mulhi(int a, int b) {
    return static_cast<int>((static_cast<long long>(a) * b) >> 32);
}
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
/// Of the lower 24 bits.
inline int __mul24(int a, int b) {
    const auto low = [](int x) {
        return static_cast<long long>(static_cast<int>(static_cast<unsigned>(x) << 8) >> 8);
    };
    return static_cast<int>(low(a) * low(b));
}
inline unsigned __umul24(unsigned a, unsigned b) {
    return (a & 0xffffffu) * (b & 0xffffffu);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return static_cast<unsigned>(((static_cast<unsigned long long>(high) << 32 | low) << (by & 31)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (by & 31));
}
/// Bytes of y:x, chosen by four bits each of s.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i)
        result |= static_cast<unsigned>(bytes >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}
/// Four products of bytes, added to c.
inline int __dp4a(int a, int b, int c) {
    for (int i = 0; i < 4; ++i)
        c += static_cast<signed char>(a >> 8 * i) * static_cast<signed char>(b >> 8 * i);
    return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
    for (int i = 0; i < 4; ++i) c += (a >> 8 * i & 0xff) * (b >> 8 * i & 0xff);
    return c;
}
inline int __dp4a(char4 a, char4 b, int c) {
    return c + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

#define CPU_DEVICE_CAST(name, From, To)       \
    inline To name(From value) {              \
        return __builtin_bit_cast(To, value); \
    }
CPU_DEVICE_CAST(__float_as_int, float, int)
CPU_DEVICE_CAST(__float_as_uint, float, unsigned)
CPU_DEVICE_CAST(__int_as_float, int, float)
CPU_DEVICE_CAST(__uint_as_float, unsigned, float)
CPU_DEVICE_CAST(__double_as_longlong, double, long long)
CPU_DEVICE_CAST(__longlong_as_double, long long, double)
#undef CPU_DEVICE_CAST
#define CPU_DEVICE_CONVERT(name, From, To) \
    inline To name(From value) {           \
        return static_cast<To>(value);     \
    }
CPU_DEVICE_CONVERT(__uint2float_rn, unsigned, float)
CPU_DEVICE_CONVERT(__ll2float_rn, long long, float)
CPU_DEVICE_CONVERT(__double2float_rn, double, float)
CPU_DEVICE_CONVERT(__int2double_rn, int, double)
#undef CPU_DEVICE_CONVERT
inline int __double2int_rz(double x) {
    if (!(x == x)) return 0;
    return x >= 2147483647.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : static_cast<int>(x);
}
inline int __float2int_rd(float x) {
    return ::cpu_device::int_of(floorf(x));
}
inline int __float2int_ru(float x) {
    return ::cpu_device::int_of(ceilf(x));
}
inline unsigned __float2uint_rn(float x) {
    return x > 0.0f ? x >= 4294967296.0f ? 0xffffffffu : static_cast<unsigned>(nearbyintf(x)) : 0u;
}

namespace cpu_device {
/// What all lanes of the mask give, one after the other.
template <class T, class Combine>
T reduced(unsigned mask, T value, Combine combine, Here here) {
    T result = value;
    bool first = true;
    for (int lane = 0; lane < 32; ++lane) {
        if ((mask >> lane & 1) == 0) continue;
        const T other =
            shuffle(mask, shuffle_index, value, lane, 32, {"__reduce_sync()", here.file, here.line});
        result = first ? other : combine(result, other);
        first = false;
    }
    return result;
}
}  // namespace cpu_device
#define CPU_DEVICE_REDUCE(name, expression)                               \
    template <class T>                                                    \
    T name(unsigned mask, T value, ::cpu_device::Here here = {}) {        \
        return ::cpu_device::reduced(                                     \
            mask, value, [](T a, T b) -> T { return expression; }, here); \
    }
CPU_DEVICE_REDUCE(__reduce_add_sync, a + b)
CPU_DEVICE_REDUCE(__reduce_min_sync, a < b ? a : b)
CPU_DEVICE_REDUCE(__reduce_max_sync, a < b ? b : a)
CPU_DEVICE_REDUCE(__reduce_and_sync, a& b)
CPU_DEVICE_REDUCE(__reduce_or_sync, a | b)
#undef CPU_DEVICE_REDUCE

namespace cpu_device {
/// For each lane, which lanes have the same value.
inline void match(unsigned lanes, const std::uint64_t* in, const int*, int, std::uint64_t* out) {
    for (int lane = 0; lane < 32; ++lane) {
        out[lane] = 0;
        for (int other = 0; other < 32; ++other) {
            if ((lanes >> other & 1) != 0 && in[other] == in[lane]) out[lane] |= std::uint64_t{1} << other;
        }
    }
}
}  // namespace cpu_device
template <class T>
unsigned __match_any_sync(unsigned mask, T value, ::cpu_device::Here here = {}) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return static_cast<unsigned>(::cpu_device::collective(mask, ::cpu_device::match,
                                                          __builtin_bit_cast(Bits, value), 0, 32,
                                                          {"__match_any_sync()", here.file, here.line}));
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, ::cpu_device::Here here = {}) {
    *all = __match_any_sync(mask, value, here) == mask;
    return *all ? mask : 0;
}

// Two and four sums at once (CUDA C++ Programming Guide, "atomicAdd()": each is atomic, and not all
// together).
__forceinline__ float2 atomicAdd(float2* address, float2 value, ::cpu_device::Here here = {}) {
    return {atomicAdd(&address->x, value.x, here), atomicAdd(&address->y, value.y, here)};
}
__forceinline__ float4 atomicAdd(float4* address, float4 value, ::cpu_device::Here here = {}) {
    return {atomicAdd(&address->x, value.x, here), atomicAdd(&address->y, value.y, here),
            atomicAdd(&address->z, value.z, here), atomicAdd(&address->w, value.w, here)};
}

inline unsigned umin(unsigned a, unsigned b) {
    return a < b ? a : b;
}
inline unsigned umax(unsigned a, unsigned b) {
    return a < b ? b : a;
}
inline unsigned __float2uint_rz(float x) {
    return x > 0.0f ? x >= 4294967296.0f ? 0xffffffffu : static_cast<unsigned>(x) : 0u;
}
inline unsigned long long __brevll(unsigned long long x) {
    return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
           __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<unsigned long long>(static_cast<Wide>(a) * b >> 64);
}
inline double __hiloint2double(int high, int low) {
    return __builtin_bit_cast(double, static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                                          static_cast<unsigned>(low));
}
#define __assume(expression) __builtin_assume(expression)

/// A kernel of the stream does not begin before the one in front of it has ended.
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}

/// There is no time on the CPU device.
inline long long clock64() {
    return 0;
}
