// What goes wrong in a block that another one waits for.
#include "common/ptx/flags.hpp"

#include <cuda_runtime.h>

#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

using gemm::ptx::load_acquire;
using gemm::ptx::store_release;

__device__ int depth_of(int depth, volatile int* out) {
    volatile int frame[64];
    frame[depth % 64] = depth;
    if (depth == 0) return *out;
    return depth_of(depth - 1, out) + frame[depth % 64];
}

/// Block 0 waits for block 1, which goes wrong beside it.
__global__ void wrong_beside_kernel(WrongBeside kind, unsigned* flags, int* out) {
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) {
            while (load_acquire(flags) == 0) {  // LINE wait
            }
        }
        __syncthreads();
        return;
    }
    __syncthreads();
    if (threadIdx.x == 40) {
        int* const nowhere = nullptr;
        switch (kind) {
            case WrongBeside::null_pointer:
                *const_cast<volatile int*>(nowhere) = 1;
                break;
            case WrongBeside::trap:
                __trap();
                break;
            case WrongBeside::overrun:
                *out += depth_of(300, out);
                break;
            case WrongBeside::recursion:
                *out += depth_of(1 << 24, out);
                break;
            case WrongBeside::endless_loop:
                while (*reinterpret_cast<volatile unsigned*>(&flags[1]) == 0) {
                }
                break;
            case WrongBeside::divergent:
                return;
            case WrongBeside::not_released:
                if (*out == 0) return;
                break;
        }
    }
    if (kind == WrongBeside::divergent) __syncthreads();
    if (threadIdx.x == 0 && kind != WrongBeside::not_released) store_release(flags, 1);
}

}  // namespace

void wrong_beside(WrongBeside kind, unsigned* flags, int* out) {
    wrong_beside_kernel<<<2, 64>>>(kind, flags, out);
}

}  // namespace kernels
