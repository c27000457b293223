// Every lesson against the whole contract of common/gemm.hpp. ctest runs each case once per lesson, chosen by
// GEMM_TEST_LESSON; without it a case goes through all of them.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/check/dtype.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/program/lessons.hpp"
#include "runner/programs/cases.hpp"
#include "tests/support.hpp"
#ifdef GEMM_CPU_DEVICE

#include "common/cpu/execution/device.hpp"
#endif

namespace {

using namespace std::string_literals;
using gemm::HostMatrices;
using gemm::Lesson;
using gemm::Shape;
using gemm::Verdict;

struct Scalars {
    float alpha, beta;
};
constexpr std::array kScalars{Scalars{1, 0}, Scalars{1.5f, -0.5f}, Scalars{0, 1}, Scalars{0, 0},
                              Scalars{-1, 1}};

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
using test::kInf;
using test::kNaN;

/// The lesson with its first variant that the device is new enough for.
std::optional<Lesson> for_device(const Lesson& lesson) {
    for (const gemm::Offer& offer : lesson.variants) {
        const Lesson chosen = gemm::with_variant(lesson, offer.variant);
        if (gemm::why_skipped(chosen, test::device()).empty()) return chosen;
    }
    return std::nullopt;
}

/// Calls body(lesson) for each lesson of this process that the device is new enough for. Where that is every
/// lesson, the quick tier draws `most` of them.
template <class Body>
void for_each_lesson(const Body& body, std::size_t most = kAll) {
    const char* const only = std::getenv("GEMM_TEST_LESSON");
    bool ran = false;
    std::string why;
    for (const Lesson* lesson : test::drawn_lessons(only != nullptr ? kAll : most)) {
        if (only != nullptr && std::string(only) != lesson->name) continue;
        const std::optional<Lesson> runs = for_device(*lesson);
        if (!runs) {
            why = gemm::why_skipped(*lesson, test::device());
            std::printf("%s\n", why.c_str());
            continue;
        }
        ran = true;
        body(*runs);
    }
    if (!ran && !why.empty()) return test::skip(why);
    INFO("GEMM_TEST_LESSON=" << (only != nullptr ? only : ""));
    REQUIRE(ran);  // a name that no lesson has must not pass
}

void require_right(const Lesson& lesson, const Shape& shape, std::uint64_t seed) {
    const Verdict verdict = test::run(lesson, shape, seed);
    INFO(lesson.name << " at " << shape.text() << ", seed " << seed << "\n" << verdict.failure);
    REQUIRE(verdict.passed);
    REQUIRE(verdict.checked == shape.M * shape.N);
}

using Size = std::array<std::int64_t, 3>;  // M, N, K

/// One size with every pitch and every pair of scalars, or with two of these ten, so that sizes next to each
/// other share them. The quick tier draws two.
void sweep(const Lesson& lesson, const Size& size, bool two = false) {
    const auto& [m, n, k] = size;
    std::vector<std::size_t> settings;
    for (std::size_t i = 0; i < 2 * kScalars.size(); ++i) {
        // (Other scalars with padding than without.)
        const std::size_t turn = static_cast<std::size_t>(m + n + k) + i + 2 * (i / kScalars.size());
        if (!two || turn % kScalars.size() == 0) settings.push_back(i);
    }
    for (const std::size_t i : test::drawn(settings, 2, lesson.name + test::shape(m, n, k, false).text())) {
        const auto& [alpha, beta] = kScalars[i % kScalars.size()];
        require_right(lesson, test::shape(m, n, k, i >= kScalars.size(), alpha, beta), test::seed() + 17 * i);
    }
}

/// What a lesson's own tiles make interesting along one dimension: three tiles, and one element less or more.
std::vector<std::int64_t> around(int tile) {
    if (tile <= 1) return {3};
    return {3 * tile - 1, 3 * tile, 3 * tile + 1};
}

}  // namespace

TEST_CASE("lessons that are named are drawn first") {
    const std::string last = gemm::all_lessons().back()->name;
    const std::vector<const Lesson*> drawn = test::drawn_lessons(1, ("some.cu," + last).c_str());
    CHECK(drawn.front()->name == last);
    CHECK((test::all() || drawn.size() == 1));
}

