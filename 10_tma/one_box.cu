// 10 one_box — one thread asks TMA for a box of a matrix and waits until all its bytes are there. The box
// hangs over the matrix's edge, and is 0 there. The program prints the box, and checks it on the host.

#include <cuda_runtime.h>

#include <cstdio>
#include <exception>
#include <vector>

#include "common/error.hpp"
#include "common/ptx/tma.hpp"
#include "common/tma/tensor_map.hpp"

constexpr int ROWS = 5, COLS = 12;         // of the matrix
constexpr int BOX_ROWS = 4, BOX_COLS = 8;  // of what one copy brings
constexpr int ROW0 = 2, COL0 = 8;          // where the box begins

// out: BOX_ROWS×BOX_COLS. One block of one warp.
__global__ void one_box(const __grid_constant__ CUtensorMap map, float* out) {
    __shared__ __align__(128) float box[BOX_ROWS][BOX_COLS];
    __shared__ gemm::ptx::Mbarrier arrived;
    if (threadIdx.x == 0) {
        gemm::ptx::mbarrier_init(arrived, 1);                       // one thread will arrive at it
        gemm::ptx::fence_mbarrier_init();                           // and TMA, which knows it from here on
        gemm::ptx::mbarrier_arrive_expect_tx(arrived, sizeof box);  // the thread arrives; bytes are to come
        gemm::ptx::tma_load(box, map, {COL0, ROW0}, arrived);       // it goes on at once
    }
    __syncthreads();                       // nobody waits at an mbarrier before it is one
    gemm::ptx::mbarrier_wait(arrived, 0);  // phase 0: the thread has arrived, and so have all bytes
    for (int i = threadIdx.x; i < BOX_ROWS * BOX_COLS; i += 32) out[i] = box[i / BOX_COLS][i % BOX_COLS];
}

int run() {
    cudaDeviceProp device{};
    CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
    if (device.major < 9) {
        std::printf("%s has no TMA, which came with compute capability 9.0\n", device.name);
        return 0;
    }
    std::vector<float> matrix(ROWS * COLS), box(BOX_ROWS * BOX_COLS);
    for (int i = 0; i < ROWS * COLS; ++i) matrix[i] = static_cast<float>(1 + i);
    float *device_matrix = nullptr, *device_box = nullptr;
    CUDA_CHECK(cudaMalloc(&device_matrix, matrix.size() * sizeof(float)));
    CUDA_CHECK(cudaMalloc(&device_box, box.size() * sizeof(float)));
    CUDA_CHECK(
        cudaMemcpy(device_matrix, matrix.data(), matrix.size() * sizeof(float), cudaMemcpyHostToDevice));

    // Which matrix, and how large a box of it. The innermost dimension is the first: columns, then rows.
    const CUtensorMap map = gemm::tensor_map({.type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                                              .rank = 2,
                                              .address = device_matrix,
                                              .sizes = {COLS, ROWS},
                                              .strides = {COLS * sizeof(float)},
                                              .box = {BOX_COLS, BOX_ROWS}});
    one_box<<<1, 32>>>(map, device_box);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaMemcpy(box.data(), device_box, box.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CUDA_CHECK(cudaFree(device_matrix));
    CUDA_CHECK(cudaFree(device_box));

    bool right = true;
    for (int row = 0; row < BOX_ROWS; ++row) {
        for (int col = 0; col < BOX_COLS; ++col) {
            const bool inside = ROW0 + row < ROWS && COL0 + col < COLS;
            const float is = box[row * BOX_COLS + col];
            right = right && is == (inside ? matrix[(ROW0 + row) * COLS + COL0 + col] : 0.0f);
            std::printf("%4g", is);
        }
        std::printf("\n");
    }
    std::printf(right ? "right: zeros where the box hangs over the edge\n" : "wrong\n");
    return right ? 0 : 1;
}

int main() {
    try {
        return run();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "one_box: %s\n", error.what());
        return 1;
    }
}
