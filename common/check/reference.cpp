#include "common/check/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "common/check/epilogue.hpp"
#include "common/check/parallel.hpp"
#include "common/check/variant.hpp"

namespace gemm {
namespace {

/// x as a tensor core leaves a sum: cut off to FP32's bits.
float cut_to_float(double x) {
    const auto near = static_cast<float>(x);
    const bool beyond = std::fabs(static_cast<double>(near)) > std::fabs(x);
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(near) - (beyond ? 1u : 0u));
}

/// Adds the products of STEPS steps along K to n sums, each in the order of the steps. a: of each step an
/// element; b: the first step's row. (Several at once, since the sums of all columns fit no registers.)
/// CUT: the plain sum is a tensor core's, which adds the products of all STEPS before it cuts off.
template <int STEPS, bool CUT>
void add_products(const float* a, const float* b, std::int64_t ldb, std::int64_t n, double* __restrict sum,
                  double* __restrict magnitude, float* __restrict plain) {
    for (std::int64_t j = 0; j < n; ++j) {
        double exact = sum[j], size = magnitude[j], together = plain[j];
        float simple = plain[j];
        for (int k = 0; k < STEPS; ++k) {
            const float x = a[k], y = b[k * ldb + j];
            const double product = static_cast<double>(x) * static_cast<double>(y);
            exact += product;
            size += std::fabs(product);
            if constexpr (CUT)
                together += product;
            else
                simple += x * y;
        }
        sum[j] = exact;
        magnitude[j] = size;
        plain[j] = CUT ? cut_to_float(together) : simple;
    }
}

constexpr std::int64_t kFp8Steps = 32;  // along K, that an instruction for FP8 adds up

/// What is left of n sums where 14 bits are kept.
void cut_off(float* sums, std::int64_t n) {
    constexpr std::uint32_t kDropped = (std::uint32_t{1} << (24 - kFp8SumBits)) - 1;
    for (std::int64_t j = 0; j < n; ++j) {
        sums[j] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(sums[j]) & ~kDropped);
    }
}

/// op(B)'s element as it is multiplied. A number times its scale is exact in FP32: 8 + 8 and 11 + 8
/// significant bits fit.
float weight(const HostProblem& w, std::int64_t k, std::int64_t col) {
    const Shape& s = w.shape();
    const auto number = static_cast<float>(w.host().B[s.b_at(k, col)]);
    return s.variant.group == 0 ? number : number * static_cast<float>(w.host().scales[s.scale_at(k, col)]);
}

/// A matrix of FP32 in row-major order: an operand where it lies, which may have gigabytes, or a copy of what
/// is read of it.
struct Values {
    std::vector<float> copy;
    const float* data = nullptr;
    std::int64_t pitch = 0;

    Values(std::vector<float> values, std::int64_t row)
        : copy(std::move(values)), data(copy.data()), pitch(row) {}
    Values(const Elements& of, std::int64_t row) : pitch(row) {
        if (of.dtype() != DType::fp32) copy = floats(of);
        data = of.dtype() == DType::fp32 ? reinterpret_cast<const float*>(of.bytes().data()) : copy.data();
    }
};

/// The chosen columns of op(B), side by side, so that the loop over them runs over neighbors: K×cols.size().
Values columns_of_b(const HostProblem& w, const std::vector<std::int64_t>& cols, std::int64_t K) {
    const Shape& s = w.shape();
    const auto width = static_cast<std::int64_t>(cols.size());
    if (width == s.N && !s.variant.b_transposed() && s.variant.group == 0) return {w.host().B, s.ldb};
    std::vector<float> gathered(static_cast<std::size_t>(K * width));
    parallel_for(K, (1 << 14) / (width + 1) + 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t k = first; k < last; ++k) {
            for (std::int64_t j = 0; j < width; ++j)
                gathered[static_cast<std::size_t>(k * width + j)] =
                    weight(w, k, cols[static_cast<std::size_t>(j)]);
        }
    });
    return {std::move(gathered), width};
}

/// The chosen rows of op(A), one below the other.
Values rows_of_a(const HostProblem& w, const std::vector<std::int64_t>& rows, std::int64_t K) {
    const Shape& s = w.shape();
    const auto count = static_cast<std::int64_t>(rows.size());
    if (count == s.M && !s.variant.a_transposed()) return {w.host().A, s.lda};
    std::vector<float> gathered(static_cast<std::size_t>(count * K));
    parallel_for(count, (1 << 14) / (K + 1) + 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
            for (std::int64_t k = 0; k < K; ++k)
                gathered[static_cast<std::size_t>(i * K + k)] =
                    static_cast<float>(w.host().A[s.a_at(rows[static_cast<std::size_t>(i)], k)]);
        }
    });
    return {std::move(gathered), K};
}

}  // namespace

