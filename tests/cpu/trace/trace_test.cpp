// What the tracer counts, against counts by hand and by an independent loop. (What it finds:
// findings_test.cpp.)
#include "common/cpu/trace/trace.hpp"

#include <cuda_bf16.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/check/dtype.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "common/program/lessons.hpp"
#include "tests/cpu/trace/kernels.hpp"
#include "tests/cpu/trace/tracing.hpp"
#include "tests/device_array.hpp"
#include "tests/ptx/results.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"

namespace {

namespace trace = cpu_device::trace;
using gemm::Lesson;
using gemm::Shape;
using test::all_findings;
using test::check_counts;
using test::check_sound;
using test::DeviceArray;
using test::line_of;
using test::line_with;
using test::marked;
using test::require_contains;
using test::run_traced;
using test::Traced;
using trace::Line;
using trace::Report;

Report trace_lesson(const Lesson& lesson, const gemm::Workload& w) {
    Traced t = test::traced_lesson(lesson, w);
    INFO(t.error);
    REQUIRE(t.error.empty());
    return std::move(t.report);
}

const std::string kFindings = "/tests/cpu/trace/findings.cu";
const std::string kGrouping = "/tests/cpu/trace/grouping.cu";
const std::string kCopies = "/tests/cpu/trace/copies.cu";
const std::string kMatrices = "/tests/cpu/trace/matrices.cu";
const std::string kTiles = "/tests/cpu/trace/tiles.cu";

// ---- what a warp asks for, computed another way ----

/// Sums over the requests of one line.
struct Expected {
    std::uint64_t requests = 0, threads = 0, sectors = 0;

    /// One request: the addresses of its threads' 4-byte elements.
    void add(const std::vector<const float*>& elements) {
        if (elements.empty()) return;
        std::set<std::uint64_t> touched;
        for (const float* e : elements) touched.insert(reinterpret_cast<std::uint64_t>(e) / 32);
        ++requests;
        threads += elements.size();
        sectors += touched.size();
    }
};

void check_global(const Line& line, const Expected& expected) {
    INFO(line.array << (line.store ? " stored" : " loaded") << " at line " << line.line);
    CHECK_FALSE(line.shared);
    check_counts(line, {.width = 4,
                        .requests = expected.requests,
                        .threads = expected.threads,
                        .bytes = 4 * expected.threads,
                        .sectors = expected.sectors});
    CHECK(line.ideal_sectors <= line.sectors);
    CHECK(line.wavefronts == 0);
    CHECK_FALSE(line.diverged);
}

/// Lessons 01 and 02: a thread per element of C in blocks of 32×32, a warp along the rows or along the
/// columns.
void check_one_element_per_thread(const Lesson& lesson, bool warp_along_rows, const Shape& shape) {
    INFO(lesson.name << " at " << shape.text() << ", seed " << test::seed());
    const gemm::Workload w(shape, test::seed());
    const gemm::Problem p = w.problem();
    const auto *A = static_cast<const float*>(p.A), *B = static_cast<const float*>(p.B),
               *C = static_cast<const float*>(p.C);
    Expected a, b, c;
    for (std::int64_t row0 = 0; row0 < p.M; row0 += 32) {
        for (std::int64_t col0 = 0; col0 < p.N; col0 += 32) {
            for (int warp = 0; warp < 32; ++warp) {
                std::vector<std::pair<std::int64_t, std::int64_t>> elements;
                for (int lane = 0; lane < 32; ++lane) {
                    const std::int64_t row = row0 + (warp_along_rows ? lane : warp);
                    const std::int64_t col = col0 + (warp_along_rows ? warp : lane);
                    if (row < p.M && col < p.N) elements.emplace_back(row, col);
                }
                std::vector<const float*> addresses(elements.size());
                const auto request = [&](Expected& line, const auto& address) {
                    std::transform(elements.begin(), elements.end(), addresses.begin(), address);
                    line.add(addresses);
                };
                for (std::int64_t k = 0; k < p.K; ++k) {
                    request(a, [&](auto e) { return A + e.first * p.lda + k; });
                    request(b, [&](auto e) { return B + k * p.ldb + e.second; });
                }
                request(c, [&](auto e) { return C + e.first * p.ldc + e.second; });
            }
        }
    }
    const Report r = trace_lesson(lesson, w);
    INFO(all_findings(r));
    CHECK(r.findings.empty());
    CHECK(r.lines.size() == (p.beta == 0.0f ? 3 : 4));
    check_global(line_of(r, "A", false), a);
    check_global(line_of(r, "B", false), b);
    check_global(line_of(r, "C", true), c);
    if (p.beta != 0.0f) check_global(line_of(r, "C", false), c);
    CHECK(r.barriers_per_thread == 0);
    CHECK(r.threads_per_block == 1024);
    CHECK(r.traced_blocks == r.blocks);
}

void check_shared(const Line& line, std::uint64_t requests, std::uint64_t threads_each,
                  double wavefronts_each, double ideal_each, int width = 4) {
    INFO(line.array << (line.store ? " stored" : " loaded") << " at line " << line.line);
    CHECK(line.shared);
    check_counts(line, {.width = width,
                        .requests = requests,
                        .threads = requests * threads_each,
                        .bytes = line.threads * static_cast<std::uint64_t>(width)});
    CHECK(static_cast<double>(line.wavefronts) == static_cast<double>(requests) * wavefronts_each);
    CHECK(static_cast<double>(line.ideal_wavefronts) == static_cast<double>(requests) * ideal_each);
    CHECK(line.sectors == 0);
    CHECK_FALSE(line.diverged);
}

/// Lesson 03 at any shape: tiles of 32×32 through shared memory.
void check_smem(const Shape& shape) {
    INFO("03_smem at " << shape.text() << ", seed " << test::seed());
    const gemm::Workload w(shape, test::seed());
    const gemm::Problem p = w.problem();
    const auto *A = static_cast<const float*>(p.A), *B = static_cast<const float*>(p.B),
               *C = static_cast<const float*>(p.C);
    Expected a, b, c;
    std::uint64_t warp_steps = 0;  // warps × K tiles
    std::vector<const float*> elements;
    for (std::int64_t row0 = 0; row0 < p.M; row0 += 32) {
        for (std::int64_t col0 = 0; col0 < p.N; col0 += 32) {
            for (int y = 0; y < 32; ++y) {
                for (std::int64_t k0 = 0; k0 < p.K; k0 += 32) {
                    ++warp_steps;
                    elements.clear();
                    for (int x = 0; x < 32 && row0 + y < p.M; ++x) {
                        if (k0 + x < p.K) elements.push_back(A + (row0 + y) * p.lda + k0 + x);
                    }
                    a.add(elements);
                    elements.clear();
                    for (int x = 0; x < 32 && k0 + y < p.K; ++x) {
                        if (col0 + x < p.N) elements.push_back(B + (k0 + y) * p.ldb + col0 + x);
                    }
                    b.add(elements);
                }
                elements.clear();
                for (int x = 0; x < 32 && row0 + y < p.M; ++x) {
                    if (col0 + x < p.N) elements.push_back(C + (row0 + y) * p.ldc + col0 + x);
                }
                c.add(elements);
            }
        }
    }
    const Report r = trace_lesson(test::lesson("03_smem"), w);
    INFO(all_findings(r));
    CHECK(r.findings.empty());
    check_global(line_of(r, "A", false), a);
    check_global(line_of(r, "B", false), b);
    check_global(line_of(r, "C", true), c);
    if (p.beta != 0.0f) check_global(line_of(r, "C", false), c);
    check_shared(line_of(r, "As", true), warp_steps, 32, 1, 1);
    check_shared(line_of(r, "Bs", true), warp_steps, 32, 1, 1);
    check_shared(line_of(r, "As", false), 32 * warp_steps, 32, 1, 1);  // one word for all
    check_shared(line_of(r, "Bs", false), 32 * warp_steps, 32, 1, 1);
    CHECK(r.barriers_per_thread == 2.0 * static_cast<double>((p.K + 31) / 32));
}

const std::vector<Shape>& odd_shapes() {
    static const std::vector<Shape> shapes{
        test::shape(33, 47, 29, false), test::shape(33, 47, 29, true, 1.5f, -0.5f),
        test::shape(127, 129, 65, true), test::shape(1, 1, 1, false), test::shape(5, 100, 33, true)};
    return shapes;
}

}  // namespace

