// The lessons of variants.cu: variants that no lesson of the course takes yet, and mistakes with them.
#pragma once

#include "common/gemm.hpp"

namespace test_variants {

/// Two types and a third from both, all four layouts. Right.
extern const gemm::Lesson right;
/// Reads both operands as if neither lay transposed.
extern const gemm::Lesson ignores_layout;
/// Takes A for transposed where B is, and B where A is.
extern const gemm::Lesson swaps_layout;
/// Rounds C to BF16 where it is FP32 as well.
extern const gemm::Lesson rounds_c;
/// Reads BF16 as if it were FP16.
extern const gemm::Lesson wrong_conversion;

}  // namespace test_variants
