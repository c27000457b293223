// mma.m8n8k4: FP16's, four products of eight lanes each, and FP64's.
#include <cuda_fp16.h>

/// A warp has 32 rows of C, eight for each eight lanes. Sums of float.
__global__ void quads(int N, int K, const half* A, const half* B, float* C) {
    const int lane = threadIdx.x % 32, quad = lane / 4 % 4, upper = lane / 16 * 4, own = lane % 4 + upper;
    const int first_row = blockIdx.y * 32 + quad * 8, first_column = blockIdx.x * 8;
    float c[8] = {};
    for (int k = 0; k < K; k += 4) {
        unsigned a[2], b[2];
        memcpy(a, A + (first_row + own) * K + k, 8);                  // a row of A
        memcpy(b, B + (k + lane % 4) * N + first_column + upper, 8);  // half a row of B
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.row.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, "
            "{%10, %11},"
            " {%0, %1, %2, %3, %4, %5, %6, %7};\n"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
            : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    }
    for (int i = 0; i < 8; ++i) {
        const int row = (lane & 1) + (i & 2) + upper, column = (i & 4) + (lane & 2) + (i & 1);
        C[(first_row + row) * N + first_column + column] = c[i];
    }
}

/// The same with sums of half, B by columns.
__global__ void short_quads(int N, int K, const half* A, const half* B, half* C) {
    const int lane = threadIdx.x % 32, quad = lane / 4 % 4, own = lane % 4 + lane / 16 * 4;
    const int first_row = blockIdx.y * 32 + quad * 8, first_column = blockIdx.x * 8;
    unsigned c[4] = {};
    for (int k = 0; k < K; k += 4) {
        unsigned a[2], b[2];
        memcpy(a, A + (first_row + own) * K + k, 8);
        memcpy(b, B + (first_column + own) * K + k, 8);
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%0, %1, "
            "%2, %3};\n"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]));
    }
    memcpy(C + (first_row + own) * N + first_column, c, 16);
}

__global__ void doubles(int N, int K, const float* A, const float* B, float* C) {
    const int lane = threadIdx.x, row = blockIdx.y * 8 + lane / 4, column = blockIdx.x * 8;
    double c[2] = {};
    for (int k = 0; k < K; k += 4) {
        const double a = A[row * K + k + lane % 4], b = B[(k + lane % 4) * N + column + lane / 4];
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c[0]), "+d"(c[1])
                     : "d"(a), "d"(b));
    }
    for (int i = 0; i < 2; ++i) C[row * N + column + lane % 4 * 2 + i] = static_cast<float>(c[i]);
}
