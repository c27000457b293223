// Clusters, on a GPU and on the CPU device alike.
#include "tests/ptx/cluster.hpp"

#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"

namespace kernels {
namespace {

using gemm::ptx::Mbarrier;

constexpr unsigned kThreads = 64, kMostExchange = 256;

__global__ void numbers_kernel(unsigned* out) {
    const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const dim3 all[] = {gemm::ptx::block_in_cluster(), gemm::ptx::cluster_dim(), gemm::ptx::cluster_id(),
                        gemm::ptx::cluster_count()};
    unsigned* const mine = out + block * kClusterWords;
    mine[0] = gemm::ptx::cluster_rank();
    mine[1] = gemm::ptx::cluster_size();
    for (int i = 0; i < 4; ++i) {
        mine[2 + 3 * i] = all[i].x;
        mine[3 + 3 * i] = all[i].y;
        mine[4 + 3 * i] = all[i].z;
    }
}

template <int RANK>
__device__ void load(void* shared, const CUtensorMap& map, const int* at, Mbarrier& barrier,
                     std::uint16_t mask) {
    int position[RANK];
    for (int d = 0; d < RANK; ++d) position[d] = at[d];
    gemm::ptx::tma_load_multicast(shared, map, position, barrier, mask);
}

__global__ void multicast_kernel(const __grid_constant__ MulticastCase m, std::uint8_t* out) {
    extern __shared__ __align__(1024) std::uint8_t memory[];
    __shared__ Mbarrier arrived;
    const TmaCase& c = m.box;
    const unsigned rank = gemm::ptx::cluster_rank();
    if (threadIdx.x == 0) {
        gemm::ptx::mbarrier_init(arrived, 1);
        gemm::ptx::fence_mbarrier_init();
    }
    for (unsigned i = threadIdx.x; i < c.bytes; i += kThreads) memory[i] = kTmaUntouched;
    unsigned parity = 0;
    for (int phase = 0; phase < c.phases; ++phase) {
        gemm::ptx::fence_proxy_async();
        gemm::ptx::cluster_sync();  // before any block's memory is written to
        const bool comes = (m.mask[phase] >> rank & 1u) != 0;
        if (threadIdx.x == 0 && comes) gemm::ptx::mbarrier_arrive_expect_tx(arrived, c.box_bytes);
        if (threadIdx.x == 0 && m.issuer[phase] == rank) {
            std::uint8_t* const to = memory + c.offset;
            const int* const at = c.at[phase];
            if (c.rank == 1) load<1>(to, c.map, at, arrived, m.mask[phase]);
            if (c.rank == 2) load<2>(to, c.map, at, arrived, m.mask[phase]);
            if (c.rank == 3) load<3>(to, c.map, at, arrived, m.mask[phase]);
            if (c.rank == 4) load<4>(to, c.map, at, arrived, m.mask[phase]);
            if (c.rank == 5) load<5>(to, c.map, at, arrived, m.mask[phase]);
        }
        if (comes) {
            gemm::ptx::mbarrier_wait(arrived, parity);
            parity ^= 1;
        }
        std::uint8_t* const mine = out + (phase * m.blocks + rank) * c.bytes;
        for (unsigned i = threadIdx.x; i < c.bytes; i += kThreads) mine[i] = memory[i];
    }
    gemm::ptx::cluster_sync();
}

__global__ void exchange_kernel(ExchangeCase c, unsigned* out) {
    extern __shared__ unsigned by_mail[];  // [threads]
    __shared__ unsigned box[kMostExchange];
    __shared__ Mbarrier come;
    const unsigned thread = threadIdx.x, rank = gemm::ptx::cluster_rank();
    if (thread == 0) gemm::ptx::mbarrier_init(come, c.threads);
    gemm::ptx::cluster_sync();
    const unsigned place = thread * c.factor % c.threads;
    const unsigned to = (rank + c.shift) % c.blocks, from = (rank + c.other) % c.blocks;
    for (unsigned round = 0; round < c.rounds; ++round) {
        unsigned* const there = gemm::ptx::at_rank(round % 2 == 0 ? box : by_mail, to);
        there[place] = ((round + 1) * c.blocks + rank) * c.threads + thread;
        gemm::ptx::mbarrier_arrive_at(come, to);
        gemm::ptx::mbarrier_wait_cluster(come, round % 2);
        unsigned* const mine = out + ((round * c.blocks + rank) * c.threads + thread) * 2;
        mine[0] = (round % 2 == 0 ? box : by_mail)[thread];
        gemm::ptx::cluster_sync();
        mine[1] = *gemm::ptx::at_rank((round % 2 == 0 ? box : by_mail) + place, from);
        if (c.relaxed_barrier && round % 2 == 0) {  // the next round writes elsewhere
            gemm::ptx::cluster_sync_relaxed();
        } else {
            gemm::ptx::cluster_sync();
        }
    }
}

/// kernel<<<…>>> in clusters.
struct Launch {
    cudaLaunchAttribute attribute{};
    cudaLaunchConfig_t config{};
    Launch(dim3 grid, dim3 block, std::size_t bytes, dim3 cluster) {
        attribute.id = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = cluster.x;
        attribute.val.clusterDim.y = cluster.y;
        attribute.val.clusterDim.z = cluster.z;
        config.gridDim = grid;
        config.blockDim = block;
        config.dynamicSmemBytes = bytes;
        config.attrs = &attribute;
        config.numAttrs = 1;
    }
    Launch(const Launch&) = delete;
    Launch& operator=(const Launch&) = delete;
};

}  // namespace

cudaError_t allow_large_clusters(bool allowed) {
    constexpr auto kAllowed = cudaFuncAttributeNonPortableClusterSizeAllowed;
    const cudaError_t status = cudaFuncSetAttribute(numbers_kernel, kAllowed, allowed ? 1 : 0);
    return status != cudaSuccess ? status : cudaFuncSetAttribute(exchange_kernel, kAllowed, allowed ? 1 : 0);
}

cudaError_t cluster_numbers(dim3 grid, dim3 cluster, unsigned* out) {
    const Launch launch(grid, 1, 0, cluster);
    return cudaLaunchKernelEx(&launch.config, numbers_kernel, out);
}

void multicast(const MulticastCase& c, std::uint8_t* out) {
    cudaFuncSetAttribute(multicast_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTmaShared);
    const Launch launch(c.blocks, kThreads, kTmaShared, c.blocks);
    cudaLaunchKernelEx(&launch.config, multicast_kernel, c, out);
}

void exchange(const ExchangeCase& c, unsigned* out) {
    const Launch launch(c.blocks, c.threads, c.threads * sizeof(unsigned), c.blocks);
    cudaLaunchKernelEx(&launch.config, exchange_kernel, c, out);
}

}  // namespace kernels
