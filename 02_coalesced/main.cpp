// Makes lesson 02 a program of its own: build/<device>/bin/02_coalesced --help
#include "common/program/harness.hpp"

namespace lesson_02 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_02::lesson);
}
