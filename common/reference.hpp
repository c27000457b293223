// What C should be: float64 sums over the inputs as they lie in memory, and how far a right kernel may stray.
#pragma once

#include <cstdint>
#include <vector>

#include "common/workload.hpp"

namespace gemm {

/// Reference for the elements rows × cols of C. Vectors hold rows.size()·cols.size() entries, row-major.
struct Reference {
    std::vector<std::int64_t> rows, cols;
    std::vector<double> value;      // alpha·Σab + beta·c0 in float64
    std::vector<double> magnitude;  // |alpha|·Σ|a||b| + |beta||c0|
    std::vector<float> plain;       // the same product as a plain FP32 loop over k computes it
};

/// Work: rows.size()·cols.size()·K multiply-adds in three accumulators, spread over all cores.
Reference reference(const Workload& w, std::vector<std::int64_t> rows, std::vector<std::int64_t> cols);

/// Relative bound γ: |c − value| ≤ γ·magnitude for every order of summation in FP32. Derived in
/// reference.cpp.
double error_bound_factor(std::int64_t K);

}  // namespace gemm
