// Makes lesson 09b a program of its own: build/<device>/bin/09b_mma_sync --help
#include "common/program/harness.hpp"

namespace lesson_09b {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_09b::lesson);
}
