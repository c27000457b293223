// Makes lesson 06b a program of its own: build/<device>/bin/06b_warp_tile --help
#include "common/program/harness.hpp"

namespace lesson_06b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_06b::lesson);
}
