// Makes lesson 04 a program of its own: build/<device>/bin/04_1d_blocktile --help
#include "common/program/harness.hpp"

namespace lesson_04 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_04::lesson);
}
