// Makes lesson 10a a program of its own: build/<device>/bin/10a_swizzle --help
#include "common/program/harness.hpp"

namespace lesson_10a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_10a::lesson);
}