Reference reference(const HostProblem& w, std::vector<std::int64_t> rows, std::vector<std::int64_t> cols) {
    const Shape& s = w.shape();
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto width = static_cast<std::int64_t>(cols.size());
    const std::size_t total = rows.size() * cols.size();
    Reference ref{std::move(rows), std::move(cols), std::vector<double>(total), std::vector<double>(total),
                  std::vector<float>(total)};
    const std::int64_t K = s.alpha == 0.0f ? 0 : s.K;
    const Epilogue epilogue(w);
    const bool fp8 = accumulator(s.variant) == Accumulator::tensor_fp8;
    const bool cut = accumulator(s.variant) == Accumulator::tensor_fp32;

    const Values A = rows_of_a(w, ref.rows, K), B = columns_of_b(w, ref.cols, K);

    constexpr std::int64_t kStrip = 512;  // columns whose three accumulators stay in the first-level cache
    const std::int64_t strips = ceil_div(width, kStrip);
    parallel_for(count * strips, ceil_div(1 << 16, (K + 1) * std::min(width, kStrip) + 1),
                 [&](std::int64_t first, std::int64_t last) {
                     std::vector<double> sum(kStrip), magnitude(kStrip);
                     std::vector<float> plain(kStrip);
                     for (std::int64_t item = first; item < last; ++item) {
                         const std::int64_t i = item / strips, j0 = item % strips * kStrip;
                         const std::int64_t n = std::min(kStrip, width - j0);
                         const std::int64_t row = ref.rows[static_cast<std::size_t>(i)];
                         const float* a = A.data + i * A.pitch;
                         std::fill_n(sum.begin(), n, 0.0);
                         std::fill_n(magnitude.begin(), n, 0.0);
                         std::fill_n(plain.begin(), n, 0.0f);
                         const auto add = [&](auto products, std::int64_t k) {
                             products(a + k, B.data + k * B.pitch + j0, B.pitch, n, sum.data(),
                                      magnitude.data(), plain.data());
                         };
                         std::int64_t k = 0;
                         while (k + 4 <= K) {
                             add(cut ? add_products<4, true> : add_products<4, false>, k);
                             k += 4;
                             if (fp8 && k % kFp8Steps == 0) cut_off(plain.data(), n);
                         }
                         for (; k < K; ++k) add(add_products<1, false>, k);
                         for (std::int64_t j = 0; j < n; ++j) {
                             const auto at = static_cast<std::size_t>(j);
                             const std::int64_t col = ref.cols[static_cast<std::size_t>(j0 + j)];
                             double value = K == 0 ? 0.0 : static_cast<double>(s.alpha) * sum[at];
                             double size = std::fabs(static_cast<double>(s.alpha)) * magnitude[at];
                             float simple = K == 0 ? 0.0f : s.alpha * plain[at];
                             if (s.beta != 0.0f) {
                                 const double c0 = w.host().C[s.c_at(row, col)];
                                 value += static_cast<double>(s.beta) * c0;
                                 size += std::fabs(static_cast<double>(s.beta) * c0);
                                 simple += s.beta * static_cast<float>(c0);
                             }
                             const auto out = static_cast<std::size_t>(i * width + j0 + j);
                             ref.value[out] = epilogue(value, row, col);
                             ref.magnitude[out] = size + epilogue.bias_magnitude(col);
                             ref.plain[out] = rounded_to(s.variant.result(), epilogue(simple, row, col));
                         }
                     }
                 });
    return ref;
}

