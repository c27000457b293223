// Slow kernels, one thread an element, for variants that no lesson takes yet: the contract has room for them
// where they go the way of every lesson, and where each of their mistakes is found.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "common/gemm.hpp"

namespace slow {

/// INT8 inputs; INT32 sums and C. Right.
extern const gemm::Lesson int8;
/// E4M3 inputs, B as N×K; FP32 sums, BF16 C. Right.
extern const gemm::Lesson fp8;
/// BF16 with a bias, GELU and a residual, into a D of FP32. Right.
extern const gemm::Lesson fused;
/// BF16 times INT4 with a scale for each 128 steps along K. Right; and the same with weights rounded to BF16.
extern const gemm::Lesson quantized, quantized_rounded;
/// A strided batch of BF16, into C and into a D of FP32. Right.
extern const gemm::Lesson strided;
/// A grouped batch of BF16, into C and into a D of FP32. Right.
extern const gemm::Lesson grouped;

/// Copies of them with one mistake each, by the name of the mistake.
std::span<const gemm::Lesson> int8_mistakes();
std::span<const gemm::Lesson> fp8_mistakes();
std::span<const gemm::Lesson> fused_mistakes();
std::span<const gemm::Lesson> quantized_mistakes();
std::span<const gemm::Lesson> strided_mistakes();
std::span<const gemm::Lesson> grouped_mistakes();

/// All that are right, and all that are not.
inline constexpr std::array kKernels{&int8, &fp8, &fused, &quantized, &quantized_rounded, &strided, &grouped};
inline std::vector<std::span<const gemm::Lesson>> all_mistakes() {
    return {int8_mistakes(),      fp8_mistakes(),     fused_mistakes(),
            quantized_mistakes(), strided_mistakes(), grouped_mistakes()};
}

}  // namespace slow
