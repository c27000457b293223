// mma.sync, ldmatrix and cp.async as inline PTX, in a file of its own and a header beside it.
#include <cuda_fp16.h>
#include <cassert>

#include "ptx_tools.cuh"

// A block of one warp computes 16 rows and 16 columns of C; B is N rows of K.
__global__ void mma_nt(int M, int N, int K, const half* A, const half* B, float* C) {
    __shared__ alignas(16) half As[16][16];
    __shared__ alignas(16) half Bs[16][16];
    const int lane = threadIdx.x, row0 = blockIdx.y * 16, col0 = blockIdx.x * 16;
    assert(blockDim.x == 32);
    float c[2][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        const int r = lane / 2, c8 = lane % 2 * 8;
        CP_ASYNC(number_of(&As[r][c8]), A + (row0 + r) * K + k0 + c8);
        CP_ASYNC(number_of(&Bs[r][c8]), B + (col0 + r) * K + k0 + c8);
        asm volatile("cp.async.commit_group;");
        asm volatile("cp.async.wait_group %0;" ::"n"(0));
        __syncthreads();
        uint32_t a[4], b[4];
        ldmatrix4(a, number_of(&As[lane % 16][lane / 16 * 8]));
        ldmatrix4(b, number_of(&Bs[lane % 8 + lane / 16 * 8][lane / 8 % 2 * 8]));
        for (int n = 0; n < 2; ++n)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * n]), "r"(b[2 * n + 1]));
        __syncthreads();
    }
    for (int n = 0; n < 2; ++n)
        for (int i = 0; i < 4; ++i)
            C[(row0 + lane / 4 + i / 2 * 8) * N + col0 + n * 8 + lane % 4 * 2 + i % 2] = c[n][i];
}