// ---- counts of the lessons ----

TEST_CASE("trace: lesson 01 by hand") {
    // 2×3 blocks of 32 warps; a warp is a column of 32 rows, whose pitches are multiples of 32 bytes.
    const std::int64_t M = 64, N = 96, K = 40;
    const gemm::Workload w(test::shape(M, N, K, false), test::seed());
    const Report r = trace_lesson(test::lesson("01_naive"), w);
    CHECK(r.findings.empty());
    CHECK(r.kernel == "sgemm_naive");
    CHECK(r.blocks == 6);
    const std::uint64_t warps = 6 * 32, loads = warps * K;
    const Line &a = line_of(r, "A", false), &b = line_of(r, "B", false), &c = line_of(r, "C", true);
    check_counts(
        a, {.requests = loads, .threads = 32 * loads, .sectors = 32 * loads, .ideal_sectors = 4 * loads});
    // one element for the whole warp
    check_counts(b, {.requests = loads, .sectors = loads, .ideal_sectors = loads});
    check_counts(c, {.requests = warps, .sectors = 32 * warps, .ideal_sectors = 4 * warps});
    const int source_line = line_with("/01_naive/kernel.cu", "acc += *a * *b", false);
    CHECK(a.line == source_line);
    CHECK(b.line == source_line);
    CHECK(a.file.ends_with("/01_naive/kernel.cu"));
    CHECK(c.line == line_with("/01_naive/kernel.cu", "*c = beta == 0.0f", false));
    // The example is the first request of block 0: warp 0, rows 0 to 31 of column 0.
    CHECK(a.example_block == 0);
    CHECK(a.example_warp == 0);
    REQUIRE(a.example_lanes.size() == 32);
    for (std::size_t lane = 0; lane < 32; ++lane) {
        CHECK(a.example_lanes[lane] == static_cast<int>(lane));
        CHECK(a.example_offsets[lane] == lane * K * 4);
        CHECK(b.example_offsets[lane] == 0);
        CHECK(c.example_offsets[lane] == lane * N * 4);
    }
}

TEST_CASE("trace: lessons at odd shapes, guards included, against an independent count") {
    for (const Shape& shape : odd_shapes()) {
        check_one_element_per_thread(test::lesson("01_naive"), true, shape);
        check_one_element_per_thread(test::lesson("02_coalesced"), false, shape);
        check_smem(shape);
    }
}

TEST_CASE("trace: a sample of blocks gives the same per request") {
    const gemm::Workload w(test::shape(128, 128, 32, false), test::seed());
    const Report all = trace_lesson(test::lesson("02_coalesced"), w);
    cpu_device::set_block_filter([](std::uint64_t block) { return block == 3 || block == 9; });
    const Report some = trace_lesson(test::lesson("02_coalesced"), w);
    cpu_device::set_block_filter({});
    CHECK(all.blocks == 16);
    CHECK(all.traced_blocks == 16);
    CHECK(some.blocks == 16);
    CHECK(some.traced_blocks == 2);
    REQUIRE(some.lines.size() == all.lines.size());
    for (std::size_t i = 0; i < all.lines.size(); ++i) {
        CHECK(all.lines[i].requests == 8 * some.lines[i].requests);
        CHECK(all.lines[i].sectors == 8 * some.lines[i].sectors);
        CHECK(all.lines[i].example_block == 0);
        CHECK(some.lines[i].example_block == 3);
    }
    CHECK(some.owners_block == 3);
    CHECK(some.owners.size() == 1024);
}

