// Host functions around kernels whose blocks form clusters. Compute capability 9.0 and higher.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tests/tma/tma.hpp"

namespace kernels {

constexpr int kMostClusterBlocks = 8;  // without allow_large_clusters()

/// Whether clusters of cluster_numbers() and exchange() may have more blocks than every GPU takes.
cudaError_t allow_large_clusters(bool allowed);

/// Launches nothing but blocks that write what their special registers say: `cluster_words` each.
constexpr int kClusterWords = 14;
cudaError_t cluster_numbers(dim3 grid, dim3 cluster, unsigned* out);

/// Boxes as in TmaCase, one after the other; each is asked for by one block of a cluster, for those that have
/// their bit in a mask.
struct MulticastCase {
    TmaCase box;
    unsigned blocks;
    unsigned issuer[kTmaPhases];
    std::uint16_t mask[kTmaPhases];
};
/// out[(phase·blocks + block)·bytes …]: the block's shared memory after each of the boxes.
void multicast(const MulticastCase& c, std::uint8_t* out);

/// Each thread of each block writes a number into the shared memory of the block `shift` further on, and
/// arrives there; reads what has come to its own; and then what has come to the block `other` further on.
struct ExchangeCase {
    unsigned blocks, threads, rounds;
    unsigned shift, other;
    unsigned factor;  // thread t writes to place t·factor modulo threads
    bool relaxed_barrier;
};
/// out[((round·blocks + block)·threads + thread)·2]: the two numbers that it has read.
void exchange(const ExchangeCase& c, unsigned* out);

}  // namespace kernels
