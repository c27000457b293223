// wgmma: the four warps of a warpgroup multiply on the tensor cores, B and mostly A in shared memory, the
// sums in their registers, while the threads go on (PTX ISA, "Asynchronous Warpgroup Level Matrix
// Instructions", sm_90a alone).
//
// A batch is wgmma_fence(), any number of wgmma(), wgmma_commit(); its sums may be touched after
// wgmma_wait(), and so may the shared memory that it reads. wgmma reaches shared memory as the copy engine
// does (the async proxy): what threads have written there needs fence_proxy_async() and a barrier first, what
// TMA has brought its mbarrier. All 128 threads execute each of these with the same arguments.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "common/ptx/here.hpp"
#include "common/ptx/wgmma_descriptor.hpp"
#ifdef __CUDACC__
#include "common/ptx/wgmma_operands.hpp"
#else
#include "common/cpu/ptx/warpgroup.hpp"
#endif

// Compiled for anything else than sm_90a it only has to compile: who needs it says so, and is skipped there.
#if defined(__CUDA_ARCH__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define GEMM_NOT_SM90A
#endif

namespace gemm::ptx {

/// What a descriptor calls an address in shared memory.
__device__ __forceinline__ unsigned shared_address(const void* shared) {
#ifdef __CUDACC__
    return static_cast<unsigned>(__cvta_generic_to_shared(shared));
#else
    return ::cpu_device::shared_address(shared);
#endif
}

namespace detail {
/// For the compiler: the values are used here and may change, so that nothing it does to them crosses.
template <int COUNT>
__device__ __forceinline__ void hold([[maybe_unused]] float (&sums)[COUNT]) {
#ifdef __CUDA_ARCH__
#pragma unroll
    for (int i = 0; i < COUNT; ++i) asm volatile("" : "+f"(sums[i])::"memory");
#endif
}
template <int TILES, int COUNT>
__device__ __forceinline__ void hold(float (&sums)[TILES][COUNT]) {
#pragma unroll
    for (int i = 0; i < TILES; ++i) hold(sums[i]);
}
}  // namespace detail

/// Before the first wgmma() of a batch: what the thread has done to registers that it reads or adds to is
/// done. `sums`: those that the batch adds to.
template <int... COUNTS>
__device__ __forceinline__ void wgmma_fence_at([[maybe_unused]] Here here, float (&... sums)[COUNTS]) {
    (detail::hold(sums), ...);
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#else
    ::cpu_device::wgmma_fence({"wgmma.fence", here.file, here.line});
#endif
}
__device__ __forceinline__ void wgmma_fence(Here here = {}) {
    wgmma_fence_at(here);
}
template <int COUNT>
__device__ __forceinline__ void wgmma_fence(float (&sums)[COUNT], Here here = {}) {
    wgmma_fence_at(here, sums);
}
template <int TILES, int COUNT>
__device__ __forceinline__ void wgmma_fence(float (&sums)[TILES][COUNT], Here here = {}) {
    detail::hold(sums);
    wgmma_fence_at(here);
}

/// Closes the batch. An empty one counts too.
__device__ __forceinline__ void wgmma_commit([[maybe_unused]] Here here = {}) {
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#else
    ::cpu_device::wgmma_commit({"wgmma.commit_group", here.file, here.line});
#endif
}

/// Waits until at most PENDING of the newest batches are under way. The others have read shared memory, and
/// their sums are there. `sums`: those of theirs that are used from here on.
template <int PENDING, int... COUNTS>
__device__ __forceinline__ void wgmma_wait_at([[maybe_unused]] Here here, float (&... sums)[COUNTS]) {
    static_assert(PENDING >= 0 && PENDING <= 7, "0 to 7 batches can be under way");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#else
    ::cpu_device::wgmma_wait(PENDING, {"wgmma.wait_group", here.file, here.line});
#endif
    (detail::hold(sums), ...);
}
template <int PENDING>
__device__ __forceinline__ void wgmma_wait(Here here = {}) {
    wgmma_wait_at<PENDING>(here);
}
template <int PENDING, int COUNT>
__device__ __forceinline__ void wgmma_wait(float (&sums)[COUNT], Here here = {}) {
    wgmma_wait_at<PENDING>(here, sums);
}
template <int PENDING, int TILES, int COUNT>
__device__ __forceinline__ void wgmma_wait(float (&sums)[TILES][COUNT], Here here = {}) {
    wgmma_wait_at<PENDING>(here);
    detail::hold(sums);
}

/// sums = ±A·±B, plus the sums before if `add`: m64nNk16, A 64×16 and B N×16 of T (__half or __nv_bfloat16),
/// `a` and `b` matrix descriptors. Which sums a thread holds: wgmma_sum(). Products are exact, their sum is
/// rounded as described for mma_m16n8k16().
template <class T, int N, Major A = Major::k, Major B = Major::k, bool MINUS_A = false, bool MINUS_B = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] float (&sums)[N / 2], [[maybe_unused]] std::uint64_t a,
                                      [[maybe_unused]] std::uint64_t b, [[maybe_unused]] bool add,
                                      [[maybe_unused]] Here here = {}) {
    static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, "inputs of 16 bits");
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N is 8 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
#define GEMM_WGMMA(type, n, a_, b_, add_, minus_a, minus_b, row_a, row_b)                                  \
    if constexpr (N == n) {                                                                                \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_                                          \
                     ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type                 \
                     " {" GEMM_WGMMA_SUMS_##n "}, " a_ ", " b_ ", add, " minus_a ", " minus_b ", " row_a   \
                                              ", " row_b ";\n}"                                            \
                     : GEMM_WGMMA_HELD_##n(sums)                                                           \
                     : "l"(a), "l"(b), "r"(static_cast<int>(add)), "n"(MINUS_A ? -1 : 1),                  \
                       "n"(MINUS_B ? -1 : 1), "n"(A == Major::row ? 1 : 0), "n"(B == Major::row ? 1 : 0)); \
    }
