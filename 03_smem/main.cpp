// Makes lesson 03 a program of its own: build/<device>/bin/03_smem --help
#include "common/program/harness.hpp"

namespace lesson_03 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_03::lesson);
}
