// Makes lesson 15d a program of its own: build/<device>/bin/15d_choose --help
#include "common/program/harness.hpp"

namespace lesson_15d {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_15d::lesson);
}
