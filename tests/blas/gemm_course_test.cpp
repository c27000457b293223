// gemm_course::gemm as netlib's sblat3.f calls SGEMM: every way to transpose, three alphas and betas (its
// own), pitches larger than needed, and each error exit. On a GPU the same.
#include "common/blas/gemm_course.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/blas/installed.hpp"
#include "common/check/dtype.hpp"
#include "common/check/reference.hpp"
#include "common/check/variant.hpp"
#include "common/program/lessons.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

namespace {

using gemm::DType;

/// A function of the library by its type: elements as bits.
template <class Element, class Bits_, DType TYPE>
struct Function {
    using T = Element;
    using Bits = Bits_;
    static constexpr DType type = TYPE;
    static constexpr std::size_t kGuard = 32;  // elements behind a matrix, which nobody writes

    template <class... P>
    static void call(const P&... parameters) {
        if constexpr (TYPE == DType::fp32) gemm::sgemm(parameters...);
        if constexpr (TYPE == DType::fp16) gemm::hgemm(parameters...);
        if constexpr (TYPE == DType::bf16) gemm::bgemm(parameters...);
    }
};
using Fp32 = Function<float, std::uint32_t, DType::fp32>;
using Fp16 = Function<__half, std::uint16_t, DType::fp16>;
using Bf16 = Function<__nv_bfloat16, std::uint16_t, DType::bf16>;

/// A column-major matrix in host memory, `pitch` elements from column to column, which begins `offset`
/// elements behind an aligned address. NaN all around.
template <class F>
struct Matrix {
    std::int64_t rows, cols, pitch, offset;
    std::vector<typename F::Bits> bits;

    Matrix(std::int64_t rows, std::int64_t cols, std::int64_t more, std::int64_t offset)
        : rows(rows),
          cols(cols),
          pitch(std::max<std::int64_t>(rows, 1) + more),
          offset(offset),
          bits(static_cast<std::size_t>(offset + pitch * cols) + F::kGuard,
               static_cast<typename F::Bits>(gemm::encode(F::type, test::kNaN))) {}

