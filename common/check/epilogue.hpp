// What is fused behind the product: its value in float64, the same in FP32, and what it makes of errors.
#pragma once

#include <cstdint>
#include <vector>

#include "common/check/workload.hpp"

namespace gemm {

/// D = f(x + bias) + residual of each element x = alpha·Σab + beta·c0 of a workload, which it is part of.
/// Without an epilogue, x itself.
class Epilogue {
  public:
    explicit Epilogue(const HostProblem& w) : Epilogue(w, w.shape()) {}
    /// The same with the pitches of another shape, which must outlive it.
    Epilogue(const HostProblem& w, const Shape& pitches);

    /// In the precision of x: exact enough in double, what a plain kernel does in float.
    double operator()(double x, std::int64_t row, std::int64_t col) const { return of(x, row, col); }
    float operator()(float x, std::int64_t row, std::int64_t col) const { return of(x, row, col); }

    /// |bias|, which the magnitude of the function's argument has beside that of x.
    double bias_magnitude(std::int64_t col) const;

  private:
    template <class T>
    T of(T x, std::int64_t row, std::int64_t col) const;

    const HostMatrices& host_;
    const Shape& s_;
};

/// How far D as a kernel computes it in FP32 may be from its value, before it is rounded to D's type.
/// before: |y' − y| of the function's argument y = x + bias. magnitude: at least |y|; value: D's. `before`
/// itself, where there is no epilogue. Derived in epilogue.cpp.
double through_epilogue(const Variant& v, double before, double magnitude, double value);

}  // namespace gemm
