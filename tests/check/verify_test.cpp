// The verifier against wrong results made by hand: each starts from a right C, gets one thing wrong, and must
// be found, located and named. And against right results of every way to add: none may be called wrong.
#include "common/check/verify.hpp"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Shape;
using gemm::Verdict;
using gemm::Verifier;
using gemm::Workload;
using test::require_contains;

using test::kInf;
using test::kNaN;
constexpr std::uint64_t kSeed = 20250101;

/// What the hand-made "kernel" below writes: a whole C, and perhaps one element somewhere else.
struct HandMade {
    std::vector<float> c;
    enum class Target { none, A, B, C } target = Target::none;
    std::ptrdiff_t offset = 0;  // in elements from the start of the target
} hand_made;

void launch_hand_made(const gemm::Problem& p, const void*, cudaStream_t) {
    const std::vector<float>& c = hand_made.c;
    CUDA_CHECK(cudaMemcpy(p.C, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    if (hand_made.target == HandMade::Target::none) return;
    const void* const start = hand_made.target == HandMade::Target::A   ? p.A
                              : hand_made.target == HandMade::Target::B ? p.B
                                                                        : p.C;
    const float one = 1.0f;
    float* const at = const_cast<float*>(static_cast<const float*>(start)) + hand_made.offset;
    CUDA_CHECK(cudaMemcpy(at, &one, sizeof one, cudaMemcpyHostToDevice));
}

gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    const std::int64_t tiles = gemm::ceil_div(p.N, 32);
    return {{static_cast<unsigned>(row / 32 * tiles + col / 32), 0, 0},
            {static_cast<unsigned>(col % 32), static_cast<unsigned>(row % 32), 0}};
}

/// Tiles of 32×32×32 with one thread per element: what locations and patterns are told by.
const gemm::Offer hand_variants[] = {
    {.variant = gemm::of_type(gemm::DType::fp32), .kernel = nullptr, .architectures = {.from = 50}}};
const gemm::Lesson hand_lesson{.name = "by_hand",
                               .tile = {32, 32, 32},
                               .block = dim3(32, 32),
                               .variants = hand_variants,
                               .launch = launch_hand_made,
                               .owner = owner};

/// A workload and its right result.
struct Case {
    explicit Case(const Shape& shape, const std::function<void(gemm::HostMatrices&)>& edit = {})
        : shape(shape), w((test::device(), shape), kSeed, edit), verifier(w), right(w.host().C) {
        std::vector<std::int64_t> rows, cols;
        for (std::int64_t i = 0; i < shape.M; ++i) rows.push_back(i);
        for (std::int64_t j = 0; j < shape.N; ++j) cols.push_back(j);
        ref = gemm::reference(w, rows, cols);
        for (std::int64_t i = 0; i < shape.M; ++i) {
            for (std::int64_t j = 0; j < shape.N; ++j) at(right, i, j) = static_cast<float>(value(i, j));
        }
    }

    float& at(std::vector<float>& c, std::int64_t i, std::int64_t j) const {
        return c[static_cast<std::size_t>(i * shape.ldc + j)];
    }
    double value(std::int64_t i, std::int64_t j) const {
        return ref.value[static_cast<std::size_t>(i * shape.N + j)];
    }
    double bound(std::int64_t i, std::int64_t j) const {
        return gemm::error_bound_factor(shape.K) * ref.magnitude[static_cast<std::size_t>(i * shape.N + j)];
    }
    float a(std::int64_t i, std::int64_t k) const {
        return w.host().A[static_cast<std::size_t>(i * shape.lda + k)];
    }
    float b(std::int64_t k, std::int64_t j) const {
        return w.host().B[static_cast<std::size_t>(k * shape.ldb + j)];
    }

    /// Σ over k < terms of a·b, in float64.
    double product(std::int64_t i, std::int64_t j, std::int64_t terms) const {
        double sum = 0;
        for (std::int64_t k = 0; k < terms; ++k)
            sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
        return sum;
    }
    /// A C of which wrong(i, j) says what the elements hold.
    template <class Value>
    std::vector<float> filled(const Value& wrong) const {
        std::vector<float> c = right;
        for (std::int64_t i = 0; i < shape.M; ++i) {
            for (std::int64_t j = 0; j < shape.N; ++j) at(c, i, j) = static_cast<float>(wrong(i, j));
        }
        return c;
    }
    Verdict check(const std::vector<float>& c) const { return verifier.check(c, &hand_lesson); }

    Shape shape;
    Workload w;
    Verifier verifier;
    std::vector<float> right;
    gemm::Reference ref;
};

void require_fails(const Verdict& v, std::int64_t wrong, const std::vector<std::string>& parts) {
    REQUIRE_FALSE(v.passed);
    INFO(v.failure);
    REQUIRE(v.wrong == wrong);
    for (const std::string& part : parts) require_contains(v.failure, part);
}

/// Where random values differ from random values, a few lie within the bound of each other by chance.
void require_nearly_all_fail(const Verdict& v, std::int64_t all, const std::string& part) {
    REQUIRE_FALSE(v.passed);
    INFO(v.failure);
    REQUIRE(v.wrong <= all);
    REQUIRE(v.wrong >= all * 99 / 100);
    require_contains(v.failure, part);
}

}  // namespace

