#include "tests/support.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>

#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"

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

const gemm::Lesson& lesson(const std::string& name) {
    for (const gemm::Lesson* candidate : gemm::all_lessons()) {
        if (name == candidate->name) return *candidate;
    }
    throw std::runtime_error("there is no lesson " + name);
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

gemm::Shape shape_of(const gemm::Variant& variant, std::int64_t m, std::int64_t n, std::int64_t k,
                     bool padded, float alpha, float beta) {
    gemm::Shape s;
    s.variant = variant;
    s.M = m;
    s.N = n;
    s.K = k;
    if (padded) {
        s.lda = s.a_cols() + 3;
        s.ldb = s.b_cols() + 5;
        s.ldc = n + 7;
    }
    s.alpha = alpha;
    s.beta = beta;
    return s.resolved();
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
