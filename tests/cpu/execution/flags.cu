// Blocks that wait for each other by flags in global memory.
#include "common/ptx/flags.hpp"

#include <cuda_runtime.h>

#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

using gemm::ptx::add_acquire_release;
using gemm::ptx::add_release;
using gemm::ptx::load_acquire;
using gemm::ptx::store_release;

__device__ void wait_until(const unsigned* flag, unsigned value) {
    if (threadIdx.x == 0) {
        while (load_acquire(flag) < value) {  // LINE wait
        }
    }
    __syncthreads();
}

/// Block i waits for block i + 1, or for block i − 1, and adds 1 to what that had.
__global__ void chain_kernel(bool reverse, unsigned* flags, int* values) {
    __shared__ int own;
    const unsigned i = blockIdx.x, last = gridDim.x - 1;
    const bool first = i == (reverse ? last : 0);
    const unsigned other = reverse ? i + 1 : i - 1;
    if (threadIdx.x == 0) own = static_cast<int>(i);
    __syncthreads();
    if (!first) wait_until(&flags[other], 1);
    // Had another block been here meanwhile, and in the same bytes, they would show.
    if (own != static_cast<int>(i)) values[i] = -1;
    if (threadIdx.x == 0) {
        values[i] += first ? 1 : values[other] + 1;
        store_release(&flags[i], 1);
    }
}

/// Part of a sum by each of `splits` blocks; the first of them adds the others' to its own when they are
/// there.
__global__ void split_sum_kernel(int n, const float* in, float* parts, unsigned* ready, float* out) {
    extern __shared__ float own[];
    const unsigned tile = blockIdx.x, split = blockIdx.y, splits = gridDim.y, i = threadIdx.x;
    own[i] = 0;
    for (int k = static_cast<int>(split); k < n; k += static_cast<int>(splits))
        own[i] += in[(tile * static_cast<unsigned>(n) + static_cast<unsigned>(k)) * blockDim.x + i];
    if (split > 0) {
        parts[(tile * splits + split) * blockDim.x + i] = own[i];
        __syncthreads();
        if (i == 0) add_release(&ready[tile], 1);
        return;
    }
    wait_until(&ready[tile], splits - 1);
    float sum = own[i];
    for (unsigned s = 1; s < splits; ++s) sum += parts[(tile * splits + s) * blockDim.x + i];
    out[tile * blockDim.x + i] = sum;
}

/// `rounds` times: each block writes its number and the round, waits for all, and adds up what all have
/// written.
__global__ void grid_barrier_kernel(int rounds, unsigned* arrived, int* numbers, long long* sums) {
    const unsigned blocks = gridDim.x;
    for (int round = 0; round < rounds; ++round) {
        int* const written = numbers + static_cast<unsigned>(round % 2) * blocks;
        if (threadIdx.x == 0) {
            written[blockIdx.x] = static_cast<int>(blockIdx.x) * (round + 1);
            add_release(arrived, 1);
            while (load_acquire(arrived) < blocks * static_cast<unsigned>(round + 1)) {  // LINE grid
            }
        }
        __syncthreads();
        if (threadIdx.x == 32) {
            for (unsigned b = 0; b < blocks; ++b) sums[blockIdx.x] += written[b];
        }
        __syncthreads();
    }
}

/// Each block takes the next place, by an atomic operation that no other block waits for.
__global__ void places_kernel(unsigned* next, unsigned* done, int* order) {
    __shared__ unsigned place;
    if (threadIdx.x == 0) {
        place = add_acquire_release(next, 1);
        order[place] = static_cast<int>(blockIdx.x);
        add_release(done, 1);
        while (load_acquire(done) < gridDim.x) {
        }
    }
}

/// Threads of a block that spin in several ways, each for another block.
__global__ void ways_kernel(unsigned* flags, int* out) {
    const unsigned i = threadIdx.x, lane = i % 32;
    if (blockIdx.x == 0) {
        if (i < 32) {  // a warp together
            while (!__all_sync(~0u, load_acquire(&flags[lane / 16]) != 0)) {
            }
        } else if (i < 64) {  // over two flags by turns
            while (load_acquire(&flags[2]) == 0 || load_acquire(&flags[3]) == 0) {
            }
        } else if (i == 64) {  // for a while, and then without
            int looked = 0;
            while (load_acquire(&flags[8]) == 0 && looked < 100) ++looked;
            if (looked == 100) store_release(&flags[4], 1);
        } else if (i == 65) {  // by pausing
            while (*reinterpret_cast<volatile unsigned*>(&flags[5]) == 0) __nanosleep(20);
        }
        __syncthreads();
        if (i == 0) *out += 1;
        return;
    }
    if (blockIdx.x == 1 && i == 0) {
        while (load_acquire(&flags[4]) == 0) {
        }
        *reinterpret_cast<volatile unsigned*>(&flags[5]) = 1;
        for (int f = 0; f < 4; ++f) store_release(&flags[f], 1);
    }
}

__global__ void clusters_kernel(unsigned* flags, int* values) {
    __shared__ int own;
    const unsigned i = blockIdx.x, cluster = i / 2, last = gridDim.x / 2 - 1;
    if (threadIdx.x == 0) own = static_cast<int>(i);
    __syncthreads();
    if (cluster < last) wait_until(&flags[(cluster + 1) * 2 + i % 2], 1);
    if (threadIdx.x == 0) {
        values[i] = own + (cluster < last ? values[i + 2] : 0);
        store_release(&flags[i], 1);
    }
}

}  // namespace

void chain(bool reverse, int blocks, int threads, unsigned* flags, int* values) {
    chain_kernel<<<blocks, threads>>>(reverse, flags, values);
}
cudaError_t chain_together(int blocks, unsigned* flags, int* values) {
    cudaLaunchAttribute together{};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(1024);
    config.attrs = &together;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, chain_kernel, true, flags, values);
}
void split_sum(int tiles, int splits, int threads, int n, const float* in, float* parts, unsigned* ready,
               float* out) {
    split_sum_kernel<<<dim3(tiles, splits), threads, threads * sizeof(float)>>>(n, in, parts, ready, out);
}
void grid_barrier(int blocks, int rounds, unsigned* arrived, int* numbers, long long* sums) {
    grid_barrier_kernel<<<blocks, 64>>>(rounds, arrived, numbers, sums);
}
void places(int blocks, unsigned* counters, int* order) {
    places_kernel<<<blocks, 32>>>(counters, counters + 1, order);
}
void ways_to_spin(unsigned* flags, int* out) {
    ways_kernel<<<2, 96>>>(flags, out);
}
cudaError_t chained_clusters(int blocks, bool cooperative, unsigned* flags, int* values) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(blocks));
    config.blockDim = dim3(64);
    cudaLaunchAttribute attributes[2]{};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim = {2, 1, 1};
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = cooperative ? 1 : 0;
    config.attrs = attributes;
    config.numAttrs = 2;
    return cudaLaunchKernelEx(&config, clusters_kernel, flags, values);
}

}  // namespace kernels
