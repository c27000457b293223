// The tracer and memory that is touched otherwise than by plain accesses: memcpy() and its like, atomic
// operations, variables of the device, several blocks at one element, and the host between two launches.
#include <numeric>
#include <string>
#include <vector>

#include "tests/device_array.hpp"
#include "tests/support.hpp"
#include "tests/trace_kernels/kernels.hpp"
#include "tests/tracing.hpp"

namespace {

namespace trace = cpu_device::trace;
using gemm::FindingId;
using test::all_findings;
using test::check_counts;
using test::check_sound;
using test::DeviceArray;
using test::finding_at;
using test::line_of;
using test::marked;
using test::only_finding;
using test::require_contains;
using test::run_traced;
using test::Traced;
using trace::Finding;
using trace::Line;
using traced::Move;
using traced::Split;
using traced::Vectors;

const std::string kMemory = "/tests/trace_kernels/memory.cu";

std::vector<float> counting(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 1.0f);
    return values;
}

/// Without findings; both lines' counts.
struct Moved {
    Line load, store;
};
Moved moved(Vectors how, const std::string& read_mark, const std::string& write_mark, std::size_t floats) {
    const DeviceArray<float> in(counting(1024)), out(1024);
    const auto count = static_cast<std::int64_t>(floats);
    const Traced t = run_traced({{"in", in.data(), 1, count, count}, {"out", out.data(), 1, count, count}},
                                [&] { traced::vectors(how, in.data(), out.data()); });
    check_sound(t);
    CHECK(t.report.lines.size() == 2);
    std::vector<float> expected = counting(1024);
    std::fill(expected.begin() + static_cast<std::ptrdiff_t>(floats), expected.end(), 0.0f);
    CHECK(out.host() == expected);
    return {line_of(t.report, marked(kMemory, read_mark), "in", false),
            line_of(t.report, marked(kMemory, write_mark), "out", true)};
}

void require_same(const Line& a, const Line& b) {
    check_counts(a, {.width = b.width,
                     .requests = b.requests,
                     .threads = b.threads,
                     .bytes = b.bytes,
                     .sectors = b.sectors,
                     .ideal_sectors = b.ideal_sectors});
    CHECK(a.diverged == b.diverged);
}

}  // namespace

TEST_CASE("trace: memcpy of 16 bytes counts like a float4") {
    const Moved vector = moved(Vectors::float4, "float4", "float4", 256);
    check_counts(vector.load, {.width = 16, .requests = 2, .sectors = 32});
    for (const Moved& other : {moved(Vectors::plain, "plain-read", "plain-write", 256),
                               moved(Vectors::standard, "standard", "standard", 256),
                               moved(Vectors::builtin, "builtin", "builtin", 256)}) {
        require_same(other.load, vector.load);
        require_same(other.store, vector.store);
    }
}

TEST_CASE("trace: memcpy of other sizes counts in the widest pieces") {
    const Moved wide = moved(Vectors::wide, "wide-read", "wide-write", 1024);
    const Moved three = moved(Vectors::three, "three-read", "three-write", 192);
    for (const Line& l : {wide.load, wide.store}) {
        check_counts(l, {.width = 16, .requests = 2 * 4, .bytes = 64 * 64});
    }
    for (const Line& l : {three.load, three.store}) {
        check_counts(l, {.width = 4, .requests = 2 * 3, .bytes = 64 * 12});
    }
}

TEST_CASE("trace: memcpy, memmove and memset that leave their matrix") {
    // A and C lie in the middle of larger allocations, so that nothing else would notice.
    const DeviceArray<float> in(192), out(192);
    const auto run = [&](Move how, int from, int to, std::size_t bytes) {
        Traced t =
            run_traced({{"A", in.data() + 64, 4, 16, 16, 4, "", false}, {"C", out.data() + 64, 4, 16, 16}},
                       [&] { traced::move(how, from, to, bytes, in.data() + 64, out.data() + 64); });
        INFO(t.error);
        CHECK(t.error.empty());
        return std::move(t.report);
    };
    struct Case {
        Move how;
        const char* mark;
        int from, to;
        std::size_t bytes;
        bool write;
        const char* text;
    };
    for (const Case& c :
         std::vector<Case>{{Move::copy, "move-copy", 62, 0, 16, false, "reads A[4][0], outside A of 4×16"},
                           {Move::copy, "move-copy", -1, 0, 4, false, "reads A[-1][15]"},
                           {Move::copy, "move-copy", 0, 61, 16, true, "writes C[4][0], outside C of 4×16"},
                           {Move::move, "move-move", 63, 0, 8, false, "reads A[4][0]"},
                           {Move::move, "move-move", 0, 63, 8, true, "writes C[4][0]"},
                           {Move::read32, "move-read32", 60, 0, 0, false, "reads A[4][0]"},
                           {Move::write32, "move-write32", 0, 60, 0, true, "writes C[4][0]"},
                           {Move::fill32, "move-fill32", 0, 60, 0, true, "writes C[4][0]"},
                           {Move::fill32, "move-fill32", 0, -8, 0, true, "writes C[-1][8]"}}) {
        const trace::Report r = run(c.how, c.from, c.to, c.bytes);
        INFO(c.mark << " from " << c.from << " to " << c.to << "\n" << all_findings(r));
        REQUIRE(r.findings.size() == 1);
        const Finding& f = finding_at(r, "out_of_bounds", marked(kMemory, c.mark));
        CHECK(f.access.write == c.write);
        require_contains(f.text, c.text);
    }
    for (const auto& [how, from, to] : {std::tuple{Move::copy, 60, 60},
                                        {Move::move, 0, 60},
                                        {Move::read32, 56, 0},
                                        {Move::write32, 0, 56},
                                        {Move::fill32, 0, 0},
                                        {Move::to_shared, 56, 56}}) {
        const trace::Report r = run(how, from, to, 16);
        INFO(all_findings(r));
        CHECK(r.findings.empty());
    }
    const trace::Report shared = run(Move::to_shared, 0, 60, 0);
    INFO(all_findings(shared));
    REQUIRE(shared.findings.size() == 1);
    require_contains(finding_at(shared, "shared_out_of_bounds", marked(kMemory, "move-to_shared")).text,
                     "thread (0,0,0) writes 1 byte past the end of tile at ");
}

