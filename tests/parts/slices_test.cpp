// Work that begins behind the first k-tile: a mainloop multiplies a range of k-tiles, whichever it is.
#include <string>
#include <vector>

#include "common/check/variant.hpp"
#include "common/measure/device.hpp"
#include "tests/parts/slices.hpp"
#include "tests/support.hpp"

namespace {

/// Integers from −1 to 1: their sums are exact in every type, rounded between slices or not.
void small_integers(gemm::HostMatrices& host, const gemm::Shape& shape) {
    unsigned state = 1;
    const auto fill = [&](auto& matrix, std::int64_t rows, std::int64_t cols, std::int64_t pitch) {
        for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t col = 0; col < cols; ++col) {
                state = state * 1664525u + 1013904223u;
                matrix[static_cast<std::size_t>(row * pitch + col)] =
                    static_cast<float>(static_cast<int>((state >> 24) % 3) - 1);
            }
        }
    };
    fill(host.A, shape.M, shape.K, shape.lda);
    fill(host.B, shape.K, shape.N, shape.ldb);
    fill(host.C, shape.M, shape.N, shape.ldc);
}

void require_right(const gemm::Lesson& offered) {
    for (const gemm::Offer& offer : offered.variants) {
        const gemm::Lesson lesson = gemm::with_variant(offered, offer.variant);
        if (const std::string why = gemm::why_skipped(lesson, test::device()); !why.empty())
            return test::skip(why);
        const std::int64_t slice = std::int64_t{test_slices::kSlice} * lesson.tile().BK;
        // One slice less or more an element, several, one that ends with a whole k-tile, and none.
        for (const std::int64_t k :
             {slice - 1, slice, slice + 1, 2 * slice + lesson.tile().BK + 3, std::int64_t{0}}) {
            for (const float beta : {0.0f, 1.0f}) {
                const gemm::Shape shape = test::shape_for(
                    lesson, lesson.tile().BM + 5, 2 * lesson.tile().BN + 9, k, beta != 0.0f, 1.0f, beta);
                const gemm::Verdict verdict = test::run(
                    lesson, shape, test::seed(),
                    [&](gemm::HostMatrices& host, const gemm::Shape&) { small_integers(host, shape); });
                INFO(lesson.name << ", " << shape.text() << "\n" << verdict.failure);
                REQUIRE(verdict.passed);
            }
        }
    }
}

}  // namespace

TEST_CASE("parts: C slice by slice of K, FP32") {
    require_right(test_slices::fma);
}
TEST_CASE("parts: C slice by slice of K, mma.sync") {
    require_right(test_slices::mma);
}
TEST_CASE("parts: C slice by slice of K, wgmma") {
    require_right(test_slices::wgmma);
}
