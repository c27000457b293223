// What C should be: float64 sums over the inputs as they lie in memory, for every variant, and how far a
// right kernel may stray.
#pragma once

#include <cstdint>
#include <vector>

#include "common/check/workload.hpp"

namespace gemm {

/// Reference for the elements rows × cols of C. Vectors hold rows.size()·cols.size() entries, row-major.
struct Reference {
    std::vector<std::int64_t> rows, cols;
    std::vector<double> value;      // alpha·Σab + beta·c0 in float64
    std::vector<double> magnitude;  // |alpha|·Σ|a||b| + |beta||c0|
    std::vector<float>
        plain;  // the same product as a plain FP32 loop over k computes it, rounded to C's type
};

/// Work: rows.size()·cols.size()·K multiply-adds in three accumulators, spread over all cores.
Reference reference(const Workload& w, std::vector<std::int64_t> rows, std::vector<std::int64_t> cols);

/// Relative bound γ: |x − value| ≤ γ·magnitude for x = alpha·Σab + beta·c0 as it is before it is rounded to
/// C's type, for every order of summation in FP32, or in the accumulators of tensor cores where A and B are
/// both of 16 bits. Derived in reference.cpp.
double error_bound_factor(std::int64_t K, const Variant& variant = {});

/// Whether tensor cores may have added the products up: A and B are both of 16 bits.
bool on_tensor_cores(const Variant& variant);

/// How far c may be from its reference. C that is FP32 holds x itself, and `after` is 0.
struct ErrorBound {
    double before;  // |x − value|: γ·magnitude, and what underflow takes
    double after;   // |c − x|: x rounded to a shorter type
    double sum() const { return before + after; }
};

/// value, magnitude: of one element, as Reference has them.
ErrorBound error_bound(const Shape& shape, double value, double magnitude);

}  // namespace gemm
