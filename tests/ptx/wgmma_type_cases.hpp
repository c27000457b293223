// Random multiplications for wgmma of TF32, FP8, 8-bit integers, and with sums of FP16, and what their sums
// must be, as wgmma_cases.hpp has them for BF16 and FP16.
//
// Inputs are small whole numbers; or every number that the type has, one product to a sum; of integers all
// there are. So every sum is exact.
#pragma once

#include <vector>

#include "tests/random_cases.hpp"

namespace test {

/// The modes, for what runs cases: sums, thread by thread; no zero is negative. (A mode of integers has both:
/// half of its cases saturate.)
std::vector<RandomMode> wgmma_type_random();

}  // namespace test
