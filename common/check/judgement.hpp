// What counts as right, of one element: the same on the host and on a device.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace gemm {

/// How far c may be from its reference. C that is FP32 or INT32 holds x itself, and `after` is 0.
struct ErrorBound {
    double before;  // |x − value|: γ·magnitude, and what underflow takes
    double after;   // |c − x|: x rounded to a shorter type
    __host__ __device__ double sum() const { return before + after; }
};

/// The bounds of elements that nothing is fused behind and that are no integers. All but factor and underflow
/// are 0 where the result is FP32.
struct PlainBounds {
    double factor = 0.0, underflow = 0.0;
    double unit = 0.0, smallest = 0.0;

    __host__ __device__ ErrorBound operator()(double value, double magnitude) const {
        return rounded(value, factor * magnitude + underflow);
    }
    __host__ __device__ ErrorBound rounded(double value, double before) const {
        if (smallest == 0.0) return {before, 0.0};
        return {before, unit * (fabs(value) + before) + smallest};
    }
};

/// How far an element may be from cuBLAS's, which may stray by γ, too, and whose magnitude was summed in FP32
/// itself.
struct WholeBounds {
    double widening = 0.0;  // 2·(1 + γ)
    double rounding = 0.0;  // unit roundoff of a result that is not FP32

    __host__ __device__ ErrorBound operator()(const ErrorBound& one) const {
        const double before = widening * one.before;
        // What is rounded at the end may be farther from cuBLAS's value than from the right one.
        return {before, one.after + rounding * before};
    }
};

/// One element that was written against its reference. NaN must be NaN and ±Inf the same Inf. A finite value
/// is judged as it comes out in the type: one whose interval before rounding reaches past `most`, from where
/// on numbers become infinite, may be infinite, and one whose interval lies past it must be.
__host__ __device__ inline bool acceptable(double got, double expected, const ErrorBound& bound,
                                           double most) {
    if (!(expected == expected)) return !(got == got);
    if (fabs(expected) == HUGE_VAL) return got == expected;
    if (fabs(got) == HUGE_VAL && fabs(expected) + bound.before >= most)
        return copysign(1.0, got) == copysign(1.0, expected);
    // Rounding hides nothing of a value that it makes infinite.
    const double allowed = fabs(expected) - bound.before >= most ? bound.before : bound.sum();
    return fabs(got - expected) <= allowed;  // false for NaN
}

}  // namespace gemm
