// Kernels that go wrong. Only for the CPU device, which must say what went wrong, and where.
#include <mma.h>

#include <stdexcept>

#include "common/ptx/ldmatrix.hpp"
#include "common/ptx/mma.hpp"
#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

__device__ int descend(int depth, volatile int* sink) {
    volatile char frame[512];
    frame[depth % 512] = 1;
    *sink = depth;
    return depth < 1000000 ? descend(depth + 1, sink) + frame[0] : 0;
}

__device__ int use_large_array(int index) {
    volatile char frame[300 * 1024];
    frame[index] = 1;
    return frame[index] + frame[0];
}

/// Each of the two leaves room on the stack, and is small enough for g++ on aarch64 not to touch it on the
/// way.
__device__ __attribute__((noinline)) int use_second_array(int index) {
    volatile char frame[40 * 1024];
    frame[index] = 1;
    return frame[index];
}
__device__ __attribute__((noinline)) int use_two_arrays(int index) {
    volatile char frame[40 * 1024];
    frame[index] = 1;
    return use_second_array(index) + frame[index];
}

__device__ __forceinline__ void tensor_cores(Fault fault, bool me, int* global) {
    __shared__ __align__(32) __nv_bfloat16 tile[16 * 32];
    namespace wmma = nvcuda::wmma;
    using gemm::ptx::mma_m16n8k16;
    float acc[4] = {};
    std::uint32_t a[4] = {}, b[2] = {};
    const void* row = &tile[threadIdx.x * 8];
    if (fault == Fault::mma_missing_lane) {
        if (me) __syncwarp();                    // LINE mma_elsewhere
        mma_m16n8k16<__nv_bfloat16>(acc, a, b);  // LINE mma_missing_lane
    }
    if (fault == Fault::mma_in_branches) {
        if (me) {
            mma_m16n8k16<__nv_bfloat16>(acc, a, b);  // LINE mma_in_branches
        } else {
            mma_m16n8k16<__nv_bfloat16>(acc, a, b);  // LINE mma_other_branch
        }
    }
    if (fault == Fault::mma_or_ldmatrix) {
        // clang-format off
        if (me) { gemm::ptx::ldmatrix(a, row); } else { mma_m16n8k16<__half>(acc, a, b); }  // LINE mma_or_ldmatrix
        // clang-format on
    }
    if (fault == Fault::mma_after_return && !me) {
        mma_m16n8k16<__half>(acc, a, b);  // LINE mma_after_return
    }
    if (me && fault == Fault::ldmatrix_misaligned) row = &tile[4];
    if (me && fault == Fault::ldmatrix_of_global) row = global;
    if (me && fault == Fault::ldmatrix_of_null) row = nullptr;
    if (fault == Fault::ldmatrix_misaligned || fault == Fault::ldmatrix_of_global ||
        fault == Fault::ldmatrix_of_null) {
        gemm::ptx::ldmatrix(a, row);  // LINE ldmatrix
    }
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fragment;
    if (fault == Fault::wmma_addresses) {
        wmma::load_matrix_sync(fragment, &tile[me ? 16 : 0], 32);  // LINE wmma_addresses
    }
    if (fault == Fault::wmma_misaligned) {
        wmma::load_matrix_sync(fragment, &tile[8], 32);  // LINE wmma_misaligned
    }
    if (fault == Fault::wmma_pitch) {
        wmma::load_matrix_sync(fragment, tile, 20);  // LINE wmma_pitch
    }
}

__global__ void short_warp_kernel(float* out) {
    float acc[4] = {};
    const std::uint32_t a[4] = {}, b[2] = {};
    gemm::ptx::mma_m16n8k16<__half>(acc, a, b);  // LINE short_warp
    *out = acc[0];
}

