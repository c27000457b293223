#include "common/check/epilogue.hpp"

#include <cmath>
#include <numbers>

namespace gemm {
namespace {

/// GELU with tanh, as Activation has it.
template <class T>
T gelu(T x) {
    const T factor = static_cast<T>(std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    return T{0.5} * x * (T{1} + std::tanh(factor * (x + T(0.044715) * x * x * x)));
}

}  // namespace

Epilogue::Epilogue(const HostProblem& w, const Shape& pitches) : host_(w.host()), s_(pitches) {}

template <class T>
T Epilogue::of(T x, std::int64_t row, std::int64_t col) const {
    if (s_.variant.bias) x += static_cast<T>(host_.bias[static_cast<std::size_t>(col)]);
    if (s_.variant.activation == Activation::gelu) x = gelu(x);
    if (s_.variant.residual) x += static_cast<T>(host_.residual[s_.residual_at(row, col)]);
    return x;
}
template double Epilogue::of(double, std::int64_t, std::int64_t) const;
template float Epilogue::of(float, std::int64_t, std::int64_t) const;

double Epilogue::bias_magnitude(std::int64_t col) const {
    return s_.variant.bias ? std::fabs(static_cast<double>(host_.bias[static_cast<std::size_t>(col)])) : 0.0;
}

// With u = 2⁻²⁴, and t = 1 + tanh(z), z = √(2/π)·(y + 0.044715·y³):
//   - GELU's slope is within [−0.13, 1.13] (its largest is 1.1290 near y = 1.41): what y errs by grows by
//     that factor.
//   - z is computed with at most seven roundings, so that it errs by 7·u·|z| to first order, and tanh(z) by
//     7·u·|z|·(1 − tanh²z) ≤ 7·u·0.448 = 3.2·u. CUDA's tanhf errs by 2 units in the last place at most (CUDA
//     C++ Programming Guide, "Mathematical Functions"), of a number up to 1: 2·u. Adding 1 rounds by u·|t| ≤
//     2·u. Together t errs by at most 7.2·u, and ½·y·t by 3.6·u·|y|.
//   - The products by ½ (exact) and by y round by u·|y·t/2| ≤ u·|y|.
// Together less than 5·u·|y|; 8 leaves room for a kernel that works out the same otherwise, by exp(2z) say.
// Adding the residual r rounds by u·|d|, d being the result. Underflow takes less than the smallest FP32 for
// each of ten roundings.
double through_epilogue(const Variant& v, double before, double magnitude, double value) {
    constexpr double kUnit = 0x1p-24, kSlope = 1.13, kOwn = 8.0, kLost = 10 * 0x1p-149;
    if (v.activation == Activation::gelu) before = kSlope * before + kOwn * kUnit * magnitude + kLost;
    if (v.residual) before += kUnit * (std::fabs(value) + before);
    return before;
}

}  // namespace gemm
