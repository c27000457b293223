#include "common/check/verify.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>

#include "common/check/parallel.hpp"
#include "common/check/variant.hpp"
#include "common/check/words.hpp"
#include "common/error.hpp"

namespace gemm {
namespace {

// Multiply-adds that float64 is computed for in whole.
constexpr std::int64_t kFullWork = std::int64_t{1} << 28;
constexpr std::int64_t kSample = 4;          // rows, and columns, beyond that
constexpr std::int64_t kLeastForMean = 256;  // a mean over fewer elements says little

struct Wrong {
    std::int64_t row = 0, col = 0;
    float got = 0;
    double expected = 0, bound = 0;
    bool before(const Wrong& o) const { return row < o.row || (row == o.row && col < o.col); }
};

bool is_poison(float value) {
    return std::bit_cast<std::uint32_t>(value) == kPoisonBits;
}

/// One element against its reference. NaN must be NaN and ±Inf the same Inf. A finite value is judged as it
/// comes out in the type: one whose interval before rounding reaches past the largest finite number may be
/// infinite, and one whose interval lies past it must be.
bool acceptable(float got, double expected, const ErrorBound& bound, DType dtype) {
    if (is_poison(got)) return false;  // never written, whatever was expected
    if (std::isnan(expected)) return std::isnan(got);
    if (std::isinf(expected)) return static_cast<double>(got) == expected;
    const double most = dtype == DType::fp32 ? static_cast<double>(std::numeric_limits<float>::max())
                                             : overflow_threshold(dtype);
    if (std::isinf(got) && std::fabs(expected) + bound.before >= most) {
        return std::signbit(got) == std::signbit(expected);
    }
    // Rounding hides nothing of a value that it makes infinite.
    const double allowed = std::fabs(expected) - bound.before >= most ? bound.before : bound.sum();
    return std::fabs(static_cast<double>(got) - expected) <= allowed;  // false for NaN
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

/// A step of the sum over k for an element, in float64.
using Term = double (*)(const Workload& w, std::int64_t row, std::int64_t col, std::int64_t k);

double element(const std::vector<float>& matrix, std::int64_t row, std::int64_t col, std::int64_t pitch) {
    return static_cast<double>(matrix[static_cast<std::size_t>(row * pitch + col)]);
}
/// Of op(A), whose rows are columns in memory where A is transposed.
double a_of(const Workload& w, std::int64_t row, std::int64_t col, std::int64_t pitch) {
    if (w.shape().variant.a_transposed()) std::swap(row, col);
    return element(w.host().A, row, col, pitch);
}
double a_of(const Workload& w, std::int64_t row, std::int64_t col) {
    return a_of(w, row, col, w.shape().lda);
}
/// Of op(B).
double b_of(const Workload& w, std::int64_t row, std::int64_t col, std::int64_t pitch) {
    if (w.shape().variant.b_transposed()) std::swap(row, col);
    return element(w.host().B, row, col, pitch);
}
double b_of(const Workload& w, std::int64_t row, std::int64_t col) {
    return b_of(w, row, col, w.shape().ldb);
}
double c_of(const Workload& w, std::int64_t row, std::int64_t col) {
    return element(w.host().C, row, col, w.shape().ldc);
}

double right_term(const Workload& w, std::int64_t row, std::int64_t col, std::int64_t k) {
    return a_of(w, row, k) * b_of(w, k, col);
}

/// Σ of the terms of the steps first ≤ k < last.
double sum_of(const Workload& w, std::int64_t row, std::int64_t col, std::int64_t first, std::int64_t last,
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
double rounded_term(const Workload& w, std::int64_t row, std::int64_t col, std::int64_t k) {
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
     [](const Workload& w, std::int64_t row, std::int64_t col, std::int64_t k) {
         return std::trunc(a_of(w, row, k)) * std::trunc(b_of(w, k, col));
     }},
    {PatternId::products_in_whole_numbers,
     [](const Workload& w, std::int64_t row, std::int64_t col, std::int64_t k) {
         return std::trunc(right_term(w, row, col, k));
     }},
};

/// Whether wrong elements are what comes of taking padded matrices for packed ones. all_match: whether they
/// are what a function of them says.
template <class AllMatch>
std::optional<Pattern> pitch_pattern(const Workload& w, const AllMatch& all_match) {
    const Shape& s = w.shape();
    const HostMatrices& host = w.host();
    const bool padded[] = {s.lda > s.a_cols(), s.ldb > s.b_cols(), s.ldc > s.N};
    const double alpha = static_cast<double>(s.alpha), beta = static_cast<double>(s.beta);
    for (const unsigned ignored : {1u, 2u, 4u, 3u, 5u, 6u, 7u}) {  // bits: A, B, C
        const auto ignores = [&](unsigned matrix) { return (ignored >> matrix & 1u) != 0; };
        if ((ignores(0) && !padded[0]) || (ignores(1) && !padded[1]) || (ignores(2) && !padded[2])) continue;
        const std::int64_t lda = ignores(0) ? s.a_cols() : s.lda, ldb = ignores(1) ? s.b_cols() : s.ldb,
                           ldc = ignores(2) ? s.N : s.ldc;
        const bool match = all_match([&](const Wrong& x) {
            // Whose place this is: another element's, where C is taken for a packed matrix.
            const std::int64_t place = x.row * s.ldc + x.col, row = place / ldc, col = place % ldc;
            if (row >= s.M) return element(host.C, 0, place, 0);  // nobody's: it keeps what it held
            double sum = 0;
            for (std::int64_t k = 0; k < s.K; ++k) sum += a_of(w, row, k, lda) * b_of(w, k, col, ldb);
            return alpha * sum + (beta != 0 ? beta * element(host.C, 0, place, 0) : 0.0);
        });
        if (!match) continue;
        const char* const packed[] = {s.variant.a_transposed() ? "M" : "K",
                                      s.variant.b_transposed() ? "K" : "N", "N"};
        std::string which, lengths;
        for (const unsigned i : {0u, 1u, 2u}) {
            if (!ignores(i)) continue;
            which += (which.empty() ? "" : ", ") + std::string(1, "ABC"[i]);
            lengths += (lengths.empty() ? "" : ", ") + std::string(packed[i]);
        }
        return Pattern{.id = PatternId::pitch, .matrices = which, .lengths = lengths};
    }
    return {};
}

/// Whether all are near what they should be: to two digits, while another sum or another element would be off
/// by as much as they are large.
bool few_digits(const std::vector<Wrong>& wrong) {
    double errors = 0, values = 0, most = 0;
    for (const Wrong& x : wrong) {
        const double error = std::fabs(static_cast<double>(x.got) - x.expected);
        if (!std::isfinite(error)) return false;
        errors += error * error;
        values += x.expected * x.expected;
        most = std::max(most, error);
    }
    const double size = std::sqrt(values / static_cast<double>(wrong.size()));
    return std::sqrt(errors / static_cast<double>(wrong.size())) <= 0.02 * size && most <= 0.08 * size;
}

/// What wrong values have in common with other products, judged on up to fifteen of them. The more special
/// explanation comes first where two would do.
std::optional<Pattern> value_pattern(const Workload& w, const std::vector<Wrong>& wrong,
                                     const Lesson* lesson) {
    const Shape& s = w.shape();
    const std::size_t step = std::max<std::size_t>(wrong.size() / 8, 1);
    const auto all_match = [&](auto&& other) {
        bool telling = false;
        const auto matches = [&](const Wrong& x) {
            const double value = other(x), got = static_cast<double>(x.got);
            // Wide enough for the type, far too narrow for a coincidence: several elements must agree.
            const double slack =
                std::max(x.bound, std::max(1e-5, unit_roundoff(s.variant.C)) * std::fabs(value));
            // A NaN says little. And where the mistake makes no difference (a sum of one step, a row that is
            // a column), an element that is only slightly wrong would seem to have it.
            telling = telling || (!std::isnan(value) && !(std::fabs(value - x.expected) <= 2 * slack));
            return std::fabs(got - value) <= slack || (std::isnan(got) && std::isnan(value));
        };
        for (std::size_t i = 0; i < wrong.size(); i += step) {
            if (!matches(wrong[i])) return false;
        }
        if (telling) return true;
        int left = 8;  // a few that are not NaN, where most are
        for (std::size_t i = 0; i < wrong.size() && left > 0; ++i) {
            if (std::isnan(wrong[i].got)) continue;
            if (!matches(wrong[i])) return false;
            --left;
        }
        return telling;
    };
    const double alpha = static_cast<double>(s.alpha), beta = static_cast<double>(s.beta);
    /// alpha·sum + beta·C0, with beta = 0 not reading C0.
    const auto scaled = [&](const Wrong& x, double sum, double by_alpha, double by_beta) {
        return by_alpha * sum + (by_beta != 0 ? by_beta * c_of(w, x.row, x.col) : 0.0);
    };
    /// Elements that hold the sum over first ≤ k < last alone.
    const auto steps_match = [&](std::int64_t first, std::int64_t last) {
        return all_match(
            [&](const Wrong& x) { return scaled(x, sum_of(w, x.row, x.col, first, last), alpha, beta); });
    };
    const auto terms_match = [&](Term term) {
        return all_match(
            [&](const Wrong& x) { return scaled(x, sum_of(w, x.row, x.col, 0, s.K, term), alpha, beta); });
    };
    const auto is = [](PatternId id) { return Pattern{.id = id}; };
    const auto steps = [&](PatternId id, std::int64_t from, std::int64_t to) {
        return Pattern{.id = id, .from = from, .to = to, .of = s.K};
    };
    if (std::all_of(wrong.begin(), wrong.end(), [](const Wrong& x) { return is_poison(x.got); })) {
        return is(PatternId::never_written);
    }
    if (std::optional<Pattern> pitches = pitch_pattern(w, all_match)) return pitches;
    if (std::all_of(wrong.begin(), wrong.end(), [](const Wrong& x) { return std::isnan(x.got); })) {
        if (s.alpha == 0.0f) return is(PatternId::nan_with_alpha_zero);
        return is(s.beta == 0.0f ? PatternId::nan_with_beta_zero : PatternId::nan);
    }
    if (all_match([&](const Wrong& x) { return c_of(w, x.row, x.col); })) {
        return is(PatternId::unchanged);
    }

    // Steps of the sum over k that are missing.
    const std::int64_t BK = lesson != nullptr ? lesson->tile.BK : 1;
    if (BK > 1 && s.K % BK != 0) {
        const std::int64_t whole = s.K / BK * BK;
        if (steps_match(0, whole)) {
            return steps(PatternId::k_tail, 0, whole);
        }
    }
    if (beta == 0 && alpha != 0 && s.K > 0 &&
        std::all_of(wrong.begin(), wrong.end(), [](const Wrong& x) { return x.got == 0.0f; })) {
        // Zeros in part of C may come from elsewhere: a thread past an edge, say, that stores its sum of
        // nothing.
        const bool all_of_c = static_cast<std::int64_t>(wrong.size()) == s.M * s.N;
        return is(all_of_c ? PatternId::sum_is_zero : PatternId::zero);
    }
    if (beta != 0 && alpha != 0 && s.K > 0 && steps_match(0, 0)) {
        return is(PatternId::product_missing);
    }
    if (BK > 1 && s.K > BK) {
        const std::int64_t last = (s.K - 1) / BK * BK;
        if (steps_match(last, s.K)) return steps(PatternId::last_tile_alone, last, s.K);
        if (steps_match(0, BK)) return steps(PatternId::first_tile_alone, 0, BK);
    }
    if (s.K > 2 && steps_match(s.K - 1, s.K)) {
        return steps(PatternId::last_product_alone, s.K - 1, s.K);
    }
    if (s.K > 1 && steps_match(0, s.K - 1)) {
        return steps(PatternId::last_step_missing, 0, s.K - 1);
    }
    if (s.K > 1 && steps_match(1, s.K)) {
        return steps(PatternId::first_step_missing, 1, s.K);
    }

    // Scalars.
    if (beta != 0 &&
        all_match([&](const Wrong& x) { return scaled(x, sum_of(w, x.row, x.col, 0, s.K), alpha, 0); })) {
        return is(PatternId::beta_c_missing);
    }
    if (beta != 0 && beta != 1 &&
        all_match([&](const Wrong& x) { return scaled(x, sum_of(w, x.row, x.col, 0, s.K), alpha, 1); })) {
        return is(PatternId::beta_is_one);
    }
    if (alpha != 1 &&
        all_match([&](const Wrong& x) { return scaled(x, sum_of(w, x.row, x.col, 0, s.K), 1, beta); })) {
        return is(PatternId::alpha_missing);
    }
    if (alpha != 1 && beta != 0 && all_match([&](const Wrong& x) {
            return scaled(x, sum_of(w, x.row, x.col, 0, s.K), alpha, alpha * beta);
        })) {
        return is(PatternId::alpha_times_c);
    }

    // Precision.
    for (const Shorter& shorter : kShorter) {
        if (alpha != 0 && s.K > 0 && terms_match(shorter.term)) return is(shorter.id);
    }
    if (alpha != 0 && s.K > 0 && all_match([&](const Wrong& x) {
            double sum = 0;
            for (std::int64_t k = 0; k < s.K; ++k) sum = std::trunc(sum + right_term(w, x.row, x.col, k));
            return scaled(x, sum, alpha, beta);
        })) {
        return is(PatternId::sum_in_whole_numbers);
    }

    // Indices. A matrix that is read the wrong way round stays inside its bounds only where it is square.
    const auto a_transposed = [](const Workload& v, std::int64_t row, std::int64_t col, std::int64_t k) {
        return a_of(v, k, row) * b_of(v, k, col);
    };
    const auto b_transposed = [](const Workload& v, std::int64_t row, std::int64_t col, std::int64_t k) {
        return a_of(v, row, k) * b_of(v, col, k);
    };
    const auto both_transposed = [](const Workload& v, std::int64_t row, std::int64_t col, std::int64_t k) {
        return a_of(v, k, row) * b_of(v, col, k);
    };
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
    if (beta == 0 && s.M == s.N &&
        all_match([&](const Wrong& x) { return alpha * sum_of(w, x.col, x.row, 0, s.K); })) {
        return is(PatternId::c_transposed);
    }
    if (alpha != 0 && s.K > 0 && few_digits(wrong)) return is(PatternId::few_digits);
    return {};
}

/// Where wrong elements lie: an edge strip, one tile, one row or column, every n-th row or column. `wrong`
/// holds all that are.
std::vector<Pattern> place_patterns(const Shape& s, const std::vector<Wrong>& wrong, const Lesson* lesson) {
    const auto every = [&](auto&& holds) { return std::all_of(wrong.begin(), wrong.end(), holds); };
    if (static_cast<std::int64_t>(wrong.size()) == s.M * s.N) return {Pattern{.id = PatternId::everywhere}};
    const Wrong& first = wrong.front();
    std::vector<Pattern> found;
    if (lesson != nullptr) {
        const Tile& t = lesson->tile;
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
    const dim3& block = lesson->block;  // owner() may be of another launch than this one
    if (thread.x >= block.x || thread.y >= block.y || thread.z >= block.z) return;
    element.owner = o;
    element.warp = ((thread.z * block.y + thread.y) * block.x + thread.x) / 32;
}

/// Padding of C: not one bit of it may have changed.
std::optional<WrongElement> touched_padding(const std::vector<float>& c, const Shape& s) {
    for (std::int64_t row = 0; row < s.M && s.ldc > s.N; ++row) {
        for (std::int64_t col = s.N; col < s.ldc; ++col) {
            const float got = c[static_cast<std::size_t>(row * s.ldc + col)];
            if (!is_poison(got)) return WrongElement{row, col, got};
        }
    }
    return std::nullopt;
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

Verdict Verifier::check(const std::vector<float>& c, const Lesson* lesson, const OwnerOf& owner) const {
    const Shape& s = w_.shape();
    Verdict v;
    std::vector<Wrong> wrong;
    double squares = 0, plain_squares = 0;
    std::int64_t finite = 0;

    for (const Reference& ref : parts_) {
        for (std::size_t i = 0; i < ref.rows.size(); ++i) {
            for (std::size_t j = 0; j < ref.cols.size(); ++j) {
                const std::size_t at = i * ref.cols.size() + j;
                const std::int64_t row = ref.rows[i], col = ref.cols[j];
                const float got = c[static_cast<std::size_t>(row * s.ldc + col)];
                const double expected = ref.value[at];
                const ErrorBound allowed = error_bound(s, expected, ref.magnitude[at]);
                const double bound = allowed.sum();
                ++v.checked;
                if (!acceptable(got, expected, allowed, s.variant.C))
                    wrong.push_back({row, col, got, expected, bound});
                if (!std::isfinite(got) || !std::isfinite(expected) || !std::isfinite(ref.plain[at]))
                    continue;
                const double error = static_cast<double>(got) - expected;
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

    if (whole_ != nullptr) {  // both results may stray by γ, and the magnitude was summed in FP32 itself
        std::mutex mutex;
        const double factor = 2.0 * (1.0 + error_bound_factor(s.K, s.variant));
        const double rounding = s.variant.C == DType::fp32 ? 0.0 : unit_roundoff(s.variant.C);
        parallel_for(s.M, 64, [&](std::int64_t first, std::int64_t last) {
            std::vector<Wrong> mine;
            for (std::int64_t row = first; row < last; ++row) {
                for (std::int64_t col = 0; col < s.N; ++col) {
                    const auto at = static_cast<std::size_t>(row * s.N + col);
                    const float got = c[static_cast<std::size_t>(row * s.ldc + col)];
                    const auto expected = static_cast<double>(whole_->value[at]);
                    const ErrorBound one =
                        error_bound(s, expected, static_cast<double>(whole_->magnitude[at]));
                    const double before = factor * one.before;
                    // What is rounded at the end may be farther from cuBLAS's value than from the right one.
                    const ErrorBound allowed{before, one.after + rounding * before};
                    if (!acceptable(got, expected, allowed, s.variant.C))
                        mine.push_back({row, col, got, expected, allowed.sum()});
                }
            }
            const std::scoped_lock lock(mutex);
            wrong.insert(wrong.end(), mine.begin(), mine.end());
        });
    }
    std::sort(wrong.begin(), wrong.end(), [](const Wrong& a, const Wrong& b) { return a.before(b); });
    wrong.erase(std::unique(wrong.begin(), wrong.end(),
                            [](const Wrong& a, const Wrong& b) { return a.row == b.row && a.col == b.col; }),
                wrong.end());
    v.wrong = static_cast<std::int64_t>(wrong.size());

    v.compared = whole_ != nullptr ? s.M * s.N : v.checked;

    if (!wrong.empty()) {
        const Wrong& first = wrong.front();
        v.what = FailureId::elements;
        v.first = WrongElement{first.row,      first.col,   first.got, !is_poison(first.got),
                               first.expected, first.bound, {},        0};
        name_owner(*v.first, w_, lesson, owner);
        if (std::optional<Pattern> values = value_pattern(w_, wrong, lesson)) v.patterns.push_back(*values);
        for (const Pattern& place : place_patterns(s, wrong, lesson)) v.patterns.push_back(place);
    } else if (v.first = touched_padding(c, s); v.first) {
        v.what = FailureId::padding;
    } else if (finite >= kLeastForMean && !(v.rms_error <= v.rms_limit)) {
        v.what = FailureId::precision;
        const bool fp32 = !on_tensor_cores(s.variant);
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

void run_once(const Lesson& lesson, Workload& w) {
    if (lesson.variant() != w.shape().variant) {
        throw Error(std::string(lesson.name) + " was given matrices of " + text(w.shape().variant) +
                    " and is to take " + text(lesson.variant()) + ".");
    }
    w.reset_c();
    const Problem problem = w.problem();
    const Plan plan = lesson.prepare != nullptr ? lesson.prepare(problem) : nullptr;
    cudaGetLastError();  // what happened before is not this launch's
    lesson.launch(problem, plan.get(), nullptr);
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
    run_once(lesson, w);
    Verdict v = verifier.check(w.download_c(), &lesson);
    fail_outside(v, w.breach(), lesson.name, w);
    return v;
}

}  // namespace gemm
