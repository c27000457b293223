#include "common/check/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "common/check/calls.hpp"
#include "common/check/parallel.hpp"
#include "common/check/patterns.hpp"
#include "common/check/variant.hpp"
#include "common/check/words.hpp"
#include "common/error.hpp"

namespace gemm {
namespace {

// Multiply-adds that float64 is computed for in whole.
constexpr std::int64_t kFullWork = std::int64_t{1} << 28;
constexpr std::int64_t kSample = 4;          // rows, and columns, beyond that
constexpr std::int64_t kLeastForMean = 256;  // a mean over fewer elements says little

/// An element of a result, which holds what C was full of where nobody wrote it. Where that is a number it
/// may also be a result: then its value decides.
struct Got {
    double value;
    bool written, may_be_right;
};
Got element_of(const Elements& c, std::size_t at, Fill fill) {
    const bool written = c.bits(at) != bits_of(fill, c.dtype());
    return {c[at], written, written || !poison_tells(c.dtype())};
}

/// One element against its reference. NaN must be NaN and ±Inf the same Inf. A finite value is judged as it
/// comes out in the type: one whose interval before rounding reaches past the largest finite number may be
/// infinite, and one whose interval lies past it must be.
bool acceptable(const Got& element, double expected, const ErrorBound& bound, DType dtype) {
    if (!element.may_be_right) return false;
    const double got = element.value;
    if (std::isnan(expected)) return std::isnan(got);
    if (std::isinf(expected)) return got == expected;
    const double most = dtype == DType::fp32 ? static_cast<double>(std::numeric_limits<float>::max())
                                             : overflow_threshold(dtype);
    if (std::isinf(got) && std::fabs(expected) + bound.before >= most) {
        return std::signbit(got) == std::signbit(expected);
    }
    // Rounding hides nothing of a value that it makes infinite.
    const double allowed = std::fabs(expected) - bound.before >= most ? bound.before : bound.sum();
    return std::fabs(got - expected) <= allowed;  // false for NaN
}

/// Every element of C in order, or some: which rows and columns a reference covers.
std::vector<std::int64_t> all(std::int64_t count) {
    std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
}

std::vector<std::int64_t> sample(std::int64_t count, std::uint64_t seed) {
    // The last one always: edges are where kernels go wrong.
    std::vector<std::int64_t> indices{count - 1};
    for (std::int64_t i = 1; i < kSample; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        indices.push_back(static_cast<std::int64_t>((seed >> 33) % static_cast<std::uint64_t>(count)));
    }
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
}

/// Puts into the element who computes it, where that is known.
void name_owner(WrongElement& element, const Workload& w, const Lesson* lesson, const OwnerOf& owner) {
    if (lesson == nullptr) return;
    std::optional<Owner> o;
    if (owner) {
        o = owner(element.row, element.column);
    } else if (lesson->owner != nullptr) {
        o = lesson->owner(w.problem(), element.row, element.column);
    }
    if (!o) return;
    const uint3 thread = o->thread;
    const dim3& block = lesson->block();  // owner() may be of another launch than this one
    if (thread.x >= block.x || thread.y >= block.y || thread.z >= block.z) return;
    element.owner = o;
    element.warp = ((thread.z * block.y + thread.y) * block.x + thread.x) / 32;
}

/// Padding of C: not one bit of it may have changed.
std::optional<WrongElement> touched_padding(const Elements& c, const Shape& s, Fill fill) {
    for (std::int64_t row = 0; row < s.M && s.result_pitch() > s.N; ++row) {
        for (std::int64_t col = s.N; col < s.result_pitch(); ++col) {
            const Got got = element_of(c, s.result_at(row, col), fill);
            if (got.written) return WrongElement{row, col, got.value};
        }
    }
    return std::nullopt;
}

/// Adds what is wrong by the reference to `wrong`, and its figures to v. Returns how many elements a mean may
/// be taken of.
std::int64_t hold_against_float64(const std::vector<Reference>& parts, const Shape& s, const Elements& c,
                                  Fill fill, Verdict& v, std::vector<Wrong>& wrong) {
    const ErrorBounds bounds(s);
    double squares = 0, plain_squares = 0;
    std::int64_t finite = 0;
    for (const Reference& ref : parts) {
        for (std::size_t i = 0; i < ref.rows.size(); ++i) {
            for (std::size_t j = 0; j < ref.cols.size(); ++j) {
                const std::size_t at = i * ref.cols.size() + j;
                const std::int64_t row = ref.rows[i], col = ref.cols[j];
                const Got got = element_of(c, s.result_at(row, col), fill);
                const double expected = ref.value[at];
                const ErrorBound allowed = bounds(expected, ref.magnitude[at]);
                const double bound = allowed.sum();
                ++v.checked;
                if (!acceptable(got, expected, allowed, s.variant.result()))
                    wrong.push_back({row, col, got.value, got.written, expected, bound});
                if (!std::isfinite(got.value) || !std::isfinite(expected) || !std::isfinite(ref.plain[at]))
                    continue;
                const double error = got.value - expected;
                const double plain = static_cast<double>(ref.plain[at]) - expected;
                v.error_over_bound = std::max(v.error_over_bound, bound > 0 ? std::fabs(error) / bound : 0.0);
                squares += error * error;
                plain_squares += plain * plain;
                ++finite;
            }
        }
    }
    if (finite > 0) {
        v.rms_error = std::sqrt(squares / static_cast<double>(finite));
        v.rms_limit = 4.0 * std::sqrt(plain_squares / static_cast<double>(finite));
    }
    return finite;
}

/// The same by a whole result. Both may stray by γ, and the magnitude was summed in FP32 itself.
void hold_against_whole(const WholeMatrix& whole, const Shape& s, const Elements& c, Fill fill,
                        std::vector<Wrong>& wrong) {
    const ErrorBounds bounds(s);
    std::mutex mutex;
    const double factor = 2.0 * (1.0 + error_bound_factor(s.K, s.variant));
    const double rounding = s.variant.result() == DType::fp32 ? 0.0 : unit_roundoff(s.variant.result());
    parallel_for(s.M, 64, [&](std::int64_t first, std::int64_t last) {
        std::vector<Wrong> mine;
        for (std::int64_t row = first; row < last; ++row) {
            for (std::int64_t col = 0; col < s.N; ++col) {
                const auto at = static_cast<std::size_t>(row * s.N + col);
                const Got got = element_of(c, s.result_at(row, col), fill);
                const auto expected = static_cast<double>(whole.value[at]);
                const ErrorBound one = bounds(expected, static_cast<double>(whole.magnitude[at]));
                const double before = factor * one.before;
                // What is rounded at the end may be farther from cuBLAS's value than from the right one.
                const ErrorBound allowed{before, one.after + rounding * before};
                if (!acceptable(got, expected, allowed, s.variant.result()))
                    mine.push_back({row, col, got.value, got.written, expected, allowed.sum()});
            }
        }
        const std::scoped_lock lock(mutex);
        wrong.insert(wrong.end(), mine.begin(), mine.end());
    });
}

}  // namespace

bool Verifier::wants_whole(const Shape& s) {
    return static_cast<double>(s.M) * static_cast<double>(s.N) *
               static_cast<double>(std::max<std::int64_t>(s.K, 1)) >
           static_cast<double>(kFullWork);
}

Verifier::Verifier(const Workload& w, const WholeMatrix* whole) : w_(w), whole_(whole) {
    const Shape& s = w.shape();
    if (s.M == 0 || s.N == 0) return;
    if (whole == nullptr) {
        parts_.push_back(reference(w, all(s.M), all(s.N)));
    } else {
        parts_.push_back(reference(w, sample(s.M, w.seed()), all(s.N)));
        parts_.push_back(reference(w, all(s.M), sample(s.N, w.seed() + 1)));
    }
}

Verdict Verifier::check(const Elements& c, const Lesson* lesson, const OwnerOf& owner, Fill fill) const {
    const Shape& s = w_.shape();
    Verdict v;
    std::vector<Wrong> wrong;
    const std::int64_t finite = hold_against_float64(parts_, s, c, fill, v, wrong);
    if (whole_ != nullptr) hold_against_whole(*whole_, s, c, fill, wrong);
    std::sort(wrong.begin(), wrong.end(), [](const Wrong& a, const Wrong& b) { return a.before(b); });
    wrong.erase(std::unique(wrong.begin(), wrong.end(),
                            [](const Wrong& a, const Wrong& b) { return a.row == b.row && a.col == b.col; }),
                wrong.end());
    v.wrong = static_cast<std::int64_t>(wrong.size());

    v.compared = whole_ != nullptr ? s.M * s.N : v.checked;

    if (!wrong.empty()) {
        const Wrong& first = wrong.front();
        v.what = FailureId::elements;
        v.first =
            WrongElement{first.row, first.col, first.got, first.written, first.expected, first.bound, {}, 0};
        name_owner(*v.first, w_, lesson, owner);
        if (std::optional<Pattern> values = value_pattern(w_, wrong, lesson)) v.patterns.push_back(*values);
        for (const Pattern& place : place_patterns(s, wrong, lesson)) v.patterns.push_back(place);
    } else if (v.first = touched_padding(c, s, fill); v.first) {
        v.what = FailureId::padding;
    } else if (finite >= kLeastForMean && !(v.rms_error <= v.rms_limit)) {
        v.what = FailureId::precision;
        const bool fp32 = accumulator(s.variant) == Accumulator::fp32;
        v.patterns.push_back({.id = fp32 ? PatternId::short_inputs_or_sum : PatternId::short_sum});
    }
    v.passed = !v.what;
    v.failure = failure_text(v, lesson != nullptr ? lesson->name : "The result", s, w_.seed());
    return v;
}

void fail_outside(Verdict& verdict, const std::string& breach, const std::string& name, const Workload& w) {
    if (!verdict.passed || breach.empty()) return;
    verdict.passed = false;
    verdict.breach = breach;
    verdict.what = FailureId::outside;
    verdict.failure = failure_text(verdict, name, w.shape(), w.seed());
}

void run_once(const Lesson& lesson, Workload& w, Fill fill) {
    run_once(lesson, w, w.problem(), fill);
}

void run_once(const Lesson& lesson, Workload& w, const Problem& problem, Fill fill) {
    if (lesson.variant() != w.shape().variant) {
        throw Error(std::string(lesson.name) + " was given matrices of " + text(w.shape().variant) +
                    " and is to take " + text(lesson.variant()) + ".");
    }
    w.reset_c(fill);
    const Plan plan = prepared(lesson, problem);
    cudaGetLastError();  // what happened before is not this launch's
    launch(lesson, problem, plan.get(), nullptr);
    if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
        const bool memory = status == cudaErrorMemoryAllocation;
        throw Fault(memory ? FaultId::out_of_memory : FaultId::launch_refused,
                    std::string(lesson.name) + " could not be launched at " + w.shape().text() + ": " +
                        cudaGetErrorString(status) + ".");
    }
    if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
        throw Fault(FaultId::launch_failed, std::string(lesson.name) + " failed while running at " +
                                                w.shape().text() + ": " + cudaGetErrorString(status) + ".");
    }
}

Verdict verify(const Lesson& lesson, Workload& w, const Verifier& verifier) {
    Verdict v;
    for (const Fill fill : fills(w.shape().variant.result())) {
        run_once(lesson, w, fill);
        v = verifier.check(w.download_c(), &lesson, {}, fill);
        fail_outside(v, w.breach(), lesson.name, w);
        if (!v.passed) break;
    }
    return v;
}

}  // namespace gemm