TEST_CASE("verifier: a right result passes and the bound is not vacuous") {
    for (const bool padded : {false, true}) {
        for (const auto& [alpha, beta] :
             {std::pair{1.0f, 0.0f}, {1.5f, -0.5f}, {0.0f, 1.0f}, {-1.0f, 1.0f}}) {
            const Case c(test::shape(70, 45, 100, padded, alpha, beta));
            const Verdict v = c.check(c.right);
            INFO(v.failure);
            REQUIRE(v.passed);
            REQUIRE(v.failure.empty());
            REQUIRE(v.wrong == 0);
            REQUIRE(v.checked == 70 * 45);
            REQUIRE(v.error_over_bound < 1.0);
            if (alpha != 0.0f) REQUIRE(v.error_over_bound > 0.0);
        }
    }
}

TEST_CASE("verifier: the report of one wrong element") {
    const Case c(test::shape(70, 45, 100, true, 1.5f, -0.5f));
    for (const double bounds : {3.0, -3.0, 1.5}) {
        std::vector<float> wrong = c.right;
        c.at(wrong, 33, 34) = static_cast<float>(c.value(33, 34) + bounds * c.bound(33, 34));
        const Verdict v = c.check(wrong);
        require_fails(
            v, 1,
            {"by_hand is wrong at 70×45×100 lda=103 ldb=50 ldc=52 alpha=1.5 beta=-0.5 (seed 20250101): 1 "
             "of 3150 elements.",
             "first wrong: row 33, column 34 (block (3,0,0), warp 1, thread (2,1,0))"});
        char text[64];
        std::snprintf(text, sizeof text, "got %.9g, expected %.9g ± %.3g",
                      static_cast<double>(c.at(wrong, 33, 34)), c.value(33, 34), c.bound(33, 34));
        require_contains(v.failure, text);
        REQUIRE(v.error_over_bound > 1.0);
    }
    std::vector<float> close = c.right;
    c.at(close, 33, 34) = static_cast<float>(c.value(33, 34) + 0.9 * c.bound(33, 34));
    REQUIRE(c.check(close).wrong == 0);
}

TEST_CASE("verifier: where wrong elements lie") {
    const Case c(test::shape(128, 96, 40, false));
    const auto spoiled = [&](auto&& where) {
        return c.check(
            c.filled([&](std::int64_t i, std::int64_t j) { return c.value(i, j) + (where(i, j) ? 7 : 0); }));
    };
    require_fails(spoiled([](auto, auto j) { return j >= 64; }), 128 * 32,
                  {"first wrong: row 0, column 64", "all in the last column of tiles (columns 64 and up)"});
    require_fails(spoiled([](auto i, auto) { return i >= 96; }), 32 * 96,
                  {"first wrong: row 96, column 0", "all in the last row of tiles (rows 96 and up)"});
    require_fails(spoiled([](auto i, auto) { return i % 32 == 5; }), 4 * 96,
                  {"first wrong: row 5, column 0", "every wrong row is 5 modulo 32"});
    require_fails(spoiled([](auto, auto j) { return j % 16 == 3; }), 128 * 6,
                  {"every wrong column is 3 modulo 16"});
    require_fails(spoiled([](auto i, auto j) { return i / 32 == 1 && j / 32 == 1; }), 32 * 32,
                  {"first wrong: row 32, column 32 (block (4,0,0), warp 0, thread (0,0,0))",
                   "all in one tile of 32×32"});
    require_fails(spoiled([](auto i, auto) { return i == 50; }), 96, {"all in row 50"});
    require_fails(spoiled([](auto, auto j) { return j == 50; }), 128, {"all in column 50"});
    require_fails(spoiled([](auto, auto) { return true; }), 128 * 96, {"all of C is wrong"});
}

