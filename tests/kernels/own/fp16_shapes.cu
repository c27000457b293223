// FP16 in all shapes that tensor cores take beside 16×16×16 with sums of FP32: each on rows of C of its own.
// B lies transposed.
#include <mma.h>

using namespace nvcuda;

// wmma with sums of FP16, a warp a tile of TM×TN.
template <int TM, int TN>
__global__ void half_sums(int N, int K, const half* A, const half* B, half* C) {
    __shared__ alignas(32) half tile[TM][TN];
    const int row = blockIdx.y * TM, col = blockIdx.x * TN;
    wmma::fragment<wmma::matrix_a, TM, TN, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, TM, TN, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, TM, TN, 16, half> c;
    wmma::fill_fragment(c, 0.0);
    for (int k = 0; k < K; k += 16) {
        wmma::load_matrix_sync(a, A + row * K + k, K);
        wmma::load_matrix_sync(b, B + col * K + k, K);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(&tile[0][0], c, TN, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < TM * TN; i += 32)
        C[(row + i / TN) * N + col + i % TN] = tile[i / TN][i % TN];
}

// mma.sync of 16×8×8, with sums of FP32 in even rows of blocks and of FP16 in odd ones, and what stands
// around it.
__global__ void depth_of_8(int N, int K, const half* A, const half* B, half* C) {
    const int lane = threadIdx.x, col = blockIdx.x * 8;
    unsigned row;
    asm("mad.lo.u32 %0, %1, 16, %2;" : "=r"(row) : "r"(blockIdx.y), "r"(lane >> 2));
    float c[4] = {};
    unsigned short_sums[2] = {};
    for (int k = lane % 4 * 2; k < K; k += 8) {
        unsigned a0, a1, b0;
        asm("ld.global.b32 %0, [%1];" : "=r"(a0) : "l"(&A[row * K + k]));
        asm("ld.global.b32 %0, [%1];" : "=r"(a1) : "l"(&A[(row + 8) * K + k]));
        asm("ld.global.b32 %0, [%1];" : "=r"(b0) : "l"(&B[(col + lane / 4) * K + k]));
        // No comma between two operands: nvcc takes it.
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                     : "+r"(short_sums[0]), "+r"(short_sums[1])
                     : "r"(a0), "r"(a1) "r"(b0));
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, "
            "%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a0), "r"(a1), "r"(b0));
    }
    for (int i = 0; i < 2; ++i) {
        unsigned pair;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(c[2 * i + 1]), "f"(c[2 * i]));
        if (blockIdx.y % 2 != 0) pair = short_sums[i];
        asm volatile("{ .reg .pred p; setp.lt.s32 p, %2, %3; @p st.global.b32 [%0], %1; }"
                     :
                     : "l"(&C[(row + 8 * i) * N + col + lane % 4 * 2]), "r"(pair), "r"(col), "r"(N));
    }
}

void all(int N, int K, const half* A, const half* B, half* C) {
    half_sums<16, 16><<<dim3(N / 16, 2), 32>>>(N, K, A, B, C);
    half_sums<32, 8><<<dim3(N / 8, 1), 32>>>(N, K, A + 32 * K, B, C + 32 * N);
    half_sums<8, 32><<<dim3(N / 32, 4), 32>>>(N, K, A + 64 * K, B, C + 64 * N);
    depth_of_8<<<dim3(N / 8, 2), 32>>>(N, K, A + 96 * K, B, C + 96 * N);
}