TEST_CASE("the list of lessons is in order and each describes itself") {
    std::string before;
    REQUIRE_FALSE(gemm::all_lessons().empty());
    for (const Lesson* lesson : gemm::all_lessons()) {
        REQUIRE(lesson != nullptr);
        INFO(lesson->name);
        CHECK(before < lesson->name);
        before = lesson->name;
        CHECK(lesson->tile().BM >= 1);
        CHECK(lesson->tile().BN >= 1);
        CHECK(lesson->tile().BK >= 1);
        CHECK(lesson->launch != nullptr);
        CHECK(lesson->owner != nullptr);
        CHECK(lesson->part >= 1);
        CHECK_FALSE(std::string(lesson->ladder).empty());
        REQUIRE_FALSE(lesson->variants.empty());
        CHECK(lesson->chosen == 0);
        const std::uint64_t threads =
            std::uint64_t{lesson->block().x} * lesson->block().y * lesson->block().z;
        CHECK(threads >= 32);
        CHECK(threads <= 1024);
        std::set<std::string> texts;
        for (const gemm::Offer& offer : lesson->variants) {
            INFO(gemm::text(offer.variant));
            CHECK(texts.insert(gemm::text(offer.variant)).second);
            CHECK(offer.kernel != nullptr);
            CHECK((offer.architectures.exactly != nullptr) != (offer.architectures.from >= 50));
        }
        if (!gemm::why_skipped(*lesson, test::device()).empty()) continue;
        const gemm::Resources r = gemm::resources(*lesson);
        CHECK(static_cast<std::uint64_t>(r.threads_per_block) == threads);
        CHECK(r.dynamic_shared_bytes == lesson->configuration().dynamic_shared_bytes);
#ifndef GEMM_CPU_DEVICE
        CHECK(r.blocks_per_sm >= 1);
        CHECK(r.local_bytes == 0);  // nothing spilled
#endif
    }
}

TEST_CASE("the shared memory that a lesson is said to take") {
    CHECK(gemm::resources(test::lesson("01_naive")).static_shared_bytes == 0);
    CHECK(gemm::resources(test::lesson("03_smem")).static_shared_bytes == 2 * 32 * 32 * sizeof(float));
}

TEST_CASE("empty and single dimensions", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        std::vector<Size> sizes;
        for (const int m : {0, 1, 5}) {
            for (const int n : {0, 1, 5}) {
                for (const int k : {0, 1, 5}) {
                    if (m != 5 || n != 5 || k != 5) sizes.push_back({m, n, k});
                }
            }
        }
        for (const Size& size : test::drawn(sizes, 10, lesson.name)) sweep(lesson, size);
    });
}

TEST_CASE("odd shapes", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        const std::vector<Size> sizes{{31, 33, 7},    {32, 32, 32},  {33, 31, 65}, {127, 129, 65},
                                      {257, 63, 300}, {64, 1024, 8}, {1000, 1, 77}};
        for (const Size& size : test::drawn(sizes, 3, lesson.name)) sweep(lesson, size);
    });
}

TEST_CASE("three tiles in each dimension and one element less or more", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        std::vector<Size> sizes;
        for (const std::int64_t m : around(lesson.tile().BM)) {
            for (const std::int64_t n : around(lesson.tile().BN)) {
                for (const std::int64_t k : around(lesson.tile().BK)) sizes.push_back({m, n, k});
            }
        }
        for (const Size& size : test::drawn(sizes, 3, lesson.name)) sweep(lesson, size, true);
    });
}

// Where a lesson takes other tiles for a large C, which small shapes never meet. (The check's cases are
// of each lesson's own sizes where it does.)
TEST_CASE("a C of many tiles", "[lesson][long]") {
    const auto right = [](const Lesson& lesson) {
        const std::vector<Shape> shapes{test::shape(1285, 2563, 9, false),
                                        test::shape(1284, 2564, 20, false, 1.5f, -0.5f),
                                        test::shape(1281, 2572, 41, true, -1.0f, 1.0f)};
        require_right(lesson, shapes[test::seed() % shapes.size()], test::seed());
    };
    for_each_lesson(right, 4);
}

