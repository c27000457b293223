// The verifier against wrong results made by hand: each starts from a right C, gets one thing wrong, and must
// be found, located and named. And against right results of every way to add: none may be called wrong.
#include "common/check/verify.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/check/words.hpp"
#include "common/error.hpp"
#include "tests/support.hpp"
#ifdef GEMM_CPU_DEVICE
#include "tests/cpu/execution/kernels.hpp"
#endif

namespace {

using gemm::FailureId;
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
    gemm::Elements c;
    enum class Target { none, A, B, C } target = Target::none;
    std::ptrdiff_t offset = 0;  // in elements from the start of the target
} hand_made;

void launch_hand_made(const gemm::Problem& p, const void*, cudaStream_t) {
    const std::span<const std::byte> c = std::as_const(hand_made.c).bytes();
    CUDA_CHECK(cudaMemcpy(p.C, c.data(), c.size(), cudaMemcpyHostToDevice));
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
const gemm::Offer hand_variants[] = {{.variant = gemm::of_type(gemm::DType::fp32),
                                      .kernel = nullptr,
                                      .architectures = {.from = 50},
                                      .configuration = {.tile = {32, 32, 32}, .block = dim3(32, 32)}}};
const gemm::Lesson hand_lesson{
    .name = "by_hand", .variants = hand_variants, .launch = launch_hand_made, .owner = owner};

/// A workload and its right result.
struct Case {
    explicit Case(const Shape& shape, const gemm::Workload::Edit& edit = {})
        : shape(shape), w((test::device(), shape), kSeed, edit), verifier(w), right(w.host().C) {
        std::vector<std::int64_t> rows, cols;
        for (std::int64_t i = 0; i < shape.M; ++i) rows.push_back(i);
        for (std::int64_t j = 0; j < shape.N; ++j) cols.push_back(j);
        ref = gemm::reference(w, rows, cols);
        for (std::int64_t i = 0; i < shape.M; ++i) {
            for (std::int64_t j = 0; j < shape.N; ++j) at(right, i, j) = static_cast<float>(value(i, j));
        }
    }

    gemm::Elements::Reference at(gemm::Elements& c, std::int64_t i, std::int64_t j) const {
        return c[static_cast<std::size_t>(i * shape.ldc + j)];
    }
    double value(std::int64_t i, std::int64_t j) const {
        return ref.value[static_cast<std::size_t>(i * shape.N + j)];
    }
    double bound(std::int64_t i, std::int64_t j) const {
        return gemm::error_bound_factor(shape.K) * ref.magnitude[static_cast<std::size_t>(i * shape.N + j)];
    }
    double c0(std::int64_t i, std::int64_t j) const {
        return w.host().C[static_cast<std::size_t>(i * shape.ldc + j)];
    }
    float a(std::int64_t i, std::int64_t k) const {
        return static_cast<float>(w.host().A[static_cast<std::size_t>(i * shape.lda + k)]);
    }
    float b(std::int64_t k, std::int64_t j) const {
        return static_cast<float>(w.host().B[static_cast<std::size_t>(k * shape.ldb + j)]);
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
    gemm::Elements filled(const Value& wrong) const {
        gemm::Elements c = right;
        for (std::int64_t i = 0; i < shape.M; ++i) {
            for (std::int64_t j = 0; j < shape.N; ++j) at(c, i, j) = static_cast<float>(wrong(i, j));
        }
        return c;
    }
    Verdict check(const gemm::Elements& c) const { return verifier.check(c, &hand_lesson); }

    Shape shape;
    Workload w;
    Verifier verifier;
    gemm::Elements right;
    gemm::Reference ref;
};

void require_fails(const Verdict& v, gemm::FailureId what, std::int64_t wrong, const std::string& patterns) {
    INFO(v.failure);
    REQUIRE_FALSE(v.passed);
    CHECK(v.what == what);
    CHECK(v.wrong == wrong);
    CHECK(test::patterns_of(v) == patterns);
}

/// The first wrong element, or the first of the padding: "33,34 (3,0,0) 1 (2,1,0)", with its block, warp and
/// thread where they are known.
std::string first_of(const Verdict& v) {
    REQUIRE(v.first);
    std::string text = std::to_string(v.first->row) + "," + std::to_string(v.first->column);
    if (!v.first->owner) return text;
    const auto coordinates = [](const auto& at) {
        return "(" + std::to_string(at.x) + "," + std::to_string(at.y) + "," + std::to_string(at.z) + ")";
    };
    return text + " " + coordinates(v.first->owner->block) + " " + std::to_string(v.first->warp) + " " +
           coordinates(v.first->owner->thread);
}

/// What is said first of a C that holds wrong(i, j), with tiles of 32 along K unless told.
template <class Value>
std::string pattern_of(const Case& c, const Value& wrong, int BK = 32) {
    gemm::Offer offer = hand_lesson.offer();
    offer.configuration.tile.BK = BK;
    gemm::Lesson lesson = hand_lesson;
    lesson.variants = {&offer, 1};
    const Verdict v = c.verifier.check(c.filled(wrong), &lesson);
    INFO(v.failure);
    REQUIRE_FALSE(v.passed);
    return v.patterns.empty() ? "" : test::told(v.patterns.front());
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
        gemm::Elements wrong = c.right;
        c.at(wrong, 33, 34) = static_cast<float>(c.value(33, 34) + bounds * c.bound(33, 34));
        const Verdict v = c.check(wrong);
        require_fails(v, FailureId::elements, 1, "few_digits; last_column_of_tiles column 32");
        CHECK(first_of(v) == "33,34 (3,0,0) 1 (2,1,0)");
        CHECK(v.first->got == static_cast<double>(c.at(wrong, 33, 34)));
        CHECK(v.first->expected == c.value(33, 34));
        CHECK(std::fabs(v.first->bound / c.bound(33, 34) - 1) < 1e-9);
        REQUIRE(v.error_over_bound > 1.0);
        if (bounds == 1.5) test::require_approved("verdict", {v.failure.substr(0, v.failure.find('\n'))});
    }
    gemm::Elements close = c.right;
    c.at(close, 33, 34) = static_cast<float>(c.value(33, 34) + 0.9 * c.bound(33, 34));
    REQUIRE(c.check(close).wrong == 0);
}

TEST_CASE("verifier: where wrong elements lie") {
    struct Place {
        std::function<bool(std::int64_t, std::int64_t)> wrong;
        std::int64_t count;
        const char *first, *patterns;
    };
    const Case c(test::shape(128, 96, 40, false)), partial(test::shape(65, 70, 40, true));
    const auto require_place = [](const Case& at, const Place& place) {
        const Verdict v = at.check(at.filled(
            [&](std::int64_t i, std::int64_t j) { return at.value(i, j) + (place.wrong(i, j) ? 7 : 0); }));
        require_fails(v, FailureId::elements, place.count, place.patterns);
        CHECK(first_of(v).starts_with(place.first));
    };
    for (const Place& place : std::vector<Place>{
             {[](auto, auto j) { return j >= 64; }, 128 * 32, "0,64 ", "last_column_of_tiles column 64"},
             {[](auto i, auto) { return i >= 96; }, 32 * 96, "96,0 ", "last_row_of_tiles row 96"},
             {[](auto i, auto) { return i % 32 == 5; }, 4 * 96, "5,0 ", "every_nth_row row 5 modulo 32"},
             {[](auto, auto j) { return j % 16 == 3; }, 128 * 6, "0,3 ",
              "every_nth_column column 3 modulo 16"},
             {[](auto i, auto j) { return i / 32 == 1 && j / 32 == 1; }, 32 * 32, "32,32 (4,0,0) 0 (0,0,0)",
              "one_tile 32×32"},
             {[](auto i, auto) { return i == 50; }, 96, "50,0 ", "one_row row 50"},
             {[](auto, auto j) { return j == 50; }, 128, "0,50 ", "one_column column 50"},
             {[](auto, auto) { return true; }, 128 * 96, "0,0 ", "everywhere"}}) {
        require_place(c, place);
    }
    require_place(partial,
                  {[](auto, auto j) { return j >= 64; }, 65 * 6, "0,64 ", "last_column_of_tiles column 64"});
}

TEST_CASE("verifier: what wrong elements hold") {
    using Value = std::function<double(std::int64_t, std::int64_t)>;
    // Where random values differ from random values, a few lie within the bound of each other by chance.
    const auto require_nearly_all = [](const Case& c, const Value& value, std::int64_t most,
                                       const char* pattern) {
        const Verdict v = c.check(c.filled(value));
        INFO(v.failure);
        CHECK((v.wrong <= most && v.wrong >= most * 99 / 100));
        REQUIRE_FALSE(v.patterns.empty());
        CHECK(test::told(v.patterns.front()) == pattern);
    };
    const Case c(test::shape(66, 66, 75, true, 1.5f, -0.5f));
    const auto product = [&](std::int64_t terms, double alpha, double beta) {
        return [&c, terms, alpha, beta](auto i, auto j) {
            return alpha * c.product(i, j, terms) + beta * c.c0(i, j);
        };
    };
    const std::int64_t all = 66 * 66;
    require_nearly_all(c, product(64, 1.5, -0.5), all, "k_tail 0-64/75");
    require_nearly_all(c, product(75, 1.5, 0), all, "beta_c_missing");
    require_nearly_all(c, product(75, 1, -0.5), all, "alpha_missing");
    require_nearly_all(c, product(75, 1.5, 1), all, "beta_is_one");
    require_nearly_all(c, product(75, 1.5, -0.75), all, "alpha_times_c");
    require_nearly_all(c, product(0, 0, 1), all, "unchanged");
    const Case square(test::shape(66, 66, 75, false));
    require_nearly_all(
        square, [&](auto i, auto j) { return square.value(j, i); }, all - 66, "c_transposed");
}

TEST_CASE("verifier: matrices that are read transposed") {
    const auto pattern = [](const Case& c, bool a, bool b) {
        return pattern_of(c, [&](auto i, auto j) {
            double total = 0;
            for (std::int64_t k = 0; k < c.shape.K; ++k) {
                total += static_cast<double>((a ? c.a(k, i) : c.a(i, k)) * (b ? c.b(j, k) : c.b(k, j)));
            }
            return static_cast<double>(c.shape.alpha) * total;
        });
    };
    for (const bool padded : {false, true}) {
        CHECK(pattern(Case(test::shape(40, 30, 40, padded, 1.5f)), true, false) == "a_transposed");
        CHECK(pattern(Case(test::shape(30, 40, 40, padded, 1.5f)), false, true) == "b_transposed");
        const Case c(test::shape(40, 40, 40, padded));
        CHECK(pattern(c, true, false) == "a_transposed");
        CHECK(pattern(c, false, true) == "b_transposed");
        CHECK(pattern(c, true, true) == "a_and_b_transposed");
    }
}

TEST_CASE("verifier: a sum over k that was never added up") {
    const auto zero = [](auto, auto) { return 0.0; };
    for (const std::int64_t K : {1, 20, 32, 75}) {
        const Case c(test::shape(40, 50, K, true, 1.5f));
        // K < BK: the tail is all there is.
        CHECK(pattern_of(c, zero) == (K < 32 ? "k_tail 0-0/" + std::to_string(K) : "sum_is_zero"));
        CHECK(pattern_of(c, zero, 1) == "sum_is_zero");
        CHECK(pattern_of(
                  c, [&](auto i, auto j) { return j == 0 ? 0.0 : c.value(i, j); }, 1) == "zero");
    }
    const Case c(test::shape(40, 50, 64, true, 1.5f, -0.5f));
    CHECK(pattern_of(c, [&](auto i, auto j) { return -0.5 * c.c0(i, j); }) == "product_missing");
    // alpha = 0: alpha·A·B is not to be there.
    CHECK(pattern_of(Case(test::shape(40, 50, 64, true, 0.0f, -0.5f)), zero) == "beta_c_missing");
    // K = 0: beta·C is right, and what is wrong is something else.
    const Case empty(test::shape(40, 50, 0, true, 1.0f, -0.5f));
    CHECK(pattern_of(empty, [&](auto i, auto j) { return empty.value(i, j) + 1; }) == "everywhere");
}

TEST_CASE("verifier: one tile of K alone") {
    for (const float beta : {0.0f, -0.5f}) {
        const Case c(test::shape(40, 50, 75, true, 1.5f, beta));
        const auto pattern = [&](std::int64_t first, std::int64_t last, int BK = 32) {
            return pattern_of(
                c,
                [&](auto i, auto j) {
                    return 1.5 * (c.product(i, j, last) - c.product(i, j, first)) +
                           (beta == 0.0f ? 0.0 : static_cast<double>(beta) * c.c0(i, j));
                },
                BK);
        };
        CHECK(pattern(64, 75) == "last_tile_alone 64-75/75");
        CHECK(pattern(0, 32) == "first_tile_alone 0-32/75");
        CHECK(pattern(0, 64) == "k_tail 0-64/75");
        CHECK(pattern(50, 75, 25) == "last_tile_alone 50-75/75");
        CHECK(pattern(74, 75) == "last_product_alone 74-75/75");
        CHECK(pattern(0, 74) == "last_step_missing 0-74/75");
        CHECK(pattern(1, 75) == "first_step_missing 1-75/75");
        // Without tiles along K there is no first one. And one tile is all of K, if it is that long.
        CHECK(pattern(0, 32, 1) == "everywhere");
        CHECK(pattern(0, 40, 75) == "everywhere");
        // The special before the general: a tail of one step is a tail.
        CHECK(pattern(0, 74, 37) == "k_tail 0-74/75");
    }
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
    // In FP32, as a kernel computes it.
    const auto pattern = [&](auto&& sum) {
        return pattern_of(c, [&](auto i, auto j) {
            const auto c0 = static_cast<float>(c.c0(i, j));
            return shape.alpha * sum(i, j) + shape.beta * c0;
        });
    };
    const auto of_inputs = [&](auto&& rounded) {
        return pattern([&](auto i, auto j) {
            float sum = 0.0f;
            for (std::int64_t k = 0; k < shape.K; ++k) sum += rounded(c.a(i, k)) * rounded(c.b(k, j));
            return sum;
        });
    };
    CHECK(of_inputs([&](float x) { return nearest(x, 7); }) == "inputs_in_bf16");
    CHECK(of_inputs([&](float x) { return cut(x, 7); }) == "inputs_in_bf16_cut");
    CHECK(of_inputs([&](float x) { return nearest(x, 10); }) == "inputs_in_tf32_or_fp16");
    CHECK(of_inputs([&](float x) { return cut(x, 10); }) == "inputs_in_tf32_cut");
    CHECK(of_inputs([](float x) { return std::trunc(x); }) == "inputs_in_whole_numbers");
    CHECK(pattern([&](auto i, auto j) {
              float sum = 0.0f;
              for (std::int64_t k = 0; k < shape.K; ++k) sum += std::trunc(c.a(i, k) * c.b(k, j));
              return sum;
          }) == "products_in_whole_numbers");
    CHECK(pattern([&](auto i, auto j) {
              int sum = 0;
              for (std::int64_t k = 0; k < shape.K; ++k)
                  sum = static_cast<int>(static_cast<float>(sum) + c.a(i, k) * c.b(k, j));
              return static_cast<float>(sum);
          }) == "sum_in_whole_numbers");
}

TEST_CASE("verifier: padding that is ignored") {
    for (const float beta : {0.0f, -0.5f}) {
        const Case c(test::shape(40, 50, 20, true, 1.5f, beta));
        const Shape& s = c.shape;
        /// C as a kernel leaves it that takes the matrices to have these pitches.
        const auto with = [&](std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
            gemm::Elements result = c.w.host().C;
            for (std::int64_t i = 0; i < s.M; ++i) {
                for (std::int64_t j = 0; j < s.N; ++j) {
                    double sum = 0;
                    for (std::int64_t k = 0; k < s.K; ++k) {
                        sum += c.w.host().A[static_cast<std::size_t>(i * lda + k)] *
                               c.w.host().B[static_cast<std::size_t>(k * ldb + j)];
                    }
                    const auto at = static_cast<std::size_t>(i * ldc + j);
                    result[at] = 1.5 * sum + (beta == 0.0f ? 0.0 : static_cast<double>(beta) * result[at]);
                }
            }
            const Verdict v = c.check(result);
            INFO(v.failure);
            REQUIRE_FALSE(v.patterns.empty());
            return test::told(v.patterns.front());
        };
        CHECK(with(s.lda, s.ldb, s.N) == "pitch C of N");
        // Few sums of A's padding, which is NaN, are none: these tell it from other ways to read padding.
        CHECK(with(s.K, s.ldb, s.ldc) == "pitch A of K");
        CHECK(with(s.K, s.ldb, s.N) == "pitch A, C of K, N");
        // Every sum has a NaN in it.
        CHECK(with(s.lda, s.N, s.ldc) == (beta == 0.0f ? "nan_with_beta_zero" : "nan"));
        if (beta == 0.0f) continue;
        // Beyond the end of a packed C elements keep what they held, too; if all do, nobody wrote them.
        const Verdict left =
            c.check(c.filled([&](auto i, auto j) { return i < 38 ? c.value(i, j) : c.c0(i, j); }));
        CHECK(test::told(left.patterns.front()) == "unchanged");
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
            const std::string pattern = pattern_of(
                c, [&](auto i, auto j) { return c.value(i, j) + 3 * c.bound(i, j) + 1e-30; }, BK);
            INFO(shape.text());
            CHECK((pattern == "few_digits" || pattern == "everywhere"));
        }
    }
}