TEST_CASE("trace: nothing to do is nothing traced") {
    for (const Lesson* lesson : gemm::all_lessons()) {
        const Report none =
            trace_lesson(*lesson, gemm::Workload(test::shape_for(*lesson, 0, 5, 7, false), test::seed()));
        CHECK(none.lines.empty());
        CHECK(none.blocks == 0);
        const Report no_k =
            trace_lesson(*lesson, gemm::Workload(test::shape_for(*lesson, 5, 6, 0, false), test::seed()));
        CHECK(no_k.findings.empty());
        // (07 and 08 fill a stage with zeros.)
        for (const Line& l : no_k.lines) CHECK((l.array == "C" || l.shared));
        std::uint64_t stored = 0;  // by two lines in 09b
        for (const Line& l : no_k.lines) stored += l.array == "C" && l.store ? l.bytes : 0;
        CHECK(stored == 30 * gemm::size_of(lesson->variant().C));
    }
}

// ---- a kernel like those of later lessons ----

TEST_CASE("trace: tiles, float4, transposed stores and two buffers, by hand") {
    const int M = 128, N = 64, K = 48;
    std::vector<float> a(M * K), b(K * N);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3.0f;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2.0f;
    const DeviceArray<float> A(a), B(b);
    for (const int padding : {0, 4}) {
        INFO("padding " << padding);
        const DeviceArray<float> C(M * N);
        const Traced t =
            run_traced({{"A", A.data(), M, K, K}, {"B", B.data(), K, N, N}, {"C", C.data(), M, N, N}},
                       [&] { traced::block_tile(padding, M, N, K, A.data(), B.data(), C.data()); });
        INFO(t.error << all_findings(t.report));
        REQUIRE(t.error.empty());
        CHECK(t.report.findings.empty());
        const std::vector<float> c = C.host();
        int wrong = 0;
        for (int row = 0; row < M; ++row) {
            for (int col = 0; col < N; ++col) {
                float sum = 0.0f;  // small integers: exact
                for (int k = 0; k < K; ++k) {
                    sum +=
                        a[static_cast<std::size_t>(row * K + k)] * b[static_cast<std::size_t>(k * N + col)];
                }
                wrong += c[static_cast<std::size_t>(row * N + col)] != sum;
            }
        }
        CHECK(wrong == 0);

        // 2 blocks of 8 warps, 3 tiles of 16 steps, one barrier each.
        const std::uint64_t warps = 2 * 8, steps = warps * 3;
        CHECK(t.report.blocks == 2);
        CHECK(t.report.barriers_per_thread == 3);
        CHECK(t.report.lines.size() == 10);
        const auto at = [&](const char* mark, const char* array, bool store) -> const Line& {
            return line_of(t.report, marked(kTiles, mark), array, store);
        };
        const auto global = [](const Line& l, std::uint64_t requests) {
            INFO(l.array);
            check_counts(l, {.width = 16,
                             .requests = requests,
                             .threads = 32 * requests,
                             .bytes = 512 * requests,
                             .sectors = 16 * requests,
                             .ideal_sectors = 16 * requests});
            CHECK_FALSE(l.diverged);
        };
        global(at("load-a", "A", false), steps);  // 8 rows of 64 bytes
        global(at("load-b", "B", false), steps);  // 2 rows of 256 bytes
        global(at("store-c", "C", true), 4 * warps);
        // A warp stores 8 rows × 4 columns of A: words (4c + i)·(64 + padding) + r. Without padding the four
        // c share their 8 banks; 4 floats more move every other c by half of the banks.
        for (const char* mark : {"store-a0", "store-a1", "store-a2", "store-a3"}) {
            check_shared(at(mark, "As", true), steps, 32, padding == 0 ? 4 : 2, 1);
        }
        check_shared(at("store-b", "Bs", true), steps, 32, 4, 4, 16);
        check_shared(at("read-a", "As", false), 16 * steps, 32, 2, 2, 16);  // two addresses in the warp
        check_shared(at("read-b", "Bs", false), 16 * steps, 32, 4, 2, 16);  // 16, each of them twice

        const Line& example = at("store-a1", "As", true);
        REQUIRE(example.example_offsets.size() == 32);
        CHECK(example.example_offsets[0] == static_cast<std::uint64_t>(64 + padding) * 4);
        CHECK(example.example_offsets[1] == static_cast<std::uint64_t>(5 * (64 + padding)) * 4);
        CHECK(example.example_offsets[4] == static_cast<std::uint64_t>(64 + padding + 1) * 4);

        // Thread (ty, tx) owns rows 4·ty … + 3 and columns 4·tx … + 3 of the block.
        CHECK(t.report.owners_block == 0);
        REQUIRE(t.report.owners.size() == 64 * 64);
        for (const trace::Owned& o : t.report.owners) {
            if (o.thread != o.row / 4 * 16 + o.col / 4) FAIL("thread " << o.thread << " owns " << o.row);
        }
    }
}

