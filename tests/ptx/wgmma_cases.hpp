// Random multiplications for wgmma, and what their sums must be, worked out from the layouts in shared memory
// as CUTLASS describes them (include/cute/atom/mma_traits_sm90_gmma.hpp): without what the CPU device does it
// with.
//
// Inputs are small whole numbers; or, of other types than BF16 and FP16, every number that the type has, one
// product to a sum; of integers all there are. So every sum is exact.
#pragma once

#include <vector>

#include "tests/random_cases.hpp"

namespace test {

/// The modes of BF16 and FP16, for what runs cases: sums, thread by thread.
std::vector<RandomMode> wgmma_random();
/// The same of TF32, FP8, 8-bit integers, and with sums of FP16; no zero is negative. (A mode of integers has
/// both: half of its cases saturate.)
std::vector<RandomMode> wgmma_type_random();

}  // namespace test
