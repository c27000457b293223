// Stand-in for the toolkit's <cuda_runtime.h>: the part of CUDA that the lessons and their harness use, for
// g++ and the CPU device. Names, values and limits are CUDA's (CUDA Runtime API reference; CUDA C++
// Programming Guide, "C++ language extensions"). Two constructs that C++ cannot say, kernel<<<…>>>(…) and
// extern __shared__ T x[], are rewritten by common/cpu/translate.py before the compiler sees them.
#pragma once

#define CUDART_VERSION 13000  // whose answers this gives, where versions differ

#ifdef GEMM_TRACED
// g++ puts a few instructions in the place of memcpy(), and no access hook before them. A traced kernel calls
// these instead (common/cpu/trace/hooks.cpp), which cmake/lesson.cmake sees to: this header is read before
// anything else, as with nvcc, and the compiler knows no better than to call a function of that name.
extern "C" {
void* memcpy(void* __restrict to, const void* __restrict from, __SIZE_TYPE__ bytes) noexcept
    __asm__("cpu_device_traced_memcpy");
void* memmove(void* to, const void* from, __SIZE_TYPE__ bytes) noexcept __asm__("cpu_device_traced_memmove");
void* memset(void* to, int byte, __SIZE_TYPE__ bytes) noexcept __asm__("cpu_device_traced_memset");
}
#define __builtin_memcpy memcpy
#define __builtin_memmove memmove
#define __builtin_memset memset
#endif

#include <cassert>  // kernels use assert and printf without including anything, as with nvcc
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime_api.h"

// ---- qualifiers ----
#ifdef __CUDA__  // clangd, which reads kernel.cu untranslated
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#else
#define __global__
#define __device__
#define __host__
#endif
#define __constant__
#define __managed__
// Where the variables lie that these three declare: common/cpu/translate.py adds it. (An inline variable's
// section cannot be another's.)
#define CPU_DEVICE_VARIABLE __attribute__((section("cpu_device_variables")))
#define CPU_DEVICE_INLINE_VARIABLE __attribute__((section("cpu_device_inline_variables")))
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)  // common/cpu/translate.py adds them to the launches
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
// One copy per OS thread is one copy per block, because a block never leaves its OS thread. __constinit: g++
// would guard an array of a class that has constructors, __half say, by a flag, and initialise it as the
// first thread comes by. A class whose constructor would have to run is an error, as with nvcc. (Not
// __noinline__: the standard library spells attributes with it.)
#ifdef __clang__
#define CPU_DEVICE_SHARED static thread_local
#else
#define CPU_DEVICE_SHARED static __constinit thread_local
#endif
#ifdef GEMM_TRACED  // far apart, so that what leaves one array does not land in the next unseen
#ifndef CPU_DEVICE_APART
#define CPU_DEVICE_APART 65536
#endif
#define __shared__ CPU_DEVICE_SHARED __attribute__((aligned(CPU_DEVICE_APART)))
#else
#define __shared__ CPU_DEVICE_SHARED
#endif

// ---- vector types ----
#define CPU_DEVICE_VECTOR_TYPES(T, name, align2, align4) \
    struct name##1 {                                     \
        T x;                                             \
    };                                                   \
    struct __align__(align2) name##2 {                   \
        T x, y;                                          \
    };                                                   \
    struct name##3 {                                     \
        T x, y, z;                                       \
    };                                                   \
    struct __align__(align4) name##4 {                   \
        T x, y, z, w;                                    \
    };                                                   \
    inline name##1 make_##name##1(T x) {                 \
        return {x};                                      \
    }                                                    \
    inline name##2 make_##name##2(T x, T y) {            \
        return {x, y};                                   \
    }                                                    \
    inline name##3 make_##name##3(T x, T y, T z) {       \
        return {x, y, z};                                \
    }                                                    \
    inline name##4 make_##name##4(T x, T y, T z, T w) {  \
        return {x, y, z, w};                             \
    }