TEST_CASE("trace: the line is the kernel's, or its own function's, and no header's") {
    const DeviceArray<float> in(std::vector<float>(64, 1.0f)), out(64);
    const Report r = run_traced({{"in", in.data(), 1, 64, 64}, {"out", out.data(), 1, 64, 64}}, [&] {
                         traced::read_through(in.data(), out.data());
                     }).report;
    CHECK(r.lines.size() == 3);
    for (const char* mark : {"ldg", "helper"}) {
        CHECK(line_of(r, marked(kFindings, mark), "in", false).threads == 64);
    }
    CHECK(line_of(r, marked(kFindings, "stcs"), "out", true).threads == 64);
    for (const Line& l : r.lines) CHECK(l.file.ends_with(kFindings));
}

TEST_CASE("trace: steps beyond the most that are kept") {
    const DeviceArray<float> in(std::vector<float>(32 * 64, 1.0f)), out(64);
    const auto lines = [&](std::size_t most) {
        trace::begin({{"in", in.data(), 64, 32, 32}}, most);
        traced::trip_counts(32, 32, 64, 64, in.data(), out.data());
        return trace::end().lines;
    };
    const std::vector<Line> all = lines(1'000'000), few = lines(20);
    REQUIRE(all.size() == few.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(few[i].bytes == all[i].bytes);
        CHECK(few[i].threads == all[i].threads);
        CHECK(few[i].requests >= all[i].requests);
    }
}

TEST_CASE("trace: groups of floats that are no vectors") {
    const DeviceArray<float3> in(65), out(65);
    const DeviceArray<traced::Eight> wide_in(64), wide_out(64);
    const int line = marked(kFindings, "group");
    for (const bool wide : {false, true}) {
        const Traced t = run_traced({}, [&] {
            if (wide) {
                traced::copy_eight(wide_in.data(), wide_out.data());
            } else {
                traced::copy_float3(in.data() + 1, out.data() + 1);
            }
        });
        check_sound(t);
        // In pieces that an instruction can move: 3 × 4 bytes, 2 × 16.
        CHECK(t.report.lines.size() == 2);
        for (const bool store : {false, true}) {
            const Line& l = line_of(t.report, line, "", store);
            check_counts(l, {.width = (wide ? 16 : 4),
                             .requests = (wide ? 2 * 2 : 2 * 3),
                             .threads = 32 * l.requests,
                             .bytes = 64 * (wide ? 32 : 12)});
            // A warp's float3 lie in 384 bytes, or 13 sectors where they start within one; each piece meets
            // all.
            CHECK(l.sectors == 2 * (wide ? 2 * 32 : 3 * 13));
            CHECK_FALSE(l.diverged);
        }
    }
}

TEST_CASE("trace: what was traced before a deadlock is there") {
    const DeviceArray<float> out(64);
    const Traced t = run_traced({}, [&] { traced::deadlock(out.data()); });
    require_contains(test::with_marks(t.error), "findings.cu:deadlock");
    CHECK(t.report.findings.empty());
    CHECK(line_of(t.report, marked(kFindings, "deadlock-before"), "", true).threads == 64);

    const Traced barrier = run_traced({}, [&] { traced::divergent_barrier(out.data()); });
    require_contains(test::with_marks(barrier.error), "findings.cu:divergent-one");
    require_contains(test::with_marks(barrier.error), "findings.cu:divergent-other");
    CHECK(line_of(barrier.report, marked(kFindings, "divergent-before"), "tile", true).requests == 2);

    // The next launch is traced as ever.
    check_sound(run_traced({}, [&] { traced::race(traced::Race::none, 1, 1, out.data()); }));
}

// ---- cp.async ----

namespace {

struct Copied {
    Traced traced;
    std::vector<float> out;
};
Copied trace_copying(traced::Copying kind) {
    std::vector<float> values(256);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const DeviceArray<float> in(values), out(64);
    Copied c;
    c.traced =
        run_traced({{"in", in.data(), 1, 256, 256}}, [&] { traced::copying(kind, in.data(), out.data()); });
    INFO(c.traced.error);
    CHECK(c.traced.error.empty());
    c.out = out.host();
    return c;
}

}  // namespace

TEST_CASE("trace: cp.async as it should be") {
    const Copied right = trace_copying(traced::Copying::right);
    INFO(all_findings(right.traced.report));
    CHECK(right.traced.report.findings.empty());
    for (std::size_t t = 0; t < 64; ++t) CHECK(right.out[t] == static_cast<float>(4 * (63 - t)));
    const int copy = marked(kCopies, "right-copy");
    const Line& load = line_of(right.traced.report, copy, "in", false);
    check_counts(load, {.width = 16, .requests = 2, .threads = 64, .sectors = 32});
    check_shared(line_of(right.traced.report, copy, "tile", true), 2, 32, 4, 4, 16);
    check_shared(line_of(right.traced.report, marked(kCopies, "right-read"), "tile", false), 2, 32, 4, 1);
    for (const traced::Copying kind : {traced::Copying::wait_enough, traced::Copying::own}) {
        const Copied fine = trace_copying(kind);
        INFO(all_findings(fine.traced.report));
        CHECK(fine.traced.report.findings.empty());
        CHECK(fine.out[1] == (kind == traced::Copying::own ? 4.0f : 248.0f));
    }
    // What nobody has waited for is not there yet.
    const float early = trace_copying(traced::Copying::no_wait).out[0];
    CHECK(early != early);
}

