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

/// One element against its reference.
bool acceptable(const Got& element, double expected, const ErrorBound& bound, DType dtype) {
    return element.may_be_right && gemm::acceptable(element.value, expected, bound, infinite_from(dtype));
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
    const std::int64_t problem = element.problem.value_or(0);
    o = owner ? owner(problem, element.row, element.column)
              : owner_of(*lesson, w.problem(), problem, element.row, element.column);
    if (!o) return;
    const uint3 thread = o->thread;
    const dim3& block = lesson->block();  // owner() may be of another launch than this one
    if (thread.x >= block.x || thread.y >= block.y || thread.z >= block.z) return;
    element.owner = o;
    element.warp = ((thread.z * block.y + thread.y) * block.x + thread.x) / 32;
}

/// Padding of the result, and what lies between those of a batch: not one bit of it may have changed.
std::optional<WrongElement> touched_padding(const Elements& c, const Shape& s, Fill fill) {
    const std::vector<std::int64_t> begins = s.begins(result_of(operands(s.problem())));
    const std::vector<Shape> problems = s.members();
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const std::int64_t pitch = problems[i].result_pitch();
        if (pitch == problems[i].N && begins[i] + problems[i].M * pitch == begins[i + 1]) continue;
        for (std::int64_t at = begins[i]; at < begins[i + 1]; ++at) {
            const std::int64_t row = (at - begins[i]) / pitch, col = (at - begins[i]) % pitch;
            if (row < problems[i].M && col < problems[i].N) continue;
            const Got got = element_of(c, static_cast<std::size_t>(at), fill);
            if (!got.written) continue;
            WrongElement touched{row, col, got.value};
            if (s.variant.batch != Batch::one) touched.problem = static_cast<std::int64_t>(i);
            return touched;
        }
    }
    return std::nullopt;
}

/// Whether the wrong elements of a problem hold what belongs to another one of the same sizes, and to which.
std::optional<Pattern> another_problem(const std::vector<std::vector<Reference>>& parts,
                                       const std::vector<Wrong>& wrong, double rounding) {
    const Reference& mine = parts[static_cast<std::size_t>(wrong.front().problem)][0];
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) continue;
        const Reference& other = parts[i][0];
        if (&other == &mine || other.rows.size() != mine.rows.size() || other.cols != mine.cols) continue;
        const bool same = std::all_of(wrong.begin(), wrong.end(), [&](const Wrong& x) {
            const double value = other.value[static_cast<std::size_t>(x.row) * other.cols.size() +
                                             static_cast<std::size_t>(x.col)];
            // It need not be rounded as the right one is.
            const double slack = 2 * x.bound + 4 * rounding * std::fabs(value);
            return std::fabs(x.got - value) <= slack && std::isfinite(value);
        });
        if (same) return Pattern{.id = PatternId::another_problem, .problem = static_cast<std::int64_t>(i)};
    }
    return {};
}

/// In which problems of a batch wrong elements lie.
std::optional<Pattern> problem_pattern(const std::vector<Wrong>& wrong) {
    const std::int64_t first = wrong.front().problem;
    if (first == wrong.back().problem) return Pattern{.id = PatternId::one_problem, .problem = first};
    return first > 0 ? std::optional(Pattern{.id = PatternId::later_problems}) : std::nullopt;
}

/// Sums over the elements that are finite.
struct Squares {
    double own = 0, plain = 0;
    std::int64_t count = 0;
};

/// Adds what is wrong by the references of a problem to `wrong`, and its figures to v and `squares`.
void hold_against_float64(const std::vector<Reference>& parts, const Shape& s, std::int64_t problem,
                          const Elements& c, Fill fill, Verdict& v, Squares& squares,
                          std::vector<Wrong>& wrong) {
    const ErrorBounds bounds(s);
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
                    wrong.push_back({row, col, got.value, got.written, expected, bound, problem});
                if (!std::isfinite(got.value) || !std::isfinite(expected) || !std::isfinite(ref.plain[at]))
                    continue;
                const double error = got.value - expected;
                const double plain = static_cast<double>(ref.plain[at]) - expected;
                v.error_over_bound = std::max(v.error_over_bound, bound > 0 ? std::fabs(error) / bound : 0.0);
                squares.own += error * error;
                squares.plain += plain * plain;
                ++squares.count;
            }
        }
    }
}

