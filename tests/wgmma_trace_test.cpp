// The tracer and kernels with wgmma: what is found.
#include <string>
#include <vector>

#include "tests/device_array.hpp"
#include "tests/kernels/wgmma_gemm.hpp"
#include "tests/support.hpp"
#include "tests/tracing.hpp"

namespace {

namespace trace = cpu_device::trace;
using kernels::WgmmaMistake;
using test::DeviceArray;
using test::Traced;

int wgmma_line(const std::string& mark) {
    return test::marked("/tests/kernels/wgmma_gemm.cu", mark);
}

/// 64×128×320 by one block, in 5 steps.
Traced traced_wgmma(WgmmaMistake mistake) {
    constexpr int M = 64, N = 128, K = 320;
    const DeviceArray<std::uint16_t> A(std::size_t{M} * K), B(std::size_t{K} * N);
    const DeviceArray<float> C(std::size_t{M} * N);
    return test::run_traced({{"A", A.data(), M, K, K, 2, "", false},
                             {"B", B.data(), K, N, N, 2, "", false},
                             {"C", C.data(), M, N, N, 4, "", true}},
                            [&] { kernels::wgmma_gemm(mistake, M, N, K, A.data(), B.data(), C.data()); });
}

}  // namespace

TEST_CASE("trace: a right kernel by wgmma has no findings") {
    for (const WgmmaMistake way :
         {WgmmaMistake::none, WgmmaMistake::a_by_threads, WgmmaMistake::overlapped}) {
        const Traced t = traced_wgmma(way);
        INFO(test::all_findings(t.report));
        CHECK(t.error.empty());
        CHECK(t.report.findings.empty());
    }
}

TEST_CASE("trace: wgmma is counted by line, with what it reads of shared memory") {
    const Traced t = traced_wgmma(WgmmaMistake::none);
    REQUIRE(t.report.multiplications.size() == 1);
    const trace::Multiplication& m = t.report.multiplications.front();
    CHECK(m.line == wgmma_line("wgmma"));
    CHECK(m.columns == 128);
    CHECK_FALSE(m.a_in_registers);
    CHECK((m.major_a == gemm::ptx::Major::k && m.major_b == gemm::ptx::Major::row));
    CHECK(m.count == 320 / 16);
    CHECK(m.shared_bytes == m.count * (64 + 128) * 16 * 2);
    // The first one's: both begin at a tile of 1024 bytes.
    const gemm::ptx::WgmmaFields a = gemm::ptx::decode(m.a), b = gemm::ptx::decode(m.b);
    CHECK((a.swizzle == gemm::ptx::WgmmaSwizzle::bytes128 && a.stride == 1024 && a.start % 1024 == 0));
    CHECK((b.start == a.start + 64 * 64 * 2 && b.leading == 64 * 64 * 2));
    // Its reads are no thread's: no line of the kernel reads shared memory but the barriers'.
    for (const trace::Line& line : t.report.lines)
        CHECK((!line.shared || line.store || line.array == "barriers"));
}

TEST_CASE("trace: mistakes with wgmma") {
    const Traced early = traced_wgmma(WgmmaMistake::released_early);
    INFO(early.error << test::all_findings(early.report));
    const trace::Finding& over = test::finding_at(early.report, "wgmma_in_flight", wgmma_line("load-b"));
    REQUIRE(over.other.has_value());
    CHECK(over.other->line == wgmma_line("wgmma"));
    test::require_contains(over.text, "it has not waited for it (wgmma.wait_group)");

    const Traced unfenced = traced_wgmma(WgmmaMistake::no_proxy_fence);
    const trace::Finding& unseen = test::finding_at(unfenced.report, "wgmma_unfenced", wgmma_line("wgmma"));
    REQUIRE(unseen.other.has_value());
    CHECK(unseen.other->line == wgmma_line("write-a"));
    test::require_contains(unseen.text,
                           "with no fence.proxy.async in between: the tensor cores need not see");
}
