// The program of NAMESPACE::LESSON, which is no lesson of the course, as one of the course has it.
#include "common/program/harness.hpp"

namespace NAMESPACE {
extern const gemm::Lesson LESSON;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, NAMESPACE::LESSON);
}
