// Kernels with one planted mistake each. The verifier must find every one, and say which mistake it is; the
// kernel that they are copies of must pass at the same shape and seed.
#include <set>
#include <string>
#include <vector>

#include "common/check/words.hpp"
#include "tests/mutants/mutants.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Lesson;
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

TEST_CASE("mutant: the barrier after loading is missing") {
    const Verdict v = caught_racing(mutant_no_first_barrier::lesson);
    require_contains(v.failure, "no_first_barrier is wrong at ");
    REQUIRE(v.wrong > 0);
#ifdef GEMM_CPU_DEVICE
    require_contains(v.failure,
                     "uninitialised memory");  // a GPU has something there more often than not
#endif
}

TEST_CASE("mutant: the barrier after reading is missing") {
    const Verdict v = caught_racing(mutant_no_second_barrier::lesson);
    require_contains(v.failure, "no_second_barrier is wrong at ");
    REQUIRE(v.wrong > 0);
}

TEST_CASE("mutant: the K tail is dropped") {
    const Verdict v = caught(mutant_no_k_tail::lesson, test::shape(64, 64, 75, false));
    require_contains(v.failure,
                     "the K tail is missing: these elements hold the sum over the first 64 of 75 steps");
    REQUIRE(test::run(mutant_no_k_tail::lesson, test::shape(64, 64, 96, false), test::seed()).passed);
}

TEST_CASE("mutant: the guard is off by one") {
    const Lesson& mutant = mutant_guard_off_by_one::lesson;
    // One column too many lands in the padding, one row too many behind the matrix.
    require_contains(caught(mutant, test::shape(32, 33, 7, true)).failure, "wrote into the padding of C");
    const Verdict below = caught(mutant, test::shape(31, 64, 7, false));
    require_contains(below.failure, "A write outside C: 1 elements past its end.");
    // Without padding the column too many is the first of the next row, or lies behind the last one.
    caught(mutant, test::shape(32, 33, 7, false));
    REQUIRE(test::run(mutant, test::shape(64, 64, 7, false), test::seed()).passed);
}

TEST_CASE("words: every pattern has its own") {
    std::set<std::string> said;
#define SAY(name)                                                                                \
    said.insert(gemm::pattern_text({gemm::PatternId::name, "A, C", "K, N", 1, 2, 3, 4, 5, 8, 16, \
                                    32})); /* the value of each field differs */                 \
    ids.push_back(gemm::PatternId::name);
    std::vector<gemm::PatternId> ids;
    GEMM_PATTERNS(SAY)
#undef SAY
    CHECK(said.size() == ids.size());
    CHECK_FALSE(said.contains(""));
    CHECK(
        said.contains("padding between rows is ignored in A, C (pitch K instead of lda, N instead of ldc)"));
    CHECK(said.contains(
        "the first step of K is missing: these elements hold the sum over the last 2 of 3 steps"));
    CHECK(said.contains("these elements hold the sum over the last tile of K alone, steps 1 to 1"));
    CHECK(said.contains("all in one tile of 16×32"));
    CHECK(said.contains("every wrong column is 5 modulo 8"));
}

TEST_CASE("mutant: nothing is written") {
    const Verdict v = caught(mutant_nothing_written::lesson, test::shape(33, 31, 7, false));
    REQUIRE(v.wrong == 33 * 31);
    require_contains(v.failure, "first wrong: row 0, column 0 (block (0,0,0), warp 0, thread (0,0,0))");
    require_contains(v.failure, "these elements were never written; all of C is wrong");
    const Verdict old = caught(mutant_nothing_written::lesson, test::shape(33, 31, 7, false, 1.0f, 0.5f));
    require_contains(old.failure, "these elements still hold what C held before");
}

TEST_CASE("mutant: beta is ignored") {
    const Verdict v = caught(mutant_no_beta::lesson, test::shape(33, 31, 65, true, 1.5f, -0.5f));
    require_contains(v.failure, "beta·C is missing: these elements hold alpha·A·B alone");
    REQUIRE(
        test::run(mutant_no_beta::lesson, test::shape(33, 31, 65, true, 1.5f, 0.0f), test::seed()).passed);
}

TEST_CASE("mutant: C is read though beta = 0") {
    const Verdict v = caught(mutant_beta_times_nan::lesson, test::shape(33, 31, 65, false));
    REQUIRE(v.wrong == 33 * 31);
    require_contains(v.failure, "these elements are NaN");
    require_contains(v.failure, "C (which beta = 0 must not read)");
    REQUIRE(
        test::run(mutant_beta_times_nan::lesson, test::shape(33, 31, 65, false, 1.5f, -0.5f), test::seed())
            .passed);
}

TEST_CASE("mutant: the inputs are rounded to TF32") {
    const Verdict v = caught(mutant_tf32_inputs::lesson, test::shape(64, 64, 4096, false));
    REQUIRE(v.wrong == 0);  // every single element is within its bound: only the mean tells
    REQUIRE(v.rms_error > v.rms_limit);
    require_contains(v.failure, "tf32_inputs is less precise than FP32");
    require_contains(v.failure, "TF32");
}

TEST_CASE("mutant: the pitch is ignored") {
    const Verdict v = caught(mutant_no_pitch::lesson, test::shape(33, 31, 65, true));
    REQUIRE(v.wrong == 32 * 31);  // row 0 lies where it should
    require_contains(v.failure, "first wrong: row 1, column 0");
    require_contains(v.failure, "these elements are NaN: padding");
    REQUIRE(test::run(mutant_no_pitch::lesson, test::shape(33, 31, 65, false), test::seed()).passed);
}