TEST_CASE("verifier: the last column strip of a partial tile") {
    const Case c(test::shape(65, 70, 40, true));
    require_fails(c.check(c.filled([&](auto i, auto j) { return j >= 64 ? 0.0 : c.value(i, j); })), 65 * 6,
                  {"all in the last column of tiles (columns 64 and up)"});
}

TEST_CASE("verifier: what wrong elements hold") {
    const Case c(test::shape(66, 66, 75, true, 1.5f, -0.5f));
    const auto c0 = [&](std::int64_t i, std::int64_t j) {
        return static_cast<double>(c.w.host().C[static_cast<std::size_t>(i * c.shape.ldc + j)]);
    };
    const std::int64_t all = 66 * 66;
    const auto tail = c.filled([&](auto i, auto j) { return 1.5 * c.product(i, j, 64) - 0.5 * c0(i, j); });
    require_nearly_all_fail(
        c.check(tail), all,
        "the K tail is missing: these elements hold the sum over the first 64 of 75 steps");
    const auto no_beta = c.filled([&](auto i, auto j) { return 1.5 * c.product(i, j, 75); });
    require_nearly_all_fail(c.check(no_beta), all, "beta·C is missing");
    const auto no_alpha = c.filled([&](auto i, auto j) { return c.product(i, j, 75) - 0.5 * c0(i, j); });
    require_nearly_all_fail(c.check(no_alpha), all, "alpha is missing");
    require_nearly_all_fail(c.check(c.w.host().C), all, "these elements still hold what C held before");

    const Case square(test::shape(66, 66, 75, false));
    const auto swapped = square.filled([&](auto i, auto j) { return square.value(j, i); });
    require_nearly_all_fail(square.check(swapped), 66 * 66 - 66, "rows and columns are swapped");
}

namespace {

/// The failure of a C that holds wrong(i, j), with tiles of 32 along K unless told.
template <class Value>
std::string failure_of(const Case& c, const Value& wrong, int BK = 32) {
    gemm::Lesson lesson = hand_lesson;
    lesson.tile.BK = BK;
    const Verdict v = c.verifier.check(c.filled(wrong), &lesson);
    REQUIRE_FALSE(v.passed);
    return v.failure;
}

void require_no_pattern(const std::string& failure, const std::string& part) {
    INFO("must not hold: " << part << "\n  is: " << failure);
    REQUIRE(failure.find(part) == std::string::npos);
}

}  // namespace

TEST_CASE("verifier: matrices that are read transposed") {
    const auto sum = [](const Case& c, auto&& term) {
        double total = 0;
        for (std::int64_t k = 0; k < c.shape.K; ++k) total += static_cast<double>(term(k));
        return static_cast<double>(c.shape.alpha) * total;
    };
    const auto a_transposed = [&](const Case& c) {
        return failure_of(
            c, [&](auto i, auto j) { return sum(c, [&](auto k) { return c.a(k, i) * c.b(k, j); }); });
    };
    const auto b_transposed = [&](const Case& c) {
        return failure_of(
            c, [&](auto i, auto j) { return sum(c, [&](auto k) { return c.a(i, k) * c.b(j, k); }); });
    };
    for (const bool padded : {false, true}) {
        require_contains(a_transposed(Case(test::shape(40, 30, 40, padded, 1.5f))),
                         "pattern: A is read transposed: A[k][row] is taken for A[row][k]");
        require_contains(b_transposed(Case(test::shape(30, 40, 40, padded, 1.5f))),
                         "pattern: B is read transposed: B[col][k] is taken for B[k][col]");
        const Case c(test::shape(40, 40, 40, padded));
        require_contains(a_transposed(c), "pattern: A is read transposed");
        require_contains(b_transposed(c), "pattern: B is read transposed");
        require_contains(
            failure_of(c,
                       [&](auto i, auto j) { return sum(c, [&](auto k) { return c.a(k, i) * c.b(j, k); }); }),
            "pattern: A and B are read transposed");
        require_contains(failure_of(c, [&](auto i, auto j) { return c.value(j, i); }),
                         "pattern: rows and columns are swapped");
    }
}

