#include "common/check/patterns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string>

#include "common/check/dtype.hpp"
#include "common/check/epilogue.hpp"
#include "common/check/operands.hpp"
#include "common/check/reference.hpp"

namespace gemm {
namespace {

/// A step of the sum over k for an element, in float64.
using Term = double (*)(const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k);

double element(const Elements& matrix, std::int64_t row, std::int64_t col, std::int64_t pitch) {
    return matrix[static_cast<std::size_t>(row * pitch + col)];
}
/// Of op(A), whose rows are columns in memory where A is transposed.
double a_of(const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t pitch) {
    if (w.shape().variant.a_transposed()) std::swap(row, col);
    return element(w.host().A, row, col, pitch);
}
double a_of(const HostProblem& w, std::int64_t row, std::int64_t col) {
    return a_of(w, row, col, w.shape().lda);
}
/// Of op(B), with the pitches of a shape; times its scale, where it has one.
double b_of(const HostProblem& w, std::int64_t row, std::int64_t col, const Shape& pitches) {
    const double value = w.host().B[pitches.b_at(row, col)];
    return pitches.variant.group == 0 ? value : value * w.host().scales[pitches.scale_at(row, col)];
}
double b_of(const HostProblem& w, std::int64_t row, std::int64_t col) {
    return b_of(w, row, col, w.shape());
}
double c_of(const HostProblem& w, std::int64_t row, std::int64_t col) {
    return element(w.host().C, row, col, w.shape().ldc);
}

/// What the result held before.
double before_of(const HostProblem& w, std::int64_t row, std::int64_t col) {
    return w.host().result(w.shape().variant)[w.shape().result_at(row, col)];
}

double right_term(const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k) {
    return a_of(w, row, k) * b_of(w, k, col);
}

/// Σ of the terms of the steps first ≤ k < last.
double sum_of(const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t first, std::int64_t last,
              Term term = right_term) {
    double sum = 0;
    for (std::int64_t k = first; k < last; ++k) sum += term(w, row, col, k);
    return sum;
}

enum class Rounding { nearest_even, nearest_away, truncation };

/// With `bits` of the mantissa's 23 kept.
template <int bits, Rounding rounding>
double rounded(double value) {
    constexpr std::uint32_t dropped = (std::uint32_t{1} << (23 - bits)) - 1, half = (dropped + 1) / 2;
    auto word = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    if (rounding == Rounding::nearest_away) word += half;
    if (rounding == Rounding::nearest_even) word += half - 1 + (word >> (23 - bits) & 1u);
    return static_cast<double>(std::bit_cast<float>(word & ~dropped));
}

/// A step whose inputs were rounded.
template <int bits, Rounding rounding>
double rounded_term(const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k) {
    return rounded<bits, rounding>(a_of(w, row, k)) * rounded<bits, rounding>(b_of(w, k, col));
}

/// Shorter types that the inputs, the products or the sum may have been put into.
struct Shorter {
    PatternId id;
    Term term;
};
constexpr Shorter kShorter[] = {
    {PatternId::inputs_in_bf16, rounded_term<7, Rounding::nearest_even>},
    {PatternId::inputs_in_bf16_cut, rounded_term<7, Rounding::truncation>},
    {PatternId::inputs_in_tf32_or_fp16, rounded_term<10, Rounding::nearest_even>},
    {PatternId::inputs_in_tf32, rounded_term<10, Rounding::nearest_away>},
    {PatternId::inputs_in_tf32_cut, rounded_term<10, Rounding::truncation>},
    {PatternId::inputs_in_whole_numbers,
     [](const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k) {
         return std::trunc(a_of(w, row, k)) * std::trunc(b_of(w, k, col));
     }},
    {PatternId::products_in_whole_numbers,
     [](const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k) {
         return std::trunc(right_term(w, row, col, k));
     }},
};

/// A question to the wrong values: are they what another product would have given?
class Values {
  public:
    Values(const HostProblem& w, const std::vector<Wrong>& wrong, const Lesson* lesson)
        : w_(w),
          s(w.shape()),
          wrong_(wrong),
          BK(lesson != nullptr ? lesson->tile().BK : 1),
          alpha(static_cast<double>(s.alpha)),
          beta(static_cast<double>(s.beta)),
          epilogue(w) {}

    std::optional<Pattern> memory() const;   // never written, padding taken for elements, NaN, untouched
    std::optional<Pattern> steps() const;    // of the sum over k that are missing
    std::optional<Pattern> scalars() const;  // alpha and beta
    std::optional<Pattern> precision() const;
    std::optional<Pattern> indices() const;

