#include "tests/support.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <utility>

#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif
#include "common/check/variant.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "tests/random_cases.hpp"

namespace test {

const gemm::Device& device() {
#ifdef GEMM_CPU_DEVICE
    cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
#endif
    static const gemm::Device selected = gemm::select_device(0, "");
    return selected;
}

std::uint64_t seed() {
    static const std::uint64_t value = [] {
        const char* text = std::getenv("GEMM_TEST_SEED");
        const std::uint64_t chosen =
            text != nullptr ? gemm::seed_number("GEMM_TEST_SEED", text) : gemm::fresh_seed();
        std::printf("GEMM_TEST_SEED=%llu\n", static_cast<unsigned long long>(chosen));
        std::fflush(stdout);
        return chosen;
    }();
    return value;
}

bool all() {
    const char* const text = std::getenv("GEMM_TEST_ALL");
    return text != nullptr && *text != '\0' && std::string(text) != "0";
}

std::vector<std::size_t> drawn_indices(std::size_t cases, std::size_t count, const std::string& what) {
    std::vector<std::size_t> indices(cases);
    std::iota(indices.begin(), indices.end(), std::size_t{0});
    if (all() || count >= cases) return indices;
    // Of its own for each draw: which cases of a process run before this one makes no difference.
    const std::string key = Catch::getResultCapture().getCurrentTestName() + "/" + what;
    std::uint64_t mixed = 14695981039346656037u ^ seed();  // FNV-1a
    for (const char c : key) mixed = (mixed ^ static_cast<unsigned char>(c)) * 1099511628211u;
    std::mt19937_64 random(mixed);
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(indices[i], indices[i + static_cast<std::size_t>(random() % (cases - i))]);
    }
    indices.resize(count);
    std::sort(indices.begin(), indices.end());
    return indices;
}

std::vector<const gemm::Lesson*> drawn_lessons(std::size_t count, const char* first) {
    const std::string named = "," + std::string(first != nullptr ? first : "") + ",";
    std::vector<const gemm::Lesson*> lessons(gemm::all_lessons().begin(), gemm::all_lessons().end());
    const auto others =
        std::stable_partition(lessons.begin(), lessons.end(), [&](const gemm::Lesson* lesson) {
            return named.find("," + std::string(lesson->name) + ",") != std::string::npos;
        });
    const std::size_t changed = static_cast<std::size_t>(others - lessons.begin());
    std::vector<const gemm::Lesson*> chosen = drawn(std::vector(lessons.begin(), others), count, "changed");
    const auto more = drawn(std::vector(others, lessons.end()), count - std::min(count, changed), "lessons");
    chosen.insert(chosen.end(), more.begin(), more.end());
    return chosen;
}

const gemm::Lesson& lesson(std::string_view name) {
    for (const gemm::Lesson* candidate : gemm::all_lessons()) {
        if (name == candidate->name) return *candidate;
    }
    throw std::runtime_error("there is no lesson " + std::string(name));
}

void skip(const std::string& why) {
    std::printf("Skipped: %s\n", why.c_str());
    std::fflush(stdout);
    SUCCEED(why);
}

gemm::Verdict run(const gemm::Lesson& lesson, const gemm::Shape& shape, std::uint64_t seed,
                  const std::function<void(gemm::HostMatrices&)>& edit) {
    device();
    gemm::Shape typed = shape;
    typed.variant = lesson.variant();
    gemm::Workload w(typed, seed, edit);
    const gemm::Verifier verifier(w);
    return gemm::verify(lesson, w, verifier);
}

void require_contains(const std::string& text, const std::string& part) {
    INFO("should hold: " << part << "\n  is: " << text);
    REQUIRE(text.find(part) != std::string::npos);
}

