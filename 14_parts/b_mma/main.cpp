// Makes lesson 14b a program of its own: build/<device>/bin/14b_mma --help
#include "common/program/harness.hpp"

namespace lesson_14b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_14b::lesson);
}
