// The tracer and kernels of clusters: what is counted, and what is found.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/device_array.hpp"
#include "tests/kernels/cluster_gemm.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"
#include "tests/tracing.hpp"

namespace {

namespace trace = cpu_device::trace;
using kernels::ClusterMistake;
using kernels::SumMistake;
using test::DeviceArray;
using test::Traced;

constexpr const char* kFile = "/tests/kernels/cluster_gemm.cu";

int line(const std::string& mark) {
    return test::marked(kFile, mark);
}

/// 128×64×160, in 8 tiles of 5 steps by 4 clusters.
Traced traced_gemm(ClusterMistake mistake, int M = 128) {
    constexpr int N = 64, K = 160;
    std::vector<float> values(static_cast<std::size_t>(K) * 160, 1.0f);
    const DeviceArray<float> A(values), B(values), C(values);
    return test::run_traced({{"A", A.data(), M, K, K, 4, "", false},
                             {"B", B.data(), K, N, N, 4, "", false},
                             {"C", C.data(), M, N, N, 4, "", true}},
                            [&] { kernels::cluster_gemm(mistake, M, N, K, A.data(), B.data(), C.data()); });
}

Traced traced_sum(SumMistake mistake) {
    const DeviceArray<int> in(128), out(1);
    return test::run_traced({}, [&] { kernels::cluster_sum(mistake, in.data(), out.data()); });
}

}  // namespace

TEST_CASE("trace: a right kernel of clusters has no findings, and what it shares is counted once") {
    const Traced t = traced_gemm(ClusterMistake::none);
    INFO(t.error << "\n" << test::all_findings(t.report));
    CHECK(t.error.empty());
    CHECK(t.report.findings.empty());
    CHECK((t.report.blocks == 8 && t.report.traced_blocks == 8));
    CHECK(test::line_of(t.report, line("load-a"), "A", false).bytes == 8 * 32 * 160 * sizeof(float));
    const trace::Line& b = test::line_of(t.report, line("load-b"), "B", false);
    CHECK(b.requests == 8 * 5);
    CHECK(b.bytes == 4 * 160 * 32 * sizeof(float));  // by each cluster, not by each block
    CHECK(test::line_of(t.report, line("read-b"), "Bs", false).requests == 8 * 5 * 2 * 32);
    REQUIRE(t.report.owners.size() == 32 * 32);
    const Traced relaxed = traced_gemm(ClusterMistake::relaxed_syncs);
    INFO(relaxed.error << "\n" << test::all_findings(relaxed.report));
    CHECK((relaxed.error.empty() && relaxed.report.findings.empty()));
    const Traced sum = traced_sum(SumMistake::none);
    INFO(sum.error << "\n" << test::all_findings(sum.report));
    CHECK((sum.error.empty() && sum.report.findings.empty()));
}

TEST_CASE("trace: mistakes with clusters") {
    struct Expected {
        ClusterMistake mistake;
        const char* id;
        const char* at;     // the later one of the two lines
        const char* other;  // the earlier; "" for none
        const char* words;
    };
    const std::vector<Expected> all = {
        {ClusterMistake::relaxed_release, "load_overwrites", "load-b", "read-b",
         "with nothing in between that orders the two"},
        {ClusterMistake::block_scope_wait, "load_overwrites", "load-b", "read-b", " of block "},
        {ClusterMistake::no_sync_at_start, "mbarrier_not_begun", "load-b", "init-full",
         "with no barrier in between: it may come there first"},
        {ClusterMistake::unfenced_syncs, "mbarrier_not_begun", "load-b", "init-full",
         "with no barrier in between: it may come there first"},
        {ClusterMistake::no_sync_at_end, "block_left", "release", "", "of its cluster at "},
    };
    for (const Expected& e : all) {
        const Traced t = traced_gemm(e.mistake);
        INFO("mistake " << static_cast<int>(e.mistake) << ": " << t.error << "\n"
                        << test::all_findings(t.report));
        const trace::Finding& finding = test::finding_at(t.report, e.id, line(e.at));
        if (*e.other != '\0') {
            REQUIRE(finding.other.has_value());
            CHECK(finding.other->line == line(e.other));
        }
        CHECK(finding.access.rank.has_value());
        test::require_contains(finding.text, e.words);
    }
}

TEST_CASE("trace: mistakes with another block's shared memory") {
    struct Expected {
        SumMistake mistake;
        const char* id;
        const char* words;
    };
    const std::vector<Expected> all = {
        {SumMistake::no_barrier, "race", ", with no barrier in between"},
        {SumMistake::relaxed_barrier, "race", " wrote shared memory + "},
        {SumMistake::past_the_end, "shared_out_of_bounds", "of shared memory of block 0"},
    };
    for (const Expected& e : all) {
        const Traced t = traced_sum(e.mistake);
        INFO("mistake " << static_cast<int>(e.mistake) << ": " << t.error << "\n"
                        << test::all_findings(t.report));
        // (Which of two threads came later is the schedule's.)
        const auto found =
            std::find_if(t.report.findings.begin(), t.report.findings.end(),
                         [&](const trace::Finding& f) { return name_of(f.id) == std::string(e.id); });
        REQUIRE(found != t.report.findings.end());
        CHECK((found->access.line == line("read-sum") || found->access.line == line("write-sum")));
        test::require_contains(found->text, e.words);
    }
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const test::Schedule schedule(seed);
        const Traced t = traced_sum(SumMistake::no_last_barrier);
        INFO("seed " << seed << ": " << t.error << "\n" << test::all_findings(t.report));
        if (t.error.empty()) {
            test::require_contains(test::finding_at(t.report, "block_left", line("read-sum")).text,
                                   "thread (0,0,0) of block 1 reaches into block 0 of its cluster at ");
        } else {
            test::require_contains(t.error, "reaches into block 0 of its cluster, which has returned");
        }
    }
}
