// The tracer and kernels with mbarriers and the copy engine: what is counted, and what is found.
#include <random>
#include <string>
#include <vector>

#include "tests/device_array.hpp"
#include "tests/kernels/tma_gemm.hpp"
#include "tests/support.hpp"
#include "tests/trace_kernels/kernels.hpp"
#include "tests/tracing.hpp"

namespace {

namespace trace = cpu_device::trace;
using kernels::TmaMistake;
using test::DeviceArray;
using test::Traced;

constexpr const char* kFile = "/tests/kernels/tma_gemm.cu";

int tma_line(const std::string& mark) {
    return test::marked(kFile, mark);
}

/// 96×96×80 with a pitch of 100, in 9 tiles of 3 steps by two blocks.
Traced traced_tma(TmaMistake mistake, int N = 96) {
    constexpr int M = 96, K = 80, pitch = 100;
    std::mt19937_64 numbers(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(std::size_t{M} * pitch);
    for (float& value : values) value = normal(numbers);
    const DeviceArray<float> A(values), B(values), C(values);
    return test::run_traced({{"A", A.data(), M, K, pitch, 4, "", false},
                             {"B", B.data(), K, N, pitch, 4, "", false},
                             {"C", C.data(), M, N, pitch, 4, "", true}},
                            [&] {
                                kernels::tma_gemm(mistake, M, N, K, A.data(), pitch, B.data(), pitch,
                                                  C.data(), pitch, 1.5f, 0.5f);
                            });
}

}  // namespace

TEST_CASE("trace: a right kernel by TMA has no findings, and its boxes are counted") {
    const Traced t = traced_tma(TmaMistake::none);
    INFO(test::all_findings(t.report));
    CHECK(t.error.empty());
    CHECK(t.report.findings.empty());
    CHECK(traced_tma(TmaMistake::proxy_fence_for_init).report.findings.empty());
    const trace::Line& a = test::line_of(t.report, tma_line("load-a"), "A", false);
    CHECK(a.width == 0);
    CHECK(a.requests == 27);                        // 9 tiles of 3 steps
    CHECK(a.bytes == 9 * 32 * 80 * sizeof(float));  // without what lies outside
    // A row of 400 bytes begins in the middle of a sector every second time: 96 rows three times, of 32, 32
    // and 16 floats.
    CHECK(a.ideal_sectors == 9 * 32 * 10);
    CHECK(a.sectors == a.ideal_sectors + 3 * 48 * 3);
    const trace::Line& c = test::line_of(t.report, tma_line("store-c"), "C", true);
    CHECK(c.requests == 9);
    CHECK(c.bytes == 96 * 96 * sizeof(float));
    CHECK(test::line_of(t.report, tma_line("read-b"), "Bs", false).requests == 27 * 4 * 32);
    REQUIRE(t.report.owners.size() == 5 * 32 * 32);
}

TEST_CASE("trace: mistakes with mbarriers and the copy engine") {
    struct Expected {
        TmaMistake mistake;
        const char* id;
        const char* at;     // the later one of the two lines
        const char* other;  // the earlier
        const char* words;
    };
    const std::vector<Expected> all = {
        {TmaMistake::no_barrier_after_init, "mbarrier_not_begun", "wait-empty", "init-empty",
         "uses the mbarrier empty[0] at "},
        {TmaMistake::no_barrier_after_init, "mbarrier_not_begun", "expect-full", "init-full",
         "with no barrier in between: it may come there first"},
        {TmaMistake::no_init_fence, "mbarrier_unfenced", "load-a", "init-full",
         "thread (0,0,0) began the mbarrier full[0] at "},
        {TmaMistake::no_init_fence, "mbarrier_unfenced", "load-a", "init-full",
         "with no fence.mbarrier_init in between"},
        {TmaMistake::released_early, "load_in_flight", "read-b", "load-b",
         "it has not waited for the mbarrier's phase"},
        {TmaMistake::released_early, "load_overwrites", "load-b", "read-b",
         "with nothing in between that orders the two"},
        {TmaMistake::no_proxy_fence, "no_proxy_fence", "store-c", "write-c",
         "with no fence.proxy.async in between"},
        {TmaMistake::no_wait_before_reuse, "store_in_flight", "write-c", "store-c",
         "may still be reading it when thread ("},
    };
    for (const Expected& e : all) {
        const Traced t = traced_tma(e.mistake);
        INFO("mistake " << static_cast<int>(e.mistake) << ": " << t.error << "\n"
                        << test::all_findings(t.report));
        const trace::Finding& finding = test::finding_at(t.report, e.id, tma_line(e.at));
        REQUIRE(finding.other.has_value());
        CHECK(finding.other->line == tma_line(e.other));
        CHECK(finding.access.thread.has_value());
        CHECK(finding.other->thread.has_value());
        test::require_contains(finding.text, e.words);
    }
    // Rows of 94 floats end in the middle of 16 bytes.
    const Traced ragged = traced_tma(TmaMistake::ragged_rows, 94);
    const trace::Finding& past = test::finding_at(ragged.report, "store_past_row", tma_line("store-c"));
    CHECK(past.count == 96);
    test::require_contains(past.text, "writes 8 bytes behind C[0][93], the end of a row of its tensor");
    // Who does not wait meets what nobody has brought yet, or what is on its way.
    const Traced t = traced_tma(TmaMistake::wrong_parity);
    (void)test::finding_at(t.report, "uninitialised_read", tma_line("read-b"));
    test::require_contains(t.error, "no thread can go on");
}

TEST_CASE("trace: a store of a later group is not over when the first has been waited for") {
    const DeviceArray<float> out(64);
    const auto found = [&](int again) {
        return test::run_traced({}, [&] { traced::bulk_stores(again, out.data()); }).report;
    };
    CHECK(found(0).findings.empty());
    const trace::Report wrong = found(1);
    INFO(test::all_findings(wrong));
    const char* const file = "/tests/trace_kernels/copies.cu";
    const trace::Finding& finding =
        test::finding_at(wrong, "store_in_flight", test::marked(file, "bulk-again"));
    CHECK(finding.other->line == test::marked(file, "bulk-store"));
}
