// Makes lesson 15a a program of its own: build/<device>/bin/15a_split_k --help
#include "common/program/harness.hpp"

namespace lesson_15a {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_15a::lesson);
}