TEST_CASE("trace: cp.async fills with zeros") {
    constexpr float kTwo = 2.00390625f;  // neither half of its bits is zero
    const DeviceArray<float> in(std::vector<float>(256, kTwo)), out(256);
    for (const int valid :
         {0, 2, 4, 6, 8, 12, 14, 16}) {  // also what ends within a float, of 16-bit elements
        INFO(valid << " bytes");
        const Traced t =
            run_traced({{"in", in.data(), 1, 256, 256}}, [&] { traced::fill(valid, in.data(), out.data()); });
        check_sound(t);
        const std::vector<float> host = out.host();
        for (std::size_t i = 0; i < host.size(); ++i) {
            float expected = 0.0f;
            std::memcpy(&expected, &kTwo,
                        static_cast<std::size_t>(std::clamp(valid - static_cast<int>(i % 4 * 4), 0, 4)));
            if (host[i] != expected) FAIL(i << ": " << host[i]);
        }
        std::uint64_t loaded = 0;
        for (const Line& l : t.report.lines) loaded += l.array == "in" ? l.bytes : 0;
        CHECK(loaded == static_cast<std::uint64_t>(64 * valid));
    }
    // With no byte to copy the source may be anywhere.
    const Traced nowhere = run_traced({}, [&] { traced::fill(0, nullptr, out.data()); });
    check_sound(nowhere);
}

TEST_CASE("trace: a ring of three stages") {
    for (const int tiles : {1, 2, 3, 7}) {
        std::vector<float> values(static_cast<std::size_t>(256 * tiles)), sums(256);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(i % 13);
            sums[i % 256] += values[i];
        }
        const DeviceArray<float> in(values), out(256);
        const Traced t = run_traced({{"in", in.data(), 1, 256 * tiles, 256 * tiles}},
                                    [&] { traced::ring(tiles, in.data(), out.data()); });
        check_sound(t);
        CHECK(out.host() == sums);
        const auto n = static_cast<std::uint64_t>(tiles);
        const Line& load = line_of(t.report, marked(kCopies, "ring"), "in", false);
        CHECK(load.requests == 2 * n);
        CHECK(load.sectors == 16 * load.requests);
        check_shared(line_of(t.report, marked(kCopies, "ring-read"), "stages", false), 2 * 4 * n, 32, 1, 1);
        CHECK(t.report.barriers_per_thread == tiles);
    }
}

// ---- ldmatrix, wmma and 16-bit types ----

namespace {

/// n bf16 values 0, 1, 2, … 15, 0, …: all exact, and so are sums of them.
std::vector<std::uint16_t> bf16_values(std::size_t n) {
    std::vector<std::uint16_t> bits(n);
    for (std::size_t i = 0; i < n; ++i)
        bits[i] = __bfloat16_as_ushort(__float2bfloat16(static_cast<float>(i % 16)));
    return bits;
}

Traced trace_matrices(traced::Matrices kind) {
    const DeviceArray<std::uint16_t> in(bf16_values(64 * 8));
    const DeviceArray<float> out(64);
    Traced t = run_traced({}, [&] { traced::matrices(kind, in.data(), out.data()); });
    INFO(t.error);
    CHECK(t.error.empty());
    return t;
}

}  // namespace

TEST_CASE("trace: ldmatrix of a tile of 64 bf16 columns, as it is and swizzled") {
    std::vector<float> sums[2];
    for (const bool swizzled : {false, true}) {
        INFO((swizzled ? "swizzled" : "as it is"));
        const DeviceArray<std::uint16_t> in(bf16_values(16 * 64));
        const DeviceArray<float> out(32);
        const Traced t = run_traced({}, [&] { traced::matrix_tile(swizzled, in.data(), out.data()); });
        check_sound(t);
        sums[swizzled] = out.host();
        // The rows of a matrix are 128 bytes apart: all in the same four banks, unless swizzled.
        const double conflict = swizzled ? 1 : 8;
        const auto line = [&](const std::string& mark) -> const Line& {
            return line_of(t.report, marked(kMatrices, mark), "tile", false);
        };
        check_shared(line("tile-x4"), 4, 32, 4 * conflict, 4, 16);
        check_shared(line("tile-x4-trans"), 4, 32, 4 * conflict, 4, 16);
        check_shared(line("tile-x2"), 4, 16, 2 * conflict, 2, 16);
        check_shared(line("tile-x1"), 4, 8, 1 * conflict, 1, 16);
        // Either way the copies are stored without conflicts, 4 rows of 128 bytes at a time.
        check_shared(line_of(t.report, marked(kMatrices, "tile-copy"), "tile", true), 4, 32, 4, 4, 16);
        const Line& x1 = line("tile-x1");
        CHECK(x1.example_lanes == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
        for (std::size_t row = 0; row < 8; ++row) {
            CHECK(x1.example_offsets[row] == 128 * row + (swizzled ? 16 * row : 0));
        }
    }
    CHECK(sums[0] == sums[1]);
    CHECK(sums[0][0] > 0);
}

TEST_CASE("trace: stmatrix stores 16 bytes a lane, a matrix a wavefront") {
    std::vector<int> rows(32);
    std::iota(rows.begin(), rows.end(), 0);
    const DeviceArray<int> row(rows);
    const DeviceArray<std::uint32_t> in(4 * 32);
    for (const auto& [kind, mark, lanes] : {std::tuple{kernels::StMatrix::x1, "stmatrix-x1", 8},
                                            std::tuple{kernels::StMatrix::x4, "stmatrix-x4", 32}}) {
        const DeviceArray<std::uint16_t> tile(32 * 8);
        const Traced t = run_traced({}, [&] { kernels::stmatrix(kind, in.data(), row.data(), tile.data()); });
        check_sound(t);
        const Line& stored = line_of(t.report, marked("/tests/ptx/results.cu", mark), "shared", true);
        check_shared(stored, 1, lanes, lanes / 8, lanes / 8, 16);
        CHECK(stored.matrix_rows);
        CHECK(std::count_if(t.report.lines.begin(), t.report.lines.end(),
                            [](const Line& line) { return line.matrix_rows; }) == 1);
    }
}

TEST_CASE("trace: ldmatrix as it should be") {
    using traced::Matrices;
    for (const auto& [kind, mark, warps] :
         {std::tuple{Matrices::right, "right", 2}, std::tuple{Matrices::own_warp, "own_warp", 2}}) {
        const Report r = trace_matrices(kind).report;
        INFO(all_findings(r));
        CHECK(r.findings.empty());
        check_shared(line_of(r, marked(kMatrices, mark), "tile", false), static_cast<std::uint64_t>(warps),
                     32, 4, 4, 16);
    }
}

TEST_CASE("trace: wmma") {
    const std::vector<std::uint16_t> values = bf16_values(16 * 64);
    const DeviceArray<std::uint16_t> in(values);
    const DeviceArray<float> out(256);
    const Traced t = run_traced({{"in", in.data(), 16, 64, 64, 2}, {"out", out.data(), 16, 16, 16}},
                                [&] { traced::wmma_tile(in.data(), out.data()); });
    check_sound(t);
    // A request reads 16 bytes of each of 8 rows: rows of 128 bytes share their four banks.
    check_shared(line_of(t.report, marked(kMatrices, "wmma-a"), "tile", false), 4, 32, 8, 1);
    const Line& b = line_of(t.report, marked(kMatrices, "wmma-b"), "in", false);
    check_counts(b, {.requests = 4, .bytes = 512, .sectors = 4 * 8});
    const Line& c = line_of(t.report, marked(kMatrices, "wmma-store"), "out", true);
    check_counts(c, {.width = 8, .requests = 4, .bytes = 1024, .sectors = 4 * 8, .ideal_sectors = c.sectors});
    const std::vector<float> got = out.host();
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t j = 0; j < 16; ++j) {
            float sum = 0;  // every row of both is 0 … 15
            for (std::size_t k = 0; k < 16; ++k) sum += static_cast<float>(k * j);
            CHECK(got[16 * i + j] == sum);
        }
    }
}

