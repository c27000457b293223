// Kernels whose threads meet in cooperative groups: the grid, tiles, coalesced lanes.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__device__ float halves[2 * 4096];

/// K in two halves, by two layers of blocks; behind the barrier of the grid the first layer adds them.
__global__ void in_halves(int M, int N, int K, const float* A, const float* B, float* C, bool synced = true) {
    const cg::grid_group grid = cg::this_grid();
    const int row = blockIdx.x, column = threadIdx.x;
    float sum = 0.0f;
    for (int k = blockIdx.y * K / 2; k < (blockIdx.y + 1) * K / 2; ++k)
        sum += A[row * K + k] * B[k * N + column];
    halves[blockIdx.y * M * N + row * N + column] = sum;
    if (synced) grid.sync();
    if (grid.block_rank() < grid.num_blocks() / 2)
        C[row * N + column] = halves[row * N + column] + halves[M * N + row * N + column];
}
void together(int M, int N, int K, const float* A, const float* B, float* C, bool synced = true) {
    void* arguments[] = {&M, &N, &K, &A, &B, &C, &synced};
    cudaLaunchCooperativeKernel((void*)in_halves, dim3(M, 2), dim3(N), arguments, 0, 0);
}

/// A tile of lanes has an element of C, and adds up what each has of it.
template <int LANES>
__global__ void by_tiles(int N, int K, const float* A, const float* B, float* C) {
    const auto tile = cg::tiled_partition<LANES>(cg::this_thread_block());
    const int row = blockIdx.x, column = blockIdx.y * tile.meta_group_size() + tile.meta_group_rank();
    float sum = 0.0f;
    for (int k = tile.thread_rank(); k < K; k += LANES) sum += A[row * K + k] * B[k * N + column];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    const int highest = cg::reduce(tile, static_cast<int>(tile.thread_rank()), cg::greater<int>());
    const int lowest = cg::reduce(tile, static_cast<int>(tile.thread_rank()), cg::less<int>());
    const auto before = cg::exclusive_scan(tile, 1u, cg::plus<unsigned>());
    if (highest != LANES - 1 || lowest != 0 || before != tile.thread_rank()) sum = 0.0f;
    if (tile.thread_rank() == 0) C[row * N + column] = sum;
}

/// The odd lanes of a warp have an element of C together.
__global__ void by_odd_lanes(int N, int K, const float* A, const float* B, float* C) {
    if (threadIdx.x % 2 == 0) return;
    const cg::coalesced_group odd = cg::coalesced_threads();
    float sum = 0.0f;
    for (int k = odd.thread_rank(); k < K; k += odd.size())
        sum += A[blockIdx.y * K + k] * B[k * N + blockIdx.x];
    sum = cg::reduce(odd, sum, cg::plus<float>());
    const bool same =
        odd.all(odd.shfl(odd.thread_rank(), 3) == 3u) && odd.ballot(odd.thread_rank() < 2) == 3u;
    if (odd.thread_rank() == 0) C[blockIdx.y * N + blockIdx.x] = same ? sum : 0.0f;
}

/// Of any size, as of old.
__device__ float added(cg::thread_group group, float* shared, float value) {
    for (unsigned by = group.size() / 2; by > 0; by /= 2) {
        shared[group.thread_rank()] = value;
        group.sync();
        if (group.thread_rank() < by) value += shared[group.thread_rank() + by];
        group.sync();
    }
    return value;
}
__global__ void by_groups(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float shared[64];
    float sum = 0.0f;
    for (int k = threadIdx.x; k < K; k += blockDim.x) sum += A[blockIdx.y * K + k] * B[k * N + blockIdx.x];
    sum = added(cg::this_thread_block(), shared, sum);
    if (threadIdx.x == 0) C[blockIdx.y * N + blockIdx.x] = sum;
}

/// The other block of the cluster has the other half of the row.
__global__ void __cluster_dims__(2, 1, 1)
    by_clusters(int N, int K, const float* A, const float* B, float* C) {
    __shared__ float half_row[32];
    const cg::cluster_group cluster = cg::this_cluster();
    const int row = blockIdx.x / 2, length = K / 2;
    half_row[threadIdx.x] = A[row * K + cluster.block_rank() * length + threadIdx.x];
    cluster.sync();
    const int column = cluster.thread_rank();
    float sum = 0.0f;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) {
        const float* const there = cluster.map_shared_rank(half_row, rank);
        for (int k = 0; k < length; ++k) sum += there[k] * B[(rank * length + k) * N + column];
    }
    C[row * N + column] = sum;
    cluster.sync();
}