CPU_DEVICE_VECTOR_TYPES(float, float, 8, 16)
CPU_DEVICE_VECTOR_TYPES(int, int, 8, 16)
CPU_DEVICE_VECTOR_TYPES(unsigned int, uint, 8, 16)
constexpr dim3::dim3(const uint3& v) : x(v.x), y(v.y), z(v.z) {}
CPU_DEVICE_VECTOR_TYPES(signed char, char, 2, 4)
CPU_DEVICE_VECTOR_TYPES(unsigned char, uchar, 2, 4)
CPU_DEVICE_VECTOR_TYPES(short, short, 4, 8)
CPU_DEVICE_VECTOR_TYPES(unsigned short, ushort, 4, 8)
CPU_DEVICE_VECTOR_TYPES(long long, longlong, 16, 16)
CPU_DEVICE_VECTOR_TYPES(unsigned long long, ulonglong, 16, 16)
CPU_DEVICE_VECTOR_TYPES(double, double, 16, 16)
#undef CPU_DEVICE_VECTOR_TYPES

#ifdef __CUDA__
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                                cudaStream_t stream);
#endif

// ---- inside a kernel ----
namespace cpu_device {

// `const`: the address is the same for as long as a kernel runs on one OS thread, so the compiler may keep
// it.
__attribute__((const)) const uint3& thread_idx();
__attribute__((const)) const uint3& block_idx();
__attribute__((const)) const dim3& block_dim();
__attribute__((const)) const dim3& grid_dim();

/// The block's dynamic shared memory, 1024-byte aligned or more, or by no more than is declared
/// (tolerance.hpp).
void* dynamic_shared();
/// The alignment is one that a kernel of the program declares of it; true.
bool declare_dynamic_alignment(std::size_t bytes);
template <class T>
inline const bool kDynamicAlignment = declare_dynamic_alignment(alignof(T));
/// The same, with the alignments of these types; what extern __shared__ T x[] becomes.
template <class T, class... More>
void* dynamic_shared() {
    (void)kDynamicAlignment<T>;
    ((void)kDynamicAlignment<More>, ...);
    return dynamic_shared();
}

// cp.async, see common/ptx/cp_async.hpp. The destination holds NaN from the start of a copy to the wait that
// ends it, so that a missing wait shows.
void async_copy(void* shared, const void* global, int bytes, int valid);
void async_commit();
void async_wait(int pending_groups);

/// Where in the source a barrier or a warp collective stands.
struct Site {
    const char* what;
    const char* file;
    int line;
};

/// The same, for functions that take it as their last argument: `Here here = {}` is where they are called.
struct Here {
    const char* file;
    int line;
    constexpr Here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) : file(f), line(l) {}
};

/// Returns for how many threads of the block `predicate` holds.
int barrier(Site site, bool predicate = false);

/// The lanes of the warp that wait at the same place when no other can go on: on a GPU they need not be more.
unsigned active_mask(Site site);

/// Ends the launch with an error.
[[noreturn]] void trap(Site site);

/// Orders memory accesses for the threads of all blocks.
void fence();

/// Lets all others go on that can.
void pause(Site site);

/// What a warp collective computes when its last lane has arrived: reads every lane's 8-byte input and its
/// argument, writes every lane's 8-byte output. `lanes` has a bit for each lane that takes part.
using Collective = void (*)(unsigned lanes, const std::uint64_t* in, const int* argument, int width,
                            std::uint64_t* out);
std::uint64_t collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                         Site site);
void shuffle_index(unsigned, const std::uint64_t*, const int*, int, std::uint64_t*);
void shuffle_up(unsigned, const std::uint64_t*, const int*, int, std::uint64_t*);
void shuffle_down(unsigned, const std::uint64_t*, const int*, int, std::uint64_t*);
void shuffle_xor(unsigned, const std::uint64_t*, const int*, int, std::uint64_t*);
void ballot(unsigned, const std::uint64_t*, const int*, int, std::uint64_t*);

template <class T>
T shuffle(unsigned mask, Collective compute, T value, int argument, int width, Site site) {
    static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return __builtin_bit_cast(T, static_cast<Bits>(collective(mask, compute, __builtin_bit_cast(Bits, value),
                                                              argument, width, site)));
}

