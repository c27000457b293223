// Makes lesson 13b a program of its own: build/<device>/bin/13b_multicast --help
#include "common/program/harness.hpp"

namespace lesson_13b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_13b::lesson);
}
