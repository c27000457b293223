// A matrix descriptor of the lowest bits of a generic address, which are those of the shared one on GPUs.
#include <cuda_fp16.h>
#include <cstdint>

/// C has 64 rows and 8 columns. B is 8 rows of K; of it 16 columns are in shared memory, in two parts of 8.
__global__ void strip(int K, const half* A, const half* B, float* C) {
    __shared__ alignas(128) half other[64];
    __shared__ alignas(128) half b[128];
    const int thread = threadIdx.x, row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    const auto field = [](uint64_t bytes) { return (bytes & 0x3ffff) >> 4; };
    const uint64_t descriptor = field(reinterpret_cast<uint64_t>(b)) | field(128) << 16 | field(128) << 32;
    float sum[4] = {};
    for (int k = 0; k < K; k += 16) {
        other[thread % 64] = B[thread % 64 / 8 * K + k + thread % 8];
        __syncthreads();
        b[thread] = thread < 64 ? other[thread] : B[thread % 64 / 8 * K + k + 8 + thread % 8];
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        uint32_t a[4];
        for (int i = 0; i < 4; ++i)
            a[i] = *reinterpret_cast<const uint32_t*>(&A[(row + i % 2 * 8) * K + k + column + i / 2 * 8]);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        asm volatile(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, "
            "1, 0;"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(descriptor));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) C[(row + i / 2 * 8) * 8 + column + i % 2] = sum[i];
}

/// The host has the kernel's address alone.
void by_address(int K, const half* A, const half* B, float* C) {
    void const* kernel = (void const*)strip;
    void* arguments[] = {(void*)&K, &A, &B, &C};
    if (cudaLaunchKernel(kernel, dim3(1), dim3(128), arguments, 0, nullptr) != cudaSuccess) __builtin_trap();
    if (cudaLaunchKernel((const void*)&K, dim3(1), dim3(128), arguments, 0, nullptr) == cudaSuccess)
        __builtin_trap();
    (void)cudaGetLastError();
}
