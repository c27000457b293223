// A block adds to its own part of C what another one has computed of it, and hands over by a flag.
#include "common/ptx/flags.hpp"

#include <cuda_runtime.h>

#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

using gemm::ptx::add_acquire_release;
using gemm::ptx::add_release;
using gemm::ptx::load_acquire;
using gemm::ptx::store_release;

constexpr unsigned kThreads = 64;

__device__ void hand_over(FlagMistake mistake, unsigned* flag) {
    if (mistake != FlagMistake::no_barrier_before) __syncthreads();
    if (threadIdx.x != 0) return;
    switch (mistake) {
        case FlagMistake::relaxed_add:
            atomicAdd(flag, 1u);
            break;
        case FlagMistake::none_by_fences:
        case FlagMistake::no_fence_after:
            __threadfence();
            atomicAdd(flag, 1u);
            break;
        case FlagMistake::plain_store:
            *flag = 1;  // LINE flag-plain
            break;
        case FlagMistake::none_by_adding:
            add_release(flag, 1);
            break;
        default:
            store_release(flag, 1);
    }
}

__device__ void wait_for(FlagMistake mistake, unsigned* flag) {
    if (threadIdx.x == 0) {
        if (mistake == FlagMistake::none_by_fences || mistake == FlagMistake::no_fence_after) {
            while (atomicAdd(flag, 0u) == 0) {
            }
            if (mistake == FlagMistake::none_by_fences) __threadfence();
        } else {
            while (load_acquire(flag) == 0) {  // LINE flag-wait
            }
        }
    }
    if (mistake != FlagMistake::no_barrier_after) __syncthreads();
}

/// Block 1 has half of each sum, block 0 the other one, and writes C. flags: 2.
__global__ void flags_kernel(FlagMistake mistake, float* part, unsigned* flags, float* c) {
    const unsigned i = threadIdx.x;
    if (blockIdx.x == 1) {
        part[i] = static_cast<float>(i);  // LINE flag-part
        hand_over(mistake, &flags[0]);
        if (mistake == FlagMistake::none_and_back) wait_for(mistake, &flags[1]);
        if (mistake == FlagMistake::none_and_back || mistake == FlagMistake::reused_early)
            part[i] = 0;                                    // LINE flag-again
        if (mistake == FlagMistake::both_write) c[i] = -1;  // LINE flag-both
        return;
    }
    float early = 0;
    if (mistake == FlagMistake::read_early) early = part[i];  // LINE flag-early
    wait_for(mistake, &flags[0]);
    const float theirs = mistake == FlagMistake::read_early ? early : part[i];  // LINE flag-read
    c[i] = theirs + 1;                                                          // LINE flag-c
    if (mistake == FlagMistake::none_and_back) hand_over(mistake, &flags[1]);
}

/// A chain: each block adds 1 to C when the block before it has, and knows what all before have done.
__global__ void passed_on_kernel(unsigned* flag, float* c) {
    if (threadIdx.x == 0) {
        while (load_acquire(flag) != blockIdx.x) {
        }
    }
    __syncthreads();
    c[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) add_release(flag, 1);
}

/// The last of the blocks adds up what all have written.
__global__ void last_kernel(bool acquires, float* parts, unsigned* count, float* c) {
    __shared__ bool last;
    parts[blockIdx.x * kThreads + threadIdx.x] = 1;  // LINE last-part
    __syncthreads();
    if (threadIdx.x == 0) {
        if (acquires) {
            last = add_acquire_release(count, 1) == gridDim.x - 1;
        } else {
            __threadfence();
            last = atomicAdd(count, 1u) == gridDim.x - 1;
        }
    }
    __syncthreads();
    if (!last) return;
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += parts[b * kThreads + threadIdx.x];  // LINE last-read
    c[threadIdx.x] = sum;
}

}  // namespace

void flags(FlagMistake mistake, float* part, unsigned* flags, float* c) {
    flags_kernel<<<2, kThreads>>>(mistake, part, flags, c);
}
void passed_on(int blocks, unsigned* flag, float* c) {
    passed_on_kernel<<<blocks, kThreads>>>(flag, c);
}
void last_adds(bool acquires, int blocks, float* parts, unsigned* count, float* c) {
    last_kernel<<<blocks, kThreads>>>(acquires, parts, count, c);
}

}  // namespace traced
