// Makes lesson 13a a program of its own: build/<device>/bin/13a_persistent --help
#include "common/program/harness.hpp"

namespace lesson_13a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_13a::lesson);
}
