// What the test files share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/facts.hpp"
#include "common/gemm.hpp"
#include "common/measure/device.hpp"
#include "tests/catch.hpp"

namespace test {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

/// Makes device 0 current, once per process.
const gemm::Device& device();

/// The seed of this process: GEMM_TEST_SEED, or a fresh one; printed at its first use, so that a failure can
/// be repeated.
std::uint64_t seed();

/// Whether whole families of cases are asked for (GEMM_TEST_ALL=1), not a sample of each.
bool all();

/// `count` of the cases, or all of them where all() is true: drawn by seed(), the test case and
/// `what`, which tells this draw from others of the same test case. They keep their order.
std::vector<std::size_t> drawn_indices(std::size_t cases, std::size_t count, const std::string& what);
template <class Case>
std::vector<Case> drawn(const std::vector<Case>& cases, std::size_t count, const std::string& what = {}) {
    std::vector<Case> sample;
    for (const std::size_t i : drawn_indices(cases.size(), count, what)) sample.push_back(cases[i]);
    return sample;
}

/// `count` of the course's lessons, drawn in the same way; first those that are named, separated by commas:
/// what has changed (runner/suite.py).
std::vector<const gemm::Lesson*> drawn_lessons(std::size_t count,
                                               const char* first = std::getenv("GEMM_TEST_FIRST"));

/// The course's lesson of that name. Throws std::runtime_error when there is none.
const gemm::Lesson& lesson(std::string_view name);

/// Tells ctest, which reads the output, that this test case could not run here. The caller returns at once.
void skip(const std::string& why);

/// A fresh workload of the lesson's variant, one run of the lesson, the verdict.
gemm::Verdict run(const gemm::Lesson& lesson, const gemm::Shape& shape, std::uint64_t seed,
                  const std::function<void(gemm::HostMatrices&)>& edit = {});

/// Requires that `text` holds `part`, and shows the whole text when it does not.
void require_contains(const std::string& text, const std::string& part);

/// `text` with "faults.cu:trap" for the path and number of a line that ends in "// LINE trap", and with what
/// stands in the line where it has no mark: as it stays when lines move.
std::string with_marks(const std::string& text);

/// Requires that the lines are those of tests/approved/<name>.txt, which GEMM_APPROVE=1 writes anew.
void require_approved(const std::string& name, const std::vector<std::string>& lines);

/// What wrong elements have in common, by its fields: "k_tail 0-64/75", "last_column_of_tiles column 64"; ""
/// where there is nothing. Of a verdict all, separated by "; ".
std::string told(const gemm::Pattern& pattern);
std::string patterns_of(const gemm::Verdict& verdict);

/// A launch that goes wrong.
struct Wrong {
    std::string name;
    gemm::FaultId id;
    std::function<void()> launch;
};
/// Requires that each throws its fault, and says of it what tests/approved/<name>.txt holds; calls `after`
/// behind each.
void require_faults(
    const std::string& name, const std::vector<Wrong>& all, const std::function<void()>& after = [] {});

/// "M×N×K" with tight pitches, or with pitches that leave padding of different widths.
gemm::Shape shape(std::int64_t m, std::int64_t n, std::int64_t k, bool padded, float alpha = 1.0f,
                  float beta = 0.0f);

/// The same, of the lesson's variant.
gemm::Shape shape_for(const gemm::Lesson& lesson, std::int64_t m, std::int64_t n, std::int64_t k, bool padded,
                      float alpha = 1.0f, float beta = 0.0f);

/// What `body` throws, its id and as text. Fails when it throws nothing.
struct Thrown {
    gemm::FaultId id{};
    std::string text;
    std::shared_ptr<const gemm::Autopsy> autopsy;
};
template <class Body>
Thrown thrown_by(const Body& body) {
    try {
        body();
    } catch (const std::exception& error) {
        const auto* const fault = dynamic_cast<const gemm::Fault*>(&error);
        return {gemm::fault_of(error), error.what(), fault != nullptr ? fault->autopsy : nullptr};
    }
    FAIL("nothing was thrown");
    return {};
}
template <class Body>
std::string error_of(const Body& body) {
    return thrown_by(body).text;
}

}  // namespace test
