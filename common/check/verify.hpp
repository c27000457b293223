// Says whether a kernel is right, and if not, where it is wrong and what that looks like.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/check/patterns.hpp"
#include "common/check/reference.hpp"
#include "common/check/workload.hpp"
#include "common/facts.hpp"
#include "common/gemm.hpp"

namespace gemm {

/// An element that is not what it should be, or one of the padding that is no longer as it was.
struct WrongElement {
    std::int64_t row = 0, column = 0;
    double got = 0;
    bool written = true;  // else got is what was there before
    double expected = 0, bound = 0;
    std::optional<Owner> owner = {};           // who computes it, where that is known
    unsigned warp = 0;                         // of the owner, in its block
    std::optional<std::int64_t> problem = {};  // of a batch, counted from 0
};

/// The outcome of one check.
struct Verdict {
    bool passed = false;
    std::int64_t checked = 0;           // elements held against float64
    std::int64_t compared = 0;          // the same, or all that were held against the baseline
    std::int64_t wrong = 0;             // of those compared
    double error_over_bound = 0;        // max |c − ref| / bound over the finite elements: passes up to 1
    double rms_error = 0;               // of c − ref over the finite elements
    std::int64_t in_mean = 0;           // of which there are so many
    double rms_limit = 0;               // 4 × that of Reference::plain on the same ones
    std::optional<FailureId> what;      // is wrong; none if passed
    std::optional<WrongElement> first;  // of the elements or the padding, the first row before all else
    std::vector<Pattern> patterns;      // what is common to the values first, then where they lie
    std::string breach;                 // who wrote where, for FailureId::outside
    std::string failure;  // all that as text (words.cpp): several lines, the first one a sentence
};

/// A whole result to hold C against where float64 is only affordable on a sample: cuBLAS's C and its |A|·|B|,
/// both FP32 whatever the type of the inputs, so that they err by γ alone. Row-major, tight pitch N.
struct WholeMatrix {
    std::vector<float> value;      // alpha·A·B + beta·C0
    std::vector<float> magnitude;  // |alpha|·|A|·|B| + |beta|·|C0|
};

/// Who computes C[row][col] of a problem, where that is known better than by the lesson; nothing where it is
/// not known.
using OwnerOf = std::function<std::optional<Owner>(std::int64_t problem, std::int64_t row, std::int64_t col)>;
/// The same as the lesson says it.
std::optional<Owner> owner_of(const Lesson& lesson, const Problem& p, std::int64_t problem, std::int64_t row,
                              std::int64_t col);

/// Holds results against float64: every element up to 2²⁸ multiply-adds, or always where `whole` cannot be
/// had; beyond that four rows and four columns drawn by the workload's seed, and `whole` for everything.
class Verifier {
  public:
    /// Computes the reference. `whole` may be null; it must outlive the verifier.
    explicit Verifier(const Workload& w, const WholeMatrix* whole = nullptr);

    /// c: the result as downloaded; `fill`: what it was full of before. `lesson` (may be null) tells who
    /// owns an element and the tile sizes; `owner`, where it is given, is asked instead of the lesson, once,
    /// about the first wrong element.
    Verdict check(const Elements& c, const Lesson* lesson, const OwnerOf& owner = {},
                  Fill fill = Fill::poison) const;

    /// What every element of C should be, where each is held against float64; null where C has none, and of a
    /// batch.
    const Reference* right() const {
        return parts_.size() == 1 && parts_[0].size() == 1 ? parts_[0].data() : nullptr;
    }

    /// True where 2²⁸ multiply-adds are passed, so that a WholeMatrix is worth computing.
    static bool wants_whole(const Shape& shape);

  private:
    /// What is wrong, in order; its figures go to v.
    std::vector<Wrong> wrong_elements(const Elements& c, Fill fill, Verdict& v) const;
    std::vector<Pattern> patterns_of(const std::vector<Wrong>& wrong, const Lesson* lesson) const;

    const Workload& w_;
    const WholeMatrix* whole_;
    std::vector<std::vector<Reference>> parts_;  // of each problem
};

/// The same of a sample, which is a problem of its own, against its reference alone: c has no padding. Says
/// nothing in words.
Verdict sample_verdict(const Reference& right, const Shape& sample, const Elements& c);

/// Says whether the result that a launch has left in a workload, or in a duplicate of it, is right.
using Check = std::function<Verdict(const Workload& left, const Lesson* lesson, Fill fill)>;
/// By the verifier, which must outlive it.
Check check_by(const Verifier& verifier);

/// A result that is right is wrong where something was written outside of a matrix. breach: what w.breach()
/// said after the launch; name: whose result it is.
void fail_outside(Verdict& verdict, const std::string& breach, const std::string& name, const Workload& w);

/// Fills C and runs the lesson once, to its end. The lesson's variant is the workload's (with_variant()).
/// Throws Error when it is not, or when the launch fails.
void run_once(const Lesson& lesson, Workload& w, Fill fill = Fill::poison);
/// The same with another problem in the workload's matrices.
void run_once(const Lesson& lesson, Workload& w, const Problem& problem, Fill fill = Fill::poison);
/// The same with a plan that the lesson's prepare() has made for it.
void run_once(const Lesson& lesson, Workload& w, const Problem& problem, const void* plan,
              Fill fill = Fill::poison);

/// Runs the lesson, once with each of fills(), and checks C, its padding and all guard bands. Throws Error as
/// run_once() does.
Verdict verify(const Lesson& lesson, Workload& w, const Verifier& verifier);
Verdict verify(const Lesson& lesson, Workload& w, const Check& check);

}  // namespace gemm