TEST_CASE("verifier: a sum over k that was never added up") {
    for (const std::int64_t K : {1, 20, 32, 75}) {
        const Case c(test::shape(40, 50, K, true, 1.5f));
        // K < BK: the tail is all there is.
        require_contains(failure_of(c, [](auto, auto) { return 0.0; }),
                         K < 32 ? "the K tail is missing: these elements hold the sum over the first 0 of"
                                : "pattern: these elements are 0: the sum over k was never added up");
        require_contains(failure_of(
                             c, [](auto, auto) { return 0.0; }, 1),
                         "pattern: these elements are 0: the sum over k was never added up");
        const std::string strip = failure_of(
            c, [&](auto i, auto j) { return j == 0 ? 0.0 : c.value(i, j); }, 1);
        require_contains(strip, "pattern: these elements are 0; all in column 0");
    }
    const Case c(test::shape(40, 50, 64, true, 1.5f, -0.5f));
    const auto beta_alone = [&](auto i, auto j) {
        return -0.5 * static_cast<double>(c.w.host().C[static_cast<std::size_t>(i * c.shape.ldc + j)]);
    };
    require_contains(failure_of(c, beta_alone),
                     "pattern: alpha·A·B is missing: these elements hold beta·C alone");
    // alpha = 0: alpha·A·B is not to be there.
    const Case zero(test::shape(40, 50, 64, true, 0.0f, -0.5f));
    require_no_pattern(failure_of(zero, [](auto, auto) { return 0.0; }), "pattern: these elements are 0");
    // K = 0: beta·C is right, and what is wrong is something else.
    const Case empty(test::shape(40, 50, 0, true, 1.0f, -0.5f));
    require_no_pattern(failure_of(empty, [&](auto i, auto j) { return empty.value(i, j) + 1; }),
                       "alpha·A·B is missing");
}

TEST_CASE("verifier: one tile of K alone") {
    for (const float beta : {0.0f, -0.5f}) {
        const Case c(test::shape(40, 50, 75, true, 1.5f, beta));
        const auto steps = [&](std::int64_t first, std::int64_t last) {
            return [&c, beta, first, last](auto i, auto j) {
                const auto at = static_cast<std::size_t>(i * c.shape.ldc + j);
                const double c0 = beta == 0.0f ? 0.0 : static_cast<double>(c.w.host().C[at]);
                return 1.5 * (c.product(i, j, last) - c.product(i, j, first)) +
                       static_cast<double>(beta) * c0;
            };
        };
        require_contains(failure_of(c, steps(64, 75)),
                         "these elements hold the sum over the last tile of K alone, steps 64 to 74");
        require_contains(failure_of(c, steps(0, 32)),
                         "these elements hold the sum over the first tile alone, steps 0 to 31");
        require_contains(failure_of(c, steps(0, 64)), "the K tail is missing");
        require_contains(failure_of(c, steps(50, 75), 25), "the last tile of K alone, steps 50 to 74");
        require_contains(failure_of(c, steps(74, 75)),
                         "each product replaces the sum: these elements hold that of the last k alone");
        require_contains(
            failure_of(c, steps(0, 74)),
            "the last step of K is missing: these elements hold the sum over the first 74 of 75");
        require_contains(
            failure_of(c, steps(1, 75)),
            "the first step of K is missing: these elements hold the sum over the last 74 of 75");
        // Without tiles along K there is no first one. And one tile is all of K, if it is that long.
        require_no_pattern(failure_of(c, steps(0, 32), 1), "alone");
        require_no_pattern(failure_of(c, steps(0, 40), 75), "alone");
        // The special before the general: a tail of one step is a tail.
        require_contains(failure_of(c, steps(0, 74), 37), "the K tail is missing");
    }
}

TEST_CASE("verifier: wrong scalars") {
    const Case c(test::shape(40, 50, 75, true, 1.5f, -0.5f));
    const auto c0 = [&](auto i, auto j) {
        return static_cast<double>(c.w.host().C[static_cast<std::size_t>(i * c.shape.ldc + j)]);
    };
    require_contains(failure_of(c, [&](auto i, auto j) { return 1.5 * c.product(i, j, 75) + c0(i, j); }),
                     "pattern: beta is taken for 1: these elements hold alpha·A·B + C");
    require_contains(
        failure_of(c, [&](auto i, auto j) { return 1.5 * (c.product(i, j, 75) - 0.5 * c0(i, j)); }),
        "pattern: alpha multiplies C, too: these elements hold alpha·(A·B + beta·C)");
    require_contains(failure_of(c, [&](auto i, auto j) { return 1.5 * c.product(i, j, 75); }),
                     "pattern: beta·C is missing");
    require_contains(failure_of(c, [&](auto i, auto j) { return c.product(i, j, 75) - 0.5 * c0(i, j); }),
                     "pattern: alpha is missing");
}

