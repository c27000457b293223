#include "common/check/words.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "common/check/dtype.hpp"
#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/text.hpp"

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

bool names_place(const Pattern& pattern) {
    return pattern.id >= PatternId::everywhere;
}

/// "padding between rows is ignored in A, B (pitch K instead of lda, N instead of ldb)".
std::string pitch_text(const Pattern& p) {
    std::string instead;
    const std::string_view matrices = p.matrices;
    std::size_t at = 0;
    for (std::size_t i = 0; i < p.lengths.size(); i += 3) {  // a letter, a comma, a space
        instead += (instead.empty() ? "" : ", ") + p.lengths.substr(i, 1) + " instead of ld" +
                   static_cast<char>(std::tolower(matrices[at]));
        at = matrices.find(' ', at) + 1;
    }
    return "padding between rows is ignored in " + p.matrices + " (pitch " + instead + ")";
}

/// What is said of each; what stands in braces is put in by pattern_text().
struct PatternText {
    PatternId id;
    const char* text;
};
constexpr PatternText kPatterns[] = {
    {PatternId::never_written, "these elements were never written"},
    {PatternId::unchanged, "these elements still hold what {result} held before"},
    {PatternId::pitch, "{pitch}"},
    {PatternId::nan, "these elements are NaN: padding or uninitialised memory was read"},
    {PatternId::nan_with_alpha_zero, "these elements are NaN: A or B was read, which alpha = 0 must not do"},
    {PatternId::nan_with_beta_zero,
     "these elements are NaN: padding, uninitialised memory or C (which beta = 0 must not read) was read"},
    {PatternId::k_tail,
     "the K tail is missing: these elements hold the sum over the first {to} of {of} steps"},
    {PatternId::sum_is_zero, "these elements are 0: the sum over k was never added up"},
    {PatternId::zero, "these elements are 0"},
    {PatternId::product_missing, "alpha·A·B is missing: these elements hold only beta·C"},
    {PatternId::last_tile_alone,
     "these elements hold only the sum over the last k-tile, steps {from} to {last}"},
    {PatternId::first_tile_alone,
     "these elements hold only the sum over the first k-tile, steps {from} to {last}"},
    {PatternId::last_product_alone,
     "each product replaces the sum: these elements hold only that of the last k"},
    {PatternId::last_step_missing,
     "the last step of K is missing: these elements hold the sum over the first {to} of {of} steps"},
    {PatternId::first_step_missing,
     "the first step of K is missing: these elements hold the sum over the last {left} of {of} steps"},
    {PatternId::beta_c_missing, "beta·C is missing: these elements hold only alpha·A·B"},
    {PatternId::beta_is_one, "beta is taken for 1: these elements hold alpha·A·B + C"},
    {PatternId::alpha_missing, "alpha is missing: these elements hold A·B + beta·C"},
    {PatternId::alpha_times_c, "alpha multiplies C, too: these elements hold alpha·(A·B + beta·C)"},
    {PatternId::inputs_in_bf16, "less precise than FP32: A and B are rounded to BF16"},
    {PatternId::inputs_in_bf16_cut, "less precise than FP32: A and B are rounded to BF16 (cut off)"},
    {PatternId::inputs_in_tf32_or_fp16, "less precise than FP32: A and B are rounded to TF32 or FP16"},
    {PatternId::inputs_in_tf32, "less precise than FP32: A and B are rounded to TF32"},
    {PatternId::inputs_in_tf32_cut, "less precise than FP32: A and B are rounded to TF32 (cut off)"},
    {PatternId::inputs_in_whole_numbers, "less precise than FP32: A and B are rounded to whole numbers"},
    {PatternId::products_in_whole_numbers,
     "less precise than FP32: each product is rounded to a whole number"},
    {PatternId::sum_in_whole_numbers,
     "less precise than FP32: the sum is rounded to a whole number in every step"},
    {PatternId::a_transposed, "A is read transposed: A[k][row] is taken for A[row][k]"},
    {PatternId::a_not_transposed,
     "A, which is stored transposed, is read as if it were not: A[row][k] is taken for A[k][row]"},
    {PatternId::b_transposed, "B is read transposed: B[col][k] is taken for B[k][col]"},
    {PatternId::b_not_transposed,
     "B, which is stored transposed, is read as if it were not: B[k][col] is taken for B[col][k]"},
    {PatternId::a_and_b_transposed,
     "A and B are read transposed: A[k][row] is taken for A[row][k], and B[col][k] for B[k][col]"},
    {PatternId::a_and_b_other_way, "A and B are both read the other way round"},
    {PatternId::c_transposed,
     "rows and columns are swapped: {result}[row][col] holds what belongs to {result}[col][row]"},
    {PatternId::another_problem, "these elements hold what belongs to problem {problem} of the batch"},
    {PatternId::few_digits,
     "less precise than they should be: these elements are right but for their last digits, as after sums in "
     "a shorter type, or a result that was cut off instead of rounded"},
    {PatternId::short_inputs_or_sum,
     "every element is within the worst-case bound, so the inputs or the accumulator were rounded (TF32, "
     "BF16?)"},
    {PatternId::short_sum,
     "every element is within the worst-case bound, so the accumulator was rounded (to the inputs' type?)"},
    {PatternId::everywhere, "all of the result is wrong"},
    {PatternId::one_problem, "all in problem {problem} of the batch"},
    {PatternId::later_problems, "none in the first problem of the batch"},
    {PatternId::last_row_of_tiles, "all in the last row of tiles (rows {row} and up)"},
    {PatternId::last_column_of_tiles, "all in the last column of tiles (columns {column} and up)"},
    {PatternId::one_tile, "all in one tile of {tile_rows}×{tile_columns}"},
    {PatternId::one_row, "all in row {row}"},
    {PatternId::one_column, "all in column {column}"},
    {PatternId::every_nth_row, "every wrong row is {row} modulo {modulo}"},
    {PatternId::every_nth_column, "every wrong column is {column} modulo {modulo}"},
};
static_assert([] {
    std::size_t next = 0;
    for (const PatternText& pattern : kPatterns) {
        if (static_cast<std::size_t>(pattern.id) != next++) return false;
    }
    return kPatterns[next - 1].id == PatternId::every_nth_column;
}());

