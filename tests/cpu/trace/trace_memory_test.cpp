// The tracer and memory that is touched otherwise than by plain accesses: memcpy() and its like, atomic
// operations, variables of the device.
#include <numeric>
#include <string>
#include <vector>

#include "tests/cpu/trace/kernels.hpp"
#include "tests/cpu/trace/tracing.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"

namespace {

namespace trace = cpu_device::trace;
using test::all_findings;
using test::check_counts;
using test::check_sound;
using test::DeviceArray;
using test::line_of;
using test::marked;
using test::run_traced;
using test::Traced;
using trace::Line;
using traced::Vectors;

const std::string kMemory = "/tests/cpu/trace/memory.cu";

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