/// The figures of v that are means over so many elements.
void put_means(const Squares& squares, Verdict& v) {
    if (squares.count > 0) {
        v.rms_error = std::sqrt(squares.own / static_cast<double>(squares.count));
        v.rms_limit = 4.0 * std::sqrt(squares.plain / static_cast<double>(squares.count));
    }
    v.in_mean = squares.count;
}

/// Of elements that are right: says so in v where they are not right enough in the mean.
void hold_mean(const Variant& variant, Verdict& v) {
    if (v.in_mean < kLeastForMean || v.rms_error <= v.rms_limit) return;
    v.what = FailureId::precision;
    const bool fp32 = accumulator(variant) == Accumulator::fp32;
    v.patterns.push_back({.id = fp32 ? PatternId::short_inputs_or_sum : PatternId::short_sum});
}

WrongElement shown(const Wrong& wrong) {
    return {wrong.row, wrong.col, wrong.got, wrong.written, wrong.expected, wrong.bound, {}, 0};
}

/// The same as hold_against_float64 by a whole result.
void hold_against_whole(const WholeMatrix& whole, const Shape& s, const Elements& c, Fill fill,
                        std::vector<Wrong>& wrong) {
    const ErrorBounds bounds(s);
    std::mutex mutex;
    const WholeBounds widened = whole_bounds(s);
    parallel_for(s.M, 64, [&](std::int64_t first, std::int64_t last) {
        std::vector<Wrong> mine;
        for (std::int64_t row = first; row < last; ++row) {
            for (std::int64_t col = 0; col < s.N; ++col) {
                const auto at = static_cast<std::size_t>(row * s.N + col);
                const Got got = element_of(c, s.result_at(row, col), fill);
                const auto expected = static_cast<double>(whole.value[at]);
                const ErrorBound allowed =
                    widened(bounds(expected, static_cast<double>(whole.magnitude[at])));
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
    const Problem p = s.problem();
    return std::max(flop_of(p) / 2.0, elements_of(p)) > static_cast<double>(kFullWork);
}

std::optional<Owner> owner_of(const Lesson& lesson, const Problem& p, std::int64_t problem, std::int64_t row,
                              std::int64_t col) {
    if (lesson.way) return std::nullopt;  // it knows the owner in the way that it chooses
    if (p.variant.batch != Batch::one) {
        if (lesson.owner_in_batch == nullptr) return std::nullopt;
        return lesson.owner_in_batch(p, problem, row, col);
    }
    return lesson.owner != nullptr ? std::optional(lesson.owner(p, row, col)) : std::nullopt;
}

Verifier::Verifier(const Workload& w, const WholeMatrix* whole) : w_(w), whole_(whole) {
    for (const HostProblem& one : w.members()) {
        const Shape& s = one.shape();
        std::vector<Reference>& parts = parts_.emplace_back();
        if (s.M == 0 || s.N == 0) continue;
        if (whole == nullptr) {
            parts.push_back(reference(one, all(s.M), all(s.N)));
        } else {
            parts.push_back(reference(one, sample(s.M, w.seed()), all(s.N)));
            parts.push_back(reference(one, all(s.M), sample(s.N, w.seed() + 1)));
        }
    }
}

std::vector<Wrong> Verifier::wrong_elements(const Elements& c, Fill fill, Verdict& v) const {
    const Shape& s = w_.shape();
    const std::vector<HostProblem>& problems = w_.members();
    const std::vector<std::int64_t> begins = s.begins(result_of(operands(s.problem())));
    std::vector<Wrong> wrong;
    Squares squares;
    for (std::size_t i = 0; i < problems.size(); ++i) {
        const Shape& one = problems[i].shape();
        const auto hold = [&](const Elements& result) {
            hold_against_float64(parts_[i], one, static_cast<std::int64_t>(i), result, fill, v, squares,
                                 wrong);
        };
        if (s.variant.batch == Batch::one) {
            hold(c);
        } else {
            hold(c.part(static_cast<std::size_t>(begins[i]),
                        static_cast<std::size_t>(one.M * one.result_pitch())));
        }
    }
    put_means(squares, v);
    if (whole_ != nullptr) hold_against_whole(*whole_, s, c, fill, wrong);
    std::sort(wrong.begin(), wrong.end(), [](const Wrong& a, const Wrong& b) { return a.before(b); });
    wrong.erase(std::unique(wrong.begin(), wrong.end(),
                            [](const Wrong& a, const Wrong& b) { return !a.before(b) && !b.before(a); }),
                wrong.end());
    return wrong;
}

std::vector<Pattern> Verifier::patterns_of(const std::vector<Wrong>& wrong, const Lesson* lesson) const {
    const bool batch = w_.members().size() > 1;
    // What its problems have in common is asked of the first in which there is something wrong.
    const auto end = std::find_if(wrong.begin(), wrong.end(),
                                  [&](const Wrong& x) { return x.problem != wrong.front().problem; });
    const std::vector<Wrong> first(wrong.begin(), batch ? end : wrong.end());
    const HostProblem& problem = w_.members()[static_cast<std::size_t>(wrong.front().problem)];
    std::vector<Pattern> found;
    std::optional<Pattern> values =
        batch ? another_problem(parts_, first, unit_roundoff(w_.shape().variant.result())) : std::nullopt;
    if (!values) values = value_pattern(problem, first, lesson);
    if (values) found.push_back(*values);
    if (batch) {
        if (const std::optional<Pattern> where = problem_pattern(wrong)) found.push_back(*where);
    }
    for (const Pattern& place : place_patterns(problem.shape(), first, lesson)) found.push_back(place);
    return found;
}

Verdict Verifier::check(const Elements& c, const Lesson* lesson, const OwnerOf& owner, Fill fill) const {
    const Shape& s = w_.shape();
    Verdict v;
    const std::vector<Wrong> wrong = wrong_elements(c, fill, v);
    v.wrong = static_cast<std::int64_t>(wrong.size());

    v.compared = whole_ != nullptr ? s.M * s.N : v.checked;

    if (!wrong.empty()) {
        const Wrong& first = wrong.front();
        v.what = FailureId::elements;
        v.first = shown(first);
        if (s.variant.batch != Batch::one) v.first->problem = first.problem;
        name_owner(*v.first, w_, lesson, owner);
        v.patterns = patterns_of(wrong, lesson);
    } else if (v.first = touched_padding(c, s, fill); v.first) {
        v.what = FailureId::padding;
    } else {
        hold_mean(s.variant, v);
    }
    v.passed = !v.what;
    v.failure = failure_text(v, lesson != nullptr ? lesson->name : "The result", s, w_.seed());
    return v;
}

Verdict sample_verdict(const Reference& right, const Shape& s, const Elements& c) {
    Verdict v;
    std::vector<Wrong> wrong;
    Squares squares;
    hold_against_float64({right}, s, 0, c, Fill::poison, v, squares, wrong);
    put_means(squares, v);
    v.wrong = static_cast<std::int64_t>(wrong.size());
    if (!wrong.empty()) {
        v.what = FailureId::elements;
        v.first = shown(wrong.front());
    } else {
        hold_mean(s.variant, v);
    }
    v.passed = !v.what;
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
    run_once(lesson, w, problem, prepared(lesson, problem).get(), fill);
}

void run_once(const Lesson& lesson, Workload& w, const Problem& problem, const void* plan, Fill fill) {
    w.reset_c(fill);
    cudaGetLastError();  // what happened before is not this launch's
    launch(lesson, problem, plan, nullptr);
    const std::string why = why_refused();
    if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
        const bool memory = status == cudaErrorMemoryAllocation;
        throw Fault(memory ? FaultId::out_of_memory : FaultId::launch_refused,
                    std::string(lesson.name) + " could not be launched at " + w.shape().text() + ": " +
                        (why.empty() ? cudaGetErrorString(status) : why) + ".");
    }
    if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
        throw Fault(FaultId::launch_failed, std::string(lesson.name) + " failed while running at " +
                                                w.shape().text() + ": " + cudaGetErrorString(status) + ".");
    }
}

Verdict verify(const Lesson& lesson, Workload& w, const Verifier& verifier) {
    return verify(lesson, w, check_by(verifier));
}

Check check_by(const Verifier& verifier) {
    return [&verifier](const Workload& left, const Lesson* lesson, Fill fill) {
        return verifier.check(left.download_c(), lesson, {}, fill);
    };
}

Verdict verify(const Lesson& lesson, Workload& w, const Check& check) {
    Verdict v;
    for (const Fill fill : fills(w.shape().variant.result())) {
        run_once(lesson, w, fill);
        v = check(w, &lesson, fill);
        fail_outside(v, w.breach(), lesson.name, w);
        if (!v.passed) break;
    }
    return v;
}

}  // namespace gemm
