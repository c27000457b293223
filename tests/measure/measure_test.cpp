// The procedure that lesson programs and gemm_bench share, with right and wrong lessons in one run.
#include "common/measure/measure.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/program/report.hpp"
#include "tests/check/short_types.hpp"
#include "tests/support.hpp"
#ifndef GEMM_CPU_DEVICE
#include "common/measure/baseline.hpp"
#include "common/measure/timer.hpp"
#endif

namespace mutant_no_k_tail {
extern const gemm::Lesson lesson;
}
namespace mutant_guard_off_by_one {
extern const gemm::Lesson lesson;
}

namespace {

using gemm::Lesson;
using gemm::Outcome;
using test::require_contains;

gemm::Shape plain(std::int64_t m, std::int64_t n, std::int64_t k) {
    return test::shape(m, n, k, false);
}

}  // namespace

TEST_CASE("measure: a wrong lesson is reported and the others are unaffected") {
    gemm::Measurer measurer(test::device());
    // Wrong at this size: one drops the tail of K, the other writes past the end of C.
    const std::vector<const Lesson*> lessons{&mutant_no_k_tail::lesson, &test::lesson("03_smem"),
                                             &mutant_guard_off_by_one::lesson, &test::lesson("01_naive")};
    std::vector<std::string> steps;
    std::vector<int> done;
    gemm::MeasureOptions options;
    options.timing = true;
    options.rounds = 3;
    options.progress = [&](int d, const std::string& next) {
        done.push_back(d);
        steps.push_back(next);
    };
    const gemm::Shape shape = plain(31, 64, 75);
    const std::vector<Outcome> outcomes = measurer.measure(lessons, shape, test::seed(), options);
    REQUIRE(outcomes.size() == 4);
    CHECK_FALSE(outcomes[0].passed());
    CHECK(outcomes[1].passed());
    CHECK_FALSE(outcomes[2].passed());
    CHECK(outcomes[3].passed());
    for (const char* const named : {"no_k_tail", "31×64×75"})
        require_contains(outcomes[0].verdict.failure, named);
    CHECK(outcomes[0].verdict.what == gemm::FailureId::elements);
    CHECK(outcomes[2].verdict.what == gemm::FailureId::outside);
    for (const Outcome& outcome : outcomes) {
        CHECK(outcome.error.empty());
        CHECK_FALSE(outcome.device_lost);
        // A wrong lesson is never timed, and the CPU device times nothing.
        CHECK(outcome.speed.has_value() == (gemm::kDeviceTimes && outcome.passed()));
    }
    if (gemm::kDeviceTimes) require_contains(outcomes[0].verdict.failure, "Wrong before timing: ");

    REQUIRE_FALSE(steps.empty());
    require_contains(steps.front(), "31×64×75");
    CHECK(std::is_sorted(done.begin(), done.end()));
    CHECK(done.front() == 0);
    CHECK(done.back() < gemm::Measurer::steps(4, shape, true));
}

TEST_CASE("measure: a launch that is refused is an error of that lesson alone") {
    Lesson refused = test::lesson("01_naive");
    refused.name = "refused";
    refused.launch = [](const gemm::Problem&, const void*, cudaStream_t) { (void)cudaSetDevice(1'000'000); };
    gemm::Measurer measurer(test::device());
    const std::vector<Outcome> outcomes =
        measurer.measure({&refused, &test::lesson("02_coalesced")}, plain(33, 34, 35), test::seed(), {});
    REQUIRE(outcomes.size() == 2);
    CHECK_FALSE(outcomes[0].passed());
    for (const char* const named : {"refused ", "33×34×35", "ordinal"})
        require_contains(outcomes[0].error, named);
    CHECK_FALSE(outcomes[0].device_lost);
    CHECK(outcomes[1].passed());
}

TEST_CASE("measure: each type against the baseline of that type") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    gemm::Measurer measurer(test::device());
    gemm::MeasureOptions options;
    options.timing = true;
    options.rounds = 3;
    // Aligned; rows of an odd number of elements, for which cuBLASLt may have nothing to propose; FP32
    // between.
    const std::pair<gemm::DType, gemm::Shape> kinds[] = {{gemm::DType::bf16, plain(256, 256, 256)},
                                                         {gemm::DType::fp32, plain(64, 64, 64)},
                                                         {gemm::DType::bf16, plain(33, 65, 127)},
                                                         {gemm::DType::fp16, plain(128, 96, 64)}};
    for (const auto& [dtype, of] : kinds) {
        const bool fp32 = dtype == gemm::DType::fp32;
        const Lesson lesson =
            fp32 ? test::lesson("03_smem") : gemm::with_variant(short_types::right, gemm::of_type(dtype));
        gemm::Shape shape = of;
        shape.variant = gemm::of_type(dtype);
        const Outcome outcome = measurer.measure({&lesson}, shape, test::seed(), options).front();
        INFO(shape.text() << "\n" << outcome.error << outcome.verdict.failure);
        REQUIRE(outcome.passed());
        REQUIRE(outcome.speed.has_value() == gemm::kDeviceTimes);
        if (!outcome.speed) continue;
        const std::string& name = outcome.speed->baseline;
        INFO(name);
        require_contains(name, "CUBLAS_COMPUTE_32F");
        CHECK((name == "cublasGemmEx CUBLAS_COMPUTE_32F" || name.starts_with("cublasLt heuristic ")));
        CHECK(outcome.speed->baseline_timing.ms_median > 0.0);
    }
}