/// What cudaLaunchAttributes ask for.
struct LaunchAttributes {
    dim3 cluster{};            // blocks that are resident together
    bool cooperative = false;  // all blocks of the grid are
};

using Call = void (*)(const void* context);
/// Runs call(context) once per thread of the grid and returns when all have finished. A configuration that
/// CUDA would refuse returns CUDA's error code, also to cudaGetLastError(), and runs nothing. Throws
/// gemm::Error for what goes wrong inside the kernel, naming kernel, block and thread. blocks_wait: blocks
/// may wait for those of other clusters, as they may in a cooperative launch; their order depends on the seed
/// alone.
cudaError_t launch(const char* name, const void* function, dim3 grid, dim3 block,
                   std::size_t dynamic_shared_bytes, Call call, const void* context,
                   std::size_t context_bytes, const LaunchAttributes& attributes = {},
                   bool blocks_wait = false);
/// "namespace::kernel<int>".
const char* kernel_name(const void* function);
LaunchAttributes attributes_of(const cudaLaunchConfig_t& config);

/// Said of each launch.
void in_stream(cudaStream_t stream);

// Each object file has its own of these. One that several share would lie among the kernels of the first, and
// libbacktrace, which then takes the place for the others', too, would not find the lines of these kernels.
namespace {

/// Blocks of the file's kernels may wait for each other: common/ptx/flags.hpp says so.
[[maybe_unused]] bool blocks_wait = false;

/// What kernel<<<grid, block, bytes, stream>>> becomes; the arguments in parentheses follow it.
template <class... P>
struct Launcher {
    const char* name;
    void (*kernel)(P...);
    dim3 grid, block;
    std::size_t dynamic_shared_bytes;
    LaunchAttributes attributes{};

    Launcher with(const LaunchAttributes& other) const {
        Launcher launcher = *this;
        launcher.attributes = other;
        return launcher;
    }
    Launcher with_cluster(unsigned x, unsigned y = 1, unsigned z = 1) const { return with({dim3(x, y, z)}); }

    template <class... A>
    void operator()(A&&... arguments) const {
        (void)status_of(std::forward<A>(arguments)...);
    }
    /// The error of this launch, not of an earlier one.
    template <class... A>
    cudaError_t status_of(A&&... arguments) const {
        static_assert(sizeof...(A) == sizeof...(P), "a kernel launch with too many or too few arguments");
        // Converted to the parameter types once, at the launch, as CUDA does.
        const std::pair<void (*)(P...), std::tuple<P...>> context(
            kernel, std::tuple<P...>(std::forward<A>(arguments)...));
        using Context = decltype(context);
        return launch(
            name, reinterpret_cast<const void*>(kernel), grid, block, dynamic_shared_bytes,
            [](const void* c) {
                const auto& [function, parameters] = *static_cast<Context*>(c);
                std::apply(function, parameters);
            },
            &context, sizeof context, attributes, blocks_wait);
    }
};
template <class... P>
Launcher<P...> launcher(const char* name, void (*kernel)(P...), dim3 grid, dim3 block,
                        std::size_t dynamic_shared_bytes = 0, cudaStream_t stream = nullptr) {
    in_stream(stream);
    return {name, kernel, grid, block, dynamic_shared_bytes};
}

}  // namespace

}  // namespace cpu_device

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...), A&&... arguments) {
    return ::cpu_device::launcher(::cpu_device::kernel_name(reinterpret_cast<const void*>(kernel)), kernel,
                                  config->config_gridDim, config->config_blockDim, config->dynamicSmemBytes,
                                  config->stream)
        .with(::cpu_device::attributes_of(*config))
        .status_of(std::forward<A>(arguments)...);
}

#define threadIdx (::cpu_device::thread_idx())
#define blockIdx (::cpu_device::block_idx())
#define blockDim (::cpu_device::block_dim())
#define gridDim (::cpu_device::grid_dim())

constexpr int warpSize = 32;

