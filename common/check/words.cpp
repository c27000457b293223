#include "common/check/words.hpp"

#include <cctype>
#include <cstdio>

#include "common/check/dtype.hpp"
#include "common/check/variant.hpp"

namespace gemm {
namespace {

std::string text(const char* format, double value) {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, format, value);
    return buffer;
}

std::string text(uint3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}

std::string text(const Pattern::Number& number) {
    return std::to_string(number.value());
}

bool names_place(const Pattern& pattern) {
    return pattern.id >= PatternId::everywhere;
}

/// "padding between rows is ignored in A, B (pitch K instead of lda, N instead of ldb)".
std::string pitch_text(const Pattern& p) {
    std::string instead;
    for (std::size_t i = 0; i < p.matrices.size(); i += 3) {  // of both: a letter, a comma, a space
        instead += (instead.empty() ? "" : ", ") + p.lengths.substr(i, 1) + " instead of ld" +
                   static_cast<char>(std::tolower(p.matrices[i]));
    }
    return "padding between rows is ignored in " + p.matrices + " (pitch " + instead + ")";
}

std::string tile_text(const char* which, const Pattern& p) {
    return std::string("these elements hold the sum over the ") + which + " alone, steps " + text(p.from) +
           " to " + std::to_string(p.to.value() - 1);
}

std::string where_text(const WrongElement& element) {
    std::string where = "row " + std::to_string(element.row) + ", column " + std::to_string(element.column);
    if (!element.owner) return where;
    return where + " (block " + text(element.owner->block) + ", warp " + std::to_string(element.warp) +
           ", thread " + text(element.owner->thread) + ")";
}

std::string elements_text(const Verdict& v, const std::string& name, const std::string& problem) {
    const WrongElement& first = v.first.value();
    std::string said = name + " is wrong at " + problem + ": " + std::to_string(v.wrong) + " of " +
                       std::to_string(v.compared) + " elements.\n  first wrong: " + where_text(first) +
                       "\n  got " +
                       (first.written ? text("%.9g", static_cast<double>(first.got))
                                      : std::string("nothing: never written")) +
                       ", expected " + text("%.9g", first.expected) + " ± " + text("%.3g", first.bound);
    std::string patterns;
    bool place_before = false;
    for (const Pattern& pattern : v.patterns) {
        if (!patterns.empty()) patterns += place_before ? ", " : "; ";
        patterns += pattern_text(pattern);
        place_before = names_place(pattern);
    }
    return patterns.empty() ? said : said + "\n  pattern: " + patterns;
}

std::string precision_text(const Verdict& v, const std::string& name, const std::string& problem,
                           const Variant& variant) {
    const bool rounded = variant.C != DType::fp32;
    std::string said = name + " is less precise than FP32" + (on_tensor_cores(variant) ? " sums" : "") +
                       " at " + problem + ": its RMS error is " + text("%.3g", v.rms_error) +
                       ", and 4 times that of a plain FP32 dot product " +
                       (rounded ? std::string("rounded to ") + info(variant.C).text + " " : "") + "is " +
                       text("%.3g", v.rms_limit) + ".";
    for (const Pattern& pattern : v.patterns) said += "\n  pattern: " + pattern_text(pattern);
    return said;
}

}  // namespace