__global__ void fault_kernel(Fault fault, int zero, int* nowhere, int* out) {
    __shared__ int small_array[16];
    const int lane = threadIdx.y * blockDim.x + threadIdx.x;  // 32 threads: one warp
    const bool here = blockIdx.x == 1 && blockIdx.y == 2;
    const bool me = here && threadIdx.x == 3 && threadIdx.y == 1;  // lane 11
    int value = lane;
    if (fault == Fault::missing_lane && here) {
        if (me) __syncthreads();                     // LINE elsewhere
        value = __shfl_sync(0xffffffffu, value, 0);  // LINE missing_lane
    }
    if (fault == Fault::left_out_by_mask && here) {
        value = __shfl_sync(0xfffff7ffu, value, 0);  // LINE left_out_by_mask
    }
    if (fault == Fault::different_masks && here) {
        value = __shfl_sync(lane < 16 ? 0xffffffffu : 0xffff0000u, value, 0);  // LINE different_masks
    }
    if (fault == Fault::two_collectives && here) {
        if (me) {
            value = __shfl_sync(0xffffffffu, value, 0);  // LINE two_collectives
        } else {
            value = __shfl_sync(0xffffffffu, value, 1);  // LINE the_others
        }
    }
    if (fault == Fault::returned_before_barrier && here) {
        if (me) return;
        __syncthreads();  // LINE returned_before_barrier
    }
    if (fault == Fault::two_barriers && here) {
        if (me) {
            __syncthreads();  // LINE two_barriers
        } else {
            __syncthreads();  // LINE the_other_barrier
        }
    }
    if (here) {
        tensor_cores(fault, me, out);
        if (fault == Fault::mma_after_return && me) return;
    }
    __syncthreads();
    if (fault == Fault::trap && me) __trap();  // LINE trap
    if (fault == Fault::exception && me) throw std::runtime_error("planted by the test");
    if (fault == Fault::null_pointer && me) *nowhere = 1;
    if (fault == Fault::division_by_zero && me) value = lane / zero;
    if (fault == Fault::recursion && me) value = descend(0, out);
    if (fault == Fault::large_array && me) value = use_large_array(zero);
    if (fault == Fault::two_arrays && me) value = use_two_arrays(zero);
    if (fault == Fault::endless_loop && me) {
        volatile const int* const flag = out + 6;
        while (*flag == 0) {
        }
    }
    if (fault == Fault::endless_barriers && here) {
        volatile const int* const flag = out + 6;
        while (*flag == 0) __syncthreads();  // LINE endless_barriers
    }
    if (fault == Fault::wild_pointer && me) {
        *reinterpret_cast<volatile int*>(reinterpret_cast<std::uintptr_t>(out) | 0x0070000000000000u) = 1;
    }
    if (fault == Fault::past_the_allocation && me) {
        for (int i = 0; i < 1 << 20; ++i) out[i] = 1;
    }
    if (fault == Fault::far_past_a_shared_array && me) {
        volatile int* const first = small_array;
        for (int i = 0; i < 8000; ++i) first[i] = i;  // 32 KB past 64 bytes: into whatever lies behind
    }
    __syncthreads();
    if (lane == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = value > -1000000 ? 1 : 0;
}

constexpr int kWords = 256;

__global__ void look_at_shared(int* not_nan) {
    __shared__ float fixed[kWords];
    extern __shared__ float dynamic[];
    if (threadIdx.x == 0) {
        int count = 0;
        for (int i = 0; i < kWords; ++i) count += (fixed[i] == fixed[i]) + (dynamic[i] == dynamic[i]);
        for (const float* words : {static_cast<const float*>(fixed), static_cast<const float*>(dynamic)}) {
            const auto* halves = reinterpret_cast<const __half*>(words);
            const auto* bfloats = reinterpret_cast<const __nv_bfloat16*>(words);
            for (int i = 0; i < 2 * kWords; ++i) {
                const float half = __half2float(halves[i]), bfloat = __bfloat162float(bfloats[i]);
                count += (half == half) + (bfloat == bfloat);
            }
        }
        not_nan[blockIdx.x] = count;
        for (int i = 0; i < kWords; ++i) fixed[i] = dynamic[i] = 1.0f;
    }
}

__global__ void product_and_sum_kernel(float x, float y, float z, float* out) {
    *out = x * y + z;
}

__global__ void greedy(float* out) {
    __shared__ float words[49 * 256];
    words[threadIdx.x] = 1.0f;
    __syncthreads();
    *out = words[0];
}

}  // namespace

void faulty(Fault fault, int* out) {
    fault_kernel<<<dim3(2, 3), dim3(8, 4)>>>(fault, 0, nullptr, out);
}

void read_unwritten_shared(int blocks, int* not_nan) {
    look_at_shared<<<blocks, 32, kWords * sizeof(float)>>>(not_nan);
}

void product_and_sum(float x, float y, float z, float* out) {
    product_and_sum_kernel<<<1, 1>>>(x, y, z, out);
}

void short_warp(float* out) {
    short_warp_kernel<<<1, 40>>>(out);
}

void too_much_static_shared() {
    float out = 0.0f;
    greedy<<<1, 32>>>(&out);
}

}  // namespace kernels
