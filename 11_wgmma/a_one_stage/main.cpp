// Makes lesson 11a a program of its own: build/<device>/bin/11a_one_stage --help
#include "common/program/harness.hpp"

namespace lesson_11a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_11a::lesson);
}