TEST_CASE("verifier: who owns an element may be told at the check") {
    const Case c(test::shape(40, 50, 20, false));
    gemm::Elements wrong = c.right;
    c.at(wrong, 33, 34) = c.value(33, 34) + 7.0;
    int asked = 0;
    const auto told =
        c.verifier.check(wrong, &hand_lesson, [&](std::int64_t, std::int64_t row, std::int64_t col) {
            ++asked;
            REQUIRE(row == 33);
            REQUIRE(col == 34);
            return gemm::Owner{{9, 0, 0}, {3, 2, 0}};
        });
    REQUIRE(asked == 1);
    CHECK(first_of(told) == "33,34 (9,0,0) 2 (3,2,0)");
    const auto unknown = c.verifier.check(wrong, &hand_lesson, [](std::int64_t, std::int64_t, std::int64_t) {
        return std::optional<gemm::Owner>();
    });
    CHECK(first_of(unknown) == "33,34");
}

TEST_CASE("verifier: what belongs where the reference is finite, NaN or Inf") {
    const Case c(test::shape(40, 50, 20, false), [](gemm::HostMatrices& host, const gemm::Shape&) {
        host.A[3 * 20 + 4] = kNaN;  // row 3: NaN
        host.A[7 * 20 + 5] = kInf;  // row 7: ±Inf
    });
    REQUIRE(std::isnan(c.value(3, 10)));
    REQUIRE(std::isinf(c.value(7, 10)));
    REQUIRE(c.check(c.right).passed);
    const float inf = static_cast<float>(c.value(7, 10));
    for (const auto& [row, got] : std::vector<std::pair<std::int64_t, float>>{
             {39, kNaN}, {39, kInf}, {39, -kInf}, {3, 1.0f}, {3, kInf}, {7, 1.0f}, {7, -inf}, {7, kNaN}}) {
        gemm::Elements wrong = c.right;
        c.at(wrong, row, 10) = got;
        const Verdict v = c.check(wrong);
        INFO(v.failure);
        REQUIRE_FALSE(v.passed);
        CHECK(v.wrong == 1);
        CHECK(first_of(v).starts_with(std::to_string(row) + ",10 "));
        CHECK((v.first->got == static_cast<double>(got) || (std::isnan(v.first->got) && std::isnan(got))));
    }
    gemm::Elements unwritten = c.right;
    c.at(unwritten, 3, 10) = std::bit_cast<float>(gemm::kPoisonBits);
    CHECK_FALSE(c.check(unwritten).first->written);  // also where NaN belongs
}