TEST_CASE("trace: 16-bit elements and pairs of them") {
    std::vector<float> values(64);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const DeviceArray<float> in(values);
    const DeviceArray<std::uint16_t> out(64);
    const Traced t = run_traced({{"in", in.data(), 1, 64, 64}, {"out", out.data(), 1, 64, 64, 2}},
                                [&] { traced::pairs(in.data(), out.data()); });
    check_sound(t);
    check_shared(line_of(t.report, marked(kMatrices, "pairs-shared"), "tile", true), 2, 32, 1, 1, 2);
    check_shared(line_of(t.report, marked(kMatrices, "pairs-in"), "tile", false), 2, 32, 1, 1, 2);
    const Line& store = line_of(t.report, marked(kMatrices, "pairs-out"), "out", true);
    check_counts(store, {.width = 4, .requests = 1, .sectors = 4});
    const std::vector<std::uint16_t> got = out.host();
    for (std::size_t i = 0; i < 64; ++i) CHECK(__bfloat162float(__ushort_as_bfloat16(got[i])) == values[i]);
}

// ---- the copy engine, clusters and warpgroups ----

TEST_CASE("trace: boxes of the copy engine are counted") {
    const char* const file = "/tests/tma/tma_gemm.cu";
    const Traced t = test::traced_tma(kernels::TmaMistake::none);
    check_sound(t);
    const Line& a = line_of(t.report, marked(file, "load-a"), "A", false);
    // 9 tiles of 3 steps, without what lies outside.
    check_counts(a, {.width = 0, .requests = 27, .bytes = 9 * 32 * 80 * sizeof(float)});
    // A row of 400 bytes begins in the middle of a sector every second time: 96 rows three times, of 32, 32
    // and 16 floats.
    CHECK(a.ideal_sectors == 9 * 32 * 10);
    CHECK(a.sectors == a.ideal_sectors + 3 * 48 * 3);
    check_counts(line_of(t.report, marked(file, "store-c"), "C", true),
                 {.requests = 9, .bytes = 96 * 96 * sizeof(float)});
    CHECK(line_of(t.report, marked(file, "read-b"), "Bs", false).requests == 27 * 4 * 32);
    REQUIRE(t.report.owners.size() == 5 * 32 * 32);
}

TEST_CASE("trace: what blocks of a cluster share is counted once") {
    const char* const file = "/tests/ptx/cluster_gemm.cu";
    const Traced t = test::traced_cluster(kernels::ClusterMistake::none);
    check_sound(t);
    CHECK((t.report.blocks == 8 && t.report.traced_blocks == 8));
    CHECK(line_of(t.report, marked(file, "load-a"), "A", false).bytes == 8 * 32 * 160 * sizeof(float));
    // By each cluster, not by each block.
    check_counts(line_of(t.report, marked(file, "load-b"), "B", false),
                 {.requests = 8 * 5, .bytes = 4 * 160 * 32 * sizeof(float)});
    CHECK(line_of(t.report, marked(file, "read-b"), "Bs", false).requests == 8 * 5 * 2 * 32);
    REQUIRE(t.report.owners.size() == 32 * 32);
}

