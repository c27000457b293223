// Makes lesson 06 a program of its own: build/<device>/bin/06_vectorized --help
#include "common/harness.hpp"

namespace lesson_06 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_06::lesson);
}
