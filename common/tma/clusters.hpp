// How many clusters to launch of those that stay and compute C tile after C tile. For prepare() of a lesson,
// on the host.
#pragma once

#include <cstddef>

namespace gemm {

/// Clusters of `cluster` blocks that the current device runs at the same time, blocks of `threads` threads
/// and `shared` bytes of dynamic shared memory, which the kernel may have from then on; at least 1. Fewer
/// than SMs / cluster where a GPC, whose SMs alone can form one, has SMs left over. Throws CudaError where
/// CUDA refuses such a block or such a cluster.
int resident_clusters(const void* kernel, int threads, std::size_t shared, int cluster);
template <class... Parameters>
int resident_clusters(void (*kernel)(Parameters...), int threads, std::size_t shared, int cluster) {
    return resident_clusters(reinterpret_cast<const void*>(kernel), threads, shared, cluster);
}

/// As few of the `most` clusters as need no more rounds for so many tiles: the last round leaves none without
/// work that has computed as much as others.
constexpr unsigned enough_clusters(unsigned tiles, unsigned most) {
    const unsigned rounds = (tiles + most - 1) / most;
    return rounds == 0 ? 0 : (tiles + rounds - 1) / rounds;
}

}  // namespace gemm