  private:
    using Found = std::optional<Pattern>;
    static Pattern is(PatternId id) { return {.id = id}; }
    /// One that names the matrix that is wrong.
    Pattern of_result(PatternId id) const {
        return {.id = id, .result = gemm::result_of(operands(s.problem())).name};
    }
    Pattern of_steps(PatternId id, std::int64_t from, std::int64_t to) const {
        return {.id = id, .from = from, .to = to, .of = s.K};
    }
    Found pitches() const;
    /// The right product of matrices that are taken for some with these pitches.
    double with_pitches(const Wrong& x, const Shape& packed) const;

    template <class Holds>
    bool all(const Holds& holds) const {
        return std::all_of(wrong_.begin(), wrong_.end(), holds);
    }
    /// Whether they are what a function of an element says.
    template <class Other>
    bool all_match(const Other& other) const;
    /// alpha·sum + beta·C0, with beta = 0 not reading C0, and what the epilogue makes of it.
    double scaled(const Wrong& x, double sum, double by_alpha, double by_beta) const {
        const double c0 = by_beta != 0 ? by_beta * c_of(w_, x.row, x.col) : 0.0;
        return epilogue(by_alpha * sum + c0, x.row, x.col);
    }
    /// The right sum with other scalars.
    bool scalars_match(double by_alpha, double by_beta) const {
        return all_match(
            [&](const Wrong& x) { return scaled(x, sum_of(w_, x.row, x.col, 0, s.K), by_alpha, by_beta); });
    }
    /// Elements that hold the sum over first ≤ k < last alone.
    bool steps_match(std::int64_t first, std::int64_t last) const {
        return all_match(
            [&](const Wrong& x) { return scaled(x, sum_of(w_, x.row, x.col, first, last), alpha, beta); });
    }
    bool terms_match(Term term) const {
        return all_match(
            [&](const Wrong& x) { return scaled(x, sum_of(w_, x.row, x.col, 0, s.K, term), alpha, beta); });
    }

