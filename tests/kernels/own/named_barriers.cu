// Two groups of 128 threads, each with half of the rows and a named barrier of its own.
__device__ void meet(int group) {
    asm volatile("bar.sync %0, 128;\n" ::"r"(1 + group) : "memory");
}

__global__ void groups(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[2][8][16], Bs[2][16][16];
    const int group = threadIdx.x / 128, t = threadIdx.x % 128, r = t / 16, c = t % 16;
    const int row = blockIdx.y * 16 + group * 8 + r, col = blockIdx.x * 16 + c;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        As[group][r][c] = A[row * K + k0 + c];
        for (int i = r; i < 16; i += 8) Bs[group][i][c] = B[(k0 + i) * N + col];
        meet(group);
        for (int k = 0; k < 16; ++k) sum += As[group][r][k] * Bs[group][k][c];
        meet(group);
    }
    C[row * N + col] = sum;
}
