// Makes lesson 05 a program of its own: build/<device>/bin/05_2d_blocktile --help
#include "common/program/harness.hpp"

namespace lesson_05 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_05::lesson);
}
