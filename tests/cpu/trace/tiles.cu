// A kernel as lessons 04 to 08 build up to it.
#include "tests/cpu/trace/kernels.hpp"

namespace traced {
namespace {

constexpr int BM = 64, BN = 64, BK = 16, TM = 4, TN = 4;

template <int PADDING>
__global__ void tile_kernel(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[2][BK][BM + PADDING];  // transposed
    __shared__ float Bs[2][BK][BN];

    const int t = threadIdx.x;
    const int tx = t % (BN / TN), ty = t / (BN / TN);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int a_row = t / (BK / 4), a_col = t % (BK / 4) * 4;
    const int b_row = t / (BN / 4), b_col = t % (BN / 4) * 4;

    // Where this thread loads from.
    const float* const from_a = &A[(row0 + a_row) * K + a_col];
    const float* const from_b = &B[b_row * N + col0 + b_col];

    float acc[TM][TN] = {};
    int stage = 0;
    for (int k0 = 0; k0 < K; k0 += BK) {
        const float4 a = *reinterpret_cast<const float4*>(from_a + k0);      // LINE load-a
        const float4 b = *reinterpret_cast<const float4*>(from_b + k0 * N);  // LINE load-b
        As[stage][a_col + 0][a_row] = a.x;                                   // LINE store-a0
        As[stage][a_col + 1][a_row] = a.y;                                   // LINE store-a1
        As[stage][a_col + 2][a_row] = a.z;                                   // LINE store-a2
        As[stage][a_col + 3][a_row] = a.w;                                   // LINE store-a3
        *reinterpret_cast<float4*>(&Bs[stage][b_row][b_col]) = b;            // LINE store-b
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            const float4 x = *reinterpret_cast<const float4*>(&As[stage][k][ty * TM]);  // LINE read-a
            const float4 y = *reinterpret_cast<const float4*>(&Bs[stage][k][tx * TN]);  // LINE read-b
            const float xs[TM] = {x.x, x.y, x.z, x.w}, ys[TN] = {y.x, y.y, y.z, y.w};
            for (int i = 0; i < TM; ++i) {
                for (int j = 0; j < TN; ++j) acc[i][j] += xs[i] * ys[j];
            }
        }
        stage ^= 1;
    }
    for (int i = 0; i < TM; ++i) {
        const float4 c = {acc[i][0], acc[i][1], acc[i][2], acc[i][3]};
        *reinterpret_cast<float4*>(&C[(row0 + ty * TM + i) * N + col0 + tx * TN]) = c;  // LINE store-c
    }
}

}  // namespace

void block_tile(int padding, int M, int N, int K, const float* A, const float* B, float* C) {
    const dim3 grid(static_cast<unsigned>(N / BN), static_cast<unsigned>(M / BM));
    if (padding == 0) {
        tile_kernel<0><<<grid, 256>>>(N, K, A, B, C);
    } else {
        tile_kernel<4><<<grid, 256>>>(N, K, A, B, C);
    }
}

}  // namespace traced