TEST_CASE("trace: wgmma is counted by line, with what it reads of shared memory") {
    const Traced t = test::traced_wgmma(kernels::WgmmaMistake::none);
    REQUIRE(t.report.multiplications.size() == 1);
    const trace::Multiplication& m = t.report.multiplications.front();
    CHECK(m.line == marked("/tests/ptx/wgmma_gemm.cu", "wgmma"));
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

// ---- lessons that are right ----

TEST_CASE("trace: copies at the edges, some lanes of which fill with zeros, are counted once each") {
    const gemm::Workload w(test::shape(25, 27, 71, false), test::seed());
    std::uint64_t of_a = 0, of_b = 0, shared = 0;
    for (const Line& line : trace_lesson(test::lesson("08b_read_ahead"), w).lines) {
        if (line.store == line.shared && line.store) shared += line.bytes;
        if (line.shared || line.store) continue;
        (line.array == "A" ? of_a : of_b) += line.bytes;
    }
    CHECK(of_a == 25 * 71 * sizeof(float));
    CHECK(of_b == 71 * 27 * sizeof(float));
    CHECK(shared == 2 * 5 * 64 * 16 * sizeof(float));  // two tiles in each of five rounds
}

TEST_CASE("trace: lessons that are right make no findings, whatever the shape") {
    const char* const wanted = std::getenv("GEMM_TRACE_SHAPES");
    const int count = wanted != nullptr ? std::atoi(wanted) : test::all() ? 12 : 3;
    REQUIRE(count > 0);
    constexpr std::array<std::pair<float, float>, 5> scalars{
        {{1.0f, 0.0f}, {1.5f, -0.5f}, {0.0f, 1.0f}, {0.0f, 0.0f}, {-1.0f, 1.0f}}};
    std::mt19937_64 random(test::seed());
    const auto below = [&](std::uint64_t end) { return static_cast<std::int64_t>(random() % end); };
    for (const Lesson* lesson : gemm::all_lessons()) {
        if (!gemm::why_skipped(*lesson, test::device()).empty()) continue;
        for (int i = 0; i < count; ++i) {
            Shape shape;
            // Around the tiles as often as anywhere.
            const auto size = [&](int tile) {
                return below(2) == 0 ? 1 + below(100)
                                     : std::max<std::int64_t>(1, tile * (1 + below(2)) - 1 + below(3));
            };
            shape.M = size(lesson->tile().BM);
            shape.N = size(lesson->tile().BN);
            shape.K = below(12) == 0 ? 0 : size(lesson->tile().BK);
            shape.lda = shape.K + below(2) * below(9);
            shape.ldb = shape.N + below(2) * below(9);
            shape.ldc = shape.N + below(2) * below(9);
            const auto& [alpha, beta] = scalars[static_cast<std::size_t>(below(scalars.size()))];
            shape.alpha = alpha;
            shape.beta = beta;
            shape.variant = lesson->variant();
            shape = shape.resolved();
            const std::uint64_t seed = random();
            INFO(lesson->name << " at " << shape.text() << ", seed " << seed);
            const gemm::Workload w(shape, seed);
            const Report r = trace_lesson(*lesson, w);
            INFO(all_findings(r));
            REQUIRE(r.findings.empty());
            // The blocks are the last launch's; the copies that may come before it are traced, too.
            REQUIRE((r.launches == 1 ? r.traced_blocks == r.blocks : r.traced_blocks > r.blocks));
            // Tracing changes nothing, and C is stored once.
            const gemm::Verdict verdict = gemm::Verifier(w).check(w.download_c(), lesson);
            INFO(verdict.failure);
            REQUIRE(verdict.passed);
            std::uint64_t stored = 0;
            for (const Line& l : r.lines) {
                // From 04 on a thread has several elements, of which some may lie outside.
                CHECK((!l.diverged || lesson->tile().BM > 32));
                CHECK((l.shared ? l.wavefronts >= l.ideal_wavefronts : l.sectors >= l.ideal_sectors));
                const bool boxes = l.width == 0;  // of the copy engine: bytes in the tensor
                CHECK((boxes || l.bytes == l.threads * static_cast<std::uint64_t>(l.width)));
                if (l.store && l.array == "C") stored += l.bytes;
            }
            REQUIRE(stored == gemm::size_of(shape.variant.C) * static_cast<std::uint64_t>(shape.M * shape.N));
        }
    }
}

// ---- owners ----

TEST_CASE("trace: the owners are those that a lesson names") {
    for (const Lesson* lesson : test::drawn_lessons(3)) {
        if (!gemm::why_skipped(*lesson, test::device()).empty()) continue;
        const dim3 block = lesson->block();
        for (const Shape& shape :
             {test::shape_for(*lesson, 33, 47, 3, false),
              test::shape_for(*lesson, 70, 65, 2, true, 1.5f, -0.5f),
              test::shape_for(*lesson, 1, 100, 0, true), test::shape_for(*lesson, 127, 129, 5, false)}) {
            const gemm::Workload w(shape, test::seed());
            const gemm::Problem p = w.problem();
            // Per block, what the lesson says.
            std::map<std::uint64_t, std::map<std::pair<std::int64_t, std::int64_t>, int>> named;
            for (std::int64_t row = 0; row < p.M; ++row) {
                for (std::int64_t col = 0; col < p.N; ++col) {
                    const gemm::Owner o = lesson->owner(p, row, col);
                    REQUIRE((o.block.y == 0 && o.block.z == 0));
                    named[o.block.x][{row, col}] =
                        static_cast<int>((o.thread.z * block.y + o.thread.y) * block.x + o.thread.x);
                }
            }
            for (const auto& [index, elements] : named) {
                INFO(lesson->name << " at " << shape.text() << ", block " << index);
                cpu_device::set_block_filter([&, only = index](std::uint64_t b) { return b == only; });
                const Report r = trace_lesson(*lesson, w);
                cpu_device::set_block_filter({});
                CHECK(r.traced_blocks >= 1);  // more where copies come before: theirs of this number
                CHECK(r.owners_block == index);
                CHECK(r.owners.size() == elements.size());
                std::map<std::pair<std::int64_t, std::int64_t>, int> traced;
                for (const trace::Owned& o : r.owners) {
                    CHECK(o.matrix == "C");
                    traced[{o.row, o.col}] = o.thread;
                }
                CHECK((traced == elements));
            }
        }
    }
}

// ---- grouping ----

TEST_CASE("trace: loops of different lengths") {
    const DeviceArray<float> in(32 * 32), out(64);
    for (const int first : {1, 5, 16, 31}) {
        INFO("the first " << first << " lanes");
        const Report r =
            run_traced({}, [&] { traced::trip_counts(64, first, 9, 4, in.data(), out.data()); }).report;
        const Line& loop = line_of(r, marked(kGrouping, "trip"), "", false);
        // Two warps: four steps together, five more of the first lanes.
        const auto lanes = static_cast<std::uint64_t>(first);
        check_counts(loop, {.requests = 2 * 9,
                            .threads = 2 * (4 * 32 + 5 * lanes),
                            .sectors = 2 * (4 * 4 + 5 * ((lanes + 7) / 8))});
        CHECK(loop.diverged);  // which steps were the same one cannot be seen
        const Line& end = line_of(r, marked(kGrouping, "trip-end"), "", true);
        CHECK(end.requests == 2);
        CHECK(end.threads == 64);
        CHECK_FALSE(end.diverged);
        CHECK(r.findings.empty());
    }
    // Lanes that do no step at all do not make it a guess.
    const Report none =
        run_traced({}, [&] { traced::trip_counts(64, 7, 6, 0, in.data(), out.data()); }).report;
    const Line& loop = line_of(none, marked(kGrouping, "trip"), "", false);
    CHECK(loop.requests == 2 * 6);
    CHECK(loop.threads == 2 * 6 * 7);
    CHECK_FALSE(loop.diverged);
}

TEST_CASE("trace: guards and partial warps") {
    const DeviceArray<float> in(32 * 32), out(64);
    for (const int threads : {32, 45, 64}) {
        for (const int present : {1, 13, 20, 32}) {
            INFO(threads << " threads, " << present << " present");
            const Report r =
                run_traced({}, [&] { traced::guarded(threads, present, 6, in.data(), out.data()); }).report;
            const std::uint64_t warps = threads > 32 ? 2 : 1;
            std::uint64_t inside = 0;
            for (int t = 0; t < threads; ++t) inside += t % 32 < present;
            const Line& all = line_of(r, marked(kGrouping, "guarded-all"), "", false);
            CHECK(all.requests == warps);
            CHECK(all.threads == static_cast<std::uint64_t>(threads));
            CHECK_FALSE(all.diverged);
            const Line& loop = line_of(r, marked(kGrouping, "guarded"), "", false);
            CHECK(loop.requests == 6 * warps);
            CHECK(loop.threads == 6 * inside);
            CHECK_FALSE(loop.diverged);
            const Line& end = line_of(r, marked(kGrouping, "guarded-end"), "", true);
            CHECK(end.requests == warps);
            CHECK(end.threads == inside);
            CHECK_FALSE(end.diverged);
        }
    }
}

TEST_CASE("trace: a lane that leaves out a step is not paired with the others' next one") {
    const DeviceArray<float> in(4 * 32), out(32);
    const Report r = run_traced({}, [&] { traced::skips_one(in.data(), out.data()); }).report;
    const Line& loop = line_of(r, marked(kGrouping, "skipped"), "", false);
    check_counts(loop, {.requests = 4, .threads = 4 * 32 - 1, .bytes = 4 * loop.threads});
    CHECK(loop.diverged);
    const Line& end = line_of(r, marked(kGrouping, "skipped-end"), "", true);
    CHECK(end.requests == 1);
    CHECK_FALSE(end.diverged);
}

TEST_CASE("trace: lanes that each leave out a step of their own") {
    const DeviceArray<float> in(32 * 32), out(32);
    const Report r = run_traced({}, [&] { traced::skips_own(in.data(), out.data()); }).report;
    const Line& loop = line_of(r, marked(kGrouping, "own-skipped"), "", false);
    check_counts(loop, {.requests = 32, .threads = 32 * 31, .sectors = 32 * 4});
}

TEST_CASE("trace: a lane that wakes another warp stores with the lanes of its own") {
    constexpr int kRounds = 6;
    const DeviceArray<float> out(64 * kRounds);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {  // an odd one holds a warp back
        const test::Schedule schedule(seed);
        INFO("schedule " << seed);
        const Traced t = run_traced({}, [&] { traced::in_turns(kRounds, out.data()); });
        check_sound(t);
        const Line& store = line_of(t.report, marked(kGrouping, "in-turns"), "", true);
        check_counts(store, {.requests = 2 * kRounds, .threads = 64 * kRounds, .sectors = 8 * kRounds});
        CHECK_FALSE(store.diverged);
    }
}

TEST_CASE("trace: two branches are requests of their own") {
    const DeviceArray<float> in(4 * 32), out(32);
    const Report r = run_traced({}, [&] { traced::branches(in.data(), out.data()); }).report;
    for (const char* mark : {"even", "odd"}) {
        const Line& branch = line_of(r, marked(kGrouping, mark), "", false);
        INFO(mark);
        check_counts(branch, {.requests = 3, .threads = 3 * 16, .sectors = 3 * 4});
        CHECK_FALSE(branch.diverged);
        REQUIRE(branch.example_lanes.size() == 16);
        for (std::size_t i = 0; i < 16; ++i) {
            const int lane = static_cast<int>(2 * i) + (std::string(mark) == "odd" ? 1 : 0);
            CHECK(branch.example_lanes[i] == lane);
            CHECK(branch.example_offsets[i] == static_cast<std::uint64_t>(4 * lane));
        }
    }
    const Line& end = line_of(r, marked(kGrouping, "both"), "", true);
    CHECK(end.requests == 1);
    CHECK(end.threads == 32);
}
