#include "tests/ptx/cluster_gemm.hpp"

#include "common/ptx/cluster.hpp"
#include "common/ptx/tma.hpp"
#include "common/tma/tensor_map.hpp"

namespace kernels {
namespace {

using gemm::ptx::Mbarrier;

constexpr int BM = 32, BN = 32, BK = 32, kStages = 2, kBlocks = 2;
constexpr int kConsumers = 64, kRows = BM * BN / kConsumers, kThreads = kConsumers + 32;
constexpr unsigned kBytes = (BM + BN) * BK * sizeof(float);  // of a stage
constexpr int kHalf = BK / kBlocks;                          // rows of B that a block asks for

/// Consumers that have read a stage say so: a warp together, in both blocks.
__device__ void release(ClusterMistake mistake, Mbarrier& empty) {
    __syncwarp();
    const unsigned lane = threadIdx.x % 32;
    const bool own = lane == gemm::ptx::cluster_rank();
    if (lane < kBlocks && (own || mistake != ClusterMistake::own_release)) {
        if (mistake == ClusterMistake::relaxed_release) {
            gemm::ptx::mbarrier_arrive_relaxed_at(empty, lane);
        } else {
            gemm::ptx::mbarrier_arrive_at(empty, lane);  // LINE release
        }
    }
    __syncwarp();
}

/// All threads of the cluster meet.
__device__ void meet(ClusterMistake mistake) {
    if (mistake == ClusterMistake::relaxed_syncs || mistake == ClusterMistake::unfenced_syncs) {
        gemm::ptx::cluster_sync_relaxed();
    } else {
        gemm::ptx::cluster_sync();
    }
}

__global__ void __launch_bounds__(kThreads)
    cluster_gemm_kernel(ClusterMistake mistake, int M, int N, int K,
                        const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                        float* C) {
    __shared__ __align__(1024) float As[kStages][BM * BK];
    __shared__ __align__(1024) float Bs[kStages][BK * BN];
    __shared__ Mbarrier full[kStages], empty[kStages];
    const int thread = threadIdx.x, rank = static_cast<int>(gemm::ptx::cluster_rank());
    const int m0 = static_cast<int>(blockIdx.y) * BM, n0 = static_cast<int>(blockIdx.x) * BN;
    if (mistake == ClusterMistake::rowless_returns && m0 >= M) return;
    if (thread == 0) {
        const unsigned blocks = mistake == ClusterMistake::empty_count      ? 1
                                : mistake == ClusterMistake::empty_too_many ? 3
                                                                            : 2;
        for (int stage = 0; stage < kStages; ++stage) {
            gemm::ptx::mbarrier_init(full[stage], 1);                          // LINE init-full
            gemm::ptx::mbarrier_init(empty[stage], blocks * kConsumers / 32);  // LINE init-empty
        }
        if (mistake != ClusterMistake::unfenced_syncs) gemm::ptx::fence_mbarrier_init();
    }
    if (mistake == ClusterMistake::no_sync_at_start) {
        __syncthreads();
    } else {
        meet(mistake);
    }
    const int steps = (K + BK - 1) / BK - (mistake == ClusterMistake::steps_short && rank == 1 ? 1 : 0);
    if (thread == kConsumers) {
        for (int i = 0; i < steps; ++i) {
            const unsigned stage = i % kStages, parity = i / kStages % 2;
            if (mistake == ClusterMistake::block_scope_wait) {
                gemm::ptx::mbarrier_wait(empty[stage], parity ^ 1);
            } else {
                gemm::ptx::mbarrier_wait_cluster(empty[stage], parity ^ 1);
            }
            gemm::ptx::mbarrier_arrive_expect_tx(full[stage], kBytes);
            gemm::ptx::tma_load(As[stage], map_a, {i * BK, m0}, full[stage]);  // LINE load-a
            unsigned mask = (1u << kBlocks) - 1;
            if (mistake == ClusterMistake::own_mask) mask = 1u << rank;
            if (mistake == ClusterMistake::mask_off) mask <<= 1;
            float* const half = Bs[stage] + rank * kHalf * BN;
            const int at[] = {n0, i * BK + rank * kHalf};
            const auto blocks = static_cast<std::uint16_t>(mask);
            gemm::ptx::tma_load_multicast(half, map_b, at, full[stage], blocks);  // LINE load-b
        }
        // Arrivals of the other block may still be on their way: this one stays until all have come.
        const bool waits =
            mistake != ClusterMistake::leaves_early && mistake != ClusterMistake::arrivals_left;
        for (int i = steps; i < steps + kStages && waits; ++i) {
            gemm::ptx::mbarrier_wait_cluster(empty[i % kStages], i / kStages % 2 ^ 1);
        }
    } else if (thread < kConsumers) {
        const int n = thread % BN, row = thread / BN * kRows;
        float sums[kRows] = {};
        for (int i = 0; i < steps; ++i) {
            const unsigned stage = i % kStages, parity = i / kStages % 2;
            gemm::ptx::mbarrier_wait(full[stage], parity);
            for (int k = 0; k < BK; ++k) {
                const float b = Bs[stage][k * BN + n];                                         // LINE read-b
                for (int r = 0; r < kRows; ++r) sums[r] += As[stage][(row + r) * BK + k] * b;  // LINE read-a
            }
            release(mistake, empty[stage]);
        }
        for (int r = 0; r < kRows; ++r) {
            if (m0 + row + r < M && n0 + n < N) C[(m0 + row + r) * N + n0 + n] = sums[r];
        }
    }
    if (mistake == ClusterMistake::arrivals_left) {
        gemm::ptx::cluster_sync_relaxed();
    } else if (mistake != ClusterMistake::leaves_early) {
        meet(mistake);
    }
}

__global__ void cluster_sum_kernel(SumMistake mistake, const int* in, int* out) {
    __shared__ int part[64];
    extern __shared__ int sums[];  // [2]
    const unsigned thread = threadIdx.x, rank = gemm::ptx::cluster_rank();
    int mine = 0;
    part[thread] = in[rank * 64 + thread];
    __syncthreads();
    if (thread == 0) {
        for (int i = 0; i < 64; ++i) mine += part[i];
        *gemm::ptx::at_rank(&sums[rank], 0) = mine;  // LINE write-sum
    }
    if (mistake == SumMistake::two_arrivals) gemm::ptx::cluster_arrive();
    if (mistake == SumMistake::block_barrier && rank == 1 && thread > 0) __syncthreads();
    if (mistake == SumMistake::relaxed_barrier) {
        gemm::ptx::cluster_sync_relaxed();
    } else if (mistake == SumMistake::no_barrier) {
        gemm::ptx::cluster_arrive();
    } else {
        if (mistake != SumMistake::no_arrival) gemm::ptx::cluster_arrive();
        gemm::ptx::cluster_wait();
    }
    if (thread == 0 && rank == 1) {
        const unsigned block = mistake == SumMistake::no_such_block ? 2 : 0;
        const int* const there =
            gemm::ptx::at_rank(mistake == SumMistake::local_variable ? &mine : &sums[0], block);
        const int extra = mistake == SumMistake::past_the_end ? 1 : 0;
        *out = there[0] + there[1 + extra];  // LINE read-sum
    }
    if (mistake == SumMistake::no_barrier) gemm::ptx::cluster_wait();
    if (mistake != SumMistake::no_last_barrier) gemm::ptx::cluster_sync();
}

// Warp 0 opens a phase for warps 1 and 2, and the next one when warp 1 has been through the first, or (both)
// when each of them has.
__global__ void two_phases_kernel(bool both) {
    __shared__ Mbarrier opened, passed;
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        gemm::ptx::mbarrier_init(opened, 1);
        gemm::ptx::mbarrier_init(passed, both ? 2 : 1);
    }
    __syncthreads();
    if (warp > 0) {
        gemm::ptx::mbarrier_wait(opened, 0);
        __syncwarp();
        if (lane == 0 && (both || warp == 1)) gemm::ptx::mbarrier_arrive(passed);
    } else if (lane == 0) {
        gemm::ptx::mbarrier_arrive(opened);
        gemm::ptx::mbarrier_wait(passed, 0);
        gemm::ptx::mbarrier_arrive(opened);
    }
}

CUtensorMap map_of(const float* matrix, int rows, int columns, int box_rows, int box_columns) {
    gemm::TensorMapFields f;
    f.address = matrix;
    f.sizes[0] = static_cast<cuuint64_t>(columns);
    f.sizes[1] = static_cast<cuuint64_t>(rows);
    f.strides[0] = static_cast<cuuint64_t>(columns) * sizeof(float);
    f.box[0] = static_cast<cuuint32_t>(box_columns);
    f.box[1] = static_cast<cuuint32_t>(box_rows);
    return gemm::tensor_map(f);
}

/// kernel<<<…>>> in clusters of two blocks.
template <class... P, class... A>
void launch(void (*kernel)(P...), dim3 grid, int threads, unsigned bytes, dim3 cluster, A... arguments) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    cudaLaunchConfig_t config{};
    config.gridDim = grid;
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = bytes;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

void cluster_gemm(ClusterMistake mistake, int M, int N, int K, const float* A, const float* B, float* C) {
    const CUtensorMap a = map_of(A, M, K, BM, BK), b = map_of(B, K, N, kHalf, BN);
    const int rows = (M + kBlocks * BM - 1) / (kBlocks * BM) * kBlocks;
    launch(cluster_gemm_kernel, dim3((N + BN - 1) / BN, rows), kThreads, 0, dim3(1, kBlocks), mistake, M, N,
           K, a, b, C);
}

void two_phases(bool both) {
    two_phases_kernel<<<1, 96>>>(both);
}

void cluster_sum(SumMistake mistake, const int* in, int* out) {
    launch(cluster_sum_kernel, dim3(2), 64, 2 * sizeof(int), dim3(2), mistake, in, out);
}

}  // namespace kernels