    const HostProblem& w_;
    const Shape& s;
    const std::vector<Wrong>& wrong_;
    const std::int64_t BK;
    const double alpha, beta;
    const Epilogue epilogue;
};

template <class Other>
bool Values::all_match(const Other& other) const {
    bool telling = false;
    const auto matches = [&](const Wrong& x) {
        const double value = other(x), got = x.got;
        // Wide enough for the type, far too narrow for a coincidence: several elements must agree.
        const double slack =
            std::max(x.bound, std::max(1e-5, unit_roundoff(s.variant.result())) * std::fabs(value));
        // A NaN says little. And where the mistake makes no difference (a sum of one step, a row that is a
        // column), an element that is only slightly wrong would seem to have it.
        telling = telling || (!std::isnan(value) && !(std::fabs(value - x.expected) <= 2 * slack));
        return std::fabs(got - value) <= slack || (std::isnan(got) && std::isnan(value));
    };
    const std::size_t step = std::max<std::size_t>(wrong_.size() / 8, 1);
    for (std::size_t i = 0; i < wrong_.size(); i += step) {
        if (!matches(wrong_[i])) return false;
    }
    if (telling) return true;
    int left = 8;  // a few that are not NaN, where most are
    for (std::size_t i = 0; i < wrong_.size() && left > 0; ++i) {
        if (std::isnan(wrong_[i].got)) continue;
        if (!matches(wrong_[i])) return false;
        --left;
    }
    return telling;
}

/// Whether they are what comes of taking padded matrices for packed ones.
std::optional<Pattern> Values::pitches() const {
    std::vector<Operand> padded;
    for (const Operand& o : operands(s.problem())) {
        const bool matters = o.role != Role::in || o.unread[0] == '\0';
        if (matters && o.pitch_name != nullptr && o.pitch > in_whole_bytes(o.type, o.cols))
            padded.push_back(o);
    }
    // One of them, then two, then more.
    std::vector<unsigned> subsets((1u << padded.size()) - 1);
    std::iota(subsets.begin(), subsets.end(), 1u);
    std::stable_sort(subsets.begin(), subsets.end(),
                     [](unsigned a, unsigned b) { return std::popcount(a) < std::popcount(b); });
    for (const unsigned ignored : subsets) {
        Shape packed = s;
        std::string which, lengths;
        for (std::size_t i = 0; i < padded.size(); ++i) {
            const Operand& o = padded[i];
            if ((ignored >> i & 1u) == 0) continue;
            *pitch_in(packed, o.id) = in_whole_bytes(o.type, o.cols);
            which += (which.empty() ? "" : ", ") + std::string(o.name);
            lengths += (lengths.empty() ? "" : ", ") + std::string(o.width);
        }
        if (all_match([&](const Wrong& x) { return with_pitches(x, packed); }))
            return Pattern{.id = PatternId::pitch, .matrices = which, .lengths = lengths};
    }
    return {};
}

double Values::with_pitches(const Wrong& x, const Shape& packed) const {
    // Whose place this is: another element's, where the result is taken for a packed matrix.
    const auto place = static_cast<std::int64_t>(s.result_at(x.row, x.col));
    const std::int64_t row = place / packed.result_pitch(), col = place % packed.result_pitch();
    if (row >= s.M || col >= s.N) return before_of(w_, x.row, x.col);  // nobody's: it keeps what it held
    double value = 0;
    for (std::int64_t k = 0; k < s.K; ++k) value += a_of(w_, row, k, packed.lda) * b_of(w_, k, col, packed);
    value *= alpha;
    if (beta != 0) value += beta * w_.host().C[packed.c_at(row, col)];
    return Epilogue(w_, packed)(value, row, col);
}

std::optional<Pattern> Values::memory() const {
    if (all([](const Wrong& x) { return !x.written; })) return is(PatternId::never_written);
    // Before pitches: beyond the end of a C that is taken for packed, elements keep what they held, too.
    if (all_match([&](const Wrong& x) { return before_of(w_, x.row, x.col); }))
        return of_result(PatternId::unchanged);
    if (Found found = pitches()) return found;
    if (all([](const Wrong& x) { return std::isnan(x.got); })) {
        if (s.alpha == 0.0f) return is(PatternId::nan_with_alpha_zero);
        return is(s.beta == 0.0f ? PatternId::nan_with_beta_zero : PatternId::nan);
    }
    return {};
}

std::optional<Pattern> Values::steps() const {
    if (BK > 1 && s.K % BK != 0) {
        const std::int64_t whole = s.K / BK * BK;
        if (steps_match(0, whole)) return of_steps(PatternId::k_tail, 0, whole);
    }
    if (s.variant.plain() && beta == 0 && alpha != 0 && s.K > 0 &&
        all([](const Wrong& x) { return x.got == 0.0; })) {
        // Zeros in part of C may come from elsewhere: a thread past an edge, say, that stores its sum of
        // nothing.
        const bool all_of_c = static_cast<std::int64_t>(wrong_.size()) == s.M * s.N;
        return is(all_of_c ? PatternId::sum_is_zero : PatternId::zero);
    }
    if (beta != 0 && alpha != 0 && s.K > 0 && steps_match(0, 0)) return is(PatternId::product_missing);
    if (BK > 1 && s.K > BK) {
        const std::int64_t last = (s.K - 1) / BK * BK;
        if (steps_match(last, s.K)) return of_steps(PatternId::last_tile_alone, last, s.K);
        if (steps_match(0, BK)) return of_steps(PatternId::first_tile_alone, 0, BK);
    }
    if (s.K > 2 && steps_match(s.K - 1, s.K)) {
        return of_steps(PatternId::last_product_alone, s.K - 1, s.K);
    }
    if (s.K > 1 && steps_match(0, s.K - 1)) return of_steps(PatternId::last_step_missing, 0, s.K - 1);
    if (s.K > 1 && steps_match(1, s.K)) return of_steps(PatternId::first_step_missing, 1, s.K);
    return {};
}

std::optional<Pattern> Values::scalars() const {
    if (beta != 0 && scalars_match(alpha, 0)) return is(PatternId::beta_c_missing);
    if (beta != 0 && beta != 1 && scalars_match(alpha, 1)) return is(PatternId::beta_is_one);
    if (alpha != 1 && scalars_match(1, beta)) return is(PatternId::alpha_missing);
    if (alpha != 1 && beta != 0 && scalars_match(alpha, alpha * beta)) return is(PatternId::alpha_times_c);
    return {};
}

std::optional<Pattern> Values::precision() const {
    if (alpha == 0 || s.K == 0) return {};
    for (const Shorter& shorter : kShorter) {
        if (terms_match(shorter.term)) return is(shorter.id);
    }
    if (all_match([&](const Wrong& x) {
            double sum = 0;
            for (std::int64_t k = 0; k < s.K; ++k) sum = std::trunc(sum + right_term(w_, x.row, x.col, k));
            return scaled(x, sum, alpha, beta);
        })) {
        return is(PatternId::sum_in_whole_numbers);
    }
    return {};
}

std::optional<Pattern> Values::indices() const {
    // A matrix that is read the wrong way round stays inside its bounds only where it is square.
    const auto a_transposed = [](const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k) {
        return a_of(w, k, row) * b_of(w, k, col);
    };
    const auto b_transposed = [](const HostProblem& w, std::int64_t row, std::int64_t col, std::int64_t k) {
        return a_of(w, row, k) * b_of(w, col, k);
    };
    const auto both_transposed = [](const HostProblem& w, std::int64_t row, std::int64_t col,
                                    std::int64_t k) { return a_of(w, k, row) * b_of(w, col, k); };
    if (s.M == s.K && terms_match(a_transposed)) {
        return is(s.variant.a_transposed() ? PatternId::a_not_transposed : PatternId::a_transposed);
    }
    if (s.N == s.K && terms_match(b_transposed)) {
        return is(s.variant.b_transposed() ? PatternId::b_not_transposed : PatternId::b_transposed);
    }
    if (s.M == s.K && s.N == s.K && terms_match(both_transposed)) {
        return is(s.variant.layout == Layout::nn ? PatternId::a_and_b_transposed
                                                 : PatternId::a_and_b_other_way);
    }
    if (beta == 0 && s.M == s.N && all_match([&](const Wrong& x) {
            return epilogue(alpha * sum_of(w_, x.col, x.row, 0, s.K), x.col, x.row);
        })) {
        return of_result(PatternId::c_transposed);
    }
    return {};
}

/// Whether all are near what they should be: to two digits, while another sum or another element would be off
/// by as much as they are large.
bool few_digits(const std::vector<Wrong>& wrong) {
    double errors = 0, values = 0, most = 0;
    for (const Wrong& x : wrong) {
        const double error = std::fabs(x.got - x.expected);
        if (!std::isfinite(error)) return false;
        errors += error * error;
        values += x.expected * x.expected;
        most = std::max(most, error);
    }
    const double size = std::sqrt(values / static_cast<double>(wrong.size()));
    return std::sqrt(errors / static_cast<double>(wrong.size())) <= 0.02 * size && most <= 0.08 * size;
}

}  // namespace

std::optional<Pattern> value_pattern(const HostProblem& w, const std::vector<Wrong>& wrong,
                                     const Lesson* lesson) {
    const Values values(w, wrong, lesson);
    for (const auto kind :
         {&Values::memory, &Values::steps, &Values::scalars, &Values::precision, &Values::indices}) {
        if (std::optional<Pattern> found = (values.*kind)()) return found;
    }
    const Shape& s = w.shape();
    if (s.alpha != 0.0f && s.K > 0 && few_digits(wrong)) return Pattern{.id = PatternId::few_digits};
    return {};
}

std::vector<Pattern> place_patterns(const Shape& s, const std::vector<Wrong>& wrong, const Lesson* lesson) {
    const auto every = [&](auto&& holds) { return std::all_of(wrong.begin(), wrong.end(), holds); };
    if (static_cast<std::int64_t>(wrong.size()) == s.M * s.N) return {Pattern{.id = PatternId::everywhere}};
    const Wrong& first = wrong.front();
    std::vector<Pattern> found;
    if (lesson != nullptr) {
        const Tile& t = lesson->tile();
        if (s.M > t.BM && every([&](const Wrong& x) { return x.row / t.BM == (s.M - 1) / t.BM; })) {
            found.push_back({.id = PatternId::last_row_of_tiles, .row = (s.M - 1) / t.BM * t.BM});
        }
        if (s.N > t.BN && every([&](const Wrong& x) { return x.col / t.BN == (s.N - 1) / t.BN; })) {
            found.push_back({.id = PatternId::last_column_of_tiles, .column = (s.N - 1) / t.BN * t.BN});
        }
        if (wrong.size() > 1 && (s.M > t.BM || s.N > t.BN) && every([&](const Wrong& x) {
                return x.row / t.BM == first.row / t.BM && x.col / t.BN == first.col / t.BN;
            })) {
            found.push_back({.id = PatternId::one_tile, .tile_rows = t.BM, .tile_columns = t.BN});
        }
    }
    if (wrong.size() > 1 && s.M > 1 && every([&](const Wrong& x) { return x.row == first.row; })) {
        found.push_back({.id = PatternId::one_row, .row = first.row});
    } else if (wrong.size() > 1 && s.N > 1 && every([&](const Wrong& x) { return x.col == first.col; })) {
        found.push_back({.id = PatternId::one_column, .column = first.col});
    } else {
        for (const bool rows : {true, false}) {
            for (std::int64_t n = 256; n >= 2; n /= 2) {
                const auto at = [&](const Wrong& x) { return rows ? x.row : x.col; };
                if ((rows ? s.M : s.N) < 2 * n || wrong.size() < 4) continue;
                if (every([&](const Wrong& x) { return at(x) % n == at(first) % n; })) {
                    Pattern pattern{.id = rows ? PatternId::every_nth_row : PatternId::every_nth_column,
                                    .modulo = n};
                    (rows ? pattern.row : pattern.column) = at(first) % n;
                    found.push_back(pattern);
                    break;
                }
            }
        }
    }
    return found;
}

}  // namespace gemm