TEST_CASE("trace: variables of the device") {
    const DeviceArray<float> out(1);
    const Traced t = run_traced({}, [&] { CHECK(traced::variables(0, out.data()) == 128); });
    check_sound(t);
    CHECK(line_of(t.report, marked(kMemory, "ticket"), "ticket", true).threads == 128);
    const Line& read = line_of(t.report, marked(kMemory, "partial"), "partial", false);
    CHECK_FALSE(read.shared);
    CHECK(read.requests == 4);
    CHECK(read.sectors == 16);
    CHECK(out.host()[0] >= 1.0f);
    CHECK(line_of(t.report, marked(kMemory, "static-of-helper"), "calls", true).threads == 2);
    // And what lies behind one of them.
    const Traced past = run_traced({}, [&] { traced::variables(1 << 20, out.data()); });
    INFO(past.error << all_findings(past.report));
    CHECK_FALSE(past.report.findings.empty());
}

TEST_CASE("trace: C may be read where it has been written") {
    const int atomic = marked(kMemory, "split-atomic");
    const auto run = [](Split how, float first) {
        const DeviceArray<float> c(std::vector<float>(64, 7.0f));
        Traced t = run_traced({{"C", c.data(), 4, 16, 16, 4, "beta = 0", true}},
                              [&] { traced::split(how, 3, c.data()); });
        INFO(t.error);
        CHECK(t.error.empty());
        if (first >= 0) CHECK(c.host() == std::vector<float>(64, first));
        return std::move(t.report);
    };
    for (const Split how : {Split::zeroed_by_kernel, Split::zeroed_by_memset}) {
        const trace::Report r = run(how, 6.0f);
        INFO(all_findings(r));
        CHECK(r.findings.empty());
        CHECK(line_of(r, atomic, "C", true).threads == 3 * 64);
    }
    const trace::Report read = run(Split::not_zeroed, 13.0f);
    const Finding& f = only_finding(read, "forbidden_read", atomic);
    CHECK_FALSE(f.access.write);
    require_contains(f.text, "reads C[0][0] at ");
}

TEST_CASE("trace: two blocks at one element of C") {
    const auto run = [](Split how) {
        const DeviceArray<float> c(std::vector<float>(64, 7.0f));
        Traced t = run_traced({{"C", c.data(), 4, 16, 16}}, [&] { traced::split(how, 3, c.data()); });
        INFO(t.error);
        CHECK(t.error.empty());
        return std::move(t.report);
    };
    for (const auto& [how, mark] : {std::pair{Split::plain, "split-plain"},
                                    {Split::last_wins, "split-last"},
                                    {Split::zeroed_by_first, "split-first"}}) {
        const trace::Report r = run(how);
        INFO(mark << "\n" << all_findings(r));
        REQUIRE(r.findings.size() >= 1);
        for (const Finding& f : r.findings) CHECK(f.id == FindingId::block_race);
        if (how == Split::zeroed_by_first) continue;  // block 0 may come last
        const Finding& f = finding_at(r, "block_race", marked(kMemory, mark));
        CHECK(f.other_block.has_value());
        require_contains(f.text, "writes C[");
        require_contains(f.text, ", and so does block ");
    }
    for (const Split how :
         {Split::same_value, Split::in_turn, Split::zeroed_by_kernel, Split::zeroed_by_memset}) {
        const trace::Report r = run(how);
        INFO(static_cast<int>(how) << "\n" << all_findings(r));
        CHECK(r.findings.empty());
    }
}

TEST_CASE("trace: atomic operations in shared memory") {
    const DeviceArray<int> out(1);
    const Traced t = run_traced({}, [&] { traced::shared_atomics(out.data()); });
    check_sound(t);
    CHECK(out.host()[0] == 1);
}

TEST_CASE("trace: host code with hooks has statics and atomics") {
    const int before = traced::launches_so_far();
    CHECK(traced::launches_so_far() == before + 1);
    CHECK(traced::host_atomics());
}