TEST_CASE("verifier: inputs and sums in a shorter type") {
    const auto cut = [](float x, int bits) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~((1u << (23 - bits)) - 1));
    };
    // Half of the last kept bit is added first: away from zero where it is a tie, which no input is.
    const auto nearest = [&](float x, int bits) {
        return cut(std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + (1u << (22 - bits))), bits);
    };
    Shape shape = test::shape(32, 48, 64, false);
    shape.alpha = 1.5f;
    shape.beta = -0.75f;
    const Case c(shape);
    const auto failure_of = [&](auto&& sum) {
        std::vector<float> wrong = c.right;
        for (std::int64_t i = 0; i < shape.M; ++i) {
            for (std::int64_t j = 0; j < shape.N; ++j) {
                const float c0 = c.w.host().C[static_cast<std::size_t>(i * shape.ldc + j)];
                c.at(wrong, i, j) = shape.alpha * sum(i, j) + shape.beta * c0;
            }
        }
        return c.verifier.check(wrong, &hand_lesson).failure;
    };
    const auto of_inputs = [&](auto&& rounded) {
        return failure_of([&](std::int64_t i, std::int64_t j) {
            float sum = 0.0f;
            for (std::int64_t k = 0; k < shape.K; ++k) sum += rounded(c.a(i, k)) * rounded(c.b(k, j));
            return sum;
        });
    };
    const std::string pattern = "pattern: less precise than FP32: ";
    require_contains(of_inputs([&](float x) { return nearest(x, 7); }),
                     pattern + "A and B are rounded to BF16");
    require_contains(of_inputs([&](float x) { return cut(x, 7); }),
                     pattern + "A and B are rounded to BF16 (cut off)");
    require_contains(of_inputs([&](float x) { return nearest(x, 10); }),
                     pattern + "A and B are rounded to TF32");
    require_contains(of_inputs([&](float x) { return cut(x, 10); }),
                     pattern + "A and B are rounded to TF32 (cut off)");
    require_contains(of_inputs([](float x) { return std::trunc(x); }),
                     pattern + "A and B are rounded to whole numbers");
    require_contains(failure_of([&](std::int64_t i, std::int64_t j) {
                         float sum = 0.0f;
                         for (std::int64_t k = 0; k < shape.K; ++k) sum += std::trunc(c.a(i, k) * c.b(k, j));
                         return sum;
                     }),
                     pattern + "each product is rounded to a whole number");
    require_contains(failure_of([&](std::int64_t i, std::int64_t j) {
                         int sum = 0;
                         for (std::int64_t k = 0; k < shape.K; ++k)
                             sum = static_cast<int>(static_cast<float>(sum) + c.a(i, k) * c.b(k, j));
                         return static_cast<float>(sum);
                     }),
                     pattern + "the sum is rounded to a whole number in every step");
}

TEST_CASE("verifier: padding that is ignored") {
    for (const float beta : {0.0f, -0.5f}) {
        const Case c(test::shape(40, 50, 20, true, 1.5f, beta));
        const Shape& s = c.shape;
        /// C as a kernel leaves it that takes the matrices to have these pitches.
        const auto with = [&](std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
            std::vector<float> result = c.w.host().C;
            for (std::int64_t i = 0; i < s.M; ++i) {
                for (std::int64_t j = 0; j < s.N; ++j) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < s.K; ++k) {
                        sum += static_cast<double>(c.w.host().A[static_cast<std::size_t>(i * lda + k)]) *
                               static_cast<double>(c.w.host().B[static_cast<std::size_t>(k * ldb + j)]);
                    }
                    float& at = result[static_cast<std::size_t>(i * ldc + j)];
                    at =
                        static_cast<float>(1.5 * sum + (beta == 0.0f ? 0.0 : static_cast<double>(beta * at)));
                }
            }
            return c.check(result).failure;
        };
        const std::string ignored = "pattern: padding between rows is ignored in ";
        require_contains(with(s.lda, s.ldb, s.N), ignored + "C (pitch N instead of ldc)");
        // Few sums of A's padding, which is NaN, are none: these tell it from other ways to read padding.
        require_contains(with(s.K, s.ldb, s.ldc), ignored + "A (pitch K instead of lda)");
        require_contains(with(s.K, s.ldb, s.N), ignored + "A, C (pitch K instead of lda, N instead of ldc)");
        // Every sum has a NaN in it.
        require_contains(with(s.lda, s.N, s.ldc), "these elements are NaN: padding");
    }
}