    typename F::Bits& at(std::int64_t row, std::int64_t col) {
        return bits[static_cast<std::size_t>(offset + col * pitch + row)];
    }
    double value(std::int64_t row, std::int64_t col) { return gemm::decode(F::type, at(row, col)); }
    void fill(std::mt19937_64& random) {
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
        for (std::int64_t col = 0; col < cols; ++col) {
            for (std::int64_t row = 0; row < rows; ++row)
                at(row, col) = static_cast<typename F::Bits>(gemm::encode(F::type, uniform(random)));
        }
    }
};

struct Case {
    char transa, transb;
    float alpha, beta;
    std::uint64_t seed;  // of sizes, pitches and values
};

/// Every way to transpose with every pair of sblat3's scalars, `times` times at other sizes.
std::vector<Case> cases(std::uint64_t times) {
    std::vector<Case> all;
    for (std::uint64_t i = 0; i < times; ++i) {
        for (const char transa : {'N', 'T', 'C'}) {
            for (const char transb : {'N', 'T', 'C'}) {
                for (const float alpha : {0.0f, 1.0f, 0.7f}) {
                    for (const float beta : {0.0f, 1.0f, 1.3f})
                        all.push_back({transa, transb, alpha, beta, test::seed() + all.size()});
                }
            }
        }
    }
    return all;
}

/// Sizes from 0 to 65, every fourth of them 0, 1 or 65.
std::int64_t drawn_size(std::mt19937_64& random) {
    constexpr std::int64_t kSpecial[] = {0, 1, 65};
    return random() % 4 == 0 ? kSpecial[random() % 3] : static_cast<std::int64_t>(random() % 66);
}

/// Runs the case and compares every element, and what nobody may write.
template <class F>
void check(Case c, cudaStream_t stream) {
    std::mt19937_64 random(c.seed);
    const std::int64_t m = drawn_size(random), n = drawn_size(random), k = drawn_size(random);
    const bool ta = c.transa != 'N', tb = c.transb != 'N';
    const auto matrix = [&](std::int64_t rows, std::int64_t cols) {
        const auto more = static_cast<std::int64_t>(random() % 4 == 0 ? 0 : random() % 9);
        return Matrix<F>(rows, cols, more, static_cast<std::int64_t>(random() % 3 == 0 ? random() % 8 : 0));
    };
    Matrix<F> a = ta ? matrix(k, m) : matrix(m, k), b = tb ? matrix(n, k) : matrix(k, n), c0 = matrix(m, n);
    if (c.alpha != 0.0f) a.fill(random), b.fill(random);  // else NaN, which is not read
    if (c.beta != 0.0f) c0.fill(random);
    if (random() % 2 == 0) {  // BLAS takes letters of either case
        c.transa = static_cast<char>(c.transa + 'a' - 'A');
        c.transb = static_cast<char>(c.transb + 'a' - 'A');
    }
    INFO(gemm::dtype_name(F::type) << " " << c.transa << c.transb << " m " << m << " n " << n << " k " << k
                                   << " alpha " << c.alpha << " beta " << c.beta << " pitches " << a.pitch
                                   << " " << b.pitch << " " << c0.pitch << " offsets " << a.offset << " "
                                   << b.offset << " " << c0.offset << " seed " << c.seed);

    const test::DeviceArray<typename F::Bits> on_a(a.bits), on_b(b.bits), on_c(c0.bits);
    const auto begin = [](const auto& array, const Matrix<F>& x) {
        return reinterpret_cast<typename F::T*>(array.data() + x.offset);
    };
    CUDA_CHECK(cudaDeviceSynchronize());  // what filled them is in another stream
    F::call(c.transa, c.transb, m, n, k, c.alpha, begin(on_a, a), a.pitch, begin(on_b, b), b.pitch, c.beta,
            begin(on_c, c0), c0.pitch, stream);
    CUDA_CHECK(cudaStreamSynchronize(stream));
    REQUIRE(on_a.host() == a.bits);
    REQUIRE(on_b.host() == b.bits);
    Matrix<F> result = c0;
    result.bits = on_c.host();

    gemm::Shape shape{.M = m, .N = n, .K = k, .alpha = c.alpha, .beta = c.beta};
    shape.variant = gemm::of_type(F::type);
    for (std::int64_t col = 0; col < n; ++col) {
        for (std::int64_t row = 0; row < m; ++row) {
            double sum = 0.0, magnitude = 0.0;
            for (std::int64_t i = 0; i < k && c.alpha != 0.0f; ++i) {
                const double product = (ta ? a.value(i, row) : a.value(row, i)) *
                                       (tb ? b.value(col, i) : b.value(i, col)) * c.alpha;
                sum += product;
                magnitude += std::abs(product);
            }
            if (c.beta != 0.0f) {
                sum += c.beta * c0.value(row, col);
                magnitude += std::abs(c.beta * c0.value(row, col));
            }
            const double bound = gemm::error_bound(shape, sum, magnitude).sum();
            const double got = result.value(row, col);
            INFO("row " << row << " column " << col << ": " << got << " and not " << sum << ", bound "
                        << bound);
            REQUIRE(std::abs(got - sum) <= bound);
            result.at(row, col) = c0.at(row, col);
        }
    }
    REQUIRE(result.bits == c0.bits);  // what lies around C
}

/// Makes the CPU device one of that compute capability for as long as it lives. On a GPU it is `here` only
/// where the GPU is that one.
struct Like {
    bool here;
    explicit Like(int sm) : here(true) {
#ifdef GEMM_CPU_DEVICE
        (void)test::device();
        cpu_device::set_like("sm_" + std::to_string(sm));
#else
        here = test::device().sm == sm;
#endif
    }
#ifdef GEMM_CPU_DEVICE
    ~Like() {
        cpu_device::set_like("sm_90");
    }
#endif
};

/// Parameters of a call that is right, for one to be changed. No GPU reads what they point to.
template <class F>
struct Parameters {
    typename F::T memory{};
    char transa = 'N', transb = 'N';
    std::int64_t m = 2, n = 3, k = 4;
    float alpha = 1.0f, beta = 0.0f;
    typename F::T *A = &memory, *B = &memory, *C = &memory;
    std::int64_t lda = 2, ldb = 4, ldc = 2;

