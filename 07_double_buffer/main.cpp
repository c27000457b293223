// Makes lesson 07 a program of its own: build/<device>/bin/07_double_buffer --help
#include "common/program/harness.hpp"

namespace lesson_07 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_07::lesson);
}
