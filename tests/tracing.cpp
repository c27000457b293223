#include "tests/tracing.hpp"

#include <fstream>
#include <limits>
#include <utility>

#include "common/error.hpp"
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

std::string all_findings(const Report& report) {
    std::string text;
    for (const Finding& f : report.findings) {
        text += std::string(name_of(f.id)) + ", " + std::to_string(f.count) + " times: " + f.text + "\n";
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
std::string place(const std::string& file, int line) {
    return file + ":" + std::to_string(line);
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

const Finding& only_finding(const Report& report, std::string_view kind, int line) {
    INFO(all_findings(report));
    REQUIRE(report.findings.size() == 1);
    return finding_at(report, kind, line);
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