std::string where_text(const WrongElement& element) {
    std::string where = element.problem ? "problem " + std::to_string(*element.problem) + ", " : "";
    where += "row " + std::to_string(element.row) + ", column " + std::to_string(element.column);
    if (!element.owner) return where;
    return where + " (block " + text(element.owner->block) + ", warp " + std::to_string(element.warp) +
           ", thread " + text(element.owner->thread) + ")";
}

/// `variant` with a D: D is named, for C is another matrix there.
std::string elements_text(const Verdict& v, const std::string& name, const std::string& problem,
                          const Variant& variant) {
    const WrongElement& first = v.first.value();
    std::string said = name + " is wrong at " + problem + ": " + std::to_string(v.wrong) + " of " +
                       std::to_string(v.compared) + " elements" + (variant.D ? " of D" : "") +
                       ".\n  first wrong: " + where_text(first) + "\n  got " +
                       (first.written ? text("%.9g", first.got) : std::string("nothing: never written")) +
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

/// What the sums of a variant are held against.
const char* sums_text(const Variant& variant) {
    switch (accumulator(variant)) {
        case Accumulator::fp32:
            return "FP32";
        case Accumulator::tensor_fp8:
            return "FP8's sums";
        case Accumulator::tensor_fp32:
        case Accumulator::int32:  // whose sums are exact
            break;
    }
    return "FP32 sums";
}

std::string precision_text(const Verdict& v, const std::string& name, const std::string& problem,
                           const Variant& variant) {
    const bool rounded = variant.result() != DType::fp32;
    std::string said = name + " is less precise than " + sums_text(variant) + " at " + problem +
                       ": its RMS error is " + text("%.3g", v.rms_error) +
                       ", and 4 times that of a plain dot product in " + sums_text(variant) + " " +
                       (rounded ? std::string("rounded to ") + info(variant.result()).text + " " : "") +
                       "is " + text("%.3g", v.rms_limit) + ".";
    for (const Pattern& pattern : v.patterns) said += "\n  pattern: " + pattern_text(pattern);
    return said;
}

}  // namespace

std::string pattern_text(const Pattern& p) {
    return filled(kPatterns[static_cast<std::size_t>(p.id)].text, [&](std::string_view field) {
        if (field == "pitch") return pitch_text(p);
        if (field == "result") return std::string(p.result);
        if (field == "last") return std::to_string(p.to.value() - 1);
        if (field == "left") return std::to_string(p.of.value() - p.from.value());
        const std::pair<std::string_view, const Pattern::Number&> numbers[] = {
            {"from", p.from},
            {"to", p.to},
            {"of", p.of},
            {"row", p.row},
            {"column", p.column},
            {"modulo", p.modulo},
            {"tile_rows", p.tile_rows},
            {"tile_columns", p.tile_columns},
            {"problem", p.problem}};
        return std::to_string(std::find_if(std::begin(numbers), std::end(numbers), [&](const auto& number) {
                                  return number.first == field;
                              })->second.value());
    });
}

std::string failure_text(const Verdict& v, const std::string& name, const Shape& shape,
                         std::optional<std::uint64_t> seed) {
    if (!v.what) return {};
    const std::string problem = shape.text() + (seed ? " (seed " + std::to_string(*seed) + ")" : "");
    switch (*v.what) {
        case FailureId::elements:
            return elements_text(v, name, problem, shape.variant);
        case FailureId::precision:
            return precision_text(v, name, problem, shape.variant);
        case FailureId::padding:
            return name + " wrote into the padding of " + result_of(operands(shape.problem())).name + " at " +
                   problem + ": " + where_text(v.first.value()) + " of pitch " +
                   std::to_string(shape.members()[static_cast<std::size_t>(v.first->problem.value_or(0))]
                                      .result_pitch()) +
                   ".";
        case FailureId::outside:
            return name + " at " + problem + ": " + v.breach;
    }
    return {};
}

}  // namespace gemm