TEST_CASE("verifier: no pattern where the mistake would make no difference") {
    // One step, one row that is a column …: an element that is a little off is that and nothing else.
    const std::vector<Shape> shapes = {test::shape(1, 1, 1, false),
                                       test::shape(1, 1, 2, false),
                                       test::shape(1, 7, 1, false, 1.0f, 1.0f),
                                       test::shape(5, 1, 1, true, 1.5f, -0.5f),
                                       test::shape(4, 4, 0, true, 1.5f, 0.5f),
                                       test::shape(3, 5, 1, true, 0.0f, 1.0f)};
    for (const Shape& shape : shapes) {
        const Case c(shape);
        for (const int BK : {1, 32}) {
            const std::string failure = failure_of(
                c, [&](auto i, auto j) { return c.value(i, j) + 3 * c.bound(i, j) + 1e-30; }, BK);
            require_no_pattern(failure, "transposed");
            require_no_pattern(failure, "swapped");
            require_no_pattern(failure, "missing");
            require_no_pattern(failure, "alone");
            require_no_pattern(failure, "still hold");
            require_no_pattern(failure, "taken for");
        }
    }
}

TEST_CASE("verifier: who owns an element may be told at the check") {
    const Case c(test::shape(40, 50, 20, false));
    std::vector<float> wrong = c.right;
    c.at(wrong, 33, 34) += 7.0f;
    int asked = 0;
    const auto told = c.verifier.check(wrong, &hand_lesson, [&](std::int64_t row, std::int64_t col) {
        ++asked;
        REQUIRE(row == 33);
        REQUIRE(col == 34);
        return gemm::Owner{{9, 0, 0}, {3, 2, 0}};
    });
    REQUIRE(asked == 1);
    require_contains(told.failure,
                     "first wrong: row 33, column 34 (block (9,0,0), warp 2, thread (3,2,0))\n");
    const auto unknown = c.verifier.check(
        wrong, &hand_lesson, [](std::int64_t, std::int64_t) { return std::optional<gemm::Owner>(); });
    require_contains(unknown.failure, "first wrong: row 33, column 34\n");
}

TEST_CASE("verifier: NaN and Inf where a finite value belongs") {
    const Case c(test::shape(40, 50, 20, false));
    for (const float bad : {kNaN, kInf, -kInf}) {
        std::vector<float> wrong = c.right;
        c.at(wrong, 39, 49) = bad;
        require_fails(c.check(wrong), 1, {"first wrong: row 39, column 49", std::isnan(bad) ? "NaN" : "inf"});
    }
}

TEST_CASE("verifier: what belongs where the reference is NaN or Inf") {
    const Case c(test::shape(40, 50, 20, false), [](gemm::HostMatrices& host) {
        host.A[3 * 20 + 4] = kNaN;  // row 3: NaN
        host.A[7 * 20 + 5] = kInf;  // row 7: ±Inf
    });
    REQUIRE(std::isnan(c.value(3, 10)));
    REQUIRE(std::isinf(c.value(7, 10)));
    REQUIRE(c.check(c.right).passed);
    const auto with = [&](std::int64_t row, float value) {
        std::vector<float> wrong = c.right;
        c.at(wrong, row, 10) = value;
        return c.check(wrong);
    };
    const float inf = static_cast<float>(c.value(7, 10));
    require_fails(with(3, 1.0f), 1, {"row 3, column 10", "got 1, expected nan"});
    require_fails(with(3, kInf), 1, {"row 3, column 10"});
    require_fails(with(7, 1.0f), 1,
                  {"row 7, column 10", "expected " + std::string(inf < 0 ? "-" : "") + "inf"});
    require_fails(with(7, -inf), 1, {"row 7, column 10"});
    require_fails(with(7, kNaN), 1, {"row 7, column 10"});
    require_fails(with(3, std::bit_cast<float>(gemm::kPoisonBits)), 1,
                  {"never written"});  // also where NaN belongs
}

TEST_CASE("verifier: elements that were never written") {
    for (const float beta : {0.0f, -0.5f}) {
        const Case c(test::shape(40, 50, 20, true, 1.0f, beta));
        std::vector<float> wrong = c.right;
        for (std::int64_t j = 0; j < 50; ++j) c.at(wrong, 12, j) = std::bit_cast<float>(gemm::kPoisonBits);
        require_fails(c.check(wrong), 50,
                      {"row 12, column 0", "got nothing: never written",
                       "these elements were never written; all in row 12"});
    }
}

