// Makes lesson 06a a program of its own: build/<device>/bin/06a_float4 --help
#include "common/program/harness.hpp"

namespace lesson_06a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_06a::lesson);
}
