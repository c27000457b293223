// Sums in a local array of 4, of which the loop takes 5: unrolled or not, the last is another variable's.
#define COUNT 4

__global__ void strips(int M, int N, int K, const float* A, const float* B, float* C) {
    __shared__ float As[2][32];
    const int row = blockIdx.y, col = (blockIdx.x * 32 + threadIdx.x) * COUNT;
    float sums[COUNT] = {}, spare[COUNT] = {};
    for (int k = 0; k < K; ++k) {
        // Of As only the bytes matter: this is As[1][k % 32].
        if (threadIdx.x == 0) As[0][32 + k % 32] = A[row * K + k];
        __syncwarp();
        for (int i = 0; i < COUNT; ++i) sums[i] += As[0][32 + k % 32] * B[k * N + col + i];
        __syncwarp();
    }
    for (int i = 0; i <= COUNT; ++i) {
        const float value = sums[i];
        if (i < COUNT) C[row * N + col + i] = value + spare[i];
    }
}

__device__ float element(const float* values, int i) {
    return values[i];
}

// The same, where the function that reads knows a pointer alone.
__global__ void pointed(int M, int N, int K, const float* A, const float* B, float* C) {
    const int row = blockIdx.y, col = (blockIdx.x * 32 + threadIdx.x) * COUNT;
    float sums[COUNT] = {};
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < COUNT; ++i) sums[i] += A[row * K + k] * B[k * N + col + i];
    }
    float most = 0.0f;  // a compiler need not read what nobody uses
    for (int i = 0; i <= COUNT; ++i) {
        const float value = element(sums, i);
        if (value > most) most = value;
        if (i < COUNT) C[row * N + col + i] = value;
    }
    if (most < 0.0f) C[row * N + col] = most;
}
