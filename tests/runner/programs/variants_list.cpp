// A list of lessons for gemm_bench whose lesson takes variants that no lesson of the course takes yet.
#include "common/program/lessons.hpp"
#include "tests/check/variants.hpp"

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const gemm::Lesson* const lessons[] = {&test_variants::right, &test_variants::ignores_layout};
    return lessons;
}
