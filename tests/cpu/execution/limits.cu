// Kernels for launches that CUDA refuses, and for those at the limit that it does not.
#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

__device__ bool first() {
    return threadIdx.x + threadIdx.y + threadIdx.z + blockIdx.x + blockIdx.y + blockIdx.z == 0;
}

__global__ void plain(int* count) {
    if (first()) *count += 1;
}

template <int Bytes>
__global__ void with_static(int* count) {
    __shared__ int words[Bytes / 4];
    for (int i = threadIdx.x; i < Bytes / 4; i += blockDim.x) words[i] = 1;
    __syncthreads();
    if (first()) *count += words[Bytes / 4 - 1];
}

__global__ void with_dynamic(int words, int* count) {
    extern __shared__ int memory[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) memory[i] = 1;
    __syncthreads();
    if (first()) *count += words > 0 ? memory[words - 1] : 1;
}

cudaFuncAttributes attributes(const void* kernel) {
    cudaFuncAttributes a{};
    if (cudaFuncGetAttributes(&a, kernel) != cudaSuccess) a.maxThreadsPerBlock = -1;
    return a;
}

}  // namespace

cudaError_t launch(dim3 grid, dim3 block, std::size_t dynamic_bytes, int* count) {
    plain<<<grid, block, dynamic_bytes>>>(count);
    return cudaGetLastError();
}

int most_together() {
    int blocks = 0, multiprocessors = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 1024, 0);
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    return blocks * multiprocessors;
}

cudaError_t launch_together(int blocks, bool cooperative, int* count) {
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = cooperative ? 1 : 0;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(1024);
    config.attrs = &together;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, plain, count);
}

cudaError_t launch_with_static(std::size_t dynamic_bytes, int* count) {
    with_static<16 * 1024><<<1, 32, dynamic_bytes>>>(count);
    return cudaGetLastError();
}

cudaError_t launch_with_optin(std::size_t dynamic_bytes, std::size_t optin, int* count) {
    if (optin > 0) {
        const cudaError_t status = cudaFuncSetAttribute(
            with_dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(optin));
        if (status != cudaSuccess) {
            (void)cudaGetLastError();
            return status;
        }
    }
    with_dynamic<<<1, 32, dynamic_bytes>>>(static_cast<int>(dynamic_bytes / 4), count);
    return cudaGetLastError();
}

cudaFuncAttributes attributes_of_static_16k() {
    return attributes(reinterpret_cast<const void*>(&with_static<16 * 1024>));
}

cudaFuncAttributes attributes_of_static_48k() {
    return attributes(reinterpret_cast<const void*>(&with_static<48 * 1024>));
}

cudaError_t launch_static_48k(int* count) {
    with_static<48 * 1024><<<1, 32>>>(count);
    return cudaGetLastError();
}

}  // namespace kernels
