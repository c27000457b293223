// Blocks that wait for each other by CUDA's own functions: nothing tells the CPU device before they do.
#include <cuda_runtime.h>

#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

__global__ void atomic_chain_kernel(unsigned* flags, int* values) {
    const unsigned i = blockIdx.x, last = gridDim.x - 1;
    if (threadIdx.x == 0) {
        if (i < last) {
            while (atomicAdd(&flags[i + 1], 0u) == 0) {
            }
            __threadfence();
        }
        values[i] = i < last ? values[i + 1] + 1 : 1;
        __threadfence();
        atomicExch(&flags[i], 1u);
    }
}

/// All threads of all blocks add 1 to what a lock guards.
__global__ void locked_kernel(int* lock, int* sum) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            *sum += 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

}  // namespace

void atomic_chain(int blocks, unsigned* flags, int* values) {
    atomic_chain_kernel<<<blocks, 64>>>(flags, values);
}
void locked(int blocks, int* lock, int* sum) {
    locked_kernel<<<blocks, 64>>>(lock, sum);
}

}  // namespace kernels
