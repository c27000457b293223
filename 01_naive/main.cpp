// Makes lesson 01 a program of its own: build/<device>/bin/01_naive --help
#include "common/program/harness.hpp"

namespace lesson_01 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_01::lesson);
}
