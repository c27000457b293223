// Host functions around kernels of one block that use mbarriers and the copy engine. Compute capability 9.0
// and higher.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace kernels {

constexpr unsigned kTmaShared = 96 * 1024;  // bytes at most that a case uses
constexpr int kTmaPhases = 3;               // boxes at most, one after the other at the same mbarrier
constexpr std::uint8_t kTmaUntouched = 0xa5;

struct TmaCase {
    CUtensorMap map;
    int rank;
    int phases;
    int at[kTmaPhases][5];  // coordinates of each box
    unsigned box_bytes;
    unsigned offset;  // of the box in shared memory, a multiple of 128
    unsigned bytes;   // of shared memory that are shown
};

/// out[phase·bytes …]: shared memory after each of the boxes has been loaded; before the first, all of it is
/// kTmaUntouched, and stays so where no box lies.
void tma_load(const TmaCase& c, std::uint8_t* out);
/// Stores boxes from shared memory that holds `in`, the next phase's the same bytes plus 1.
void tma_store(const TmaCase& c, const std::uint8_t* in);

/// `bytes` bytes, a multiple of 16 up to kTmaShared / 2, to shared memory and on, without a tensor map.
void bulk(unsigned bytes, const std::uint8_t* in, std::uint8_t* out);

/// Phases: threads of one block hand a number round through an mbarrier. out[round·threads + thread]: what
/// the thread has seen, which is round · threads + 1 for all.
void mbarrier_rounds(int threads, int rounds, int* out);

/// One thread asks. out: test_wait for parity 0 and for 1 at a fresh mbarrier of 2 arrivals, after one
/// arrival, after two, after expecting 16 bytes and two arrivals, after the 16 bytes have come; as 2 bits
/// each, parity 1 first.
void mbarrier_answers(const std::uint8_t* sixteen, int* out);

}  // namespace kernels