#ifndef GEMM_CPU_DEVICE

TEST_CASE("baseline: the whole product of each type agrees with float64") {
    if (test::device().sm < 80) return test::skip("BF16 needs sm_80");
    gemm::Baseline baseline;
    for (const gemm::DType dtype : {gemm::DType::fp32, gemm::DType::bf16, gemm::DType::fp16}) {
        for (const bool padded : {false, true}) {
            gemm::Shape shape = test::shape(70, 45, 100, padded, 1.5f, -0.5f);
            shape.variant = gemm::of_type(dtype);
            gemm::Workload w(shape, test::seed());
            const gemm::WholeMatrix whole = baseline.whole(w);
            std::vector<std::int64_t> rows, cols;
            for (std::int64_t i = 0; i < shape.M; ++i) rows.push_back(i);
            for (std::int64_t j = 0; j < shape.N; ++j) cols.push_back(j);
            const gemm::Reference ref = gemm::reference(w, rows, cols);
            for (std::size_t i = 0; i < ref.value.size(); ++i) {
                INFO(shape.text() << ", element " << i);
                const double allowed = gemm::error_bound(shape, ref.value[i], ref.magnitude[i]).before;
                REQUIRE(std::fabs(static_cast<double>(whole.value[i]) - ref.value[i]) <= allowed);
                REQUIRE(std::fabs(static_cast<double>(whole.magnitude[i]) - ref.magnitude[i]) <= allowed);
            }
            // The verifier holds the lesson against it, and finds one element that is wrong anywhere.
            const Lesson lesson = dtype == gemm::DType::fp32
                                      ? test::lesson("03_smem")
                                      : gemm::with_variant(short_types::right, gemm::of_type(dtype));
            const gemm::Verifier verifier(w, &whole);
            const gemm::Verdict verdict = gemm::verify(lesson, w, verifier);
            INFO(verdict.failure);
            REQUIRE(verdict.passed);
            gemm::Elements c = w.download_c();
            for (std::int64_t row = 0; row < shape.M; row += 7)
                c[static_cast<std::size_t>(row * shape.ldc)] =
                    c[static_cast<std::size_t>(row * shape.ldc)] + 1.0;
            REQUIRE(verifier.check(c, &lesson).wrong == 10);
        }
    }
}

#endif

TEST_CASE("measure: a size that does not fit is an error") {
    gemm::Measurer measurer(test::device());
    CHECK_THROWS_AS(measurer.measure({&test::lesson("01_naive")}, plain(1'000'000, 1'000'000, 1), 1, {}),
                    gemm::Error);
}

TEST_CASE("measure: what is worth timing") {
    CHECK(gemm::timeable(plain(1, 1, 1)));
    CHECK_FALSE(gemm::timeable(plain(0, 1, 1)));
    CHECK_FALSE(gemm::timeable(plain(1, 0, 1)));
    CHECK_FALSE(gemm::timeable(plain(1, 1, 0)));
    CHECK_FALSE(gemm::timeable(test::shape(8, 8, 8, false, 1.5f)));
    CHECK_FALSE(gemm::timeable(test::shape(8, 8, 8, false, 1.0f, 1.0f)));
    CHECK(gemm::Measurer::steps(3, plain(8, 8, 8), false) == 4);
    CHECK(gemm::Measurer::steps(3, plain(8, 8, 0), true) == 4);
    CHECK((gemm::Measurer::steps(3, plain(8, 8, 8), true) > 4) == gemm::kDeviceTimes);
}

TEST_CASE("report: text that is no UTF-8 does not stop a report") {
    gemm::Speed speed;
    speed.baseline_kernel = "kernel \xff";
    const gemm::Json json = gemm::Json::parse(gemm::to_text(gemm::speed_json(speed)));
    CHECK(json.contains("baseline_kernel"));
    CHECK(json.at("sm_clock_mhz").is_null());  // what NVML did not say is not 0
}

#ifndef GEMM_CPU_DEVICE
TEST_CASE("timing: what is launched on the default stream lies between the events, too") {
    constexpr std::size_t bytes = std::size_t{256} << 20;
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes));
    const auto fill = [&](cudaStream_t stream) { CUDA_CHECK(cudaMemsetAsync(memory, 0, bytes, stream)); };
    gemm::TimingOptions options;
    options.rounds = 5;
    const std::vector<gemm::Timing> timings = gemm::time_interleaved(
        {{"given stream", [&](const gemm::Problem&, std::size_t, cudaStream_t stream) { fill(stream); }},
         {"default stream", [&](const gemm::Problem&, std::size_t, cudaStream_t) { fill(nullptr); }}},
        {gemm::Problem{}}, options);
    CUDA_CHECK(cudaFree(memory));
    CHECK(timings[1].ms_median > timings[0].ms_median / 1.5);
    CHECK(timings[1].ms_median < timings[0].ms_median * 1.5);
}
#endif
