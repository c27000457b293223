// The stand-ins as the list of lessons, for runner/inspect.cpp.
#include "common/lessons.hpp"
#include "tests/standins/standins.hpp"

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const gemm::Lesson* const lessons[] = {&standins::scalar, &standins::vectorized,
                                                  &standins::double_buffer};
    return lessons;
}