TEST_CASE("verifier: elements that were never written") {
    for (const float beta : {0.0f, -0.5f}) {
        const Case c(test::shape(40, 50, 20, true, 1.0f, beta));
        gemm::Elements wrong = c.right;
        for (std::int64_t j = 0; j < 50; ++j) c.at(wrong, 12, j) = std::bit_cast<float>(gemm::kPoisonBits);
        const Verdict v = c.check(wrong);
        require_fails(v, FailureId::elements, 50, "never_written; one_row row 12");
        CHECK(first_of(v).starts_with("12,0 "));
        CHECK_FALSE(v.first->written);
    }
}

TEST_CASE("verifier: a written padding element") {
    const Case c(test::shape(40, 50, 20, true));
    for (const auto& [row, col] : {std::pair{0, 50}, {17, 53}, {39, 56}}) {
        gemm::Elements wrong = c.right;
        c.at(wrong, row, col) = 0.0f;
        const Verdict v = c.check(wrong);
        require_fails(v, FailureId::padding, 0, "");
        CHECK(first_of(v) == std::to_string(row) + "," + std::to_string(col));
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
                const std::string where = offset < 0 ? std::to_string(-offset) + " elements before"
                                                     : std::to_string(offset - size + 1) + " elements past";
                CHECK(v.what == FailureId::outside);
                require_contains(v.breach, " " + std::string(name) + ": " + where);
            }
        }
    }
}

