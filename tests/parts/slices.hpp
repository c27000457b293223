// The lessons of slices.cu: compositions of common/parts whose scheduler gives a part of K at a time.
#pragma once

#include "common/gemm.hpp"

namespace test_slices {

/// How many k-tiles a piece of work has; the last of a C tile may have fewer.
constexpr int kSlice = 3;

/// C slice by slice, a launch each, which adds to what the launches before it left. A 16-bit C is rounded in
/// between: exact where sums are small integers.
extern const gemm::Lesson fma;    // FP32
extern const gemm::Lesson mma;    // BF16 and FP16
extern const gemm::Lesson wgmma;  // BF16 and FP16, where K is not 0

}  // namespace test_slices
