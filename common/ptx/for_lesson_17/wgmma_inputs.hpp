// What else than BF16 and FP16 a wgmma multiplies: its types, and which bytes of A a thread holds.
//
// All of them take 32 bytes of a row of A and B at once: 8 numbers of TF32, 32 of 8 bits. A descriptor finds
// them as it finds 16 numbers of 16 bits along K (wgmma_address() with half the byte's number as k); along
// the rows only numbers of 16 bits can lie.
#pragma once

#include <cuda_runtime.h>

#include "common/ptx/wgmma_descriptor.hpp"

namespace gemm::ptx {

/// As PTX calls them. Of TF32 the hardware reads the highest 19 of 32 bits. e4m3 and e5m2 are FP8, with 4 and
/// 5 bits of exponent.
enum class WgmmaInput { bf16, f16, tf32, e4m3, e5m2, s8, u8 };

/// Bytes of a row along K that one wgmma multiplies.
constexpr unsigned kWgmmaRowBytes = 32;

/// Which byte of A's 64 rows, `column` from the row's first, is byte `byte` of register `reg`, of four, of
/// thread `thread` of the warpgroup.
__host__ __device__ constexpr WgmmaPlace wgmma_a_byte(unsigned thread, unsigned reg, unsigned byte) {
    return {thread / 32 * 16 + thread % 32 / 4 + reg % 2 * 8, thread % 4 * 4 + byte + reg / 2 * 16};
}

}  // namespace gemm::ptx
