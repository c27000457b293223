// A list of lessons for gemm_bench with one that is wrong and one that needs a newer GPU.
#include "common/program/lessons.hpp"

namespace lesson_03 {
extern const gemm::Lesson lesson;
}
namespace mutant_no_k_tail {
extern const gemm::Lesson lesson;
}
namespace test_modern {
extern const gemm::Lesson lesson;
}

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const gemm::Lesson* const lessons[] = {&lesson_03::lesson, &mutant_no_k_tail::lesson,
                                                  &test_modern::lesson};
    return lessons;
}
