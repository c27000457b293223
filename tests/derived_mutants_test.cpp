// The mutants that derive.py makes from the lessons, traced: each mistake is found where it stands, whether
// the result shows it or not.
#include <algorithm>
#include <string>

#include "runner/programs/traced.hpp"
#include "tests/mutants/mutants.hpp"
#include "tests/support.hpp"

namespace {

using gemm::Lesson;
using gemm::Shape;

gemm::TracedLaunch traced_launch(const Lesson& lesson, const Shape& shape) {
    test::device();
    gemm::Workload w(shape, test::seed());
    const gemm::Problem p = w.problem();
    const gemm::Plan plan = lesson.prepare != nullptr ? lesson.prepare(p) : nullptr;
    return gemm::launch_traced(lesson, p, plan.get());
}

/// The lesson that a mutant copies has no findings at the shape.
void require_clean(const std::string& of, const Shape& shape) {
    const gemm::TracedLaunch launch = traced_launch(test::lesson(of), shape);
    INFO(of << ": " << launch.error);
    REQUIRE(launch.error.empty());
    REQUIRE(launch.report.findings.empty());
}

bool has(const gemm::TracedLaunch& launch, const std::string& kind) {
    const auto& found = launch.report.findings;
    return std::any_of(found.begin(), found.end(), [&](const auto& f) { return name_of(f.id) == kind; });
}

/// Whether a traced run at the shape finds something of that kind; the lesson itself is clean there.
bool finds(const Lesson& mutant, const std::string& of, Shape shape, const std::string& kind) {
    shape.variant = mutant.variant();
    require_clean(of, shape);
    const gemm::TracedLaunch launch = traced_launch(mutant, shape);
    INFO(mutant.name << ": " << launch.error);
    REQUIRE(launch.error.empty());
    return has(launch, kind);
}

/// What ends a traced run of the mutant at the shape, as one sentence.
std::string ends(const Lesson& mutant, const std::string& of, const Shape& shape) {
    require_clean(of, shape);
    return traced_launch(mutant, shape).error;
}

}  // namespace

TEST_CASE("trace: barriers that are missing in mutants of 05 and 07") {
    REQUIRE(finds(mutant_no_barrier_05::lesson, "05_2d_blocktile", test::shape(128, 128, 8, false), "race"));
    REQUIRE(
        finds(mutant_no_barrier_07::lesson, "07_double_buffer", test::shape(128, 256, 24, false), "race"));
}

TEST_CASE("trace: 16-byte accesses at an odd pitch in a mutant of 06a") {
    Shape shape = test::shape(128, 128, 64, false);
    shape.lda = 65;
    REQUIRE(finds(mutant_unaligned_06a::lesson, "06a_float4", shape.resolved(), "misaligned_access"));
}

TEST_CASE("trace: pairs stored at an odd pitch in a mutant of 09b") {
    Shape shape = test::shape(128, 128, 64, false);
    shape.ldc = 129;
    REQUIRE(finds(mutant_unaligned_09b::lesson, "09b_mma_sync", shape.resolved(), "misaligned_access"));
}

TEST_CASE("trace: the wait that is too short in a mutant of 08a") {
    REQUIRE(finds(mutant_wait_too_short_08a::lesson, "08a_ring", test::shape(70, 66, 100, false),
                  "copy_in_flight"));
}

TEST_CASE("trace: fragments of A that reach into the padding of As in a mutant of 09a") {
    REQUIRE(
        finds(mutant_pitch_09a::lesson, "09a_wmma", test::shape(128, 128, 64, false), "uninitialised_read"));
}

TEST_CASE("trace: waits that are too short and barriers that are missing in mutants of 09c, 09d and 09e") {
    const Shape shape = test::shape(72, 64, 192, false);
    REQUIRE(finds(mutant_wait_too_short_09c::lesson, "09c_ring", shape, "copy_in_flight"));
    REQUIRE(finds(mutant_no_barrier_09c::lesson, "09c_ring", shape, "race"));
    REQUIRE(finds(mutant_no_barrier_09d::lesson, "09d_read_ahead", shape, "race"));
    REQUIRE(finds(mutant_no_warp_barrier_09e::lesson, "09e_whole_rows", shape, "race"));
}

TEST_CASE("trace: waits and stages that are wrong in mutants of 10a") {
    const Shape shape = test::shape(72, 64, 6 * 32, false);  // two of the four stages are filled twice
    const gemm::TracedLaunch parity = traced_launch(mutant_parity_10a::lesson, shape);
    REQUIRE(has(parity, "load_in_flight"));
    test::require_contains(parity.error, "nobody has waited for the load that it started");
    REQUIRE(finds(mutant_released_early_10a::lesson, "10a_swizzle", shape, "load_overwrites"));
    REQUIRE(finds(mutant_no_barrier_10a::lesson, "10a_swizzle", shape, "load_overwrites"));
}

TEST_CASE("trace: bytes and boxes that do not fit each other in mutants of 10a") {
    const Shape shape = test::shape(72, 64, 96, false);
    test::require_contains(ends(mutant_few_bytes_10a::lesson, "10a_swizzle", shape),
                           "it was told to expect 8192 bytes in this phase");
    test::require_contains(ends(mutant_many_bytes_10a::lesson, "10a_swizzle", shape),
                           "full[0] was told to expect 16 bytes more than the copies of this phase bring");
    test::require_contains(ends(mutant_box_10a::lesson, "10a_swizzle", shape),
                           "is complete while 128 bytes are still to come to it");
}

TEST_CASE("trace: tiles and buffers of A that are used too early in mutants of 10b") {
    const Shape shape = test::shape(72, 64, 6 * 32, false);  // the three stages are filled twice
    REQUIRE(finds(mutant_one_waits_10b::lesson, "10b_transposed", shape, "load_in_flight"));
    REQUIRE(finds(mutant_released_early_10b::lesson, "10b_transposed", shape, "load_overwrites"));
    REQUIRE(finds(mutant_first_barrier_10b::lesson, "10b_transposed", shape, "race"));
    REQUIRE(finds(mutant_one_at_10b::lesson, "10b_transposed", shape, "race"));
}

TEST_CASE("trace: copies at the edges, some lanes of which fill with zeros, are counted once each") {
    test::device();
    gemm::Workload w(test::shape(25, 27, 71, false), test::seed());
    const gemm::Problem p = w.problem();
    std::uint64_t of_a = 0, of_b = 0, shared = 0;
    for (const auto& line : gemm::launch_traced(test::lesson("08b_read_ahead"), p, nullptr).report.lines) {
        if (line.store == line.shared && line.store) shared += line.bytes;
        if (line.shared || line.store) continue;
        (line.array == "A" ? of_a : of_b) += line.bytes;
    }
    REQUIRE(of_a == 25 * 71 * sizeof(float));
    REQUIRE(of_b == 71 * 27 * sizeof(float));
    REQUIRE(shared == 2 * 5 * 64 * 16 * sizeof(float));  // two tiles in each of five rounds
}
