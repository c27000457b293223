// Makes lesson 14a a program of its own: build/<device>/bin/14a_fma --help
#include "common/program/harness.hpp"

namespace lesson_14a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_14a::lesson);
}
