// A small GEMM by TMA and wgmma: a producer warp keeps a ring of two stages filled, a warpgroup multiplies.
// It is right, or wrong in the way that it is asked to be, which
// is for the CPU device only. sm_90a alone, and the CPU device.
#pragma once

#include <cstdint>

namespace kernels {

enum class WgmmaMistake {
    none,
    a_by_threads,  // none: threads bring A, and not TMA
    overlapped,    // none: a batch begins while the one before is under way
    no_fence,
    no_commit,
    no_wait,            // for the sums
    wait_too_short,     // overlapped, and the last batch is not waited for
    released_early,     // a stage, before the wait
    no_swizzle,         // in the descriptor of A
    strides_exchanged,  // LBO and SBO, of B
    past_the_atom,      // A's second half of a row is looked for behind the row
    other_descriptor,   // of B, in one of the threads
    one_warp_less,      // three of the four multiply
    no_proxy_fence,     // threads bring A
    sums_touched,       // between two batches that add to them, with no fence
};

/// C = A·B, row-major: BF16's bits, and C of float with a pitch of N. K and N are multiples of 8.
void wgmma_gemm(WgmmaMistake mistake, int M, int N, int K, const std::uint16_t* A, const std::uint16_t* B,
                float* C);

/// setmaxnreg by three warpgroups; on the CPU device only.
enum class RegisterMistake {
    none,       // 24 + 240 + 240 a thread, of 3 × 168
    too_many,   // 40 + 240 + 240
    not_fewer,  // 240, given back
    not_all,    // of a warpgroup give theirs back
};
void share_registers(RegisterMistake mistake);

/// A wgmma of TF32 whose A or B lies along the rows, which PTX has no instruction for; on the CPU device
/// only.
void tf32_along_rows(bool of_a);

}  // namespace kernels
