// Makes lesson 12 a program of its own: build/<device>/bin/12_warp_specialized --help
#include "common/program/harness.hpp"

namespace lesson_12 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_12::lesson);
}
