// What C should be: float64 sums over the inputs as they lie in memory, for every variant, and how far a
// right kernel may stray.
#pragma once

#include <cstdint>
#include <vector>

#include "common/check/judgement.hpp"
#include "common/check/workload.hpp"

namespace gemm {

/// Reference for the elements rows × cols of the result. Vectors hold rows.size()·cols.size() entries,
/// row-major.
struct Reference {
    std::vector<std::int64_t> rows, cols;
    std::vector<double> value;      // alpha·Σab + beta·c0 in float64, and what the epilogue makes of it
    std::vector<double> magnitude;  // |alpha|·Σ|a||b| + |beta||c0| + |bias|
    // The same product as a plain loop over k computes it in the variant's accumulator, rounded to C's type.
    // A tensor core's FP32 sums are cut off, not rounded, after every four products: sixteen bits of C hide
    // that, but where C is FP32 its RMS error is about ten times that of rounded sums at K = 1024. (An H200's
    // in TF32 was 8.5 times as large.)
    std::vector<float> plain;
};

/// Where there are as many rows as op(A) has, or columns as op(B), they are all of them, in order.
/// Work: rows.size()·cols.size()·K multiply-adds in three accumulators, spread over all cores.
Reference reference(const HostProblem& w, std::vector<std::int64_t> rows, std::vector<std::int64_t> cols);

/// Relative bound γ: |x − value| ≤ γ·magnitude for x = alpha·Σab + beta·c0 as it is before it is rounded to
/// the result's type, for every order of summation in the variant's accumulator; 0 where that holds whole
/// numbers. Derived in reference.cpp.
double error_bound_factor(std::int64_t K, const Variant& variant = {});

/// Significant bits that are kept of a sum of FP8's products, at least. Hopper's tensor cores keep "around 14
/// bits": DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, §3.3.2. Nobody here has measured it
/// yet.
inline constexpr int kFp8SumBits = 14;

/// The bounds of a problem's elements. What they have in common is worked out once.
class ErrorBounds {
  public:
    explicit ErrorBounds(const Shape& shape);
    /// value, magnitude: of one element, as Reference has them.
    ErrorBound operator()(double value, double magnitude) const;
    /// The same where nothing is fused and no integers are multiplied.
    const PlainBounds& plain() const { return plain_; }

  private:
    Variant variant_;
    bool exact_ = false;
    PlainBounds plain_;
};
/// How far elements may be from those of a WholeMatrix, or a DeviceWhole.
WholeBounds whole_bounds(const Shape& shape);
inline ErrorBound error_bound(const Shape& shape, double value, double magnitude) {
    return ErrorBounds(shape)(value, magnitude);
}

}  // namespace gemm
