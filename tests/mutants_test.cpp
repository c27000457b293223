// Kernels with one planted mistake each. The verifier must find every one, and say which mistake it is; the
// kernel that they are copies of must pass at the same shape and seed.
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/check/variant.hpp"
#include "common/check/words.hpp"
#include "common/measure/device.hpp"
#include "tests/mutants/mutants.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Lesson;
using gemm::Shape;
using gemm::Verdict;
using test::require_contains;

/// The mutant's verdict with its variant; the lesson that it copies is right on the same inputs.
Verdict caught(const Lesson& mutant, Shape shape, const std::string& of = "03_smem") {
    shape.variant = mutant.variant();
    const Verdict right =
        test::run(gemm::with_variant(test::lesson(of), mutant.variant()), shape, test::seed());
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
Verdict caught_racing(const Lesson& mutant, const std::string& of = "03_smem") {
    for (int attempt = 0; attempt < 20; ++attempt) {
        const std::int64_t size = 33 + 64 * attempt;
        const Shape shape = test::shape(size, size, 3 * size, attempt % 2 == 1);
        REQUIRE(test::run(test::lesson(of), shape, test::seed() + attempt).passed);
        Verdict v = test::run(mutant, shape, test::seed() + attempt);
        if (!v.passed) return v;
    }
    FAIL(mutant.name << " was right twenty times");
    return {};
}

/// A mutant of 09 with each type that runs here, BF16 and FP16, one of them in the quick tier. Skips the test
/// where there is none.
std::vector<Lesson> of_each_type(const Lesson& mutant) {
    std::vector<Lesson> typed;
    std::string why;
    for (const gemm::DType dtype : {gemm::DType::bf16, gemm::DType::fp16}) {
        const Lesson lesson = gemm::with_variant(mutant, gemm::of_type(dtype));
        why = gemm::why_skipped(lesson, test::device());
        if (why.empty()) typed.push_back(lesson);
    }
    if (typed.empty()) test::skip(why);
    return test::drawn(typed, 1, mutant.name);
}

/// A mutant of 09 is wrong in most of C at 128×128×128, and right where `edit` has changed the inputs.
void caught_but_hidden(const Lesson& mutant, const std::string& of,
                       const std::function<void(gemm::HostMatrices&)>& edit) {
    const Shape shape = test::shape(128, 128, 128, false);
    for (const Lesson& typed : of_each_type(mutant)) {
        REQUIRE(caught(typed, shape, of).wrong > 128 * 128 / 2);
        REQUIRE(test::run(typed, shape, test::seed(), edit).passed);
    }
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

// ---- made from the lessons' own kernels by derive.py ----

TEST_CASE("mutant of 05: the barrier after loading is missing") {
    REQUIRE(caught_racing(mutant_no_barrier_05::lesson, "05_2d_blocktile").wrong > 0);
}

TEST_CASE("mutant of 05: past K lies what the tile before left") {
    const Lesson& mutant = mutant_stale_tail_05::lesson;
    REQUIRE(caught(mutant, test::shape(130, 129, 19, false), "05_2d_blocktile").wrong > 0);
    REQUIRE(test::run(mutant, test::shape(128, 128, 24, false), test::seed()).passed);
}

TEST_CASE("mutant of 05: A is read transposed, which a symmetric A hides") {
    const Lesson& mutant = mutant_transposed_05::lesson;
    const Shape shape = test::shape(128, 128, 128, false);
    require_contains(caught(mutant, shape, "05_2d_blocktile").failure, "A is read transposed");
    const auto symmetric = [](gemm::HostMatrices& host) {
        for (std::size_t i = 0; i < 128; ++i) {
            for (std::size_t j = 0; j < i; ++j) host.A[i * 128 + j] = host.A[j * 128 + i];
        }
    };
    REQUIRE(test::run(mutant, shape, test::seed(), symmetric).passed);
}

TEST_CASE("mutant of 07: the barrier is missing") {
    REQUIRE(caught_racing(mutant_no_barrier_07::lesson, "07_double_buffer").wrong > 0);
}

TEST_CASE("mutant of 07: the stage never changes") {
    const Lesson& mutant = mutant_stage_kept_07::lesson;
    REQUIRE(caught(mutant, test::shape(128, 256, 24, false), "07_double_buffer").wrong > 0);
    REQUIRE(test::run(mutant, test::shape(128, 256, 8, false), test::seed()).passed);  // one tile
}

TEST_CASE("mutant of 08b: what lies past K is copied") {
    const Lesson& mutant = mutant_no_zeros_08b::lesson;
    if (!gemm::why_skipped(mutant, test::device()).empty()) return test::skip("cp.async needs sm_80");
    REQUIRE(caught(mutant, test::shape(70, 66, 37, true), "08b_read_ahead").wrong > 0);
    REQUIRE(test::run(mutant, test::shape(64, 64, 64, true), test::seed()).passed);
}

TEST_CASE("mutant of 09f: each group of tiles is taken for the first") {
    for (const Lesson& mutant : of_each_type(mutant_one_group_09f::lesson)) {
        const Verdict v = caught(mutant, test::shape(2301, 8, 8, false), "09f_persistent");
        require_contains(v.failure, "first wrong: row 2048, ");
        REQUIRE(test::run(mutant, test::shape(2048, 8, 8, false), test::seed()).passed);  // one group
    }
}

TEST_CASE("mutant of 10a: A is read as if nothing were swizzled") {
    const Lesson& mutant = mutant_swizzle_10a::lesson;
    if (const std::string why = gemm::why_skipped(mutant, test::device()); !why.empty()) {
        return test::skip(why);
    }
    const Shape shape = test::shape(64, 64, 64, false);
    REQUIRE(caught(mutant, shape, "10a_swizzle").wrong > 64 * 64 / 2);
    // The steps change places within their tile: no matter where a row of A is one value.
    const auto equal_steps = [](gemm::HostMatrices& host) {
        for (std::size_t i = 0; i < host.A.size(); ++i) host.A[i] = host.A[i / 64 * 64];
    };
    REQUIRE(test::run(mutant, shape, test::seed(), equal_steps).passed);
}

#ifdef GEMM_CPU_DEVICE  // a GPU may be lucky: the copies are there before they are read
TEST_CASE("mutant of 08a: the wait is one group too short") {
    REQUIRE(caught(mutant_wait_too_short_08a::lesson, test::shape(70, 66, 100, false), "08a_ring").wrong > 0);
}
#endif

TEST_CASE("mutant of 09a: fragments of A are loaded with the wrong pitch") {
    for (const Lesson& mutant : of_each_type(mutant_pitch_09a::lesson)) {
        const Verdict v = caught(mutant, test::shape(128, 128, 64, false), "09a_wmma");
        require_contains(v.failure, "first wrong: row 1, ");  // a fragment's row 0 lies where it should
        REQUIRE(test::run(mutant, test::shape(1, 128, 64, false), test::seed()).passed);
    }
}

TEST_CASE("mutant of 09a: fragments are stored to the wrong tile") {
    for (const Lesson& mutant : of_each_type(mutant_wrong_tile_09a::lesson)) {
        const Verdict v = caught(mutant, test::shape(128, 128, 64, false), "09a_wmma");
        require_contains(v.failure, "first wrong: row 0, ");
        REQUIRE(v.wrong > 128 * 128 / 2);
        REQUIRE(v.wrong <= 128 * 128 * 3 / 4);  // those on the diagonal of a warp tile are right
        REQUIRE(test::run(mutant, test::shape(16, 16, 64, false), test::seed()).passed);
    }
}

TEST_CASE("mutant of 09b: the rows of C's fragments are off by one") {
    // Where all rows of A are the same, so are those of C, and only the one that nobody writes tells.
    const auto equal_rows = [](gemm::HostMatrices& host) {
        for (std::size_t i = 64; i < host.A.size(); ++i) host.A[i] = host.A[i % 64];
    };
    const Shape shape = test::shape(128, 128, 64, false);
    for (const Lesson& mutant : of_each_type(mutant_row_off_09b::lesson)) {
        const Verdict v = caught(mutant, shape, "09b_mma_sync");
        require_contains(v.failure, "first wrong: row 0, column 0 (block (0,0,0), warp 0, thread (0,0,0))");
        REQUIRE(v.wrong > 128 * 128 / 2);
        const Verdict same = test::run(mutant, shape, test::seed(), equal_rows);
        REQUIRE(same.wrong == 128);
        require_contains(same.failure, "these elements were never written");
    }
}

TEST_CASE("mutant of 09b: neighbours in C's fragments are exchanged, which equal columns hide") {
    caught_but_hidden(mutant_cols_off_09b::lesson, "09b_mma_sync", [](gemm::HostMatrices& host) {
        for (std::size_t i = 0; i < host.B.size(); i += 2) host.B[i + 1] = host.B[i];
    });
}

TEST_CASE("mutant of 09b: the rows of A's fragments are off by one, which equal rows hide") {
    caught_but_hidden(mutant_a_rows_off_09b::lesson, "09b_mma_sync", [](gemm::HostMatrices& host) {
        for (std::size_t i = 0; i < host.A.size(); ++i) host.A[i] = host.A[i / 2048 * 2048 + i % 128];
    });
}

TEST_CASE("mutant of 09b: B's fragments are not transposed, which a sum of k and column hides") {
    const Lesson& mutant = mutant_not_transposed_09b::lesson;
    caught_but_hidden(mutant, "09b_mma_sync", [](gemm::HostMatrices& host) {  // each 8×8 of B is symmetric
        const std::vector<float> values = host.B;
        for (std::size_t i = 0; i < values.size(); ++i) host.B[i] = values[i / 128 + i % 128];
    });
    // A B that is symmetric as a whole hides nothing.
    const auto symmetric = [](gemm::HostMatrices& host) {
        for (std::size_t k = 0; k < 128; ++k) {
            for (std::size_t j = 0; j < k; ++j) host.B[k * 128 + j] = host.B[j * 128 + k];
        }
    };
    for (const Lesson& typed : of_each_type(mutant)) {
        const Verdict v = test::run(typed, test::shape(128, 128, 128, false), test::seed(), symmetric);
        REQUIRE(v.wrong > 128 * 128 / 2);
    }
}

TEST_CASE("mutant of 09b: the halves of A's k are exchanged, which equal halves hide") {
    caught_but_hidden(mutant_k_halves_09b::lesson, "09b_mma_sync", [](gemm::HostMatrices& host) {
        for (std::size_t i = 0; i < host.A.size(); ++i) host.A[i] = host.A[i & ~std::size_t{8}];
    });
}

TEST_CASE("mutant of 09d: A's steps of a tile are read backwards, which equal steps hide") {
    caught_but_hidden(mutant_k_steps_09d::lesson, "09d_read_ahead", [](gemm::HostMatrices& host) {
        for (std::size_t i = 0; i < host.A.size(); ++i) host.A[i] = host.A[i / 128 * 128 + i % 16];
    });
}

TEST_CASE("mutants of 09b and 09c: A is swizzled when it is stored, not when it is read") {
    const auto require_caught = [](const Lesson& mutant, const std::string& of) {
        for (const Lesson& typed : of_each_type(mutant)) {
            const Verdict v = caught(typed, test::shape(128, 128, 64, false), of);
            require_contains(v.failure, "first wrong: row 2, ");  // in rows 0 and 1 a swizzle moves nothing
            caught(typed, test::shape(127, 128, 63, true), of);   // element by element
            REQUIRE(test::run(typed, test::shape(2, 128, 64, false), test::seed()).passed);
        }
    };
    require_caught(mutant_swizzled_store_09b::lesson, "09b_mma_sync");
    require_caught(mutant_swizzled_store_09c::lesson, "09c_ring");
}

TEST_CASE("mutants of 09b and 09c: B is swizzled when it is read, not when it is stored") {
    const auto require_caught = [](const Lesson& mutant, const std::string& of) {
        for (const Lesson& typed : of_each_type(mutant)) {
            REQUIRE(caught(typed, test::shape(128, 128, 64, false), of).wrong > 128 * 128 / 2);
            caught(typed, test::shape(128, 127, 63, true), of);
            REQUIRE(test::run(typed, test::shape(128, 128, 1, false), test::seed()).passed);  // k = 0 stays
        }
    };
    require_caught(mutant_swizzled_load_09b::lesson, "09b_mma_sync");
    require_caught(mutant_swizzled_load_09c::lesson, "09c_ring");
}

#ifdef GEMM_CPU_DEVICE  // a GPU may be lucky: the copies are there before they are read
TEST_CASE("mutant of 09c: the waits are one group too short") {
    for (const Lesson& mutant : of_each_type(mutant_wait_too_short_09c::lesson)) {
        const Verdict v = caught(mutant, test::shape(72, 64, 96, false), "09c_ring");
        require_contains(v.failure, "these elements are NaN: padding, uninitialised memory");
    }
}

TEST_CASE("mutant of 09c: the barrier after waiting is missing") {
    for (const Lesson& mutant : of_each_type(mutant_no_barrier_09c::lesson)) {
        const Verdict v = caught(mutant, test::shape(72, 64, 192, false), "09c_ring");
        require_contains(v.failure, "these elements are NaN: padding, uninitialised memory");
    }
}

TEST_CASE("mutant of 09e: the rows are read before every lane has stored its pairs") {
    for (const Lesson& mutant : of_each_type(mutant_no_warp_barrier_09e::lesson)) {
        REQUIRE(caught(mutant, test::shape(72, 64, 32, false), "09e_whole_rows").wrong > 0);
    }
}

TEST_CASE("mutant of 09d: the barrier before the next tile's fragments is missing") {
    for (const Lesson& mutant : of_each_type(mutant_no_barrier_09d::lesson)) {
        const Verdict v = caught(mutant, test::shape(72, 64, 192, false), "09d_read_ahead");
        require_contains(v.failure, "these elements are NaN: padding, uninitialised memory");
        REQUIRE(test::run(mutant, test::shape(72, 64, 32, false), test::seed()).passed);  // one tile
    }
}
#endif
