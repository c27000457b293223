// The list of lessons of mixed_bench and mixed_inspect: one of FP32 between two steps that take BF16 and
// FP16.
#include "common/program/lessons.hpp"
#include "tests/check/short_types.hpp"

namespace lesson_03 {
extern const gemm::Lesson lesson;
}

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const gemm::Lesson* const lessons[] = {&short_types::right, &lesson_03::lesson,
                                                  &short_types::cut_off};
    return lessons;
}