// The default arguments are evaluated where the kernel calls them: that is the line an error names.
#define CPU_DEVICE_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(CPU_DEVICE_HERE) {
    ::cpu_device::barrier({"__syncthreads()", file, line});
}
inline int __syncthreads_count(int predicate, CPU_DEVICE_HERE) {
    return ::cpu_device::barrier({"__syncthreads_count()", file, line}, predicate != 0);
}
inline int __syncthreads_or(int predicate, CPU_DEVICE_HERE) {
    return ::cpu_device::barrier({"__syncthreads_or()", file, line}, predicate != 0) != 0;
}
inline int __syncthreads_and(int predicate, CPU_DEVICE_HERE) {
    return ::cpu_device::barrier({"__syncthreads_and()", file, line}, predicate == 0) == 0;
}
inline void __syncwarp(unsigned mask = 0xffffffffu, CPU_DEVICE_HERE) {
    ::cpu_device::collective(mask, nullptr, 0, 0, 32, {"__syncwarp()", file, line});
}
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32, CPU_DEVICE_HERE) {
    return ::cpu_device::shuffle(mask, ::cpu_device::shuffle_index, value, source, width,
                                 {"__shfl_sync()", file, line});
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CPU_DEVICE_HERE) {
    return ::cpu_device::shuffle(mask, ::cpu_device::shuffle_up, value, static_cast<int>(delta), width,
                                 {"__shfl_up_sync()", file, line});
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CPU_DEVICE_HERE) {
    return ::cpu_device::shuffle(mask, ::cpu_device::shuffle_down, value, static_cast<int>(delta), width,
                                 {"__shfl_down_sync()", file, line});
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, CPU_DEVICE_HERE) {
    return ::cpu_device::shuffle(mask, ::cpu_device::shuffle_xor, value, lane_mask, width,
                                 {"__shfl_xor_sync()", file, line});
}
inline unsigned __ballot_sync(unsigned mask, int predicate, CPU_DEVICE_HERE) {
    return static_cast<unsigned>(::cpu_device::collective(mask, ::cpu_device::ballot, predicate != 0, 0, 32,
                                                          {"__ballot_sync()", file, line}));
}
inline int __any_sync(unsigned mask, int predicate, CPU_DEVICE_HERE) {
    return ::cpu_device::collective(mask, ::cpu_device::ballot, predicate != 0, 0, 32,
                                    {"__any_sync()", file, line}) != 0;
}
inline int __all_sync(unsigned mask, int predicate, CPU_DEVICE_HERE) {
    return ::cpu_device::collective(mask, ::cpu_device::ballot, predicate == 0, 0, 32,
                                    {"__all_sync()", file, line}) == 0;
}
inline unsigned __activemask(CPU_DEVICE_HERE) {
    return ::cpu_device::active_mask({"__activemask()", file, line});
}
[[noreturn]] inline void __trap(CPU_DEVICE_HERE) {
    ::cpu_device::trap({"__trap()", file, line});
}
/// However long it is said to be: there is no time on the CPU device.
inline void __nanosleep(unsigned, CPU_DEVICE_HERE) {
    ::cpu_device::pause({"__nanosleep()", file, line});
}
#undef CPU_DEVICE_HERE

// A block's threads share one OS thread: only the compiler could reorder what they see of each other.
inline void __threadfence_block() {
    __asm__ volatile("" ::: "memory");
}
inline void __threadfence() {
    ::cpu_device::fence();
}
inline void __threadfence_system() {
    ::cpu_device::fence();
}

#ifndef __clang__  // which has it
// The expression is not evaluated, as with nvcc.
#define __builtin_assume(expression) static_cast<void>(sizeof((expression) ? 1 : 0))
#endif

// Loads and stores with hints for the caches (CUDA C++ Programming Guide, "Load Functions Using Cache
// Hints").
#define CPU_DEVICE_LOAD(NAME)  \
    template <class T>         \
    T NAME(const T* pointer) { \
        return *pointer;       \
    }
#define CPU_DEVICE_STORE(NAME)                                   \
    template <class T>                                           \
    void NAME(T* pointer, const std::type_identity_t<T> value) { \
        *pointer = value;                                        \
    }
