// The lessons of variants.cu that take BF16 and FP16 alone, and mistakes with these types.
#pragma once

#include "common/gemm.hpp"

namespace short_types {

extern const gemm::Lesson right;           // BF16 from sm_80, FP16 from sm_75
extern const gemm::Lesson cut_off;         // BF16: C is cut off, not rounded
extern const gemm::Lesson bf16_sum;        // BF16: sums are kept in BF16
extern const gemm::Lesson taken_for_bf16;  // FP16, whose bits are taken for BF16's

}  // namespace short_types
