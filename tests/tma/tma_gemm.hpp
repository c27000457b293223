// A small FP32 GEMM by TMA: a producer warp keeps a ring of two stages filled, four warps multiply, and the
// copy engine stores. It is right for any size and pitch, and wrong in the way that it is asked to be.
#pragma once

#include <cstdint>

namespace kernels {

enum class TmaMistake {
    none,
    no_barrier_after_init,  // of the mbarriers
    no_init_fence,
    proxy_fence_for_init,   // no mistake: fence.proxy.async does as well
    wrong_parity,           // consumers wait for the phase before
    wrong_producer_parity,  // the producer waits for a stage that nobody has had yet
    too_few_bytes,          // are expected: half of what comes
    too_many_bytes,
    released_early,  // a stage, before it is read
    never_released,  // by one of the threads
    returned_early,  // the producer, a step before the end
    no_proxy_fence,
    no_wait_before_reuse,  // of the tile that a store reads
    no_wait_at_the_end,
    box_too_wide,  // A's, by a row
    ragged_rows,   // of C are stored by TMA, too
};

/// C = alpha·A·B + beta·C, row-major with pitches in elements.
void tma_gemm(TmaMistake mistake, int M, int N, int K, const float* A, std::int64_t lda, const float* B,
              std::int64_t ldb, float* C, std::int64_t ldc, float alpha, float beta);

/// Instructions that a GPU leaves undefined or faults at, one each; on the CPU device only.
enum class TmaFault {
    not_begun,          // an mbarrier that nobody has initialised
    overwritten,        // one that something else was written over
    no_arrivals,        // one for 0 arrivals
    too_many_arrivals,  // in a phase
    misaligned_box,
    misaligned_row,  // a box that begins within 16 bytes of a row
    misaligned_barrier,
    negative_store,
    past_the_end,  // a box that is larger than its array
    short_rows,    // one that is not, but for what its swizzle mode leaves free
    not_encoded,   // 128 bytes that are no tensor map
    wrong_rank,
    host_memory,
    load_left_behind,  // nobody waits for it
    try_once,          // asks an mbarrier once, and does not ask again
};
/// in: 1024 floats. *out: what thread 0 has seen.
void tma_fault(TmaFault fault, const float* in, float* out);

}  // namespace kernels