TEST_CASE("verifier: a written padding element") {
    const Case c(test::shape(40, 50, 20, true));
    for (const auto& [row, col] : {std::pair{0, 50}, {17, 53}, {39, 56}}) {
        std::vector<float> wrong = c.right;
        c.at(wrong, row, col) = 0.0f;
        const Verdict v = c.check(wrong);
        require_fails(v, 0,
                      {"by_hand wrote into the padding of C at 40×50×20 lda=23 ldb=55 ldc=57 (seed 20250101)",
                       "row " + std::to_string(row) + ", column " + std::to_string(col) + " of pitch 57"});
    }
}

TEST_CASE("verifier: a write outside A or B or C") {
    using Target = HandMade::Target;
    for (const bool padded : {false, true}) {
        Case c(test::shape(40, 50, 20, padded));
        const Shape& s = c.shape;
        hand_made = {c.right, Target::none, 0};
        REQUIRE(gemm::verify(hand_lesson, c.w, c.verifier).passed);
        struct Place {
            Target target;
            const char* name;
            std::int64_t size;
        };
        for (const auto& [target, name, size] :
             {Place{Target::A, "A", s.M * s.lda}, Place{Target::B, "B", s.K * s.ldb},
              Place{Target::C, "C", s.M * s.ldc}}) {
            for (const std::int64_t offset : {std::int64_t{-1}, size, -s.ldc, size + s.ldc - 1}) {
                Case fresh(s);  // the last one has a scratched guard band
                hand_made = {fresh.right, target, offset};
                const Verdict v = gemm::verify(hand_lesson, fresh.w, fresh.verifier);
                INFO(v.failure);
                REQUIRE_FALSE(v.passed);
                const std::string where = offset < 0
                                              ? std::to_string(-offset) + " elements before its start"
                                              : std::to_string(offset - size + 1) + " elements past its end";
                require_contains(v.failure, "A write outside " + std::string(name) + ": " + where);
                require_contains(v.failure, "by_hand at " + s.text() + " (seed 20250101)");
            }
        }
    }
}

TEST_CASE("verifier: a changed C is poisoned again before the next check") {
    Case c(test::shape(20, 20, 20, false));
    hand_made = {c.right, HandMade::Target::none, 0};
    REQUIRE(gemm::verify(hand_lesson, c.w, c.verifier).passed);
    hand_made.c.clear();  // writes nothing: the result of the run before must not be taken for this one's
    require_fails(gemm::verify(hand_lesson, c.w, c.verifier), 400, {"these elements were never written"});
}

namespace {

/// 10 of 23 mantissa bits left, rounded to nearest even: what TF32 keeps of an FP32 value.
float tf32(float x) {
    std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    bits += 0xfffu + (bits >> 13 & 1u);
    return std::bit_cast<float>(bits & ~0x1fffu);
}

}  // namespace

TEST_CASE("verifier: every way to add in FP32 is right at K = 4096 and TF32 is not") {
    const Case c(test::shape(64, 64, 4096, false));
    const std::int64_t K = c.shape.K;
    const auto passes = [&](const std::vector<float>& result) {
        const Verdict v = c.check(result);
        INFO(v.failure);
        REQUIRE(v.passed);
        REQUIRE(v.error_over_bound > 0.0);
        REQUIRE(v.error_over_bound < 0.1);  // the worst case is far from the mean
        REQUIRE(v.rms_error > 0.0);
    };
    passes(c.right);
    passes(c.filled([&](auto i, auto j) {  // one after the other
        float sum = 0;
        for (std::int64_t k = 0; k < K; ++k) sum += c.a(i, k) * c.b(k, j);
        return sum;
    }));
    passes(c.filled([&](auto i, auto j) {  // fused
        float sum = 0;
        for (std::int64_t k = 0; k < K; ++k) sum = std::fma(c.a(i, k), c.b(k, j), sum);
        return sum;
    }));
    passes(c.filled([&](auto i, auto j) {  // backwards
        float sum = 0;
        for (std::int64_t k = K; k-- > 0;) sum += c.a(i, k) * c.b(k, j);
        return sum;
    }));
    passes(c.filled([&](auto i, auto j) {  // in tiles of 32
        float sum = 0;
        for (std::int64_t k0 = 0; k0 < K; k0 += 32) {
            float part = 0;
            for (std::int64_t k = k0; k < k0 + 32; ++k) part += c.a(i, k) * c.b(k, j);
            sum += part;
        }
        return sum;
    }));
    passes(c.filled([&](auto i, auto j) {  // pairwise
        std::vector<float> terms(static_cast<std::size_t>(K));
        for (std::int64_t k = 0; k < K; ++k) terms[static_cast<std::size_t>(k)] = c.a(i, k) * c.b(k, j);
        for (std::size_t n = terms.size(); n > 1; n /= 2) {
            for (std::size_t t = 0; t < n / 2; ++t) terms[t] = terms[2 * t] + terms[2 * t + 1];
        }
        return terms[0];
    }));

    const Verdict v = c.check(c.filled([&](auto i, auto j) {
        float sum = 0;
        for (std::int64_t k = 0; k < K; ++k) sum += tf32(c.a(i, k)) * tf32(c.b(k, j));
        return sum;
    }));
    INFO(v.failure);
    REQUIRE_FALSE(v.passed);
    REQUIRE(v.wrong == 0);  // the bound alone would let it pass
    REQUIRE(v.error_over_bound < 1.0);
    REQUIRE(v.rms_error > v.rms_limit);
    require_contains(v.failure, "by_hand is less precise than FP32 at 64×64×4096 (seed 20250101)");
    require_contains(v.failure, "TF32");
}