// FP32. Higham, "Accuracy and Stability of Numerical Algorithms" (2nd ed.), §3.1: a sum of K products in
// floating point, in whatever order and with or without fused multiply-adds, errs by at most γ_K·Σ|a||b| with
// γ_n = n·u / (1 − n·u) and u = 2⁻²⁴ for FP32 rounded to nearest. Multiplying by alpha and adding beta·c0
// rounds twice more on the way of the sum; the way of c0 (one product, one addition) is shorter. Hence
// γ_{K+2} for both. A bias is one addition more.
//
// BF16, FP16 and TF32. Their products are exact in FP32: 8 + 8 and 11 + 11 significant bits fit into 24. What
// happens to the sums is not specified: the PTX ISA (mma, wmma and wgmma: "Precision and rounding") promises
// accumulation in at least single precision and leaves order and rounding open. Studies with inputs that tell
// the possibilities apart found that tensor cores align the addends of one step (the accumulator and some
// products) to the largest of them, cut off what does not fit, add exactly, and cut off again: Fasi, Higham,
// Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330, 2021
// (V100, T4, A100). The number of products in a step and the bits kept beyond 24 differ between
// architectures. So let a step add any m ≥ 1 products p_i to the accumulator s and keep 24 bits, the least
// that the specification allows. With ε = 2⁻²³ (cutting off: twice what rounding to nearest errs by):
//   - Aligning changes an addend by less than ε·max(|s|, |p_i|), the largest of the m + 1 not at all:
//   together
//     at most m·ε·(|s| + Σ|p_i|).
//   - The exact sum of the aligned addends is at most |s| + Σ|p_i|, for cutting off makes none of them
//   larger;
//     cutting it off errs by at most ε·(|s| + Σ|p_i|), and leaves the accumulator's size below Σ|p| of all
//     products so far: nothing grows with the number of steps.
//   - A step errs by at most (m + 1)·ε·Σ|a||b|. The steps share K products and there are at most K of them:
//     2·K·ε·Σ|a||b| = 4·K·u·Σ|a||b|, whatever m is.
// Sums in FP32, rounded to nearest, and both kinds mixed err less. alpha and beta as above: γ_{4K+2}.
//
// FP8. The same with kFp8SumBits in the place of 24: ε = 2^(1 − kFp8SumBits), so that the terms count 2^(24 −
// kFp8SumBits) times as much. From K = 2048 on the theorem says nothing; what is less precise than it should
// be is seen in the mean.
//
// Scaled weights. Tensor cores multiply A's type, to which a kernel rounds a number times its scale before:
// by u_A of it, and so of every product. (1 + γ)·(1 + u_A) − 1 for both.
//
// INT8. Sums of whole numbers that fit into 32 bits are exact, and so is what alpha and beta make of them,
// which are whole numbers, too.
double error_bound_factor(std::int64_t K, const Variant& variant) {
    double terms = static_cast<double>(K);
    switch (accumulator(variant)) {
        case Accumulator::fp32:
            break;
        case Accumulator::tensor_fp32:
            terms *= 4.0;
            break;
        case Accumulator::tensor_fp8:
            terms *= 4.0 * (std::uint32_t{1} << (24 - kFp8SumBits));
            break;
        case Accumulator::int32:
            return 0.0;
    }
    const double nu = (terms + (variant.bias ? 3.0 : 2.0)) * 0x1p-24;
    // Beyond 8 million terms the theorem says no more than 1.
    const double sums = nu < 0.5 ? nu / (1.0 - nu) : 1.0;
    const double weights = variant.group != 0 ? unit_roundoff(variant.A) : 0.0;
    return sums + weights + sums * weights;
}

// Before: γ·magnitude, and half the smallest FP32 for each rounding that may underflow (all of it, where
// tensor cores cut off). After: x, which is within `before` of the value, is rounded to nearest, which
// changes it by u·|x|, or by half the smallest number below the normal range (Higham, §2.2, theorem 2.2 and
// (2.8)).
ErrorBounds::ErrorBounds(const Shape& s) : variant_(s.variant) {
    const Accumulator sums = accumulator(variant_);
    exact_ = sums == Accumulator::int32;
    plain_.factor = error_bound_factor(s.K, variant_);
    const double lost = sums == Accumulator::fp32 ? 0x1p-150 : 0x1p-149;
    plain_.underflow = (std::fabs(static_cast<double>(s.alpha)) * static_cast<double>(s.K) + 3.0) * lost;
    const DType result = variant_.result();
    if (result == DType::fp32) return;
    plain_.unit = unit_roundoff(result);
    plain_.smallest = half_smallest(result);
}

ErrorBound ErrorBounds::operator()(double value, double magnitude) const {
    if (exact_) return {0.0, 0.0};
    if (variant_.plain()) return plain_(value, magnitude);
    const double before = plain_.factor * magnitude + plain_.underflow;
    return plain_.rounded(value, through_epilogue(variant_, before, magnitude, value));
}

WholeBounds whole_bounds(const Shape& s) {
    const DType result = s.variant.result();
    return {2.0 * (1.0 + error_bound_factor(s.K, s.variant)),
            result == DType::fp32 ? 0.0 : unit_roundoff(result)};
}

}  // namespace gemm