std::string pattern_text(const Pattern& p) {
    constexpr const char* kInMean = "every element is within the worst-case bound, so the ";
    switch (p.id) {
        case PatternId::never_written:
            return "these elements were never written";
        case PatternId::unchanged:
            return "these elements still hold what C held before";
        case PatternId::pitch:
            return pitch_text(p);
        case PatternId::nan:
            return "these elements are NaN: padding or uninitialised memory was read";
        case PatternId::nan_with_alpha_zero:
            return "these elements are NaN: A or B was read, which alpha = 0 must not do";
        case PatternId::nan_with_beta_zero:
            return "these elements are NaN: padding, uninitialised memory or C (which beta = 0 must not "
                   "read) was read";
        case PatternId::k_tail:
            return "the K tail is missing: these elements hold the sum over the first " + text(p.to) +
                   " of " + text(p.of) + " steps";
        case PatternId::sum_is_zero:
            return "these elements are 0: the sum over k was never added up";
        case PatternId::zero:
            return "these elements are 0";
        case PatternId::product_missing:
            return "alpha·A·B is missing: these elements hold beta·C alone";
        case PatternId::last_tile_alone:
            return tile_text("last tile of K", p);
        case PatternId::first_tile_alone:
            return tile_text("first tile", p);
        case PatternId::last_product_alone:
            return "each product replaces the sum: these elements hold that of the last k alone";
        case PatternId::last_step_missing:
            return "the last step of K is missing: these elements hold the sum over the first " + text(p.to) +
                   " of " + text(p.of) + " steps";
        case PatternId::first_step_missing:
            return "the first step of K is missing: these elements hold the sum over the last " +
                   std::to_string(p.of.value() - p.from.value()) + " of " + text(p.of) + " steps";
        case PatternId::beta_c_missing:
            return "beta·C is missing: these elements hold alpha·A·B alone";
        case PatternId::beta_is_one:
            return "beta is taken for 1: these elements hold alpha·A·B + C";
        case PatternId::alpha_missing:
            return "alpha is missing: these elements hold A·B + beta·C";
        case PatternId::alpha_times_c:
            return "alpha multiplies C, too: these elements hold alpha·(A·B + beta·C)";
        case PatternId::inputs_in_bf16:
            return "less precise than FP32: A and B are rounded to BF16";
        case PatternId::inputs_in_bf16_cut:
            return "less precise than FP32: A and B are rounded to BF16 (cut off)";
        case PatternId::inputs_in_tf32_or_fp16:
            return "less precise than FP32: A and B are rounded to TF32 or FP16";
        case PatternId::inputs_in_tf32:
            return "less precise than FP32: A and B are rounded to TF32";
        case PatternId::inputs_in_tf32_cut:
            return "less precise than FP32: A and B are rounded to TF32 (cut off)";
        case PatternId::inputs_in_whole_numbers:
            return "less precise than FP32: A and B are rounded to whole numbers";
        case PatternId::products_in_whole_numbers:
            return "less precise than FP32: each product is rounded to a whole number";
        case PatternId::sum_in_whole_numbers:
            return "less precise than FP32: the sum is rounded to a whole number in every step";
        case PatternId::a_transposed:
            return "A is read transposed: A[k][row] is taken for A[row][k]";
        case PatternId::a_not_transposed:
            return "A, which lies transposed, is read as if it did not: A[row][k] is taken for A[k][row]";
        case PatternId::b_transposed:
            return "B is read transposed: B[col][k] is taken for B[k][col]";
        case PatternId::b_not_transposed:
            return "B, which lies transposed, is read as if it did not: B[k][col] is taken for B[col][k]";
        case PatternId::a_and_b_transposed:
            return "A and B are read transposed: A[k][row] is taken for A[row][k], and B[col][k] for "
                   "B[k][col]";
        case PatternId::a_and_b_other_way:
            return "A and B are both read the other way round";
        case PatternId::c_transposed:
            return "rows and columns are swapped: C[row][col] holds what belongs to C[col][row]";
        case PatternId::few_digits:
            return "less precise than they should be: these elements are right but for their last digits, as "
                   "after "
                   "sums in a shorter type, or a result that was cut off instead of rounded";
        case PatternId::short_inputs_or_sum:
            return std::string(kInMean) + "inputs or the accumulator were rounded (TF32, BF16?)";
        case PatternId::short_sum:
            return std::string(kInMean) + "accumulator was rounded (to the inputs' type?)";
        case PatternId::everywhere:
            return "all of C is wrong";
        case PatternId::last_row_of_tiles:
            return "all in the last row of tiles (rows " + text(p.row) + " and up)";
        case PatternId::last_column_of_tiles:
            return "all in the last column of tiles (columns " + text(p.column) + " and up)";
        case PatternId::one_tile:
            return "all in one tile of " + text(p.tile_rows) + "×" + text(p.tile_columns);
        case PatternId::one_row:
            return "all in row " + text(p.row);
        case PatternId::one_column:
            return "all in column " + text(p.column);
        case PatternId::every_nth_row:
            return "every wrong row is " + text(p.row) + " modulo " + text(p.modulo);
        case PatternId::every_nth_column:
            return "every wrong column is " + text(p.column) + " modulo " + text(p.modulo);
    }
    return {};
}

std::string failure_text(const Verdict& v, const std::string& name, const Shape& shape,
                         std::optional<std::uint64_t> seed) {
    if (!v.what) return {};
    const std::string problem = shape.text() + (seed ? " (seed " + std::to_string(*seed) + ")" : "");
    switch (*v.what) {
        case FailureId::elements:
            return elements_text(v, name, problem);
        case FailureId::precision:
            return precision_text(v, name, problem, shape.variant);
        case FailureId::padding:
            return name + " wrote into the padding of C at " + problem + ": " + where_text(v.first.value()) +
                   " of pitch " + std::to_string(shape.ldc) + ".";
        case FailureId::outside:
            return name + " at " + problem + ": " + v.breach;
    }
    return {};
}

}  // namespace gemm