namespace {

/// The line of a source file, without what lies before and behind it.
std::string source_line(const std::string& file, int number) {
    std::ifstream source(file.front() == '/' ? file : GEMM_SOURCE_DIR "/" + file);
    std::string line;
    for (int i = 0; i < number && std::getline(source, line);) ++i;
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

}  // namespace

std::string with_marks(const std::string& text) {
    static const std::regex place(R"(([^\s(:]*/)?([\w.]+\.(?:cu|hpp|cpp)):(\d+))");
    std::string marked;
    std::size_t end = 0;
    for (std::sregex_iterator at(text.begin(), text.end(), place), none; at != none; ++at) {
        const std::string line = source_line(at->str(1) + at->str(2), std::stoi(at->str(3)));
        const std::size_t mark = line.find("// LINE ");
        marked += text.substr(end, static_cast<std::size_t>(at->position()) - end) + at->str(2) + ":" +
                  (mark == std::string::npos ? line : line.substr(mark + 8));
        end = static_cast<std::size_t>(at->position() + at->length());
    }
    return marked + text.substr(end);
}

void require_approved(const std::string& name, const std::vector<std::string>& lines) {
    const std::string file = GEMM_SOURCE_DIR "/tests/approved/" + name + ".txt";
    if (std::getenv("GEMM_APPROVE") != nullptr) {
        std::ofstream out(file);
        for (const std::string& line : lines) out << line << "\n";
    }
    std::ifstream in(file);
    std::vector<std::string> approved;
    for (std::string line; std::getline(in, line);) approved.push_back(line);
    INFO(file << " (GEMM_APPROVE=1 writes it anew)");
    for (std::size_t i = 0; i < std::min(lines.size(), approved.size()); ++i) CHECK(lines[i] == approved[i]);
    CHECK(lines.size() == approved.size());
}

void require_right(const RandomMode& mode, std::uint64_t first, std::uint64_t cases) {
    for (std::uint64_t i = first; i < first + cases; ++i) {
        const RandomCase drawn = mode.draw(seed(), i);
        INFO(mode.name << ", case " << i << ": " << drawn.text);
        const bool right = drawn.on_device() == drawn.by_definition();
        CHECK(right);
    }
}

std::string told(const gemm::Pattern& p) {
    std::string text = gemm::name_of(p.id);
    const auto add = [&](const char* before, const gemm::Pattern::Number& number) {
        if (number) text += before + std::to_string(*number);
    };
    if (!p.matrices.empty()) text += " " + p.matrices + " of " + p.lengths;
    add(" ", p.from);
    add("-", p.to);
    add("/", p.of);
    add(" row ", p.row);
    add(" column ", p.column);
    add(" modulo ", p.modulo);
    add(" ", p.tile_rows);
    add("×", p.tile_columns);
    return text;
}

std::string patterns_of(const gemm::Verdict& verdict) {
    std::string text;
    for (const gemm::Pattern& p : verdict.patterns) text += (text.empty() ? "" : "; ") + told(p);
    return text;
}

void require_faults(const std::string& name, const std::vector<Wrong>& all,
                    const std::function<void()>& after) {
    device();
    std::vector<std::string> lines;
    for (const Wrong& wrong : all) {
        const Thrown thrown = thrown_by(wrong.launch);
        INFO(wrong.name << ": " << thrown.text);
        CHECK(std::string(gemm::name_of(thrown.id)) == gemm::name_of(wrong.id));
        static const std::regex address("0x[0-9a-f]+");
        std::istringstream said(wrong.name + ": " +
                                std::regex_replace(with_marks(thrown.text), address, "0x…"));
        for (std::string line; std::getline(said, line);) lines.push_back(line);
        after();
    }
    require_approved(name, lines);
}

namespace {

gemm::Shape shape_of(const gemm::Variant& variant, std::int64_t m, std::int64_t n, std::int64_t k,
                     bool padded, float alpha, float beta) {
    gemm::Shape s;
    s.variant = variant;
    s.M = m;
    s.N = n;
    s.K = k;
    if (padded) {
        std::int64_t more = 1;
        for (const gemm::Operand& o : gemm::operands(s.problem())) {
            if (o.pitch_name != nullptr) *gemm::pitch_in(s, o.id) = o.cols + (more += 2);
        }
    }
    s.alpha = alpha;
    s.beta = beta;
    s.batch = gemm::usual_batch(variant);
    s = s.in_whole_bytes().resolved();
    std::int64_t more = 0;
    for (const gemm::Operand& o : gemm::operands(s.problem())) {
        if (padded && o.stride_name != nullptr) *gemm::stride_in(s, o.id) += (more += 6);
    }
    return s;
}

}  // namespace

gemm::Shape shape(std::int64_t m, std::int64_t n, std::int64_t k, bool padded, float alpha, float beta) {
    return shape_of({}, m, n, k, padded, alpha, beta);
}

gemm::Shape shape_for(const gemm::Lesson& lesson, std::int64_t m, std::int64_t n, std::int64_t k, bool padded,
                      float alpha, float beta) {
    return shape_of(lesson.variant(), m, n, k, padded, alpha, beta);
}

}  // namespace test