#define GEMM_WGMMA_HALF(n, o0, o1, o2, o3, o4, o5, o6, ...) GEMM_WGMMA("f16", n, o0, o1, o2, o3, o4, o5, o6)
#define GEMM_WGMMA_BF16(n, o0, o1, o2, o3, o4, o5, o6, ...) GEMM_WGMMA("bf16", n, o0, o1, o2, o3, o4, o5, o6)
    if constexpr (std::is_same_v<T, __half>) {
        GEMM_WGMMA_SHAPES(GEMM_WGMMA_HALF)
    } else {
        GEMM_WGMMA_SHAPES(GEMM_WGMMA_BF16)
    }
#undef GEMM_WGMMA
#undef GEMM_WGMMA_HALF
#undef GEMM_WGMMA_BF16
#else
    ::cpu_device::wgmma({.sums = sums,
                         .count = N / 2,
                         .a = a,
                         .b = b,
                         .major_a = A,
                         .major_b = B,
                         .minus_a = MINUS_A,
                         .minus_b = MINUS_B,
                         .add = add,
                         .half = std::is_same_v<T, __half>},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}

/// The same with A from registers: which elements a thread holds, wgmma_a() says.
template <class T, int N, Major B = Major::k, bool MINUS_A = false, bool MINUS_B = false>
__device__ __forceinline__ void wgmma([[maybe_unused]] float (&sums)[N / 2],
                                      [[maybe_unused]] const std::uint32_t (&a)[4],
                                      [[maybe_unused]] std::uint64_t b, [[maybe_unused]] bool add,
                                      [[maybe_unused]] Here here = {}) {
    static_assert(std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>, "inputs of 16 bits");
    static_assert(N % 8 == 0 && N >= 8 && N <= 256, "N is 8 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
#define GEMM_WGMMA(type, n, a0, a1, a2, a3, b_, add_, minus_a, minus_b, row_b)                             \
    if constexpr (N == n) {                                                                                \
        asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, " add_                                          \
                     ", 0;\nwgmma.mma_async.sync.aligned.m64n" #n "k16.f32." type "." type                 \
                     " {" GEMM_WGMMA_SUMS_##n "}, {" a0 ", " a1 ", " a2 ", " a3 "}, " b_ ", add, " minus_a \
                                              ", " minus_b ", " row_b ";\n}"                               \
                     : GEMM_WGMMA_HELD_##n(sums)                                                           \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)),     \
                       "n"(MINUS_A ? -1 : 1), "n"(MINUS_B ? -1 : 1), "n"(B == Major::row ? 1 : 0));        \
    }
#define GEMM_WGMMA_HALF(n, ...) GEMM_WGMMA("f16", n, __VA_ARGS__)
#define GEMM_WGMMA_BF16(n, ...) GEMM_WGMMA("bf16", n, __VA_ARGS__)
    if constexpr (std::is_same_v<T, __half>) {
        GEMM_WGMMA_SHAPES(GEMM_WGMMA_HALF)
    } else {
        GEMM_WGMMA_SHAPES(GEMM_WGMMA_BF16)
    }
#undef GEMM_WGMMA
#undef GEMM_WGMMA_HALF
#undef GEMM_WGMMA_BF16
#else
    ::cpu_device::wgmma({.sums = sums,
                         .count = N / 2,
                         .registers = a,
                         .b = b,
                         .major_b = B,
                         .minus_a = MINUS_A,
                         .minus_b = MINUS_B,
                         .add = add,
                         .half = std::is_same_v<T, __half>},
                        {"wgmma.mma_async", here.file, here.line});
#endif
}

/// Gives registers back, or asks for more: REGISTERS for each thread of the warpgroup from here on, 24 to 256
/// in steps of 8. More there are only when other warpgroups of the block have given back as many; who asks
/// waits for them. The kernel has to be compiled with __launch_bounds__.
template <int REGISTERS>
__device__ __forceinline__ void fewer_registers([[maybe_unused]] Here here = {}) {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0, "24 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#else
    ::cpu_device::set_registers(REGISTERS, false, {"setmaxnreg.dec", here.file, here.line});
#endif
}
template <int REGISTERS>
__device__ __forceinline__ void more_registers([[maybe_unused]] Here here = {}) {
    static_assert(REGISTERS >= 24 && REGISTERS <= 256 && REGISTERS % 8 == 0, "24 to 256 in steps of 8");
#ifdef GEMM_NOT_SM90A
    __trap();
#elif defined(__CUDACC__)
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
#else
    ::cpu_device::set_registers(REGISTERS, true, {"setmaxnreg.inc", here.file, here.line});
#endif
}

}  // namespace gemm::ptx

#undef GEMM_NOT_SM90A
