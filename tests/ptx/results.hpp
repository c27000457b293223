// How results leave registers: stmatrix, and barriers for a part of a block.
#pragma once

#include <cstdint>

namespace kernels {

enum class StMatrix { x1, x2, x4, x1_trans, x2_trans, x4_trans };
/// One warp: lane's registers are registers[4·lane …], its row is rows[lane] of tile, 32×8; below 0: none.
/// What is not written stays as it is.
void stmatrix(StMatrix kind, const std::uint32_t* registers, const int* rows, std::uint16_t* tile);

/// What three groups of 128 threads do at their barriers; all but `right` are mistakes.
enum class Meeting {
    right,
    first_alone,     // the next round overwrites what others have yet to read
    second_alone,    // they read what others have yet to write
    a_warp_is_away,  // it never comes
    other_number,    // one warp waits for 64
    number_zero,     // the barrier of __syncthreads()
    no_whole_warps,  // waits for 100
};
/// out, of 384 floats: each thread's sum over `rounds` of what its opposite in its group has written.
void meet(Meeting kind, int rounds, float* out);

}  // namespace kernels
