// Makes lesson 13e a program of its own: build/<device>/bin/13e_overlapped --help
#include "common/program/harness.hpp"

namespace lesson_13e {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_13e::lesson);
}