TEST_CASE("verifier: against a whole matrix no element escapes though few are held against float64") {
    const Case c(test::shape(40, 36, 10, true, 1.5f, -0.5f));
    gemm::WholeMatrix whole;
    for (std::size_t i = 0; i < c.ref.value.size(); ++i) {
        whole.value.push_back(static_cast<float>(c.ref.value[i]));
        whole.magnitude.push_back(static_cast<float>(c.ref.magnitude[i]));
    }
    const Verifier sampling(c.w, &whole);
    const Verdict right = sampling.check(c.right, &hand_lesson);
    INFO(right.failure);
    REQUIRE(right.passed);
    REQUIRE(right.checked >= 40 + 36);
    REQUIRE(right.checked <= 4 * 40 + 4 * 36);
    for (std::int64_t i = 0; i < 40; ++i) {
        for (std::int64_t j = 0; j < 36; ++j) {
            for (const bool never_written : {false, true}) {
                std::vector<float> wrong = c.right;
                c.at(wrong, i, j) = never_written
                                        ? std::bit_cast<float>(gemm::kPoisonBits)
                                        : static_cast<float>(c.value(i, j) + 4 * c.bound(i, j) + 1e-6);
                const Verdict v = sampling.check(wrong, &hand_lesson);
                INFO("row " << i << ", column " << j << "\n" << v.failure);
                if (v.passed || v.wrong != 1) FAIL("it escaped");
                if (v.failure.find("row " + std::to_string(i) + ", column " + std::to_string(j) + " ") ==
                    std::string::npos) {
                    FAIL("it is not named");
                }
                if (v.failure.find("1 of 1440 elements") == std::string::npos) FAIL("it is not counted");
            }
        }
    }
}

TEST_CASE("verifier: when a whole matrix is wanted") {
    REQUIRE_FALSE(Verifier::wants_whole(test::shape(512, 512, 1024, false)));
    REQUIRE(Verifier::wants_whole(test::shape(513, 512, 1024, false)));
    REQUIRE(Verifier::wants_whole(test::shape(1 << 15, 1 << 15, 0, false)));
}

TEST_CASE("verifier: the bound grows with K and stays below what a sum can err by") {
    REQUIRE(gemm::error_bound_factor(0) >= 0x1p-24);
    REQUIRE(gemm::error_bound_factor(4096) > 4096 * 0x1p-24);
    REQUIRE(gemm::error_bound_factor(4096) < 4200 * 0x1p-24);
    REQUIRE(gemm::error_bound_factor(std::int64_t{1} << 40) <= 1.0);
}

TEST_CASE("verifier: a launch that is refused is an error and not a verdict") {
    gemm::Lesson refused = hand_lesson;
    refused.launch = [](const gemm::Problem&, const void*, cudaStream_t) { (void)cudaSetDevice(1'000'000); };
    Case c(test::shape(4, 4, 4, false));
    const std::string error = test::error_of([&] { gemm::verify(refused, c.w, c.verifier); });
    require_contains(error, "by_hand could not be launched at 4×4×4: invalid device ordinal.");
}