TEST_CASE("random shapes", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        std::mt19937_64 random(test::seed());
        const auto draw = [&] { return static_cast<std::int64_t>(1 + random() % 200); };
        for (int i = 0; i < (test::all() ? 10 : 3); ++i) {
            const std::int64_t m = draw(), n = draw(), k = draw();
            sweep(lesson, {m, n, k});
        }
    });
}

// Where a thread takes several elements at once, rows may begin anywhere: each matrix off by an element, by
// half of 16 bytes, and by 16 bytes.
TEST_CASE("rows at every alignment", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        const auto vector = static_cast<std::int64_t>(16 / gemm::size_of(lesson.variant().C));
        const std::int64_t size = 8 * vector + vector;
        std::vector<Shape> shapes;
        for (const std::int64_t a : {std::int64_t{1}, vector / 2, vector}) {
            for (const std::int64_t b : {std::int64_t{1}, vector / 2, vector}) {
                for (const std::int64_t c : {std::int64_t{1}, vector / 2, vector}) {
                    shapes.push_back(test::shape(size, size, size, false, 1.5f, a == c ? -0.5f : 0.0f));
                    shapes.back().lda += a;
                    shapes.back().ldb += b;
                    shapes.back().ldc += c;
                }
            }
        }
        for (const Shape& shape : test::drawn(shapes, 9, lesson.name)) {
            require_right(lesson, shape, test::seed());
        }
    });
}

TEST_CASE("every type that a lesson offers", "[lesson]") {
    for_each_lesson([](const Lesson& chosen) {
        for (const gemm::Offer& offer : chosen.variants) {
            if (offer.variant == chosen.variant()) continue;
            const Lesson lesson = gemm::with_variant(chosen, offer.variant);
            if (!gemm::why_skipped(lesson, test::device()).empty()) continue;
            const std::vector<Size> sizes{
                {129, 127, 65}, {128, 128, 64}, {31, 33, 7}, {1, 200, 40}, {72, 72, 72}};
            for (const Size& size : test::drawn(sizes, 2, lesson.name)) sweep(lesson, size);
        }
    });
}

/// Beyond 65535 tiles of 32, the most that a grid has in y and z. The CPU device computes whole tiles where N
/// is 1, and would take long over a lesson whose tiles are larger, which come nowhere near that limit: there
/// it gets a part, more than 16 bits count, in hundreds of tiles. So does a lesson whose threads meet at
/// barriers, which takes twenty seconds; the check's cases have a block that is as far.
std::int64_t long_side(const Lesson& lesson) {
    const gemm::Resources r = gemm::resources(lesson);
    const bool meets = r.static_shared_bytes + r.dynamic_shared_bytes > 0;
    const bool part =
        test::device().kind == "cpu" && (lesson.tile().BM * lesson.tile().BN > 32 * 32 || meets);
    return part ? 2200000 / 32 : 2200000;
}

/// Tight with the default scalars, or padded with others: the blocks of a large grid all do the same.
void require_long(const Lesson& lesson, std::int64_t m, std::int64_t n, bool padded) {
    require_right(lesson, test::shape(m, n, 1, padded, padded ? 1.5f : 1.0f, padded ? -0.5f : 0.0f),
                  test::seed());
}

TEST_CASE("2200000 rows", "[lesson][long]") {
    const bool padded = test::seed() % 2 == 0;
    for_each_lesson([&](const Lesson& lesson) { require_long(lesson, long_side(lesson), 1, padded); }, 1);
}

TEST_CASE("2200000 columns", "[lesson][long]") {
    const bool padded = test::seed() % 2 != 0;
    for_each_lesson([&](const Lesson& lesson) { require_long(lesson, 1, long_side(lesson), padded); }, 1);
}

