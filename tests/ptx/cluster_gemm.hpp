// A small FP32 GEMM in clusters of two blocks, one below the other: each loads its own tile of A, and half of
// their tile of B for both. And a sum across the blocks of a cluster. They are right, and wrong in the way
// that they are asked to be.
#pragma once

#include <cstdint>

namespace kernels {

enum class ClusterMistake {
    none,
    empty_count,       // of the consumers of one block alone
    empty_too_many,    // of three blocks
    own_mask,          // the half of B comes to the block alone that asks for it
    mask_off,          // it comes to the blocks one further on
    own_release,       // of a stage, at the own block's producer alone
    relaxed_release,   // by threads that have read
    block_scope_wait,  // the producer's, for threads of two blocks
    no_sync_at_start,
    leaves_early,     // while the other block reaches into it
    arrivals_left,    // at the end the blocks meet at a barrier that says nothing of what came before
    rowless_returns,  // the block that has no row of C
    steps_short,      // block 1 leaves out the last step
    relaxed_syncs,    // no mistake: barriers that say nothing of memory, behind the fence
    unfenced_syncs,   // the same without the fence
};

/// C = A·B, row-major, tight; K and N multiples of 4.
void cluster_gemm(ClusterMistake mistake, int M, int N, int K, const float* A, const float* B, float* C);

/// Two phases of an mbarrier, of which a warp may miss one unless `both` that wait have to answer.
void two_phases(bool both);

enum class SumMistake {
    none,
    no_barrier,       // between the writes and another block's reads
    relaxed_barrier,  // which says nothing of writes
    no_last_barrier,  // another block's shared memory is read while it may have returned
    past_the_end,     // of the other block's array
    two_arrivals,     // at the cluster's barrier, and no wait in between
    no_arrival,       // before the wait
    no_such_block,
    local_variable,  // an address that is not in shared memory
    block_barrier,   // __syncthreads() in one block, but for a thread that waits at the cluster's barrier
};
/// *out: the sum of in[0 … 127], 64 of them by each of two blocks; on the CPU device only but for `none`.
void cluster_sum(SumMistake mistake, const int* in, int* out);

}  // namespace kernels
