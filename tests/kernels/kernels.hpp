// Slow kernels, one thread an element, for variants that no lesson takes yet: the contract has room for them
// where they go the way of every lesson, and where each of their mistakes is found.
#pragma once

#include <span>

#include "common/gemm.hpp"

namespace slow {

/// INT8 inputs; INT32 sums and C. Right.
extern const gemm::Lesson int8;
/// E4M3 inputs, B as N×K; FP32 sums, BF16 C. Right.
extern const gemm::Lesson fp8;

/// Copies of them with one mistake each, by the name of the mistake.
std::span<const gemm::Lesson> int8_mistakes();
std::span<const gemm::Lesson> fp8_mistakes();

}  // namespace slow
