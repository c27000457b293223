#include "tests/cpu/trace/tracing.hpp"

#include <fstream>
#include <limits>
#include <random>
#include <utility>

#include "common/error.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"

namespace test {

namespace trace = cpu_device::trace;
using trace::Finding;
using trace::Line;
using trace::Report;

Traced run_traced(std::vector<trace::Matrix> matrices, const std::function<void()>& launch,
                  const trace::Histories& histories) {
    device();
    Traced t;
    trace::begin(std::move(matrices), std::numeric_limits<std::size_t>::max(), histories);
    try {
        launch();
    } catch (const gemm::Error& e) {
        t.error = e.what();
    }
    t.report = trace::end();
    CHECK(cudaGetLastError() == cudaSuccess);
    return t;
}

Traced traced_lesson(const gemm::Lesson& lesson, const gemm::Workload& w) {
    const gemm::Problem p = w.problem();
    const gemm::Plan plan = lesson.prepare != nullptr ? lesson.prepare(p) : nullptr;
    const int size = static_cast<int>(gemm::size_of(p.variant.C));
    return run_traced({{"A", p.A, p.M, p.K, p.lda, size},
                       {"B", p.B, p.K, p.N, p.ldb, size},
                       {"C", p.C, p.M, p.N, p.ldc, size}},
                      [&] { lesson.launch(p, plan.get(), nullptr); });
}

Traced traced_tma(kernels::TmaMistake mistake, int N) {
    constexpr int M = 96, K = 80, pitch = 100;
    std::mt19937_64 numbers(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(std::size_t{M} * pitch);
    for (float& value : values) value = normal(numbers);
    const DeviceArray<float> A(values), B(values), C(values);
    return run_traced({{"A", A.data(), M, K, pitch, 4, "", false},
                       {"B", B.data(), K, N, pitch, 4, "", false},
                       {"C", C.data(), M, N, pitch, 4, "", true}},
                      [&] {
                          kernels::tma_gemm(mistake, M, N, K, A.data(), pitch, B.data(), pitch, C.data(),
                                            pitch, 1.5f, 0.5f);
                      });
}

Traced traced_wgmma(kernels::WgmmaMistake mistake) {
    constexpr int M = 64, N = 128, K = 320;
    const DeviceArray<std::uint16_t> A(std::size_t{M} * K), B(std::size_t{K} * N);
    const DeviceArray<float> C(std::size_t{M} * N);
    return run_traced({{"A", A.data(), M, K, K, 2, "", false},
                       {"B", B.data(), K, N, N, 2, "", false},
                       {"C", C.data(), M, N, N, 4, "", true}},
                      [&] { kernels::wgmma_gemm(mistake, M, N, K, A.data(), B.data(), C.data()); });
}

Traced traced_cluster(kernels::ClusterMistake mistake) {
    constexpr int M = 128, N = 64, K = 160;
    const DeviceArray<float> A(std::vector<float>(std::size_t{M} * K, 1.0f)),
        B(std::vector<float>(std::size_t{K} * N, 1.0f)), C(std::size_t{M} * N);
    return run_traced({{"A", A.data(), M, K, K, 4, "", false},
                       {"B", B.data(), K, N, N, 4, "", false},
                       {"C", C.data(), M, N, N, 4, "", true}},
                      [&] { kernels::cluster_gemm(mistake, M, N, K, A.data(), B.data(), C.data()); });
}

namespace {

std::string rank_of(const std::optional<unsigned>& rank) {
    return rank ? "/" + std::to_string(*rank) : "";
}

std::string who(const Finding::Side& side) {
    if (!side.thread) return "copy";
    const auto& [x, y, z] = *side.thread;
    return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")" +
           rank_of(side.rank);
}

std::string mark_of(const Finding::Side& side) {
    const std::string place = with_marks(side.file + ":" + std::to_string(side.line));
    return " at " + place.substr(place.find(':') + 1);
}

std::string element(const Finding& f) {
    if (f.row) return f.array + "(" + std::to_string(*f.row) + "," + std::to_string(*f.column) + ")";
    const bool outside = f.offset < 0 || f.offset >= f.bytes;
    return f.array + (f.offset < 0 ? "" : "+") + std::to_string(f.offset) +
           (outside ? " of " + std::to_string(f.bytes) : "") + rank_of(f.array_rank);
}

}  // namespace

std::string told(const Finding& f) {
    std::string text = std::string(name_of(f.id)) + " x" + std::to_string(f.count) + " " + who(f.access) +
                       (f.access.write ? " writes " : " reads ");
    if (f.width > 0) text += std::to_string(f.width) + " bytes of ";
    text += element(f) + (f.rule.empty() ? "" : " (" + f.rule + ")") + mark_of(f.access);
    if (f.other) text += "; " + who(*f.other) + (f.other->write ? " wrote" : " read") + mark_of(*f.other);
    if (f.other_block) text += "; block " + std::to_string(*f.other_block);
    return text;
}

std::string all_findings(const Report& report) {
    std::string text;
    for (const Finding& f : report.findings) {
        text += told(f) + "\n    " + f.text + "\n";
    }
    return text;
}

int line_with(const std::string& file, const std::string& text, bool at_end) {
    std::ifstream source(GEMM_SOURCE_DIR + file);
    REQUIRE(source);
    std::string line;
    int found = 0;
    for (int number = 1; std::getline(source, line); ++number) {
        if (at_end ? !line.ends_with(text) : line.find(text) == std::string::npos) continue;
        INFO(file << " has two lines with " << text);
        REQUIRE(found == 0);
        found = number;
    }
    INFO(file << " has no line with " << text);
    REQUIRE(found > 0);
    return found;
}
int marked(const std::string& file, const std::string& mark) {
    return line_with(file, "// LINE " + mark, true);
}

const Line& line_of(const Report& report, int line, std::string_view array, bool store) {
    const Line* found = nullptr;
    for (const Line& l : report.lines) {
        if (l.line != line || (!array.empty() && l.array != array) || l.store != store) continue;
        INFO(array << " at line " << line << " is there twice");
        REQUIRE(found == nullptr);
        found = &l;
    }
    INFO("no " << (store ? "store to " : "load from ") << array << " at line " << line);
    REQUIRE(found != nullptr);
    return *found;
}
const Line& line_of(const Report& report, std::string_view array, bool store) {
    const Line* found = nullptr;
    for (const Line& l : report.lines) {
        if (l.array != array || l.store != store) continue;
        INFO(array << " is there twice");
        REQUIRE(found == nullptr);
        found = &l;
    }
    INFO("no " << (store ? "store to " : "load from ") << array);
    REQUIRE(found != nullptr);
    return *found;
}

const Finding& finding_at(const Report& report, std::string_view kind, int line) {
    const Finding* found = nullptr;
    for (const Finding& f : report.findings) {
        if (name_of(f.id) != kind || f.access.line != line) continue;
        INFO("twice: " << f.text);
        REQUIRE(found == nullptr);
        found = &f;
    }
    INFO(kind << " at line " << line << " is not among\n" << all_findings(report));
    REQUIRE(found != nullptr);
    return *found;
}

void check_sound(const Traced& traced) {
    INFO(traced.error << all_findings(traced.report));
    CHECK(traced.error.empty());
    CHECK(traced.report.findings.empty());
}

void check_counts(const Line& line, const Counts& expected) {
    INFO(line.array << (line.store ? " stored" : " loaded") << " at line " << line.line);
    const auto check = [](const char* what, std::uint64_t counted, const Count& count) {
        INFO(what);
        if (count.value) CHECK(counted == *count.value);
    };
    check("width", static_cast<std::uint64_t>(line.width), expected.width);
    check("requests", line.requests, expected.requests);
    check("threads", line.threads, expected.threads);
    check("bytes", line.bytes, expected.bytes);
    check("sectors", line.sectors, expected.sectors);
    check("ideal sectors", line.ideal_sectors, expected.ideal_sectors);
    check("wavefronts", line.wavefronts, expected.wavefronts);
    check("ideal wavefronts", line.ideal_wavefronts, expected.ideal_wavefronts);
}

}  // namespace test