// Each lesson's own tiles and paths, scalars crossed with places, and large indices on the CPU device: what a
// learner's kernel is held against.
TEST_CASE("the check's cases", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        const std::vector<gemm::CheckCase> cases = gemm::check_cases(lesson, test::seed());
        for (const gemm::CheckCase& c : test::drawn(cases, 20, lesson.name)) {
            const Verdict verdict = gemm::judge_case(lesson, c, test::seed());
            INFO(lesson.name << ", " << c.what << ", at " << c.shape.text() << ", seed " << test::seed()
                             << "\n"
                             << verdict.failure);
            REQUIRE(verdict.passed);
        }
    });
}

TEST_CASE("NaN and Inf in the inputs reach what they belong to and nothing else", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        enum class Where { A, B, C };
        struct Plant {
            Where where;
            float value;
        };
        const std::vector<Plant> plants{{Where::A, kNaN}, {Where::A, kInf}, {Where::A, -kInf},
                                        {Where::B, kNaN}, {Where::B, kInf}, {Where::B, -kInf},
                                        {Where::C, kNaN}, {Where::C, kInf}};
        for (const Plant& plant : test::drawn(plants, 3, lesson.name)) {
            for (const bool padded : {false, true}) {
                // Off the multiples of 32, with the planted element in the last, partial tile of K and of C.
                const Shape s = test::shape_for(lesson, 67, 70, 45, padded, 1.5f, -0.5f);
                const std::int64_t row = 65, col = 69, k = 44;
                gemm::Workload w(s, test::seed(), [&](HostMatrices& host, const gemm::Shape&) {
                    switch (plant.where) {
                        case Where::A:
                            host.A[static_cast<std::size_t>(row * s.lda + k)] = plant.value;
                            break;
                        case Where::B:
                            host.B[static_cast<std::size_t>(k * s.ldb + col)] = plant.value;
                            break;
                        case Where::C:
                            host.C[static_cast<std::size_t>(row * s.ldc + col)] = plant.value;
                            break;
                    }
                });
                const gemm::Verifier verifier(w);
                const Verdict verdict = gemm::verify(lesson, w, verifier);
                INFO("plant " << static_cast<int>(plant.where) << " " << plant.value << "\n"
                              << verdict.failure);
                REQUIRE(verdict.passed);

                // The verifier's word is not taken for it: every element is looked at here.
                const gemm::Elements c = w.download_c();
                for (std::int64_t i = 0; i < s.M; ++i) {
                    for (std::int64_t j = 0; j < s.N; ++j) {
                        const double got = c[static_cast<std::size_t>(i * s.ldc + j)];
                        const bool hit = (plant.where == Where::A && i == row) ||
                                         (plant.where == Where::B && j == col) ||
                                         (plant.where == Where::C && i == row && j == col);
                        double expected = 0;
                        if (plant.where == Where::A) {
                            expected = 1.5 * static_cast<double>(plant.value) *
                                       w.host().B[static_cast<std::size_t>(k * s.ldb + j)];
                        } else if (plant.where == Where::B) {
                            expected = 1.5 * static_cast<double>(plant.value) *
                                       w.host().A[static_cast<std::size_t>(i * s.lda + k)];
                        } else {
                            expected = -0.5 * static_cast<double>(plant.value);
                        }
                        INFO("row " << i << ", column " << j << ", got " << got);
                        if (!hit && !std::isfinite(got)) FAIL("it spread");
                        if (hit && std::isnan(expected) && !std::isnan(got)) FAIL("NaN was expected");
                        if (hit && std::isinf(expected) && got != expected) FAIL("Inf was expected");
                    }
                }
            }
        }
    });
}

TEST_CASE("Inf minus Inf is NaN", "[lesson]") {
    for_each_lesson([](const Lesson& lesson) {
        const Shape s = test::shape_for(lesson, 33, 34, 40, false);
        gemm::Workload w(s, test::seed(), [&](HostMatrices& host, const gemm::Shape&) {
            host.A[static_cast<std::size_t>(2 * s.lda + 3)] = kInf;    // row 2 meets B's row 3 …
            host.A[static_cast<std::size_t>(2 * s.lda + 39)] = -kInf;  // … and its row 39
            for (std::int64_t j = 0; j < s.N; ++j) {
                host.B[static_cast<std::size_t>(3 * s.ldb + j)] = 1.0f;
                host.B[static_cast<std::size_t>(39 * s.ldb + j)] = 1.0f;
            }
        });
        const gemm::Verifier verifier(w);
        const Verdict verdict = gemm::verify(lesson, w, verifier);
        INFO(verdict.failure);
        REQUIRE(verdict.passed);
        const gemm::Elements c = w.download_c();
        std::int64_t nans = 0;
        for (std::size_t i = 0; i < c.size(); ++i) nans += std::isnan(c[i]) ? 1 : 0;
        REQUIRE(nans == s.N);
    });
}

