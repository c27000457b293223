// Makes lesson 08b a program of its own: build/<device>/bin/08b_read_ahead --help
#include "common/program/harness.hpp"

namespace lesson_08b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_08b::lesson);
}