    /// The number of the parameter that the call finds wrong; 0: none.
    int wrong() const {
        try {
            F::call(transa, transb, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
        } catch (const gemm::ParameterError& error) {
            return error.parameter;
        }
        return 0;
    }
};

template <class F>
void check_error_exits() {
    using P = Parameters<F>;
    const auto wrong = [](const auto& change) {
        P p;
        change(p);
        return p.wrong();
    };
    CHECK(wrong([](P& p) { p.transa = '/'; }) == 1);
    CHECK(wrong([](P& p) { p.transb = 'X'; }) == 2);
    CHECK(wrong([](P& p) { p.m = -1; }) == 3);
    CHECK(wrong([](P& p) { p.n = -1; }) == 4);
    CHECK(wrong([](P& p) { p.k = -1; }) == 5);
    CHECK(wrong([](P& p) { p.A = nullptr; }) == 7);
    CHECK(wrong([](P& p) { p.lda = 1; }) == 8);
    CHECK(wrong([](P& p) { p.transa = 'T', p.lda = 3; }) == 8);
    CHECK(wrong([](P& p) { p.m = 0, p.lda = 0; }) == 8);
    CHECK(wrong([](P& p) { p.B = nullptr; }) == 9);
    CHECK(wrong([](P& p) { p.ldb = 3; }) == 10);
    CHECK(wrong([](P& p) { p.transb = 'C', p.ldb = 2; }) == 10);
    CHECK(wrong([](P& p) { p.k = 0, p.ldb = 0; }) == 10);
    CHECK(wrong([](P& p) { p.C = nullptr; }) == 12);
    CHECK(wrong([](P& p) { p.ldc = 1; }) == 13);
    CHECK(wrong([](P& p) { p.m = 0, p.ldc = 0; }) == 13);
    // The first of two.
    CHECK(wrong([](P& p) { p.n = -1, p.ldc = 0; }) == 4);
    CHECK(wrong([](P& p) { p.lda = 0, p.ldb = 0; }) == 8);
    // Nothing to do, and nothing that is read.
    CHECK(wrong([](P& p) { p.m = 0, p.A = p.B = p.C = nullptr; }) == 0);
    CHECK(wrong([](P& p) { p.n = 0, p.A = p.B = p.C = nullptr; }) == 0);
    CHECK(wrong([](P& p) { p.k = 0, p.beta = 1.0f, p.A = p.B = nullptr; }) == 0);
    CHECK(wrong([](P& p) { p.alpha = 0.0f, p.beta = 1.0f, p.A = p.B = nullptr; }) == 0);
}

}  // namespace

TEST_CASE("gemm_course: products as sblat3 asks for them, in each type") {
    cudaStream_t stream = nullptr;
    (void)test::device();
    CUDA_CHECK(cudaStreamCreate(&stream));
    for (const Case& c : test::drawn(cases(3), 60, "fp32")) check<Fp32>(c, stream);
    for (const bool half : {true, false}) {
        const gemm::Variant variant = gemm::of_type(half ? DType::fp16 : DType::bf16);
        if (gemm::installed_lesson(variant, test::device().sm) == nullptr) continue;
        for (const Case& c : test::drawn(cases(2), 40, gemm::text(variant)))
            half ? check<Fp16>(c, stream) : check<Bf16>(c, stream);
    }
    CUDA_CHECK(cudaStreamDestroy(stream));
}

TEST_CASE("gemm_course: products on GPUs that get other lessons") {
    for (const int sm : {75, 86}) {
        const Like like(sm);
        if (!like.here) continue;
        for (const Case& c : test::drawn(cases(1), 20, "fp32")) check<Fp32>(c, nullptr);
        for (const Case& c : test::drawn(cases(1), 20, "fp16")) check<Fp16>(c, nullptr);
        if (sm < 80) {
            const test::DeviceArray<__nv_bfloat16> one(1);
            __nv_bfloat16* const x = one.data();
            CHECK_THROWS_AS(gemm::bgemm('N', 'N', 1, 1, 1, 1.0f, x, 1, x, 1, 0.0f, x, 1), gemm::Error);
        } else {
            for (const Case& c : test::drawn(cases(1), 20, "bf16")) check<Bf16>(c, nullptr);
        }
    }
}

TEST_CASE("gemm_course: an error names the first parameter that is wrong") {
    (void)test::device();
    check_error_exits<Fp32>();
    check_error_exits<Fp16>();
    check_error_exits<Bf16>();
    CHECK(std::string(gemm::ParameterError("sgemm", 13).what()).rfind("sgemm(): parameter 13, ldc, ", 0) ==
          0);
}

TEST_CASE("gemm_course: CUDA's errors are thrown") {
    const test::DeviceArray<float> memory(16);
    float* const x = memory.data();
    CHECK_THROWS_AS(
        gemm::sgemm('T', 'N', 1LL << 30, 1, 1LL << 30, 1.0f, x, 1LL << 30, x, 1LL << 30, 0.0f, x, 1LL << 30),
        gemm::CudaError);  // there is no memory for such a copy
}

TEST_CASE("gemm_course: a lesson is installed for every type and GPU that any lesson is for") {
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
        for (const int sm : {75, 80, 86, 89, 90, 100, 120}) {
            bool any = false;
            for (const gemm::Lesson* lesson : gemm::all_lessons()) {
                for (const gemm::Offer& offer : lesson->variants)
                    any |= offer.variant == gemm::of_type(type) && gemm::runs_on(offer.architectures, sm);
            }
            INFO(gemm::dtype_name(type) << " on sm_" << sm);
            CHECK((gemm::installed_lesson(gemm::of_type(type), sm) != nullptr) == any);
        }
    }
}