namespace {

/// Memory of which only the rows are ever touched: reserved, not filled.
struct Sparse {
    explicit Sparse(std::size_t bytes) {
#ifdef GEMM_CPU_DEVICE
        const cudaError_t status = cpu_device::reserve(&data, bytes);
#else
        const cudaError_t status = cudaMalloc(&data, bytes);
#endif
        if (status == cudaSuccess) return;
        (void)cudaGetLastError();
        data = nullptr;
    }
    ~Sparse() {
        if (data != nullptr) cudaFree(data);
    }
    Sparse(const Sparse&) = delete;
    Sparse& operator=(const Sparse&) = delete;

    void* data = nullptr;
};

}  // namespace

TEST_CASE("offsets beyond 2^31 elements", "[lesson][offsets][alone]") {
#ifdef GEMM_CPU_DEVICE
    // Nothing but the rows takes memory, so the last one can lie beyond 2³² as well.
    constexpr std::int64_t kPitch = 1'500'000'001;
    constexpr std::int64_t M = 4, N = 5, K = 4;
#else
    constexpr std::int64_t kPitch = 1'200'000'001;
    constexpr std::int64_t M = 3, N = 5, K = 3;
    test::device();
    std::size_t free = 0, total = 0;
    CUDA_CHECK(cudaMemGetInfo(&free, &total));
    if (free < std::size_t{40} << 30) return test::skip("this needs 40 GiB of free GPU memory");
#endif
    static_assert((M - 1) * kPitch > std::int64_t{1} << 31 && (K - 1) * kPitch > std::int64_t{1} << 31);
    for_each_lesson([&](const Lesson& lesson) {
        const std::size_t size = gemm::size_of(lesson.variant().C);
        const auto count = [&](std::int64_t rows) {
            return static_cast<std::size_t>((rows - 1) * kPitch + 64) * size;
        };
        const auto start_of = [&](const Sparse& m, std::int64_t row) {
            return static_cast<std::byte*>(m.data) + static_cast<std::size_t>(row * kPitch) * size;
        };
        const Sparse A(count(M)), B(count(K)), C(count(M));
        if (A.data == nullptr || B.data == nullptr || C.data == nullptr) {
            return test::skip("this machine does not reserve the address space");
        }
        std::mt19937_64 random(test::seed());
        std::normal_distribution<float> normal;
        constexpr float kSentinel = 12352.0f;  // which every type has
        const auto fill = [&](const Sparse& m, std::int64_t rows, std::int64_t cols) {
            std::vector<float> values(static_cast<std::size_t>(rows * (cols + 1)), kSentinel);
            for (std::int64_t r = 0; r < rows; ++r) {
                float* const row = &values[static_cast<std::size_t>(r * (cols + 1))];
                for (std::int64_t c = 0; c < cols; ++c)
                    row[c] = gemm::rounded_to(lesson.variant().C, normal(random));
                for (std::int64_t c = 0; c <= cols; ++c) {
                    const std::uint32_t word = gemm::encode(lesson.variant().C, row[c]);  // little-endian
                    CUDA_CHECK(cudaMemcpy(start_of(m, r) + static_cast<std::size_t>(c) * size, &word, size,
                                          cudaMemcpyHostToDevice));
                }
            }
            return values;
        };
        const std::vector<float> a = fill(A, M, K), b = fill(B, K, N), c0 = fill(C, M, N);
        constexpr float kAlpha = 1.5f, kBeta = -0.5f;
        const gemm::Problem p{M,      N,      K,     kAlpha, A.data, kPitch,
                              B.data, kPitch, kBeta, C.data, kPitch, lesson.variant()};
        Shape shape = test::shape(M, N, K, false, kAlpha, kBeta);
        shape.variant = lesson.variant();
        const gemm::Plan plan = lesson.prepare != nullptr ? lesson.prepare(p) : nullptr;
        lesson.launch(p, plan.get(), nullptr);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        for (std::int64_t r = 0; r < M; ++r) {
            std::array<float, N + 1> got{};
            for (std::size_t c = 0; c <= N; ++c) {
                std::uint32_t word = 0;
                CUDA_CHECK(cudaMemcpy(&word, start_of(C, r) + c * size, size, cudaMemcpyDeviceToHost));
                got[c] = gemm::decode(lesson.variant().C, word);
            }
            for (std::int64_t c = 0; c < N; ++c) {
                double sum = 0, magnitude = 0;
                for (std::int64_t k = 0; k < K; ++k) {
                    const double product = static_cast<double>(a[static_cast<std::size_t>(r * (K + 1) + k)]) *
                                           static_cast<double>(b[static_cast<std::size_t>(k * (N + 1) + c)]);
                    sum += product;
                    magnitude += std::fabs(product);
                }
                const auto old = static_cast<double>(c0[static_cast<std::size_t>(r * (N + 1) + c)]);
                const double expected = 1.5 * sum - 0.5 * old;
                const double bound =
                    gemm::error_bound(shape, expected, 1.5 * magnitude + 0.5 * std::fabs(old)).sum();
                INFO(lesson.name << ": row " << r << ", column " << c << ", got "
                                 << got[static_cast<std::size_t>(c)] << ", expected " << expected);
                REQUIRE(std::fabs(static_cast<double>(got[static_cast<std::size_t>(c)]) - expected) <= bound);
            }
            REQUIRE(got[N] == kSentinel);
        }
    });
}

