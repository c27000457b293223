#include "common/tma/clusters.hpp"

#include <cuda_runtime.h>

#include <algorithm>

#include "common/error.hpp"

namespace gemm {

int resident_clusters(const void* kernel, int threads, std::size_t shared, int cluster) {
    // Without it CUDA has no room for a block that needs more than 48 KiB.
    CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    cudaLaunchAttribute size{};
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim.x = static_cast<unsigned>(cluster);
    size.val.clusterDim.y = size.val.clusterDim.z = 1;
    const cudaLaunchConfig_t config{dim3(static_cast<unsigned>(cluster)),
                                    dim3(static_cast<unsigned>(threads)),
                                    shared,
                                    nullptr,
                                    &size,
                                    1};
    int count = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveClusters(&count, kernel, &config));
    return std::max(count, 1);
}

}  // namespace gemm
