// Kernels with one planted mistake each. The verifier must find every one, and say which mistake it is; the
// kernel that they are copies of must pass at the same shape and seed.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/check/mutants.hpp"
#include "tests/support.hpp"

namespace {

using gemm::FailureId;
using gemm::Lesson;
using gemm::PatternId;
using gemm::Shape;
using gemm::Verdict;
using test::require_contains;

/// The mutant's verdict; the lesson that it copies is right on the same inputs.
Verdict caught(const Lesson& mutant, const Shape& shape) {
    const Verdict right = test::run(test::lesson("03_smem"), shape, test::seed());
    INFO("without the mistake: " << right.failure);
    REQUIRE(right.passed);
    Verdict v = test::run(mutant, shape, test::seed());
    INFO(mutant.name << " at " << shape.text());
    REQUIRE_FALSE(v.passed);
    require_contains(v.failure, mutant.name);
    require_contains(v.failure, shape.text() + " (seed " + std::to_string(test::seed()) + ")");
    return v;
}

bool has(const Verdict& v, PatternId id) {
    return std::any_of(v.patterns.begin(), v.patterns.end(), [&](const auto& p) { return p.id == id; });
}

/// A race may come out right by luck on a GPU: the same mutant on larger and larger problems.
Verdict caught_racing(const Lesson& mutant) {
    for (int attempt = 0; attempt < 20; ++attempt) {
        const std::int64_t size = 33 + 64 * attempt;
        const Shape shape = test::shape(size, size, 3 * size, attempt % 2 == 1);
        REQUIRE(test::run(test::lesson("03_smem"), shape, test::seed() + attempt).passed);
        Verdict v = test::run(mutant, shape, test::seed() + attempt);
        if (!v.passed) return v;
    }
    FAIL(mutant.name << " was right twenty times");
    return {};
}

}  // namespace

TEST_CASE("mutant: each is found as what it is, and passes where it makes no difference") {
    struct Planted {
        const Lesson& mutant;
        Shape shape;
        FailureId what;
        PatternId pattern;   // of elements
        std::int64_t wrong;  // below 0: some
        std::optional<Shape> harmless = {};
    };
    using test::shape;
    // A guard that is off by one: a column too many lands in the padding, a row too many behind the matrix.
    // Without padding the column too many is the first of the next row, or lies behind the last one.
    for (const Planted& planted : std::vector<Planted>{
             {mutant_no_k_tail::lesson, shape(64, 64, 75, false), FailureId::elements, PatternId::k_tail, -1,
              shape(64, 64, 96, false)},
             {mutant_nothing_written::lesson, shape(33, 31, 7, false), FailureId::elements,
              PatternId::never_written, 33 * 31},
             {mutant_nothing_written::lesson, shape(33, 31, 7, false, 1.0f, 0.5f), FailureId::elements,
              PatternId::unchanged, 33 * 31},
             {mutant_no_beta::lesson, shape(33, 31, 65, true, 1.5f, -0.5f), FailureId::elements,
              PatternId::beta_c_missing, -1, shape(33, 31, 65, true, 1.5f, 0.0f)},
             {mutant_beta_times_nan::lesson, shape(33, 31, 65, false), FailureId::elements,
              PatternId::nan_with_beta_zero, 33 * 31, shape(33, 31, 65, false, 1.5f, -0.5f)},
             {mutant_no_pitch::lesson, shape(33, 31, 65, true), FailureId::elements,
              PatternId::nan_with_beta_zero,
              32 * 31,  // row 0 lies where it should
              shape(33, 31, 65, false)},
             {mutant_tf32_inputs::lesson, shape(64, 64, 4096, false), FailureId::precision,
              PatternId::short_inputs_or_sum, 0},  // each element is within its bound: only the mean tells
             {mutant_guard_off_by_one::lesson, shape(32, 33, 7, true), FailureId::padding, {}, 0},
             {mutant_guard_off_by_one::lesson,
              shape(31, 64, 7, false),
              FailureId::outside,
              {},
              0,
              shape(64, 64, 7, false)}}) {
        const Verdict v = caught(planted.mutant, planted.shape);
        INFO(v.failure);
        CHECK(v.what == planted.what);
        CHECK((planted.wrong < 0 ? v.wrong > 0 : v.wrong == planted.wrong));
        if (planted.what == FailureId::elements || planted.what == FailureId::precision) {
            CHECK(has(v, planted.pattern));
        }
        if (planted.harmless) CHECK(test::run(planted.mutant, *planted.harmless, test::seed()).passed);
    }
    caught(mutant_guard_off_by_one::lesson, shape(32, 33, 7, false));
    const Verdict pitch = caught(mutant_no_pitch::lesson, shape(33, 31, 65, true));
    CHECK((pitch.first && pitch.first->row == 1 && pitch.first->column == 0));
    const Verdict nothing = caught(mutant_nothing_written::lesson, shape(33, 31, 7, false));
    CHECK((nothing.first->row == 0 && nothing.first->column == 0 && nothing.first->owner));
}

TEST_CASE("mutant: a barrier is missing") {
    for (const Lesson* mutant : {&mutant_no_first_barrier::lesson, &mutant_no_second_barrier::lesson}) {
        const Verdict v = caught_racing(*mutant);
        CHECK(v.what == FailureId::elements);
        CHECK(v.wrong > 0);
    }
}