#ifdef GEMM_CPU_DEVICE

namespace {

/// Puts the device back as it was when a test case ends, however it ends.
struct DeviceAsItWas {
    ~DeviceAsItWas() {
        cpu_device::set_block_filter({});
        cpu_device::set_like("sm_90");
    }
};

/// Blocks of a cluster; 1 where a lesson has none.
std::uint64_t cluster_of(const Lesson& lesson) {
    for (const gemm::Constant& c : lesson.configuration().constants) {
        if (std::string_view(c.name) == "CLUSTER") return static_cast<std::uint64_t>(c.value);
    }
    return 1;
}

/// How many C tiles each block has in a grid of so many, by what owner() says of their first elements.
std::map<unsigned, int> shares(const Lesson& lesson, std::int64_t rows, std::int64_t columns) {
    gemm::Problem p{};
    p.M = rows * lesson.tile().BM;
    p.N = p.ldb = p.ldc = columns * lesson.tile().BN;
    p.K = p.lda = 1;
    p.alpha = 1.0f;
    p.variant = lesson.variant();
    std::map<unsigned, int> found;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
        ++found[lesson.owner(p, i / columns * lesson.tile().BM, i % columns * lesson.tile().BN).block.x];
    }
    return found;
}

}  // namespace

// By the function that the kernels call, too: an order of the tiles that leaves one out takes another twice.
TEST_CASE("each C tile of every grid up to 40 by 40 has a block", "[lesson]") {
    for_each_lesson(
        [](const Lesson& lesson) {
            // Of a cluster's blocks each has rows of its own; the check's cases run their orders.
            if (cluster_of(lesson) > 1) return;
            const std::size_t most = shares(lesson, 40, 40).size();  // blocks of a lesson that counts them
            for (std::int64_t rows = 1; rows <= 40; ++rows) {
                for (std::int64_t columns = 1; columns <= 40; ++columns) {
                    const std::map<unsigned, int> found = shares(lesson, rows, columns);
                    INFO(lesson.name << ", " << rows << " by " << columns << " tiles");
                    const auto tiles = static_cast<std::size_t>(rows * columns);
                    REQUIRE(found.size() == std::min(tiles, most));
                    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
                    const auto [least, largest] = std::minmax_element(found.begin(), found.end(), less);
                    REQUIRE(largest->second - least->second <= 1);
                }
            }
        },
        4);
}