TEST_CASE("verifier: a changed C is poisoned again before the next check") {
    Case c(test::shape(20, 20, 20, false));
    hand_made = {c.right, HandMade::Target::none, 0};
    REQUIRE(gemm::verify(hand_lesson, c.w, c.verifier).passed);
    hand_made.c = {};  // writes nothing: the result of the run before must not be taken for this one's
    require_fails(gemm::verify(hand_lesson, c.w, c.verifier), FailureId::elements, 400,
                  "never_written; everywhere");
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
    const auto passes = [&](const gemm::Elements& result) {
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
    CHECK(v.what == FailureId::precision);
    CHECK(test::patterns_of(v) == "short_inputs_or_sum");
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
                gemm::Elements wrong = c.right;
                c.at(wrong, i, j) = never_written
                                        ? std::bit_cast<float>(gemm::kPoisonBits)
                                        : static_cast<float>(c.value(i, j) + 4 * c.bound(i, j) + 1e-6);
                const Verdict v = sampling.check(wrong, &hand_lesson);
                INFO("row " << i << ", column " << j << "\n" << v.failure);
                if (v.passed || v.wrong != 1) FAIL("it escaped");
                if (v.first->row != i || v.first->column != j) FAIL("it is not named");
                if (v.compared != 1440) FAIL("it is not counted");
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
    const test::Thrown thrown = test::thrown_by([&] { gemm::verify(refused, c.w, c.verifier); });
    CHECK(thrown.id == gemm::FaultId::launch_refused);
    for (const char* const named : {"by_hand", "4×4×4", "ordinal"}) require_contains(thrown.text, named);
#ifdef GEMM_CPU_DEVICE  // which alone tells the two numbers
    test::device();     // of two SMs, each with room for two blocks of 1024 threads
    refused.launch = [](const gemm::Problem&, const void*, cudaStream_t) {
        (void)kernels::chain_together(5, nullptr, nullptr);
    };
    const test::Thrown too_many = test::thrown_by([&] { gemm::verify(refused, c.w, c.verifier); });
    CHECK(too_many.id == gemm::FaultId::launch_refused);
    for (const char* const named : {"by_hand", "5 blocks", "4 at once"})
        require_contains(too_many.text, named);
#endif
}

namespace {

/// The value that every element of C has: what INT32's poison is.
constexpr std::int32_t kLikePoison = 0x7fffffff;
/// So many products of 127·127, one of 127·32 and one of 7·1 add up to it.
constexpr std::int64_t kLikePoisonSteps = 133144;
static_assert(kLikePoisonSteps * 127 * 127 + 127 * 32 + 7 == kLikePoison);

/// Writes that into all of C but for what `left_out` says.
template <std::int64_t left_out_row, std::int64_t touched_column>
void launch_int32(const gemm::Problem& p, const void*, cudaStream_t) {
    const std::int64_t width = touched_column > 0 ? touched_column + 1 : p.N;
    const std::vector<std::int32_t> values(static_cast<std::size_t>(width), kLikePoison);
    for (std::int64_t row = 0; row < p.M; ++row) {
        if (row == left_out_row) continue;
        CUDA_CHECK(cudaMemcpy(static_cast<std::int32_t*>(p.C) + row * p.ldc, values.data(),
                              values.size() * sizeof values[0], cudaMemcpyHostToDevice));
    }
}

}  // namespace

TEST_CASE("verifier: in a type without NaN, a second fill tells what nobody wrote") {
    test::device();
    for (const auto dtype : {gemm::DType::int8, gemm::DType::int32, gemm::DType::e2m1})
        REQUIRE(gemm::fills(dtype).size() == 2);
    REQUIRE(gemm::fills(gemm::DType::e4m3).size() == 1);
    Shape s = test::shape(6, 4, kLikePoisonSteps + 2, true);
    s.variant = {gemm::DType::int8, gemm::DType::int8, gemm::DType::int32};
    REQUIRE(gemm::info(gemm::DType::int32).poison == kLikePoison);
    Workload w(s, kSeed, [&](gemm::HostMatrices& host, const gemm::Shape&) {
        host.A.fill(127.0f);
        host.B.fill(127.0f);
        for (std::int64_t row = 0; row < s.M; ++row) host.A[s.a_at(row, s.K - 1)] = 7.0;
        for (std::int64_t col = 0; col < s.N; ++col) {
            host.B[s.b_at(s.K - 2, col)] = 32.0;
            host.B[s.b_at(s.K - 1, col)] = 1.0;
        }
    });
    const Verifier verifier(w);
    const auto run = [&](auto launch) {
        const gemm::Offer offer{.variant = s.variant, .configuration = hand_lesson.configuration()};
        gemm::Lesson lesson{.name = "int32", .launch = launch};
        lesson.variants = {&offer, 1};
        // As one fill would have it.
        gemm::run_once(lesson, w);
        REQUIRE(verifier.check(w.download_c(), nullptr).passed);
        return gemm::verify(lesson, w, verifier);
    };
    const Verdict right = run(launch_int32<-1, 0>);
    INFO(right.failure);
    REQUIRE(right.passed);
    const Verdict unwritten = run(launch_int32<3, 0>);
    require_fails(unwritten, FailureId::elements, 4, "never_written; one_row row 3");
    CHECK_FALSE(unwritten.first->written);
    require_fails(run(launch_int32<-1, 4>), FailureId::padding, 0, "");
}

TEST_CASE("verifier: every pattern has words of its own") {
    std::vector<std::string> said;
    // The value of each field differs.
#define SAY(name)   \
    said.push_back( \
        gemm::pattern_text({gemm::PatternId::name, "A, C", "K, N", 1, 2, 3, 4, 5, 8, 16, 32, 64, "D"}));
    GEMM_PATTERNS(SAY)
#undef SAY
    CHECK(std::set<std::string>(said.begin(), said.end()).size() == said.size());
    test::require_approved("patterns", said);
}
