// A list of lessons for gemm_bench with one whose kernel never ends.
#include "common/program/lessons.hpp"

namespace lesson_03 {
extern const gemm::Lesson lesson;
}
namespace test_hung {
extern const gemm::Lesson lesson;
}

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const gemm::Lesson* const lessons[] = {&test_hung::lesson, &lesson_03::lesson};
    return lessons;
}
