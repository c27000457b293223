// Makes lesson 11b a program of its own: build/<device>/bin/11b_ring --help
#include "common/program/harness.hpp"

namespace lesson_11b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_11b::lesson);
}
