// The types of two bytes: what the verifier makes of them, and lessons that offer several. (How numbers
// become theirs: codec_test.cpp.)
#include "common/check/dtype.hpp"
#include "common/check/variant.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/measure/device.hpp"
#include "tests/check/short_types.hpp"
#include "tests/support.hpp"

namespace {

using gemm::DType;
using gemm::Lesson;
using gemm::Shape;
using gemm::Verdict;
using gemm::Verifier;
using gemm::Workload;
using test::require_contains;

using test::kInf;
using test::kNaN;
constexpr DType kShort[] = {DType::bf16, DType::fp16};

Shape shape_of(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool padded, float alpha = 1.0f,
               float beta = 0.0f) {
    Shape s = test::shape(m, n, k, padded, alpha, beta);
    s.variant = gemm::of_type(dtype);
    return s;
}

Verdict run(const Lesson& lesson, const Shape& shape) {
    return test::run(gemm::with_variant(lesson, shape.variant), shape, test::seed());
}

}  // namespace

TEST_CASE("dtype: a workload's matrices are as they lie in memory") {
    test::device();
    for (const DType dtype : kShort) {
        const Shape s = shape_of(dtype, 9, 10, 11, true, 1.0f, 1.0f);
        Workload w(s, test::seed(),
                   [](gemm::HostMatrices& host, const gemm::Shape&) { host.A[0] = 1.0f + 0x1p-13f; });
        REQUIRE(w.host().A[0] == 1.0f);
        const gemm::Problem p = w.problem();
        REQUIRE(p.variant == gemm::of_type(dtype));
        std::vector<std::uint16_t> a(w.host().A.size());
        CUDA_CHECK(cudaMemcpy(a.data(), p.A, a.size() * 2, cudaMemcpyDeviceToHost));
        for (std::size_t i = 0; i < a.size(); ++i) {
            REQUIRE(a[i] == w.host().A.bits(i));
            REQUIRE(((static_cast<std::int64_t>(i) % s.lda < s.K) != std::isnan(w.host().A[i])));
        }
        // Values of the type, not of FP32, and the same as FP32's but for their rounding.
        Shape fp32 = s;
        fp32.variant = {};
        const Workload longer(fp32, test::seed());
        for (std::size_t i = 1; i < w.host().A.size(); ++i) {
            REQUIRE(w.host().A.bits(i) == gemm::encode(dtype, std::bit_cast<float>(longer.host().A.bits(i))));
        }
        const gemm::Elements c = w.download_c();
        REQUIRE((c == w.host().C));
        CUDA_CHECK(cudaMemset(p.C, 0, 4));
        REQUIRE(w.download_c().bits(0) == 0);
        w.reset_c();
        REQUIRE(w.download_c().bits(0) == w.host().C.bits(0));
        REQUIRE(w.breach().empty());
        // One element before A, and one behind C.
        CUDA_CHECK(cudaMemset(static_cast<std::uint16_t*>(p.C) + c.size(), 0, 2));
        REQUIRE(w.breach().find(" C: 1 ") != std::string::npos);
        w.reset_c();
        REQUIRE(gemm::Buffer::bytes(1 << 20, 1024, dtype) < gemm::Buffer::bytes(1 << 20, 1024, DType::fp32));
    }
    REQUIRE(shape_of(DType::bf16, 3, 4, 5, false).text() == "3×4×5 bf16");
}

TEST_CASE("dtype: a right kernel passes in every type that it offers") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    for (const DType dtype : kShort) {
        for (const bool padded : {false, true}) {
            for (const auto& [alpha, beta] :
                 {std::pair{1.0f, 0.0f}, {1.5f, -0.5f}, {0.0f, 1.0f}, {-1.0f, 1.0f}}) {
                for (const auto& [m, n, k] :
                     {std::array{33, 31, 65}, {1, 1, 1}, {5, 0, 3}, {40, 9, 0}, {64, 64, 700}}) {
                    const Shape s = shape_of(dtype, m, n, k, padded, alpha, beta);
                    const Verdict v = run(short_types::right, s);
                    INFO(s.text() << "\n" << v.failure);
                    REQUIRE(v.passed);
                    REQUIRE(v.error_over_bound <= 1.0);
                    // The bound is not far off: rounding C takes nearly all of it where sums are short.
                    if (m == 33 && beta == 0.0f && alpha != 0.0f) REQUIRE(v.error_over_bound > 0.6);
                }
            }
        }
    }
}

TEST_CASE("dtype: NaN and infinities come out where they belong") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    for (const DType dtype : kShort) {
        const Shape s = shape_of(dtype, 33, 34, 35, true, 1.5f, -0.5f);
        for (const float planted : {kNaN, kInf, -kInf}) {
            Workload w(s, test::seed(), [&](gemm::HostMatrices& host, const gemm::Shape&) {
                host.A[static_cast<std::size_t>(7 * s.lda + 3)] = planted;
            });
            const Verdict v =
                gemm::verify(gemm::with_variant(short_types::right, gemm::of_type(dtype)), w, Verifier(w));
            INFO(v.failure);
            REQUIRE(v.passed);
            REQUIRE_FALSE(std::isfinite(w.download_c()[static_cast<std::size_t>(7 * s.ldc)]));
        }
    }
}

