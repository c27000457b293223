// Matrices that the device fills and checks itself: they hold what the host would draw, and what is wrong in
// a result is found, and told, as Verifier does it.

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "common/check/device_check.hpp"
#include "common/check/on_device.hpp"
#include "common/check/variant.hpp"
#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/program/lessons.hpp"
#include "tests/catch.hpp"

namespace {

using gemm::DeviceCheck;
using gemm::DeviceInputs;
using gemm::DType;
using gemm::FailureId;
using gemm::Shape;
using gemm::Verdict;
using gemm::Workload;

const DeviceInputs& inputs() {
    static const DeviceInputs tables;
    return tables;
}

Shape shape_of(std::int64_t M, std::int64_t N, std::int64_t K, DType type) {
    Shape s;
    s.M = M, s.N = N, s.K = K;
    s.variant = gemm::of_type(type);
    return s.resolved();
}

/// What cuBLAS says on a GPU: here, float64 rounded to FP32.
gemm::DeviceWhole whole_of(const Workload& by_host) {
    const gemm::Verifier verifier(by_host);
    const gemm::Reference& right = *verifier.right();
    const auto uploaded = [](const std::vector<double>& numbers) {
        gemm::Buffer buffer(numbers.size(), 0);
        buffer.upload(gemm::elements(DType::fp32, std::vector<float>(numbers.begin(), numbers.end())));
        return buffer;
    };
    return {uploaded(right.value), uploaded(right.magnitude)};
}

/// Gives an element of C these bits.
void put(Workload& w, std::int64_t row, std::int64_t col, std::uint32_t bits) {
    gemm::Image image = w.c_image();
    const std::size_t size = gemm::size_of(w.shape().variant.result());
    std::memcpy(image.bytes.data() + image.start + w.shape().c_at(row, col) * size, &bits, size);
    w.set_c_image(image.bytes);
}

}  // namespace

TEST_CASE("A device draws the numbers that the host draws, bit by bit", "[verify]") {
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
        for (const auto& [M, N, K] :
             {std::array{1, 3, 5}, std::array{129, 77, 301}, std::array{64, 64, 64}}) {
            const Shape shape = shape_of(M, N, K, type);
            const Workload host(shape, 4711);
            Workload device(shape, 4711, inputs());
            const std::vector<gemm::Image> right = host.images(), drawn = device.images();
            REQUIRE(drawn.size() == right.size());
            for (std::size_t i = 0; i < right.size(); ++i) {
                INFO(shape.text() << ", matrix " << i);
                CHECK(drawn[i].bytes == right[i].bytes);
            }
            device.bring_to_host();
            CHECK(device.host().A == host.host().A);
            CHECK(device.host().B == host.host().B);
            CHECK(device.members().size() == 1);
        }
    }
}

TEST_CASE("A result on the device is checked in whole, and what is wrong is told as by the verifier",
          "[verify]") {
    const auto [name, type] = GENERATE(std::pair{"03_smem", DType::fp32}, std::pair{"09a_wmma", DType::bf16});
    const gemm::Lesson lesson = gemm::with_variant(gemm::lesson_named(name), gemm::of_type(type));
    const Shape shape = shape_of(70, 90, 48, type);
    const Workload by_host(shape, 12);
    Workload w(shape, 12, inputs());
    const DeviceCheck check(w, whole_of(by_host));
    gemm::run_once(lesson, w);
    const gemm::Elements right = w.download_c();

    const Verdict passed = check(w, &lesson);
    INFO(passed.failure);
    REQUIRE(passed.passed);
    CHECK(passed.compared == 70 * 90);
    CHECK(passed.checked > 500);
    CHECK(passed.checked <= 32 * 32);
    CHECK(passed.error_over_bound > 0);
    CHECK(passed.error_over_bound <= 1);
    CHECK(passed.rms_error > 0);
    CHECK(passed.rms_error <= passed.rms_limit);

    // Some of 70×90 elements, in turn never written, infinite or not what it should be: so many that a sample
    // alone would miss some.
    const gemm::Verifier verifier(by_host);
    const std::uint32_t poison = gemm::bits_of(gemm::Fill::poison, type);
    for (int i = 0; i < 12; ++i) {
        const std::int64_t row = 6 * i + 3, col = (i * 37) % 90;
        const double value = right[shape.c_at(row, col)];
        put(w, row, col,
            i % 3 == 0   ? poison
            : i % 3 == 1 ? gemm::encode(type, std::numeric_limits<float>::infinity())
                         : gemm::encode(type, static_cast<float>(value) + 1.0f));
        const Verdict wrong = check(w, &lesson);
        const Verdict told = verifier.check(w.download_c(), &lesson);
        INFO(wrong.failure);
        REQUIRE_FALSE(wrong.passed);
        CHECK(wrong.what == FailureId::elements);
        CHECK(wrong.wrong == 1);
        REQUIRE(wrong.first);
        CHECK(wrong.first->row == row);
        CHECK(wrong.first->column == col);
        CHECK(wrong.first->written == (i % 3 != 0));
        CHECK(wrong.patterns.size() == told.patterns.size());
        put(w, row, col, right.bits(shape.c_at(row, col)));
        CHECK(check(w, &lesson).passed);
    }

    w.reset_c();  // nothing is written at all
    CHECK(check(w, &lesson).wrong == 70 * 90);
    const Workload twin = w.duplicate();
    CHECK_FALSE(check(twin, &lesson).passed);
    CHECK(twin.breach().empty());
}

TEST_CASE("Which problems are checked on the device", "[verify]") {
    CHECK(DeviceCheck::takes(shape_of(512, 512, 512, DType::bf16)));
    CHECK(DeviceCheck::takes(shape_of(1, 4096, 4096, DType::fp32)));  // few products, and a large B
    CHECK_FALSE(DeviceCheck::takes(shape_of(64, 64, 64, DType::fp32)));
    CHECK_FALSE(DeviceCheck::takes(shape_of(512, 0, 512, DType::bf16)));
    CHECK_FALSE(DeviceCheck::takes(shape_of(512, 512, 512, DType::int8)));
    Shape pitched = shape_of(512, 512, 512, DType::bf16);
    pitched.lda = 513;
    CHECK_FALSE(DeviceCheck::takes(pitched));
    Shape scaled = shape_of(512, 512, 512, DType::fp32);
    scaled.beta = 0.5f;
    CHECK_FALSE(DeviceCheck::takes(scaled));
}
