// The inputs: repeatable, well distributed, fenced; and sizes that are refused.
#include "common/check/workload.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Shape;
using gemm::Workload;
using test::require_contains;

Shape unresolved(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t lda = 0, std::int64_t ldb = 0,
                 std::int64_t ldc = 0) {
    Shape s;
    s.M = m;
    s.N = n;
    s.K = k;
    s.lda = lda;
    s.ldb = ldb;
    s.ldc = ldc;
    return s;
}

}  // namespace

TEST_CASE("workload: a seed gives the same matrices every time and another seed gives others") {
    test::device();
    const Shape s = test::shape(37, 41, 43, true, 1.5f, -0.5f);
    const Workload first(s, 7), again(s, 7), other(s, 8);
    REQUIRE((first.host().A == again.host().A));
    REQUIRE((first.host().B == again.host().B));
    REQUIRE((first.host().C == again.host().C));
    REQUIRE_FALSE((first.host().A == other.host().A));
    REQUIRE_FALSE((first.host().B == other.host().B));
    REQUIRE_FALSE((first.host().C == other.host().C));
    REQUIRE(first.seed() == 7);
    // A of one seed must not be B of the next.
    REQUIRE(first.host().B[0] != other.host().A[0]);
    REQUIRE(gemm::fresh_seed() != gemm::fresh_seed());
}

TEST_CASE("workload: values are normal with mean 0 and variance 1") {
    test::device();
    const Workload w(test::shape(600, 600, 600, false, 1.0f, 1.0f), test::seed());
    for (const gemm::Elements* m : {&w.host().A, &w.host().B, &w.host().C}) {
        double sum = 0, squares = 0, fourths = 0, neighbors = 0;
        for (std::size_t i = 0; i < m->size(); ++i) {
            const double x = (*m)[i];
            REQUIRE(std::isfinite(x));
            sum += x;
            squares += x * x;
            fourths += x * x * x * x;
            if (i > 0) neighbors += x * (*m)[i - 1];
        }
        // Six standard deviations of the estimates over 360 000 values.
        const auto n = static_cast<double>(m->size());
        CHECK(std::fabs(sum / n) < 6 / std::sqrt(n));
        CHECK(std::fabs(squares / n - 1) < 6 * std::sqrt(2 / n));
        CHECK(std::fabs(fourths / n - 3) < 6 * std::sqrt(96 / n));
        CHECK(std::fabs(neighbors / n) < 6 / std::sqrt(n));
    }
}

TEST_CASE("workload: padding and C hold NaN where nothing belongs") {
    test::device();
    for (const float beta : {0.0f, 1.0f}) {
        const Shape s = test::shape(9, 10, 11, true, 1.0f, beta);
        const Workload w(s, test::seed());
        for (std::int64_t i = 0; i < s.M * s.lda; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const gemm::Elements& A = w.host().A;
            REQUIRE((i % s.lda < s.K ? std::isfinite(A[at]) : A.bits(at) == gemm::kGuardBits));
        }
        for (std::int64_t i = 0; i < s.K * s.ldb; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const gemm::Elements& B = w.host().B;
            REQUIRE((i % s.ldb < s.N ? std::isfinite(B[at]) : B.bits(at) == gemm::kGuardBits));
        }
        const gemm::Elements c = w.download_c();
        REQUIRE((c == w.host().C));
        for (std::int64_t i = 0; i < s.M * s.ldc; ++i) {
            const auto at = static_cast<std::size_t>(i);
            REQUIRE((i % s.ldc < s.N && beta != 0 ? std::isfinite(c[at]) : c.bits(at) == gemm::kPoisonBits));
        }
    }
    REQUIRE(std::isnan(std::bit_cast<float>(gemm::kPoisonBits)));
    REQUIRE(std::isnan(std::bit_cast<float>(gemm::kGuardBits)));
    // Poison that went through arithmetic is no longer poison: who reads C with beta = 0 has written
    // something.
    volatile float poison = std::bit_cast<float>(gemm::kPoisonBits);
    const float computed = 0.0f * poison + 1.0f;
    REQUIRE(std::isnan(computed));
    REQUIRE(std::bit_cast<std::uint32_t>(computed) != gemm::kPoisonBits);
}

TEST_CASE("workload: the device holds what the host holds and reset_c brings C back") {
    test::device();
    Workload w(test::shape(9, 10, 11, true, 1.0f, 1.0f), test::seed());
    const gemm::Problem p = w.problem();
    gemm::Elements a(w.host().A.dtype(), w.host().A.size());
    CUDA_CHECK(cudaMemcpy(a.bytes().data(), p.A, a.bytes().size(), cudaMemcpyDeviceToHost));
    REQUIRE((a == w.host().A));
    CUDA_CHECK(cudaMemset(p.C, 0, 40));
    REQUIRE_FALSE((w.download_c() == w.host().C));
    w.reset_c();
    REQUIRE((w.download_c() == w.host().C));
    REQUIRE(w.breach().empty());
}

TEST_CASE("shape: pitches that are left out are tight ones") {
    const Shape s = unresolved(3, 4, 5).resolved();
    CHECK(s.lda == 5);
    CHECK(s.ldb == 4);
    CHECK(s.ldc == 4);
    CHECK(s.text() == "3×4×5");
    CHECK(unresolved(3, 4, 5, 5, 9, 4).resolved().text() == "3×4×5 ldb=9");
    CHECK(test::shape(3, 4, 5, true, 1.5f, -0.5f).text() == "3×4×5 lda=8 ldb=9 ldc=11 alpha=1.5 beta=-0.5");
    const Shape empty = unresolved(0, 0, 0).resolved();
    CHECK(empty.lda >= 1);
    CHECK(empty.ldb >= 1);
    CHECK(empty.ldc >= 1);
}

TEST_CASE("shape: what makes no sense is refused in one sentence") {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kMany = std::int64_t{1} << 31;
    Shape transposed = unresolved(3, 4, 5, 2), with_b = unresolved(3, 4, 5, 4, 4);
    transposed.variant = with_b.variant = *gemm::variant_named("fp32.tt");
    std::vector<std::string> said;
    for (const Shape& s :
         {unresolved(-1, 1, 1), unresolved(1, -7, 1), unresolved(1, 1, -1), unresolved(8, 8, 8, 7),
          unresolved(8, 8, 8, 8, 7), unresolved(8, 8, 8, 8, 8, 7), unresolved(8, 8, 8, -8), transposed,
          with_b, unresolved(kMost, kMost, 1), unresolved(kMany, kMany, 1), unresolved(2, 2, 2, kMost),
          unresolved(2, 2, 2, 2, kMost), unresolved(2, 2, 2, 2, 2, kMost), unresolved(kMost / 4, 1, 1)}) {
        said.push_back(test::error_of([&] { (void)s.resolved(); }));
    }
    test::require_approved("shapes", said);
}

TEST_CASE("workload: a size that does not fit says how much it needs and how much is free") {
    test::device();
    const std::string error =
        test::error_of([] { const Workload w(unresolved(1'000'000, 1'000'000, 10), 1); });
    require_contains(error, " 1000000×1000000×10 needs ");
    require_contains(error.substr(error.find(" GB ") + 4), " GB ");  // and what is free
    // The figure: C alone takes 4000 GB.
    const double needed = std::stod(error.substr(error.find("needs ") + 6));
    CHECK(needed >= 4000.0);
    CHECK(needed < 60000.0);
}