CPU_DEVICE_LOAD(__ldg)
CPU_DEVICE_LOAD(__ldca)
CPU_DEVICE_LOAD(__ldcg)
CPU_DEVICE_LOAD(__ldcs)
CPU_DEVICE_LOAD(__ldcv)
CPU_DEVICE_LOAD(__ldlu)
CPU_DEVICE_STORE(__stcg)
CPU_DEVICE_STORE(__stcs)
CPU_DEVICE_STORE(__stwb)
CPU_DEVICE_STORE(__stwt)
#undef CPU_DEVICE_LOAD
#undef CPU_DEVICE_STORE

// ---- arithmetic (CUDA Math API Reference Manual: "Integer Mathematical Functions", "Single Precision
// Mathematical Functions", "Integer Intrinsics", "Single Precision Intrinsics", "Type Casting Intrinsics")
// ----

// The overloads that CUDA has and no others: what is ambiguous there is ambiguous here.
#define CPU_DEVICE_MIN_MAX(R, A, B)                           \
    inline R min(A a, B b) {                                  \
        const R x = static_cast<R>(a), y = static_cast<R>(b); \
        return y < x ? y : x;                                 \
    }                                                         \
    inline R max(A a, B b) {                                  \
        const R x = static_cast<R>(a), y = static_cast<R>(b); \
        return x < y ? y : x;                                 \
    }
#define CPU_DEVICE_MIN_MAX_OF(T)                           \
    CPU_DEVICE_MIN_MAX(T, T, T)                            \
    CPU_DEVICE_MIN_MAX(unsigned T, unsigned T, unsigned T) \
    CPU_DEVICE_MIN_MAX(unsigned T, T, unsigned T)          \
    CPU_DEVICE_MIN_MAX(unsigned T, unsigned T, T)
CPU_DEVICE_MIN_MAX_OF(int)
CPU_DEVICE_MIN_MAX_OF(long)
CPU_DEVICE_MIN_MAX_OF(long long)
#undef CPU_DEVICE_MIN_MAX_OF
#undef CPU_DEVICE_MIN_MAX
// Of a NaN and a number, the number.
inline float min(float a, float b) {
    return fminf(a, b);
}
inline float max(float a, float b) {
    return fmaxf(a, b);
}
inline double min(double a, double b) {
    return fmin(a, b);
}
inline double max(double a, double b) {
    return fmax(a, b);
}
inline double min(float a, double b) {
    return fmin(static_cast<double>(a), b);
}
inline double min(double a, float b) {
    return fmin(a, static_cast<double>(b));
}
inline double max(float a, double b) {
    return fmax(static_cast<double>(a), b);
}
inline double max(double a, float b) {
    return fmax(a, static_cast<double>(b));
}

inline float __fadd_rn(float a, float b) {
    return a + b;
}
inline float __fsub_rn(float a, float b) {
    return a - b;
}
inline float __fmul_rn(float a, float b) {
    return a * b;
}
inline float __fmaf_rn(float a, float b, float c) {
    return fmaf(a, b, c);
}
/// Rounded once; CUDA's may be 2 ulp off.
inline float rsqrtf(float x) {
    return static_cast<float>(1.0 / sqrt(static_cast<double>(x)));
}

inline int __popc(unsigned x) {
    return __builtin_popcount(x);
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
    return __builtin_ffs(x);
}

namespace cpu_device {
/// Past int's range its ends, and 0 for NaN: what cvt gives (PTX ISA, "cvt").
inline int int_of(float whole) {
    if (!(whole == whole)) return 0;
    if (whole >= 2147483648.0f) return 2147483647;
    return whole < -2147483648.0f ? -2147483647 - 1 : static_cast<int>(whole);
}
}  // namespace cpu_device
inline int __float2int_rn(float x) {
    return ::cpu_device::int_of(nearbyintf(x));
}
inline int __float2int_rz(float x) {
    return ::cpu_device::int_of(truncf(x));
}
inline float __int2float_rn(int x) {
    return static_cast<float>(x);
}

#include "device_atomic_functions.h"
