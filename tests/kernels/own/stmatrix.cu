// FP16 in row-major order: ldmatrix.trans for B, sums of FP32, and stmatrix on the way to C.
#include <cuda_fp16.h>
#include <cstdint>

__device__ uint32_t number_of(const void* shared) {
    uint32_t number;
    asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }"
        : "=r"(number)
        : "l"(shared));
    return number;
}

__device__ uint32_t pack(float low, float high) {
    const half2 both = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&both);
}

// A block of one warp computes 16 rows and 16 columns.
__global__ void mma_nn(int M, int N, int K, const half* A, const half* B, half* C) {
    __shared__ alignas(16) half As[16][16];
    __shared__ alignas(16) half Bs[16][16];
    __shared__ alignas(16) half Cs[16][16];
    const int lane = threadIdx.x, row0 = blockIdx.y * 16, col0 = blockIdx.x * 16, r = lane / 2,
              c8 = lane % 2 * 8;
    const uint32_t tile_row = lane % 16, tile_col = lane / 16 * 8;
    float c[2][4] = {};
    for (int k0 = 0; k0 < K; k0 += 16) {
        *reinterpret_cast<uint4*>(&As[r][c8]) = *reinterpret_cast<const uint4*>(A + (row0 + r) * K + k0 + c8);
        *reinterpret_cast<uint4*>(&Bs[r][c8]) = *reinterpret_cast<const uint4*>(B + (k0 + r) * N + col0 + c8);
        __syncwarp();
        uint32_t a[4], b[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                     : "r"(number_of(&As[tile_row][tile_col])));
        asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                     : "=r"(b[0]), "=r"(b[1]), "=r"(b[2]), "=r"(b[3])
                     : "r"(number_of(&Bs[tile_row][tile_col])));
        for (int n = 0; n < 2; ++n)
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                "{%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
                : "=f"(c[n][0]), "=f"(c[n][1]), "=f"(c[n][2]), "=f"(c[n][3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * n]), "r"(b[2 * n + 1]), "f"(c[n][0]),
                  "f"(c[n][1]), "f"(c[n][2]), "f"(c[n][3]));
        __syncwarp();
    }
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n" ::"r"(
                     number_of(&Cs[tile_row][tile_col])),
                 "r"(pack(c[0][0], c[0][1])), "r"(pack(c[0][2], c[0][3])), "r"(pack(c[1][0], c[1][1])),
                 "r"(pack(c[1][2], c[1][3]))
                 : "memory");
    __syncwarp();
    *reinterpret_cast<uint4*>(C + (row0 + r) * N + col0 + c8) = *reinterpret_cast<const uint4*>(&Cs[r][c8]);
}
