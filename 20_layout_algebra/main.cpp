// Makes lesson 20 a program of its own: build/<device>/bin/20_layout_algebra --help
#include "common/program/harness.hpp"

namespace lesson_20 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_20::lesson);
}