TEST_CASE("dtype: values beyond the largest number are infinite, and must be") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    // Sums of about ±16 times 30000: half of them and more are beyond FP16's 65504, and none beyond BF16's.
    const auto shape = [](DType dtype) { return shape_of(dtype, 32, 32, 256, false, 30000.0f); };
    Workload w(shape(DType::fp16), test::seed());
    const Verifier verifier(w);
    const Lesson fp16 = gemm::with_variant(short_types::right, gemm::of_type(DType::fp16));
    const Verdict v = gemm::verify(fp16, w, verifier);
    INFO(v.failure);
    REQUIRE(v.passed);
    gemm::Elements c = w.download_c();
    std::int64_t infinite = 0;
    for (std::size_t i = 0; i < c.size(); ++i) {
        if (!std::isinf(c[i])) continue;
        ++infinite;
        c[i] = c[i] > 0 ? 65504.0f : -65504.0f;  // as a kernel that saturates leaves it
    }
    REQUIRE(infinite > 500);
    const Verdict saturated = verifier.check(c, &fp16);
    REQUIRE_FALSE(saturated.passed);
    REQUIRE(saturated.wrong <= infinite);
    REQUIRE(saturated.wrong > infinite * 98 / 100);  // but for sums that may be on either side
    REQUIRE(run(short_types::right, shape(DType::bf16)).passed);
}

TEST_CASE("dtype: an infinity where a finite number belongs is wrong") {
    test::device();
    const Shape s = shape_of(DType::fp16, 32, 32, 64, false);
    Workload w(s, test::seed());
    const Verifier verifier(w);
    const gemm::Reference ref = gemm::reference(w, {0}, {0});
    gemm::Elements c(s.variant.C, static_cast<std::size_t>(s.M * s.ldc));
    c[0] = kInf;
    const Verdict v = verifier.check(c, nullptr);
    REQUIRE_FALSE(v.passed);
    REQUIRE((v.first && v.first->row == 0 && v.first->column == 0 && std::isinf(v.first->got)));
    REQUIRE(std::fabs(ref.value[0]) < 65504.0);
}

TEST_CASE("dtype mutant: C is cut off and not rounded") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    // The bound tells: cutting off errs by up to twice what rounding does. In the mean it is no more than
    // that.
    const Shape s = shape_of(DType::bf16, 64, 64, 128, false);
    const Verdict v = run(short_types::cut_off, s);
    REQUIRE_FALSE(v.passed);
    REQUIRE(v.wrong > 64 * 64 / 8);
    REQUIRE(v.rms_error < v.rms_limit);
    REQUIRE(v.error_over_bound > 1.5);
    REQUIRE(run(short_types::right, s).passed);
}

TEST_CASE("dtype mutant: sums are kept in BF16") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    for (const std::int64_t k : {64, 4096}) {
        const Shape s = shape_of(DType::bf16, 32, 32, k, false);
        const Verdict v = run(short_types::bf16_sum, s);
        INFO(s.text() << ": RMS " << v.rms_error << ", limit " << v.rms_limit);
        REQUIRE_FALSE(v.passed);
        REQUIRE(v.rms_error > v.rms_limit);
        if (k == 64) REQUIRE(v.wrong > 0);
        REQUIRE(run(short_types::right, s).passed);
    }
}

TEST_CASE("dtype mutant: FP16 is taken for BF16") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    const Shape s = shape_of(DType::fp16, 32, 32, 64, false);
    const Verdict v = run(short_types::taken_for_bf16, s);
    REQUIRE_FALSE(v.passed);
    REQUIRE(v.wrong > 32 * 32 * 9 / 10);
}

