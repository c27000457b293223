// Makes lesson 10b a program of its own: build/<device>/bin/10b_transposed --help
#include "common/program/harness.hpp"

namespace lesson_10b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_10b::lesson);
}
