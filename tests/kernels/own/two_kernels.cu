// A kernel that has tiles in shared memory, and one behind it that has another array there, or none.
__global__ void halves(int N, int K, const float* A, const float* B, float* both) {
    __shared__ float a_row[32];
    __shared__ float b_row[32];
    float sum = 0.0f;
    for (int k = blockIdx.y * K / 2; k < (blockIdx.y + 1) * K / 2; ++k) {
        a_row[threadIdx.x] = A[blockIdx.x * K + k];
        b_row[threadIdx.x] = B[k * N + threadIdx.x];
        sum += a_row[threadIdx.x] * b_row[threadIdx.x];
    }
    both[(blockIdx.y * gridDim.x + blockIdx.x) * N + threadIdx.x] = sum;
}
__global__ void added(int elements, const float* both, float* C) {
    extern __shared__ float taken[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    taken[threadIdx.x] = both[elements + i];
    C[i] = both[i] + taken[threadIdx.x];
}
void in_two(int M, int N, int K, const float* A, const float* B, float* C) {
    float* both = nullptr;
    cudaMalloc(&both, 2 * M * N * sizeof(float));
    halves<<<dim3(M, 2), N>>>(N, K, A, B, both);
    added<<<M, N, N * sizeof(float)>>>(M * N, both, C);
    cudaFree(both);
}