TEST_CASE("dtype: the bound holds for accumulators that cut off") {
    test::device();
    // A tensor core as studies found it (see reference.cpp), without a bit to spare: addends aligned to the
    // largest, cut off, added exactly, cut off to 24 bits. Positive terms: all errors have one sign.
    const auto cut = [](double x, int exponent) {  // to a multiple of 2^exponent
        return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent);
    };
    for (const DType dtype : kShort) {
        for (const int depth : {1, 4, 8, 16}) {
            const std::int64_t K = 4096;
            const Shape s = shape_of(dtype, 1, 24, K, false);
            Workload w(s, test::seed(), [](gemm::HostMatrices& host, const gemm::Shape&) {
                for (gemm::Elements* m : {&host.A, &host.B})
                    for (std::size_t i = 0; i < m->size(); ++i) (*m)[i] = std::fabs((*m)[i]);
            });
            double worst = 0;
            std::vector<std::int64_t> cols;
            for (std::int64_t j = 0; j < s.N; ++j) cols.push_back(j);
            const gemm::Reference ref = gemm::reference(w, {0}, cols);
            for (std::int64_t j = 0; j < s.N; ++j) {
                double acc = 0;
                for (std::int64_t k0 = 0; k0 < K; k0 += depth) {
                    std::vector<double> addends{acc};
                    double largest = acc;
                    for (std::int64_t k = k0; k < k0 + depth; ++k) {
                        addends.push_back(w.host().A[static_cast<std::size_t>(k)] *
                                          w.host().B[static_cast<std::size_t>(k * s.ldb + j)]);
                        largest = std::max(largest, addends.back());
                    }
                    if (largest == 0.0) continue;
                    double sum = 0;
                    for (const double x : addends) sum += cut(x, std::ilogb(largest) - 23);
                    acc = cut(sum, std::ilogb(sum) - 23);
                }
                const auto at = static_cast<std::size_t>(j);
                const gemm::ErrorBound bound = gemm::error_bound(s, ref.value[at], ref.magnitude[at]);
                REQUIRE(std::fabs(acc - ref.value[at]) <= bound.before);
                worst = std::max(worst, std::fabs(acc - ref.value[at]) /
                                            (gemm::error_bound_factor(K) * ref.magnitude[at]));
                const float c = gemm::rounded_to(dtype, static_cast<float>(acc));
                REQUIRE(std::fabs(static_cast<double>(c) - ref.value[at]) <= bound.sum());
            }
            INFO("depth " << depth << ": " << worst << " of the bound for sums that are rounded");
            if (depth == 1) REQUIRE(worst > 0.1);  // rounded sums, whose errors cancel, come to 0.01
        }
    }
}

TEST_CASE("dtype: sums in FP32 of TF32's products may be cut off, and C be FP32") {
    test::device();
    Shape s = shape_of(DType::fp32, 32, 64, 1024, false);
    s.variant.A = s.variant.B = DType::tf32;
    Workload w(s, test::seed());
    const Verifier verifier(w);
    const auto checked = [&](int bits, int depth) {  // bits of a sum, and products of which it is one
        gemm::Elements c(DType::fp32, static_cast<std::size_t>(s.M * s.ldc));
        for (std::int64_t i = 0; i < s.M; ++i) {
            for (std::int64_t j = 0; j < s.N; ++j) {
                double sum = 0;
                for (std::int64_t k = 0; k < s.K; ++k) {
                    sum += w.host().A[s.a_at(i, k)] * w.host().B[s.b_at(k, j)];
                    if ((k + 1) % depth != 0 || sum == 0) continue;
                    const int last = std::ilogb(sum) - (bits - 1);
                    sum = std::ldexp(std::trunc(std::ldexp(sum, -last)), last);
                }
                c[s.c_at(i, j)] = static_cast<float>(sum);
            }
        }
        return verifier.check(c, nullptr);
    };
    for (const int depth : {4, 8, 16}) {
        const Verdict v = checked(24, depth);
        INFO("depth " << depth << ": " << v.failure);
        CHECK(v.passed);
    }
    CHECK_FALSE(checked(20, 8).passed);
}

TEST_CASE("dtype: a lesson takes what it offers and says what that is") {
    const Lesson fp16 = gemm::with_variant(short_types::right, gemm::of_type(DType::fp16));
    CHECK(fp16.variant() == gemm::of_type(DType::fp16));
    CHECK(fp16.offer().architectures.from == 75);
    CHECK(fp16.offer().kernel != short_types::right.offer().kernel);
    CHECK(gemm::with_variant(fp16, gemm::of_type(DType::bf16)).offer().architectures.from == 80);
    CHECK(gemm::offered(short_types::right) == "bf16, fp16");
    CHECK(gemm::offers(short_types::right, gemm::of_type(DType::fp16)));
    CHECK_FALSE(gemm::offers(short_types::right, gemm::of_type(DType::fp32)));
    for (const auto& [lesson, dtype] :
         {std::pair{&short_types::right, DType::fp32}, {&test::lesson("01_naive"), DType::bf16}}) {
        const std::string error =
            test::error_of([&] { (void)gemm::with_variant(*lesson, gemm::of_type(dtype)); });
        for (const std::string& named :
             {std::string(lesson->name), std::string(gemm::dtype_name(dtype)), gemm::offered(*lesson)}) {
            require_contains(error, named);
        }
    }
    gemm::Device turing = test::device();
    turing.name = "Tesla T4";
    turing.sm = 75;
    CHECK(gemm::why_skipped(fp16, turing).empty());
    for (const char* const named : {"short_types", " 8.0 ", "bf16", "Tesla T4", " 7.5", "--variant fp16"}) {
        require_contains(gemm::why_skipped(short_types::right, turing), named);
    }
    const test::Thrown mixed = test::thrown_by([] {
        Workload w(test::shape(3, 3, 3, false), 1);
        (void)gemm::verify(short_types::right, w, Verifier(w));
    });
    CHECK(mixed.id == gemm::FaultId::other);
    for (const char* const named : {"short_types", "fp32", "bf16"}) require_contains(mixed.text, named);
}
