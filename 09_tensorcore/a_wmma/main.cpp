// Makes lesson 09a a program of its own: build/<device>/bin/09a_wmma --help
#include "common/program/harness.hpp"

namespace lesson_09a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_09a::lesson);
}
