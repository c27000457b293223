// What common/ptx/cluster.hpp calls on the CPU device. The instructions are described there.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace cpu_device {

/// Where a block is among the blocks of its cluster, and that among the clusters.
struct ClusterPlace {
    unsigned rank = 0, size = 1;
    dim3 block{0, 0, 0}, dim{}, id{0, 0, 0}, count{};
};
const ClusterPlace& cluster_place();

void cluster_arrive(bool release, Site site);
void cluster_wait(Site site);
void* at_rank(const void* shared, unsigned rank, Site site);
void mbarrier_arrive_at(void* barrier, unsigned rank, unsigned count, bool release, Site site);
void mbarrier_wait_cluster(void* barrier, unsigned parity, Site site);
void tensor_load_multicast(void* shared, const CUtensorMap& map, const int* at, int rank, void* barrier,
                           std::uint16_t blocks, Site site);

}  // namespace cpu_device