TEST_CASE("owner names the block that writes an element", "[lesson]") {
    const DeviceAsItWas restore;
    for_each_lesson([](const Lesson& lesson) {
        // Blocks of a cluster run together or not at all.
        const std::uint64_t together = cluster_of(lesson);
        for (const bool padded : {false, true}) {
            const std::vector<Size> sizes{{97, 131, 5}, {33, 65, 40}, {1, 300, 3}, {290, 2, 9}, {31, 30, 7}};
            for (const auto& [m, n, k] : test::drawn(sizes, 2, lesson.name + (padded ? ", padded" : ""s))) {
                const Shape s = test::shape_for(lesson, m, n, k, padded);
                gemm::Workload w(s, test::seed());
                const gemm::Problem p = w.problem();
                std::uint64_t width = 0, height = 0, depth = 0;
                std::set<std::array<unsigned, 3>> blocks;
                for (std::int64_t row = 0; row < m; ++row) {
                    for (std::int64_t col = 0; col < n; ++col) {
                        const gemm::Owner o = lesson.owner(p, row, col);
                        width = std::max<std::uint64_t>(width, o.block.x + 1);
                        height = std::max<std::uint64_t>(height, o.block.y + 1);
                        depth = std::max<std::uint64_t>(depth, o.block.z + 1);
                        blocks.insert({o.block.x, o.block.y, o.block.z});
                        const bool inside = o.thread.x < lesson.block().x && o.thread.y < lesson.block().y &&
                                            o.thread.z < lesson.block().z;
                        INFO("row " << row << ", column " << col);
                        if (!inside) FAIL("the thread lies outside the lesson's block");
                    }
                }
                REQUIRE(blocks.size() == width * height * depth);
                const std::uint64_t count = width * height * depth;
                for (const std::uint64_t left_out : std::set<std::uint64_t>{0, count / 2, count - 1}) {
                    w.reset_c();
                    const std::uint64_t cluster = left_out / together;
                    cpu_device::set_block_filter(
                        [&](std::uint64_t block) { return block / together != cluster; });
                    lesson.launch(p, lesson.prepare != nullptr ? lesson.prepare(p).get() : nullptr, nullptr);
                    cpu_device::set_block_filter({});
                    REQUIRE(cudaGetLastError() == cudaSuccess);
                    const gemm::Elements c = w.download_c();
                    for (std::int64_t row = 0; row < m; ++row) {
                        for (std::int64_t col = 0; col < n; ++col) {
                            const gemm::Owner o = lesson.owner(p, row, col);
                            const std::uint64_t owner = (o.block.z * height + o.block.y) * width + o.block.x;
                            const std::uint32_t bits = c.bits(static_cast<std::size_t>(row * s.ldc + col));
                            INFO(lesson.name << " at " << s.text() << " without block " << left_out
                                             << ": row " << row << ", column " << col
                                             << ", said to belong to block " << owner);
                            if ((bits == gemm::info(c.dtype()).poison) != (owner / together == cluster)) {
                                FAIL("owner is wrong");
                            }
                        }
                    }
                }
            }
        }
    });
}

TEST_CASE("launches under the limits of every GPU it is for", "[lesson]") {
    const DeviceAsItWas restore;
    for_each_lesson([](const Lesson& lesson) {
        for (const int sm : test::drawn(std::vector{75, 80, 86, 87, 89, 90, 100, 120}, 4, lesson.name)) {
            const gemm::Device device = gemm::select_device(0, "sm_" + std::to_string(sm));
            REQUIRE(device.sm == sm);
            if (!gemm::runs_on(lesson.offer().architectures, sm)) {
                REQUIRE_FALSE(gemm::why_skipped(lesson, device).empty());
                continue;
            }
            INFO(device.name);
            require_right(lesson, test::shape(65, 33, 70, true, 1.5f, -0.5f), test::seed());
        }
    });
}

#endif
