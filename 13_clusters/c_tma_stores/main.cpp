// Makes lesson 13c a program of its own: build/<device>/bin/13c_tma_stores --help
#include "common/program/harness.hpp"

namespace lesson_13c {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_13c::lesson);
}
